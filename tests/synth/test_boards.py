"""Finding boards by name, and saying what is wrong with those that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pezo_hw.errors import PezoError
from pezo_hw.synth import devices
from pezo_hw.synth.boards import names, resolve
from pezo_hw.synth.families import FAMILIES

GOOD = """
import dataclasses
from amaranth.vendor import XilinxPlatform
from amaranth_boards.kcu105 import KCU105Platform  # imported ones do not count

@dataclasses.dataclass
class Note:
    text: str = "needs its module to be known while it runs"

class _Base(XilinxPlatform):
    package, speed = "sbva484", "1-e"
    default_clk = None
    resources, connectors = [], []

class Mine(_Base):
    device = "xczu3eg"
    target_clock_hz = 250e6
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_zcu102() -> None:
    board = resolve("zcu102")
    assert (board.name, board.part, board.family) == ("zcu102", "xczu9eg-ffvb1156-2-e", "xcup")
    assert board.vendor == "vivado"
    assert board.synth == "synth_xilinx -family xcup -flatten -noiopad"
    assert board.capacity == {"lut": 274_080, "ff": 548_160, "bram36": 912, "dsp": 2_520}
    assert board.clock_hz == 300e6


def test_zcu104() -> None:
    board = resolve("zcu104")
    assert (board.part, board.family) == ("xczu7ev-ffvc1156-2-e", "xcup")
    assert board.capacity == {"lut": 230_400, "ff": 460_800, "bram36": 312, "dsp": 1_728}


@pytest.mark.parametrize("name", ["ulx3s_85f", "ULX3S_85F", "ULX3S_85F_Platform", "ulx3s85f"])
def test_amaranth_boards_by_class_name_in_any_spelling(name: str) -> None:
    board = resolve(name)
    assert (board.name, board.part, board.family) == (name, "LFE5U-85F-6BG381", "ecp5")
    assert (board.vendor, board.synth) == ("trellis", "synth_ecp5")
    # 208 block RAMs of 18 kbit.
    assert board.capacity == {"lut": 83_640, "ff": 83_640, "bram36": 104, "dsp": 156}
    assert board.clock_hz == 25e6


@pytest.mark.parametrize(
    ("name", "part", "family", "lut"),
    [
        ("arty_a7_35", "xc7a35ticsg324-1L", "xc7", 20_800),
        ("kcu105", "xcku040-ffva1156-2-e", "xcu", 242_400),
        ("icebreaker", "iCE40UP5K-SG48", "ice40", 5_280),
        ("versa_ecp5_5g", "LFE5UM5G-45F-8BG381", "ecp5", 43_848),
        ("rfsoc4x2", "xczu48dr-ffvg1517-2-e", "xcup", None),
    ],
)
def test_other_families(name: str, part: str, family: str, lut: int | None) -> None:
    board = resolve(name)
    assert (board.part, board.family) == (part, family)
    assert (board.capacity["lut"] if board.capacity else None) == lut


def test_a_board_without_a_clock_gets_100_mhz() -> None:
    assert resolve("microzed_z020").clock_hz == 100e6


def test_equal_boards_are_equal() -> None:
    assert resolve("zcu102") == resolve("zcu102") != resolve("zcu104")
    assert len({resolve("zcu102"), resolve("zcu102")}) == 1


def test_names_start_with_our_own() -> None:
    assert names()[:2] == ["zcu102", "zcu104"]
    assert "ulx3s_85f" in names()


def test_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    board = resolve(str(path))
    assert (board.name, board.part) == ("mine", "xczu3eg-sbva484-1-e")
    assert (board.capacity, board.clock_hz) == (None, 250e6)
    assert list(tmp_path.iterdir()) == [path], "loading must leave no __pycache__ behind"


def test_file_relative_to_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, GOOD)
    assert resolve("mine.py", base=tmp_path).name == "mine"
    with pytest.raises(PezoError, match=r"^board file mine\.py does not exist"):
        resolve("mine.py")
    monkeypatch.chdir(tmp_path)
    assert resolve("mine.py").name == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module_here", r"is broken: ModuleNotFoundError: No module named"),
        ("class :", r"is broken: SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", r"is broken: SystemExit: 3$"),
        ("raise ValueError('two\\nlines')", r"is broken: ValueError: two lines$"),
        ("x = 1", r"must define one public subclass of an Amaranth platform, but has none;"),
        (GOOD + "class Two(_Base):\n    device = 'xczu3eg'\n", r"but has Mine, Two;"),
        (GOOD.replace("xczu3eg", "xyz"), r"is broken: ValueError: Device 'xyz' is not recognized$"),
        (
            GOOD.replace("xczu3eg", "xc6slx9"),
            r"must have a device of a supported family .*spartan6",
        ),
        (
            GOOD + "    capacity = {'lut': 1}\n",
            r": capacity must be a dict of numbers up to 1000000000 for lut, ff,",
        ),
        (
            GOOD + "    capacity = dict(lut=1e400, ff=1, bram36=1, dsp=1)\n",
            r": capacity must be a dict of numbers up to 1000000000 for lut, .* not {'lut': inf",
        ),
        (
            GOOD + "    target_clock_hz = '1 GHz'\n",
            r": target_clock_hz must be a number, not '1 GHz'$",
        ),
        (
            GOOD + "    target_clock_hz = 10**400\n",
            r": target_clock_hz must be within 1000 and 1e\+10 Hz, not 100000",
        ),
        (GOOD + "    target_clock_hz = 10**9999\n", r"Hz, not a huge int$"),
        (GOOD + "    target_clock_hz = float('nan')\n", r" within 1000 and 1e\+10 Hz, not nan$"),
        (GOOD + "    target_clock_hz = 0\n", r" within 1000 and 1e\+10 Hz, not 0$"),
    ],
)
def test_broken_file(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PezoError, match=re.escape(f"board file {path}") + ".*" + message) as caught:
        resolve(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("zcu10", r'must be a known board, not "zcu10"; did you mean .*zcu102'),
        ("ulx3s", r"did you mean .*ulx3s_85f"),
        ("zcu102/", r"did you mean .*zcu102"),
        ("qqqqqq", r'not "qqqqqq"; known are zcu102, zcu104, the platforms of amaranth-boards'),
        ("", r'not ""; known are zcu102'),
        (
            "tang_nano_9k",
            r"^amaranth-boards platform TangNano9kPlatform must have a device of a supp",
        ),
        ("de10_nano", r"not AlteraPlatform$"),
    ],
)
def test_unusable_name(name: str, message: str) -> None:
    with pytest.raises(PezoError, match=message) as caught:
        resolve(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", devices.CAPACITIES)
def test_capacities_are_plausible(device: str) -> None:
    values = devices.capacity(device)
    assert values is not None and set(values) == {"lut", "ff", "bram36", "dsp"}
    assert values["ff"] in (values["lut"], 2 * values["lut"])
    # A few LUTs to a few dozen a kbit of block RAM: catches columns that changed places.
    assert 4 < values["lut"] / (36 * values["bram36"]) < 80


def test_every_family_is_reachable() -> None:
    known = {resolve(name).family for name in ("zcu102", "kcu105", "arty_a7_35", "icestick")}
    assert known | {"ecp5"} == set(FAMILIES)
