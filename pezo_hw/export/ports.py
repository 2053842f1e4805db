"""The ports of the wrapper, as data: wrapper, manifest and benches are made from them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import Shape
from amaranth.lib.wiring import Flow

from pezo_hw.export.rtl import Core
from pezo_hw.gateware.axi_lite import axi_lite_signature
from pezo_hw.gateware.control import command_signature
from pezo_hw.golden.schedules import outputs_of
from pezo_hw.golden.seeded import SeededEngine

AXI_LITE, INTERRUPT = "s_axi", "irq"


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
        Name of the AXI4-Stream or AXI4-Lite it belongs to.
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
    control = core.config.control
    if control is None:
        return _perturbation(core)
    if control.interface == "axi-lite":
        return [*_streams(core), *_registers()]
    return [*_streams(core), *_commands(core)]


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


# Output streams of a step core, by output.
_OUTPUTS = {"weights": "m_axis", "plus": "m_axis_plus", "minus": "m_axis_minus"}


def _streams(core: Core) -> list[Port]:
    weights, zo = core.config.weights, core.config.zo
    assert weights is not None and zo is not None
    width = core.model.lane_count * weights.bits
    keep = width // 8
    result = []
    outputs = [(_OUTPUTS[name], f"{name}_out") for name in outputs_of(zo.schedule)]
    for bus, stream in [("s_axis", "weights_in"), *outputs]:
        forward, back = ("input", "output") if bus == "s_axis" else ("output", "input")
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
    return result


# Verilator warns of a port that has the name of a function of C.
_RENAMED = {"abort": "abort_sweep"}

# What the commands of a step core do, in the order of the ports; a core has some of them.
_STEP_COMMANDS = {
    "go": "begin a sweep; ignored while busy",
    "beats": "beats of the sweep",
    "kind": "kind of the sweep: 0 in-place, 1 inline, 2 inline-both, 3 fused",
    "k": "multiple of the perturbation, -2 to 2",
    "coefficient": "C, signed; 0 in a plain perturb sweep",
    "dither_seed": "seed of the stochastic rounding",
    "capture": "make the end of this sweep the start of the next step",
    "capture_b": "the same for engine B",
    "start": "make group start_index the start of the step; ignored during a sweep",
    "start_index": "group index k; hold until busy falls",
    "abort": "end the sweep with the beats under way",
    "flush": "outside a sweep: drop beats up to the next TLAST; hold until it has come",
    "tensor_count": "tensors that the sweep goes over; 0: beats without the table",
    "table_write": "write to the table of tensors; not during a sweep",
    "table_index": "tensor that is written",
    "table_field": "0: its beats; 1: its settings",
    "table_data": "what is written",
    "busy": "a flush, a sweep or the way to start_index is under way",
    "sweeping": "a sweep is under way",
    "done": "for one clock: the sweep has ended",
    "saturations": "weights of the last sweep that were limited",
    "beats_done": "beats that the last sweep has taken in",
    "tlast_early": "the last sweep ended with a TLAST before its last beat",
    "tlast_late": "the last sweep ended without a TLAST on its last beat",
    "aborted": "the last sweep was ended by abort",
}

# The same where a seed starts the groups.
_SEEDED_COMMANDS = {
    "start": "make start_index the seed of the step; not while busy",
    "start_index": "seed; hold until busy falls",
    "busy": "a flush, a sweep or an expansion is under way",
}


def _commands(core: Core) -> list[Port]:
    texts = _STEP_COMMANDS
    if isinstance(core.model, SeededEngine):
        texts = texts | _SEEDED_COMMANDS
    zo, control = core.config.zo, core.config.control
    assert zo is not None and control is not None
    members = command_signature(
        coefficient_bits=zo.coefficient_bits,
        index_bits=core.model.index_bits,
        schedule=zo.schedule,
        tensors=control.tensors,
    ).members
    assert set(members) <= set(texts), "each command needs a text"
    result = []
    for name, text in texts.items():
        if name in members:
            shape = Shape.cast(members[name].shape)
            direction = "input" if members[name].flow is Flow.In else "output"
            port = Port(
                _RENAMED.get(name, name),
                direction,
                shape.width,
                f"command__{name}",
                text,
                signed=shape.signed,
            )
            result.append(port)
    return result


_AXI_LITE = {
    "awaddr": "address of a write, in bytes",
    "awvalid": "an address is offered",
    "awready": "the address is taken",
    "wdata": "what is written",
    "wstrb": "bytes that are written",
    "wvalid": "data is offered",
    "wready": "the data is taken",
    "bresp": "0: written; 2: SLVERR",
    "bvalid": "a response to a write is offered",
    "bready": "the response is taken",
    "araddr": "address of a read, in bytes",
    "arvalid": "an address is offered",
    "arready": "the address is taken",
    "rdata": "what was read",
    "rresp": "0: read; 2: SLVERR",
    "rvalid": "data is offered",
    "rready": "the data is taken",
}


def _registers() -> list[Port]:
    """Return the ports of the registers' bus and the interrupt."""
    bus = AXI_LITE
    result = []
    for name, member in axi_lite_signature().members.items():
        # The signature is the manager's.
        direction = "input" if member.flow is Flow.Out else "output"
        width = Shape.cast(member.shape).width
        text = _AXI_LITE[name]
        result.append(Port(f"{bus}_{name}", direction, width, f"{bus}__{name}", text, bus))
    return [*result, Port(INTERRUPT, "output", 1, INTERRUPT, "interrupt, active high")]
