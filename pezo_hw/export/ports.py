"""The ports of the wrapper, as data: wrapper, manifest and benches are made from them."""

from __future__ import annotations

from dataclasses import dataclass

from pezo_hw.export.rtl import Core
from pezo_hw.gateware.control import COUNTER_BITS, LENGTH_BITS
from pezo_hw.golden.seeded import SeededEngine


@dataclass(frozen=True)
class Port:
    """A port of the wrapper.

    Attributes
    ----------
    name : str
    direction : str
        "input" or "output".
    width : int
        Bits.
    core : str
        Port of the core that it leads to, with the bits as a Verilog part select if it is a part.
    description : str
    bus : str or None
        Name of the AXI4-Stream it belongs to.
    signed : bool
        Whether its value is a signed number.
    """

    name: str
    direction: str
    width: int
    core: str
    description: str
    bus: str | None = None
    signed: bool = False


def ports(core: Core) -> list[Port]:
    """Return the wrapper's ports except clock and reset, in order."""
    if core.config.core.kind == "perturbation":
        return _perturbation(core)
    return _step(core)


def _perturbation(core: Core) -> list[Port]:
    width = core.model.value_bits * core.model.lane_count
    padded = -(-width // 8) * 8
    index = core.model.index_bits
    texts = _COMMANDS[isinstance(core.model, SeededEngine)]
    return [
        Port(
            "m_axis_tdata",
            "output",
            padded,
            "z__payload",
            f"{core.model.lane_count} lane values of {core.model.value_bits} bits, lane 0 lowest",
            "m_axis",
        ),
        Port("m_axis_tvalid", "output", 1, "z__valid", "a group is offered", "m_axis"),
        Port("m_axis_tready", "input", 1, "z__ready", "the group is taken: advance", "m_axis"),
        Port("capture", "input", 1, "capture", texts["capture"]),
        Port("restore", "input", 1, "restore", texts["restore"]),
        Port("start", "input", 1, "start", texts["start"]),
        Port("start_index", "input", index, "start_index", texts["start_index"]),
        Port("busy", "output", 1, "busy", texts["busy"]),
    ]


# What the commands of a perturbation core do, by whether its source is a seeded one.
_COMMANDS = {
    False: {
        "capture": "with a transfer: the next group is the start of the step",
        "restore": "go back to the start of the step",
        "start": "go to group start_index and make it the start of the step",
        "start_index": "group index k; hold until busy falls",
        "busy": "on the way to start_index",
    },
    True: {
        "capture": "with a transfer: the next seed is that of the next step",
        "restore": "begin the stream of the seed again",
        "start": "take start_index as the seed and begin its stream",
        "start_index": "seed, taken with start",
        "busy": "the seed is being expanded",
    },
}


def _step(core: Core) -> list[Port]:
    weights, zo = core.config.weights, core.config.zo
    assert weights is not None and zo is not None
    width = core.model.lane_count * weights.bits
    keep = width // 8
    seeded = isinstance(core.model, SeededEngine)
    index = core.model.index_bits
    result = []
    for bus, flow, stream in (("s_axis", "in", "weights_in"), ("m_axis", "out", "weights_out")):
        forward, back = ("input", "output") if flow == "in" else ("output", "input")
        payload = f"{stream}__payload"
        result += [
            Port(
                f"{bus}_tdata",
                forward,
                width,
                f"{payload}[{width - 1}:0]",
                f"{core.model.lane_count} weights of {weights.bits} bits, lane 0 lowest",
                bus,
            ),
            Port(
                f"{bus}_tkeep",
                forward,
                keep,
                f"{payload}[{width + keep - 1}:{width}]",
                "bytes that hold weights",
                bus,
            ),
            Port(
                f"{bus}_tlast",
                forward,
                1,
                f"{payload}[{width + keep}]",
                "last beat of the sweep",
                bus,
            ),
            Port(f"{bus}_tvalid", forward, 1, f"{stream}__valid", "a beat is offered", bus),
            Port(f"{bus}_tready", back, 1, f"{stream}__ready", "the beat is taken", bus),
        ]
    result += [
        Port("go", "input", 1, "command__go", "begin a sweep; ignored while busy"),
        Port("beats", "input", LENGTH_BITS, "command__beats", "beats of the sweep"),
        Port("k", "input", 3, "command__k", "multiple of the perturbation, -2 to 2", signed=True),
        Port(
            "coefficient",
            "input",
            zo.coefficient_bits,
            "command__coefficient",
            "C, signed; 0 in a plain perturb sweep",
            signed=True,
        ),
        Port("dither_seed", "input", 32, "command__dither_seed", "seed of the stochastic rounding"),
        Port(
            "capture",
            "input",
            1,
            "command__capture",
            "make the end of this sweep the start of the next step",
        ),
        Port(
            "start",
            "input",
            1,
            "command__start",
            "make start_index the seed of the step; not while busy"
            if seeded
            else "make group start_index the start of the step; ignored during a sweep",
        ),
        Port(
            "start_index",
            "input",
            index,
            "command__start_index",
            f"{'seed' if seeded else 'group index k'}; hold until busy falls",
        ),
        Port(
            "busy",
            "output",
            1,
            "command__busy",
            f"a sweep or {'an expansion' if seeded else 'the way to start_index'} is under way",
        ),
        Port("done", "output", 1, "command__done", "for one clock: the sweep has ended"),
        Port(
            "saturations",
            "output",
            COUNTER_BITS,
            "command__saturations",
            "weights of the last sweep that were limited",
        ),
        Port(
            "tlast_error",
            "output",
            1,
            "command__tlast_error",
            "TLAST of the last sweep did not come with its last beat",
        ),
    ]
    return result
