"""LUT levels: on netlists made by hand, and on a synthesised design of known depths."""

from __future__ import annotations

import random

import pytest

from pezo_hw.errors import PezoError
from pezo_hw.synth.blocks import inside
from pezo_hw.synth.families import FAMILIES
from pezo_hw.synth.levels import Levels, measure, named
from pezo_hw.synth.netlist import Cell, Netlist
from pezo_hw.synth.yosys import Synthesis

XCUP = FAMILIES["xcup"]
# What drives and reads everything in a netlist made by hand.
CLOCK, ENABLE = 1, 2


def cell(
    kind: str,
    out: dict[str, tuple[int, ...]],
    parameters: dict[str, str] | None = None,
    /,
    **pins: int,
) -> Cell:
    name = f"{kind.lower()}_{next(iter(out.values()))[0]}"
    return Cell(name, kind, {pin: (bit,) for pin, bit in pins.items()}, out, parameters or {})


def flop(d: int, q: int, **pins: int) -> Cell:
    return cell("FDRE", {"Q": (q,)}, **{"D": d, "C": CLOCK, "CE": ENABLE, **pins})


def lut(out: int, *sources: int) -> Cell:
    pins = {f"I{i}": bit for i, bit in enumerate(sources)}
    return cell(f"LUT{len(sources)}", {"O": (out,)}, **pins)


def netlist(*cells: Cell, names: dict[int, str] | None = None) -> Netlist:
    labels = names or {}
    return Netlist(
        top="hand",
        cells=cells,
        inputs={"clk": (CLOCK,), "enable": (ENABLE,)},
        outputs={"out": (99,)},
        names={
            bit: ((tuple(name.split(".")[:-1]), name.split(".")[-1], 0),)
            for bit, name in labels.items()
        },
    )


def between(found: Levels) -> int:
    assert found.register_to_register is not None
    return found.register_to_register.levels


def test_chain() -> None:
    found = measure(
        netlist(flop(13, 10), lut(11, 10), lut(12, 11, 10), lut(13, 12), lut(99, 11)), family=XCUP
    )
    assert between(found) == 3
    assert found.register_to_register is not None
    assert found.register_to_register.cells == ("LUT1", "LUT2", "LUT1")
    assert found.register_to_output is not None and found.register_to_output.levels == 2
    # Only the enable comes from outside, and it meets no LUT; the clock is no path.
    assert found.input_to_register is not None
    assert (found.input_to_register.levels, found.input_to_register.start) == (0, "enable")
    assert found.input_to_output is None


def test_without_paths() -> None:
    assert measure(netlist(), family=XCUP) == Levels(None, None, None, None)


@pytest.mark.parametrize("pin", ["D", "CE", "R"])
def test_every_pin_of_a_register_but_the_clock_ends_a_path(pin: str) -> None:
    cells = [flop(10, 10), lut(11, 10), flop(10, 20, **{pin: 11})]
    assert between(measure(netlist(*cells), family=XCUP)) == 1
    assert (
        between(measure(netlist(flop(10, 10), lut(11, 10), flop(10, 20, C=11)), family=XCUP)) == 0
    )


@pytest.mark.parametrize(("kind", "levels"), [("INV", 2), ("MUXF7", 1), ("BUFG", 1), ("CARRY4", 1)])
def test_what_counts(kind: str, levels: int) -> None:
    cells = [flop(12, 10), cell(kind, {"O": (11,)}, I=10), lut(12, 11)]
    found = measure(netlist(*cells), family=XCUP).register_to_register
    assert found is not None
    assert (found.levels, found.carry) == (levels, int(kind == "CARRY4"))


def test_carry_ripples_upwards_only() -> None:
    # O[0] goes through a LUT into S[3]: no loop, since S[3] does not reach O[0].
    carry = Cell(
        "carry", "CARRY4", {"S": (10, 10, 10, 21), "CI": (10,)}, {"O": (20, 30, 31, 32)}, {}
    )
    assert between(measure(netlist(flop(32, 10), carry, lut(21, 20)), family=XCUP)) == 1
    with pytest.raises(PezoError, match="combinational loop"):
        measure(netlist(flop(30, 10), carry, lut(21, 32)), family=XCUP)


def test_loop_is_refused() -> None:
    with pytest.raises(
        PezoError, match=r"^the netlist must have no combinational loop, but has one"
    ):
        measure(netlist(lut(11, 12), lut(12, 11)), family=XCUP)


@pytest.mark.parametrize(
    ("parameters", "levels"),
    [({}, 2), ({"PREG": "1"}, 1), ({"MREG": "0001"}, 1), ({"MREG": "0", "CREG": "1"}, 2)],
)
def test_dsp_is_passed_unless_its_registers_are_on(parameters: dict[str, str], levels: int) -> None:
    dsp = cell("DSP48E2", {"P": (12,)}, parameters, A=11, CLK=CLOCK)
    cells = [flop(13, 10), lut(11, 10), dsp, lut(13, 12)]
    assert between(measure(netlist(*cells), family=XCUP)) == levels


def test_reading_a_lut_ram_is_a_level_from_its_own_address() -> None:
    ram = Cell(
        "ram",
        "RAM32M",
        {"ADDRA": (11,), "ADDRD": (16,), "DIA": (10,), "WCLK": (CLOCK,)},
        {"DOA": (12,), "DOD": (13,)},
        {},
    )
    # Two LUTs in front of the write address do not reach port A.
    cells = [flop(12, 10), lut(11, 10), lut(15, 10), lut(16, 15), ram]
    assert between(measure(netlist(*cells), family=XCUP)) == 2
    assert between(measure(netlist(*cells, flop(13, 40)), family=XCUP)) == 3


def test_shift_register_ends_at_its_data_and_is_read_through_its_address() -> None:
    def srl(**pins: int) -> Cell:
        return cell("SRL16E", {"Q": (12,)}, CLK=CLOCK, **pins)

    front = [flop(12, 10), lut(15, 10), lut(11, 15)]
    assert between(measure(netlist(*front, srl(D=11, A0=-1)), family=XCUP)) == 2
    assert between(measure(netlist(*front, srl(D=10, A0=11)), family=XCUP)) == 3


def test_carry_of_ecp5_holds_its_luts() -> None:
    carry = Cell("c", "CCU2C", {"A0": (10,), "CIN": (10,)}, {"S0": (11,), "COUT": (12,)}, {})
    more = Cell("d", "CCU2C", {"CIN": (12,)}, {"S0": (13,)}, {})
    store = Cell("ff", "TRELLIS_FF", {"DI": (13,), "CLK": (CLOCK,)}, {"Q": (10,)}, {})
    found = measure(netlist(store, carry, more), family=FAMILIES["ecp5"]).register_to_register
    assert found is not None and (found.levels, found.carry) == (1, 2)


def test_unknown_cells_cut_paths() -> None:
    cells = [flop(12, 10), cell("MYSTERY", {"Z": (11,)}, Y=10), lut(12, 11)]
    assert between(measure(netlist(*cells), family=XCUP)) == 1


def test_selection_by_name() -> None:
    cells = [flop(10, 10), lut(11, 10), flop(11, 20), lut(12, 11), lut(13, 12), flop(13, 30)]
    design = netlist(*cells, names={10: "a.bank.s", 20: "a.bank.t", 30: "a.bank2.s"})
    assert between(measure(design, family=XCUP)) == 3
    assert between(measure(design, family=XCUP, end=named(design, "a.bank"))) == 1
    assert between(measure(design, family=XCUP, end=named(design, "a.bank.s"))) == 0
    assert between(measure(design, family=XCUP, end=named(design, "a.bank2"))) == 3
    only = measure(design, family=XCUP, start=named(design, "a.bank2"))
    assert only.register_to_register is None


@pytest.mark.parametrize("seed", range(20))
def test_against_every_path(seed: int) -> None:
    draw = random.Random(seed)
    cells: list[Cell] = []
    nets = [100, 101, 102]
    for out in range(103, 103 + draw.randint(3, 14)):
        cells.append(lut(out, *draw.sample(nets, draw.randint(1, 3))))
        nets.append(out)
    cells += [flop(draw.choice(nets), q) for q in (100, 101, 102)]
    by_output = {c.outputs["O"][0]: c for c in cells if c.type != "FDRE"}

    def deepest(net: int) -> int:
        return (
            1 + max(deepest(bits[0]) for bits in by_output[net].inputs.values())
            if net in by_output
            else 0
        )

    expected = max(deepest(c.inputs["D"][0]) for c in cells if c.type == "FDRE")
    draw.shuffle(cells)
    assert between(measure(netlist(*cells), family=XCUP)) == expected


@pytest.mark.parametrize(
    ("block", "levels"),
    # The second is the first with six more inputs an output: the mutant that the figure must catch.
    [("nest.shallow", 1), ("nest.deep", 2), ("lutram", 1), ("count", 1)],
)
def test_known_depths(zoo: Synthesis, block: str, levels: int) -> None:
    selected = inside(zoo.netlist, zoo.hierarchy, block)
    assert between(measure(zoo.netlist, family=zoo.family, end=selected)) == levels
    assert between(measure(zoo.netlist, family=zoo.family, start=selected, end=selected)) == levels


def test_whole_design(zoo: Synthesis) -> None:
    found = measure(zoo.netlist, family=zoo.family)
    assert found.register_to_register is not None and found.input_to_register is not None
    assert found.register_to_register.levels == 2
    assert found.register_to_register.start.startswith("core.nest.deep")
    assert found.register_to_register.end.startswith("y12[")
    # All inputs go straight into registers, RAMs and products.
    assert (found.input_to_register.levels, found.input_to_register.start) == (0, "do")
    assert found.input_to_output is None


def test_a_level_of_ecp5_has_four_inputs(zoo_ecp5: Synthesis) -> None:
    selected = inside(zoo_ecp5.netlist, zoo_ecp5.hierarchy, "nest.shallow")
    assert between(measure(zoo_ecp5.netlist, family=zoo_ecp5.family, end=selected)) in (1, 2)
    assert between(measure(zoo_ecp5.netlist, family=zoo_ecp5.family)) >= 2
