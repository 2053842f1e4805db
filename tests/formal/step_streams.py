"""What every step core's streams must keep, as properties of a proof."""

from __future__ import annotations

from typing import Any

from amaranth import Cat

from pezo_hw import config
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.schedules import outputs_of
from tests.formal.sby import Opened, Proof

LANES = 2


def configured(*, frac: int, schedule: str = "in-place", tensors: int = 0) -> config.Config:
    """Return the smallest step core: the perturbation drops 6 - `frac` bits, or none."""
    return config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": {"kind": "on-the-fly", "generators": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "reuse": {"lanes": LANES},
            "weights": {"bits": 8, "frac": frac},
            "zo": {
                "schedule": schedule,
                "epsilon_log2": -3,
                "coefficient_bits": 8,
                "coefficient_shift": 4,
            },
            "control": {"tensors": tensors},
        }
    )


def outputs(core: Any) -> dict[str, Any]:
    """Return the output streams that a core has."""
    names = [f"{name}_out" for name in outputs_of("fused")]
    return {name: getattr(core, name) for name in names if hasattr(core, name)}


def free(proof: Proof, core: Any) -> None:
    """Let all inputs of a step core take any value."""
    command = core.command
    for name, member in core.signature.members["command"].signature.members.items():
        if member.flow.name == "In":
            proof.free(getattr(command, name))
    proof.free(core.weights_in.valid, core.weights_in.payload)
    for output in outputs(core).values():
        proof.free(output.ready)


def describe(proof: Proof, name: str, core: Any) -> None:
    """Claim what a step core's ports must keep."""
    command, weights_in = core.command, core.weights_in
    free(proof, core)
    given = outputs(core)
    for port, output in given.items():
        proof.stable(name if port == "weights_out" else f"{name}_{port}", output)
    # No weight is taken outside a sweep and a flush, and all have left when it ends.
    proof.always(f"{name}_idle", command.sweeping | command.flush | ~weights_in.ready)
    waits = Cat(output.valid for output in given.values()).any() | weights_in.ready
    proof.always(f"{name}_drained", ~command.done | ~waits)
    # A status that software reads between sweeps does not move there.
    ends = proof.past(~command.busy & ~command.go & ~command.flush) & ~proof.was_reset
    for status in ("saturations", "beats_done", "tlast_early", "tlast_late", "aborted"):
        value = getattr(command, status)
        proof.always(f"{name}_{status}_kept", ~ends | (value == proof.past(value)))


def add(proof: Proof, name: str, given: config.Config) -> None:
    """Add a step core, what it must keep, and what the induction needs to know of its inside."""
    core = StepCore(given, model=Engine(given))
    inside = Opened(core)
    proof.m.submodules[name] = inside.fragment
    describe(proof, name, core)
    # Nothing is on its way before a sweep, and only what is on its way is counted.
    before = inside["control/idle"] | inside["control/mix"]
    sets = [path for path in ("lane_path", "plus_path", "minus_path") if f"{path}/empty" in inside]
    for path in sets:
        proof.always(f"{name}_{path}_empty", ~before | inside[f"{path}/empty"])
        counting = inside[f"{path}/counting"]
        limited = Cat(inside[f"{path}/limited_{i}"] for i in range(LANES))
        proof.always(f"{name}_{path}_limited", ~limited.any() | counting[0])
        counted = inside[f"{path}/count_0_0"]
        proof.always(f"{name}_{path}_counted", ~counted.any() | counting[1])
    if len(sets) > 1:
        was_busy = inside["tally/was_busy"]
        proof.always(f"{name}_tally", was_busy | ~inside["tally/saturated"].any())
        proof.always(f"{name}_tally_empty", ~(before & was_busy))
    if "fork/served" in inside:
        offered = inside["lane_path/weights_out__valid"] & inside["word_path_b/p__valid"]
        proof.always(f"{name}_served", offered | ~inside["fork/served"].any())
