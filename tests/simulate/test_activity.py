"""Toggle counts: cells by hand, whole netlists against golden model and Verilator, and faults."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.golden.engine import engine_of
from pezo_hw.simulate import activity as measuring
from pezo_hw.simulate import saif
from pezo_hw.simulate.activity import activity
from pezo_hw.simulate.netlist import Simulation
from pezo_hw.synth import yosys
from pezo_hw.synth.netlist import Cell, Netlist
from pezo_hw.synth.yosys import Synthesis

GROUPS = 48


# Netlists by hand. Nets 2 and up; a pin given as text is constant, least significant bit first.

Pins = dict[str, tuple[int, ...] | str]


def cell(kind: str, inputs: Pins, outputs: Pins, **parameters: str) -> Cell:
    numbers = {k: (-1,) * len(v) if isinstance(v, str) else v for k, v in inputs.items()}
    constants = {k: v for k, v in inputs.items() if isinstance(v, str)}
    made = {k: v for k, v in outputs.items() if not isinstance(v, str)}
    return Cell(f"{kind}{outputs}", kind, numbers, made, parameters, constants)


def flop(kind: str, d: int, q: int, **pins: tuple[int, ...] | str) -> Cell:
    reset = "S" if kind == "FDSE" else "R"
    inputs: Pins = {"C": (2,), "D": (d,), "CE": "1", reset: "0"}
    return cell(kind, inputs | pins, {"Q": (q,)}, INIT="x")


def simulation(*cells: Cell, inputs: Pins, outputs: Pins) -> Simulation:
    return Simulation(
        Netlist(
            top="hand",
            cells=cells,
            inputs={"aclk": (2,)} | {k: v for k, v in inputs.items() if not isinstance(v, str)},
            outputs={k: v for k, v in outputs.items() if not isinstance(v, str)},
            names={},
        )
    )


def number(simulation: Simulation, name: str) -> int:
    return int(sum(int(bit) << i for i, bit in enumerate(simulation.get(name))))


def drive(simulation: Simulation, **values: int) -> None:
    for name, value in values.items():
        width = len(simulation.inputs[name])
        bits = np.array([value >> i & 1 for i in range(width)], np.uint8)
        simulation.set(name, bits)
    simulation.settle()


def nets(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


def binary(value: int, width: int) -> str:
    """Constant pins, least significant bit first."""
    return f"{value:0{width}b}"[::-1]


def test_carry_and_registers_count_to_sixteen() -> None:
    # q + 1 in one carry cell: S = q, DI = 0, and the carry in is 1.
    counter = simulation(
        cell(
            "CARRY4",
            {"CI": "0", "CYINIT": "1", "DI": "0000", "S": nets(10, 4)},
            {"O": nets(20, 4), "CO": nets(30, 4)},
        ),
        *(flop("FDRE", 20 + i, 10 + i, CE=(3,), R=(4,)) for i in range(4)),
        inputs={"ce": (3,), "reset": (4,)},
        outputs={"q": nets(10, 4)},
    )
    drive(counter, ce=1)
    counter.count()
    for value in range(16):
        assert number(counter, "q") == value
        counter.clock()
        counter.settle()
        counter.count()
    # Bit i toggles every 2^i clocks; each sum bit as often. The carries have no reader.
    toggles = counter.toggles_by_class()
    assert toggles == {"registers": 16 + 8 + 4 + 2, "logic": 16 + 8 + 4 + 2, "memory": 0, "dsp": 0}
    assert counter.nets_by_class() == {"registers": 4, "logic": 4, "memory": 0, "dsp": 0}
    assert counter.clocked == 4

    counter.clock()
    drive(counter, ce=0)
    counter.clock()
    assert number(counter, "q") == 1
    # A reset needs no enable.
    drive(counter, reset=1)
    counter.clock()
    assert number(counter, "q") == 0


def test_luts_of_every_size_and_multiplexers() -> None:
    inits = [0b10, 0b0110, 0x96, 0x1234, 0x89ABCDEF, 0xFEDCBA9876543210]
    luts = [
        cell(
            f"LUT{n}",
            {f"I{i}": (3 + i,) for i in range(n)},
            {"O": (20 + n,)},
            INIT=f"{inits[n - 1]:0{1 << n}b}",
        )
        for n in range(1, 7)
    ]
    found = simulation(
        *luts,
        cell("INV", {"I": (3,)}, {"O": (30,)}),
        cell("MUXF7", {"S": (3,), "I0": (4,), "I1": (5,)}, {"O": (31,)}),
        inputs={"x": nets(3, 6)},
        outputs={"y": nets(21, 6), "n": (30,), "m": (31,)},
    )
    for value in range(64):
        drive(found, x=value)
        expected = [inits[n - 1] >> (value & ((1 << n) - 1)) & 1 for n in range(1, 7)]
        assert number(found, "y") == sum(bit << i for i, bit in enumerate(expected))
        assert number(found, "n") == 1 - (value & 1)
        assert number(found, "m") == value >> (2 if value & 1 else 1) & 1


def test_set_wins_over_the_data_and_power_up_values_hold() -> None:
    found = simulation(
        flop("FDSE", 3, 10, S=(4,)),
        dataclasses.replace(flop("FDRE", 3, 11), parameters={"INIT": "1"}),
        inputs={"d": (3,), "s": (4,)},
        outputs={"set": (10,), "up": (11,)},
    )
    assert (number(found, "set"), number(found, "up")) == (0, 1)
    drive(found, s=1)
    found.clock()
    assert (number(found, "set"), number(found, "up")) == (1, 0)


def test_shift_register() -> None:
    shift = cell(
        "SRL16E",
        {"D": (3,), "CE": (4,), "CLK": (2,), "A0": "0", "A1": "1", "A2": "0", "A3": "0"},
        {"Q": (10,)},
    )
    found = simulation(shift, inputs={"d": (3,), "ce": (4,)}, outputs={"q": (10,)})
    seen = []
    for d, ce in ((1, 1), (0, 1), (1, 0), (1, 1), (0, 1), (0, 1)):
        drive(found, d=d, ce=ce)
        found.clock()
        seen.append(number(found, "q"))
    # Three places; the clock without enable does not count.
    assert seen == [0, 0, 0, 1, 0, 1]


@pytest.mark.parametrize(("kind", "width"), [("RAMB18E2", 9), ("RAMB36E2", 9), ("RAMB36E2", 36)])
def test_block_ram(kind: str, width: int) -> None:
    rows = 8
    data = width * 8 // 9
    contents = [(i * 0x9E3779B1) % (1 << width) for i in range(rows)]
    low = sum((row & ((1 << data) - 1)) << (data * i) for i, row in enumerate(contents))
    high = sum((row >> data) << ((width - data) * i) for i, row in enumerate(contents))
    address_bits = 14 if kind == "RAMB18E2" else 15
    first = data.bit_length() - 1
    ram = Cell(
        "ram",
        kind,
        {
            "ADDRARDADDR": tuple(-1 if i < first else 100 + i for i in range(address_bits)),
            "ENARDEN": (4,),
            "CLKARDCLK": (2,),
            "WEA": (-1,) * 4,
        },
        {"DOUTADOUT": nets(10, 32), "DOUTPADOUTP": nets(50, 4)},
        {
            "READ_WIDTH_A": f"{width:032b}",
            "WRITE_WIDTH_A": f"{width:032b}",
            "INIT_00": f"{low % (1 << 256):0256b}",
            "INIT_01": f"{low >> 256:0256b}",
            "INITP_00": f"{high:0256b}",
        },
        # Low address bits that the width leaves over are not 0 in real netlists.
        {"ADDRARDADDR": "1" * first + "-" * (address_bits - first), "WEA": "0000"},
    )
    found = simulation(
        ram,
        inputs={"a": nets(100 + first, 3), "en": (4,)},
        outputs={"q": (*nets(10, data), *nets(50, width - data))},
    )
    for i, row in enumerate(contents):
        drive(found, a=i, en=1)
        found.clock()
        assert number(found, "q") == row
    drive(found, a=0, en=0)
    found.clock()
    assert number(found, "q") == contents[-1]


DSP: Pins = {
    "A": nets(10, 30),
    "B": nets(40, 18),
    "OPMODE": "101000000",
    "ALUMODE": "0000",
    "INMODE": "00000",
    "CARRYIN": "0",
}


def test_dsp_is_a_signed_product() -> None:
    found = simulation(
        cell("DSP48E2", DSP, {"P": nets(60, 48)}, PREG="0", MREG="0"),
        inputs={"a": nets(10, 30), "b": nets(40, 18)},
        outputs={"p": nets(60, 48)},
    )
    for a, b in ((3, 5), (-3, 5), (-(1 << 26), -(1 << 17)), ((1 << 26) - 1, -1), (0, -7)):
        drive(found, a=a % (1 << 30), b=b % (1 << 18))
        assert number(found, "p") == (a * b) % (1 << 48)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (cell("RAM32M", {}, {"DOA": (9,)}), "the cell RAM32M; no model"),
        (cell("DSP48E2", DSP, {"P": (9,)}, PREG="1"), "a DSP48E2 with PREG = 1"),
        (
            cell("DSP48E2", DSP | {"OPMODE": "101011000"}, {"P": (9,)}),
            "a DSP48E2 that does more than multiply",
        ),
        (
            cell("SRL16E", {"D": (3,), "CLK": (2,), "A0": (3,)}, {"Q": (9,)}),
            "a SRL16E that is not read at one constant place",
        ),
        (
            cell(
                "RAMB18E2",
                {"WEA": (3,), "CLKARDCLK": (2,)},
                {"DOUTADOUT": nets(9, 16)},
                WRITE_WIDTH_A="1001",
            ),
            "a RAMB18E2 whose pin WEA is not constant 0",
        ),
        (
            cell("RAMB18E2", {}, {"DOUTADOUT": nets(9, 16)}, READ_WIDTH_A="100100"),
            "a RAMB18E2 with READ_WIDTH_A = 36",
        ),
        (cell("FDCE", {"C": (2,), "D": (3,), "CLR": (3,)}, {"Q": (9,)}, INIT="0"), "pin CLR"),
        (
            cell("FDRE", {"C": (2,), "D": (3,)}, {"Q": (9,)}, INIT="0", IS_C_INVERTED="1"),
            "a FDRE with IS_C_INVERTED = 1",
        ),
    ],
)
def test_what_is_not_known_is_refused(part: Cell, message: str) -> None:
    with pytest.raises(PezoError, match=f"^activity cannot simulate .*{message}"):
        simulation(part, inputs={"x": (3,)}, outputs={"y": (9,)})


def test_two_clocks_and_loops_are_refused() -> None:
    two = (flop("FDRE", 3, 9), dataclasses.replace(flop("FDRE", 3, 10, C=(4,)), name="b"))
    with pytest.raises(PezoError, match="^activity needs a core with one clock, not 2$"):
        simulation(*two, inputs={"x": (3,), "other": (4,)}, outputs={"y": (9, 10)})
    # A clock behind a buffer is the same clock.
    buffer = cell("BUFG", {"I": (2,)}, {"O": (4,)})
    simulation(buffer, *two, inputs={"x": (3,)}, outputs={"y": (9, 10)})
    loop = (
        cell("INV", {"I": (9,)}, {"O": (10,)}),
        cell("LUT1", {"I0": (10,)}, {"O": (9,)}, INIT="10"),
    )
    with pytest.raises(PezoError, match="^the netlist must have no combinational loop"):
        simulation(*loop, inputs={}, outputs={"y": (9,)})


# Whole cores.


@pytest.fixture(autouse=True)
def no_old_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never take a result from the cache: it may be that of older code."""
    monkeypatch.setattr(measuring, "_usable", lambda _: None)


def toggles_of_lanes(lanes: np.ndarray[Any, Any], *, bits: int) -> int:
    changed = (lanes[1:].astype(np.int64) ^ lanes[:-1]) & ((1 << bits) - 1)
    return sum(int(value).bit_count() for value in changed.ravel())


def test_a_perturbation_core_and_its_saif_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load("tiny")
    sessions = []
    original = measuring._summary

    def spy(found: Simulation, *rest: Any, **more: Any) -> dict[str, Any]:
        sessions.append(found)
        return original(found, *rest, **more)

    monkeypatch.setattr(measuring, "_summary", spy)
    netlists: list[Netlist] = []
    synthesise = yosys.synthesise

    def watch(*files: Any, **more: Any) -> Synthesis:
        result = synthesise(*files, **more)
        netlists.append(result.netlist)
        return result

    monkeypatch.setattr(yosys, "synthesise", watch)
    file = tmp_path / "tiny.saif"
    said: list[str] = []
    result = activity(config, groups=GROUPS, saif_file=file, progress=said.append)

    engine = engine_of(config)
    assert (result["groups"], result["lanes"]) == (GROUPS, 6)
    assert result["lane_values"] == 6 * GROUPS
    wires = toggles_of_lanes(engine.lanes(0, GROUPS + 1), bits=engine.value_bits)
    assert result["lane_wires"]["toggles"] == wires
    toggles = result["toggles"]
    assert toggles["memory"] == toggles["dsp"] == 0
    assert result["per_lane_value"] == pytest.approx(sum(toggles.values()) / (6 * GROUPS), abs=1e-6)
    assert sum(result["per_lane_value_by_class"].values()) == pytest.approx(
        result["per_lane_value"], abs=1e-5
    )
    assert result["label"].startswith("proxy for dynamic power")
    assert said[-1] == "simulating the RTL with Verilator"
    # 25 MHz, the clock of the board.
    assert result["saif"] == {"file": "tiny.saif", "clocks": GROUPS, "period_ps": 40_000}

    # Another simulator, on RTL instead of cells: each register toggles as often, exactly.
    text = file.read_text()
    assert f"(DURATION {GROUPS * 40_000})" in text
    found = saif.read(file)
    assert found["TOP", "tiny", "aclk"] == 2 * GROUPS
    assert found["TOP", "tiny", "aresetn"] == 0
    checked = 0
    for part in netlists[0].cells:
        if part.type.startswith("FD"):
            (net,) = part.outputs["Q"]
            for path, signal, bit in netlists[0].names[net]:
                names = [("TOP", "tiny", *path, n) for n in (f"{signal}[{bit}]", signal)]
                seen = {found[name] for name in names if name in found}
                # Names such as _012_ are not in the file.
                assert seen <= {int(sessions[0].toggles[net])}
                checked += bool(seen)
    assert result["nets"]["registers"] == result["clock"]["pins"]
    assert checked > 0.8 * result["nets"]["registers"]

    # RTL that does something else is found out; here, what it should do is changed.
    record = saif.record

    def other(design: Any, stimulus: saif.Stimulus, **more: Any) -> None:
        outputs = {name: bits.copy() for name, bits in stimulus.outputs.items()}
        outputs["m_axis_tdata"][stimulus.first + 5, 7] ^= 1
        record(design, dataclasses.replace(stimulus, outputs=outputs), **more)

    monkeypatch.setattr(saif, "record", other)
    with pytest.raises(CheckFailed, match=r"^the RTL of tiny must do .* in clock 5 of the window$"):
        activity(config, groups=GROUPS, saif_file=file)


STEP = (
    *("source.generators=3", "source.bits=4", "reuse.lanes=3", "core.name=little"),
    *("weights.bits=8", "weights.frac=5", "zo.epsilon_log2=-2"),
)


@pytest.mark.parametrize(
    ("preset", "overrides", "classes"),
    [
        # Block RAM. The preset, as its netlist is in the cache when other tests have run.
        ("zcu102-pregen", (), {"memory"}),
        # DSP blocks, and commands through registers.
        ("zcu102-step", STEP, {"dsp"}),
    ],
    ids=["pool", "step"],
)
def test_cores_with_memories_and_products(
    preset: str, overrides: tuple[str, ...], classes: set[str]
) -> None:
    result = activity(load(preset, overrides), groups=GROUPS)
    present = {name for name, count in result["nets"].items() if count}
    assert present == {"registers", "logic"} | classes
    assert all(result["toggles"][name] > 0 for name in ("registers", "logic"))
    most = {name: GROUPS * count for name, count in result["nets"].items()}
    assert all(result["toggles"][name] <= most[name] for name in most)
    assert result["saif"] is None


def _inverted(netlist: Netlist, kind: str) -> Netlist:
    """Invert the outputs of all LUTs of a kind."""

    def change(part: Cell) -> Cell:
        if part.type != kind:
            return part
        init = "".join("10"[int(bit)] for bit in part.parameters["INIT"])
        return dataclasses.replace(part, parameters={**part.parameters, "INIT": init})

    return dataclasses.replace(netlist, cells=tuple(map(change, netlist.cells)))


def test_a_netlist_that_does_not_work_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    synthesise = yosys.synthesise

    def broken(*files: Any, **more: Any) -> Synthesis:
        result = synthesise(*files, **more)
        return dataclasses.replace(result, netlist=_inverted(result.netlist, "LUT4"))

    monkeypatch.setattr(yosys, "synthesise", broken)
    with pytest.raises(CheckFailed, match="^the netlist must "):
        activity(load("tiny"), groups=GROUPS)


def test_groups_must_be_positive() -> None:
    with pytest.raises(PezoError, match="^groups must be at least 1, not 0$"):
        activity(load("tiny"), groups=0)
