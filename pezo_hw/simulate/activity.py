"""Switching activity of a core, as a proxy for the dynamic power that it takes.

The netlist that `pezo report` counts is run for a number of groups without stalls, and the changes
of its nets are counted, by class and for each lane value. What comes out is checked against the
golden model, value by value, so the netlist that is counted is one that works.

What this figure is not: it has no capacitances, so a net that drives a thousand lanes counts as
much as one that drives a LUT; it has no delays, so it has no glitches, of which adders and trees of
comparators have most; nothing inside block RAMs and DSP blocks counts, only what they give; clock
and lanes are told apart from the sum. It compares designs; it is not in watts. For watts there is
the SAIF file, which a vendor's power estimator takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import Config
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.export import folder
from pezo_hw.export.rtl import Core, build
from pezo_hw.gateware.ip import StepIp
from pezo_hw.golden.step import StepCore
from pezo_hw.simulate import saif
from pezo_hw.simulate.design import Design
from pezo_hw.simulate.netlist import CLASSES, Bits, Simulation
from pezo_hw.synth import cache, yosys
from pezo_hw.synth.boards import resolve

__all__ = ["GROUPS", "LABEL", "activity"]

GROUPS = 256
"""Groups that are simulated by default."""

LABEL = "proxy for dynamic power (toggles without delays, not watts)"
"""What every figure is labelled as."""

# Whatever the core's board: figures are for comparison, so all are of the same family.
_BOARD = "zcu102"
# Part of every key of the cache: raise it when the result changes.
_FORMAT = "activity 1"
_RESET_CLOCKS = 4
# Beats that a step core is given beyond those that count, so that it is busy to the end.
_MORE_BEATS = 64
# No core takes longer from its reset to the first group.
_PATIENCE = 1 << 12

Progress = Callable[[str], None]


def activity(
    config: Config,
    *,
    groups: int = GROUPS,
    saif_file: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Count the toggles of a core.

    Parameters
    ----------
    config : Config
        A checked configuration, for any board; the netlist is one for UltraScale+.
    groups : int
        How many groups, at least 1; for a step core, beats of random weights in a sweep that
        restores and updates.
    saif_file : Path, optional
        Where to write the activity of the RTL in the same clocks, from Verilator, at the clock of
        the core's board. The RTL must then do what the netlist does.
    progress : callable, optional
        Called with a line of text at each stage.

    Returns
    -------
    dict
        Ready for JSON. ``label``; ``family``; ``tool``; ``groups``; ``lanes``; ``lane_values``:
        their product; ``toggles`` and ``nets`` by class, see
        `pezo_hw.simulate.netlist.CLASSES`; ``per_lane_value``: toggles of all classes for each
        lane value; ``per_lane_value_by_class``; ``lane_wires``: ``toggles`` and
        ``per_lane_value`` of the bits of all lanes, which are not in the sum; ``clock``: ``pins``,
        and ``per_lane_value``, two toggles a clock and pin, not in the sum; ``saif``: null, or
        ``file``, ``clocks``, ``period_ps``.

    Raises
    ------
    CheckFailed
        If the netlist gives other values than the golden model, or the RTL than the netlist.
    PezoError
        If a tool is missing or fails, or the netlist has a cell that cannot be simulated.
    """
    if groups < 1:
        raise PezoError(f"groups must be at least 1, not {groups}")
    say = progress or (lambda _: None)
    core, board = build(config), resolve(_BOARD)
    own = resolve(config.board_reference)
    with folder.temporary(core, board=own) as directory:
        design = Design.read(directory)
        parts = [part for file in design.sources for part in (file.name, file.read_bytes())]
        name = cache.key(_FORMAT, yosys.version(), board.synth, str(groups), *parts)
        result = _usable(cache.load(name))
        if result is not None and saif_file is None:
            return result
        say("synthesising for UltraScale+ with Yosys")
        synthesis = yosys.synthesise(design.sources, top=design.top, board=board)
        say(f"simulating {groups} groups of the netlist")
        session = _Session(Simulation(synthesis.netlist))
        samples = _STIMULI[config.core.kind](session, core, groups)
        result = _summary(session.simulation, samples, core=core, groups=groups)
        cache.store(name, result)
        if saif_file is not None:
            say("simulating the RTL with Verilator")
            period = 2 * round(1e12 / own.clock_hz / 2)
            saif.record(design, session.stimulus(), period_ps=period, path=saif_file)
            result = {
                **result,
                "saif": {"file": saif_file.name, "clocks": groups, "period_ps": period},
            }
    return result


def _usable(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    # A cache entry may hold anything.
    return dict(result) if result is not None and "per_lane_value" in result else None


def _summary(simulation: Simulation, samples: Bits, *, core: Core, groups: int) -> dict[str, Any]:
    toggles, lanes = simulation.toggles_by_class(), core.model.lane_count
    values = groups * lanes
    wires = int((samples[1:] != samples[:-1]).sum())
    pins = simulation.clocked
    return {
        "label": LABEL,
        "family": "xcup",
        "tool": f"netlist of Yosys {yosys.version()}, run without delays",
        "groups": groups,
        "lanes": lanes,
        "lane_values": values,
        "nets": simulation.nets_by_class(),
        "toggles": toggles,
        "per_lane_value": round(sum(toggles.values()) / values, 6),
        "per_lane_value_by_class": {name: round(toggles[name] / values, 6) for name in CLASSES},
        "lane_wires": {"toggles": wires, "per_lane_value": round(wires / values, 6)},
        "clock": {"pins": pins, "per_lane_value": round(2 * pins / lanes, 6)},
        "saif": None,
    }


class _Session:
    """A simulation whose ports are recorded."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        self._inputs: dict[str, list[Bits]] = {n: [] for n in simulation.inputs if n != "aclk"}
        self._outputs: dict[str, list[Bits]] = {name: [] for name in simulation.outputs}
        self._first = 0
        self.set(**dict.fromkeys(self._inputs, 0))

    def set(self, **values: int) -> None:
        """Give inputs a value, which may be negative."""
        for name, value in values.items():
            width = len(self.simulation.inputs[name])
            data = (value % (1 << width)).to_bytes(-(-width // 8), "little")
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
            self.simulation.set(name, bits[:width])

    def clock(self) -> None:
        """Record the settled ports, and let a rising edge come."""
        for name, rows in self._inputs.items():
            rows.append(self.simulation.values[self.simulation.inputs[name]])
        for name, rows in self._outputs.items():
            rows.append(self.simulation.get(name))
        self.simulation.clock()

    def is_high(self, output: str) -> bool:
        """Return an output of one bit."""
        return bool(self.simulation.get(output)[0])

    def wait_for(self, output: str, *, value: bool) -> None:
        """Clock until an output has a value; the logic is settled then."""
        for _ in range(_PATIENCE):
            self.simulation.settle()
            if self.is_high(output) == value:
                return
            self.clock()
        raise CheckFailed(f"the netlist must have {output} = {int(value)} at last, but has not")

    def reset(self) -> None:
        """Reset the core."""
        for _ in range(_RESET_CLOCKS):
            self.simulation.settle()
            self.clock()
        self.set(aresetn=1)

    def begin_window(self) -> None:
        """Let the window begin with the clock that comes."""
        self._first = len(self._outputs["m_axis_tvalid"])

    def look(self) -> Bits:
        """Count the changes since the clock before, and return the data of the group offered."""
        if not self.is_high("m_axis_tvalid"):
            raise CheckFailed("the netlist must offer a group in every clock, but has a gap")
        self.simulation.count()
        return self.simulation.get("m_axis_tdata")

    def stimulus(self) -> saif.Stimulus:
        """Return what was recorded."""
        return saif.Stimulus(
            inputs={name: np.array(rows) for name, rows in self._inputs.items()},
            outputs={name: np.array(rows) for name, rows in self._outputs.items()},
            first=self._first,
        )


def _perturbation(session: _Session, core: Core, groups: int) -> Bits:
    session.reset()
    session.set(m_axis_tready=1)
    session.wait_for("m_axis_tvalid", value=True)
    session.begin_window()
    rows = []
    for _ in range(groups + 1):
        session.simulation.settle()
        rows.append(session.look())
        session.clock()
    lanes, bits = core.model.lane_count, core.model.value_bits
    samples = np.array(rows)[:, : lanes * bits]
    _compare(_numbers(samples, bits=bits), core.model.lanes(0, groups + 1))
    return samples


def _step(session: _Session, core: Core, groups: int) -> Bits:
    weights, zo = core.config.weights, core.config.zo
    assert weights is not None and zo is not None
    beats, lanes = groups + _MORE_BEATS, core.model.lane_count
    # Weights of a quarter of the range, so that few are limited; any random ones do.
    quarter = 1 << (weights.bits - 2)
    data = np.random.default_rng(1).integers(-quarter, quarter, (beats, lanes))
    k, coefficient, seed = 1, 3 << (zo.coefficient_bits - 4), 1

    session.reset()
    _go(session, core, beats=beats, k=k, coefficient=coefficient, dither_seed=seed)
    session.set(m_axis_tready=1, s_axis_tvalid=1)
    session.set(s_axis_tkeep=-1)
    rows: list[Bits] = []
    taken = 0
    for _ in range(_PATIENCE + beats):
        session.set(s_axis_tdata=_joined(data[min(taken, beats - 1)], bits=weights.bits))
        session.simulation.settle()
        if rows or session.is_high("m_axis_tvalid"):
            if not rows:
                session.begin_window()
            rows.append(session.look())
        taken += session.is_high("s_axis_tready")
        session.clock()
        if len(rows) > groups:
            break
    samples = np.array(rows)
    result = StepCore(core.config).sweep(
        data.ravel(), k=k, coefficient=coefficient, dither_seed=seed
    )
    golden = result.weights.reshape(beats, lanes)[: groups + 1]
    _compare(_numbers(samples, bits=weights.bits), golden)
    return samples


def _go(session: _Session, core: Core, **commands: int) -> None:
    """Begin a sweep."""
    if not isinstance(core.component, StepIp):
        session.wait_for("busy", value=False)
        session.set(go=1, **commands)
        session.simulation.settle()
        session.clock()
        session.set(go=0)
        return
    registers = core.component.registers
    session.set(s_axi_bready=1, s_axi_wstrb=-1)
    words = [
        ("SWEEP", registers["SWEEP"].pack(k=commands["k"])),
        ("LENGTH", commands["beats"]),
        ("COEFFICIENT", registers["COEFFICIENT"].pack(c=commands["coefficient"])),
        *([("DITHER_SEED", commands["dither_seed"])] if "DITHER_SEED" in registers else []),
        ("CONTROL", registers["CONTROL"].pack(go=1)),
    ]
    for name, word in words:
        session.set(s_axi_awvalid=1, s_axi_wvalid=1)
        session.set(s_axi_awaddr=registers[name].address(), s_axi_wdata=word)
        # Both are taken in the first clock, as none waits.
        session.simulation.settle()
        session.clock()
        session.set(s_axi_awvalid=0, s_axi_wvalid=0)
        session.wait_for("s_axi_bvalid", value=True)
        session.clock()
    session.set(s_axi_bready=0)


_STIMULI: Mapping[str, Callable[[_Session, Core, int], Bits]] = {
    "perturbation": _perturbation,
    "zo-step": _step,
}


def _joined(values: NDArray[np.integer], *, bits: int) -> int:
    return sum((int(value) % (1 << bits)) << (bits * i) for i, value in enumerate(values))


def _numbers(samples: Bits, *, bits: int) -> NDArray[np.int64]:
    """Return bits as signed numbers, shape (clocks, lanes)."""
    weights = 1 << np.arange(bits, dtype=np.int64)
    weights[-1] = -weights[-1]
    return samples.reshape(len(samples), -1, bits) @ weights


def _compare(found: NDArray[np.int64], golden: NDArray[np.integer]) -> None:
    if found.shape != golden.shape or not np.array_equal(found, golden):
        wrong = np.argwhere(found != golden)[0] if found.shape == golden.shape else (0, 0)
        raise CheckFailed(
            "the netlist must give what the golden model gives, but differs from group "
            f"{wrong[0]}, lane {wrong[1]} on"
        )
