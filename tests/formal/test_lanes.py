"""A lane gives sat(weight - change) for every weight and every change, and counts each limit once.

By induction over any number of beats and any stalls.
"""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring

from pezo_hw.gateware.lanes import Lanes
from tests.formal.sby import Opened, Proof

# Lanes, bits of a weight, bits of a change: narrower than, as wide as and wider than the weight.
# With more than six lanes the count takes another level.
SIZES = [(1, 8, 5), (2, 8, 8), (7, 8, 9), (2, 16, 12), (1, 16, 19)]


def _clamped(value: Any, *, bits: int) -> tuple[Any, Any]:
    """Return a value limited to `bits` bits, and whether the limit acted."""
    most, least = (1 << (bits - 1)) - 1, -(1 << (bits - 1))
    limited = Mux(value > most, most, Mux(value < least, least, value))
    return limited[:bits].as_signed(), (value > most) | (value < least)


class Description:
    """What the lanes must do, as a pipeline of whole beats.

    Attributes
    ----------
    differences : list of list of Signal
        weight - change of each lane, exactly, for the beats in the first to the last stage.
    keep, last, valid : list of Signal
        What belongs to them.
    limited : list of Signal
        In how many kept lanes the limit acted, 0, 1, ... clocks after a beat left the first stage.
    """

    def __init__(self, proof: Proof, name: str, lanes: Any, *, delay: int):
        m, taken, given = proof.m, lanes.weights_in, lanes.weights_out
        proof.free(taken.valid, taken.payload, lanes.change, given.ready)
        count = lanes.change.shape().length
        bits = taken.payload.shape()["data"].shape.elem_shape.width
        wide = signed(max(bits, lanes.change.shape().elem_shape.width) + 1)
        enable = ~given.valid | given.ready
        exact = [taken.payload.data[i] - lanes.change[i] for i in range(count)]
        self.differences = [
            [
                Signal(wide, name=f"{name}_difference_{stage}_{i}", reset_less=True)
                for i in range(count)
            ]
            for stage in range(3)
        ]
        keep_shape = unsigned(count * bits // 8)
        self.keep = [
            Signal(keep_shape, name=f"{name}_keep_{stage}", reset_less=True) for stage in range(3)
        ]
        self.last = [Signal(name=f"{name}_last_{stage}") for stage in range(3)]
        self.valid = [Signal(name=f"{name}_valid_{stage}") for stage in range(3)]
        before: list[Any] = exact
        keep, last, valid = taken.payload.keep, taken.payload.last, taken.valid
        for stage in range(3):
            # Loaded with a beat only, so that nothing toggles without one.
            with m.If(enable & valid):
                m.d.sync += [q.eq(d) for q, d in zip(self.differences[stage], before, strict=True)]
                m.d.sync += [self.keep[stage].eq(keep), self.last[stage].eq(last)]
            with m.If(enable):
                m.d.sync += self.valid[stage].eq(valid)
            before = self.differences[stage]
            keep, last, valid = self.keep[stage], self.last[stage], self.valid[stage]

        acted = [
            _clamped(self.differences[0][i], bits=bits)[1] & self.keep[0][i * bits // 8]
            for i in range(count)
        ]
        self.limited = [Signal(range(count + 1), name=f"{name}_counted_{i}") for i in range(delay)]
        now: Any = Mux(enable & self.valid[0], sum(acted), 0)
        for signal in self.limited:
            m.d.sync += signal.eq(now)
            now = signal

        proof.always(f"{name}_accepts", taken.ready == enable)
        proof.always(f"{name}_valid", given.valid == self.valid[2])
        values = [_clamped(self.differences[2][i], bits=bits)[0] for i in range(count)]
        right = Cat(given.payload.data[i] == values[i] for i in range(count)).all()
        proof.always(f"{name}_values", ~given.valid | right)
        same = (given.payload.keep == self.keep[2]) & (given.payload.last == self.last[2])
        proof.always(f"{name}_flags", ~given.valid | same)
        proof.always(f"{name}_saturated", lanes.saturated == self.limited[-1])
        on_the_way = Cat(self.valid).any() | Cat(self.limited).any()
        proof.always(f"{name}_empty", ~lanes.empty | ~on_the_way)
        proof.stable(name, given)


def _add(proof: Proof, name: str, *, lanes: int, bits: int, change: int) -> None:
    component = Lanes(lanes, bits=bits, change=signed(change))
    inside = Opened(component)
    proof.m.submodules[name] = inside.fragment
    levels = len({path.split("_")[1] for path in inside.registers if path.startswith("count_")})
    described = Description(proof, name, component, delay=1 + levels)

    # What the induction needs to know of the inside.
    for stage in range(3):
        same = (
            (inside[f"valid_{stage + 1}"] == described.valid[stage])
            & (inside[f"keep_{stage + 1}"] == described.keep[stage])
            & (inside[f"last_{stage + 1}"] == described.last[stage])
        )
        proof.always(f"{name}_stage_{stage}", ~described.valid[stage] | same)
        kept = inside[f"valid_{stage + 1}"] == described.valid[stage]
        proof.always(f"{name}_valid_{stage}", kept)
    for i in range(lanes):
        first, second, third = (described.differences[stage][i] for stage in range(3))
        proof.always(f"{name}_difference_{i}", inside[f"difference_{i}"] == first)
        high = Mux(inside[f"was_high_{i}"], -1, inside[f"lower_{i}"])[: bits - 1]
        between = Cat(high, inside[f"lower_sign_{i}"]).as_signed()
        proof.always(f"{name}_between_{i}", between == _clamped(second, bits=bits)[0])
        out = Cat(inside[f"both_{i}"], inside[f"both_sign_{i}"]).as_signed()
        proof.always(f"{name}_out_{i}", out == _clamped(third, bits=bits)[0])
    flags = [inside[f"limited_{i}"] for i in range(lanes)]
    proof.always(f"{name}_limited", sum(flags) == described.limited[0])
    for level in range(levels):
        prefix = f"count_{level}_"
        counts = [r for path, r in inside.registers.items() if path.startswith(prefix)]
        proof.always(f"{name}_level_{level}", sum(counts) == described.limited[level + 1])
    counting = inside["counting"]
    for stage, signal in enumerate(described.limited):
        proof.always(f"{name}_counting_{stage}", counting[stage] | ~signal.any())


def test_lanes_saturate_and_count() -> None:
    proof = Proof()
    for lanes, bits, change in SIZES:
        _add(proof, f"lanes_{lanes}x{bits}_{change}", lanes=lanes, bits=bits, change=change)
    proof.prove(depth=2)


class _Faulty(wiring.Component):
    """Lanes with a fault at their ports."""

    def __init__(self) -> None:
        self.inner = Lanes(2, bits=8, change=signed(6))
        super().__init__(self.inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = self.inner
        wiring.connect(m, self.inner, wiring.flipped(self))
        self.spoil(m)
        return m

    def spoil(self, m: Module) -> None:
        """Change the connections."""


class _Adds(_Faulty):
    """Adds what should be subtracted."""

    def spoil(self, m: Module) -> None:
        m.d.comb += [self.inner.change[i].eq(-self.change[i]) for i in range(2)]


class _Wraps(_Faulty):
    """Saturates one LSB short of the top."""

    def spoil(self, m: Module) -> None:
        value = self.inner.weights_out.payload.data[1]
        m.d.comb += self.weights_out.payload.data[1].eq(Mux(value == 127, 126, value))


class _CountsAll(_Faulty):
    """Counts lanes that TKEEP leaves out."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.inner.weights_in.payload.keep.eq(-1)


class _Forgets(_Faulty):
    """Is empty as soon as the last beat has left, whether counted or not."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.empty.eq(~self.inner.weights_out.valid)


class _Overwrites(_Faulty):
    """Takes the next beat while the last one waits."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.inner.weights_out.ready.eq(1)


def test_broken_lanes_are_caught() -> None:
    mutants = {
        "adds": (_Adds, "values"),
        "wraps": (_Wraps, "values"),
        "counts_all": (_CountsAll, "saturated"),
        "forgets": (_Forgets, "empty"),
        "overwrites": (_Overwrites, "payload_kept"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    for name, (mutant, _) in mutants.items():
        component = mutant()
        proof.m.submodules[name] = component
        Description(proof, name, component, delay=2)
    proof.cover(depth=8)
