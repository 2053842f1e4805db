"""``python -m pezo_hw`` is the same as ``pezo``."""

import sys

from pezo_hw.cli.main import main

sys.exit(main())
