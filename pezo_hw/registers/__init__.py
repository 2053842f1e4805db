"""The registers of the step core, as data.

``core.rdl`` describes them in SystemRDL. `description.register_map` reads it for a configuration;
everything else is made from what it returns: the gateware's decode, the map that the driver uses
(here, and as JSON in the manifest of a generated folder), and the documents that `artefacts`
writes.

Nothing here needs the SystemRDL compiler until a map is read from ``core.rdl``, so that a driver on
a board, which reads the manifest, works without it.
"""

from pezo_hw.registers.map import Access, Field, Hardware, Register, RegisterMap

__all__ = ["Access", "Field", "Hardware", "Register", "RegisterMap"]
