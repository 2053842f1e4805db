"""Registers in a row with valid and ready, which hold what they have while nothing moves."""

from collections.abc import Sequence

from amaranth import Cat, Module, Signal, Value, ValueLike


class Pipeline:
    """The valid flags and clock enables of a row of registers.

    A register is loaded only with something valid, so none toggles while nothing comes in.

    Parameters
    ----------
    m : Module
        Where the flags go.
    stages : int
        Registers in the row.
    valid : Value
        Something comes in.
    ready : Value
        What the last stage holds is taken.
    clear : Value
        Drop all that is under way.
    elastic : bool
        Each stage moves on its own, so gaps close while the end waits; else all move at once, when
        the end moves.
    name : str
        Prefix of the flags.

    Attributes
    ----------
    ready : Value
        The first stage takes what comes in.
    valid : Value
        The last stage holds something.
    empty : Value
        No stage holds anything.
    """

    def __init__(
        self,
        m: Module,
        *,
        stages: int,
        valid: ValueLike,
        ready: ValueLike,
        clear: ValueLike = 0,
        elastic: bool = False,
        name: str = "valid",
    ):
        self._m = m
        self._valid = [Value.cast(valid)]
        flags = [Signal(name=f"{name}_{i}") for i in range(1, stages + 1)]
        self._valid += flags
        self._moves: list[Value] = []
        after: Value = Value.cast(ready)
        for number in range(stages, 0, -1):
            if elastic or number == stages:
                move = Signal(name=f"{name}_moves_{number}" if elastic else f"{name}_moves")
                m.d.comb += move.eq(~flags[number - 1] | after)
                after = move
            self._moves.insert(0, after)
        cleared = Value.cast(clear)
        for number, flag in enumerate(flags):
            with m.If(cleared):
                m.d.sync += flag.eq(0)
            with m.Elif(self._moves[number]):
                m.d.sync += flag.eq(self._valid[number])
        self.ready = self._moves[0]
        self.valid = flags[-1]
        self.empty = ~Cat(flags).any()

    def loads(self, stage: int) -> Value:
        """Return whether a stage, counted from 1, is loaded at the next clock edge."""
        return self._moves[stage - 1] & self._valid[stage - 1]

    def register(self, stage: int, values: Sequence[tuple[Signal, ValueLike]]) -> None:
        """Let registers take values whenever a stage is loaded."""
        with self._m.If(self.loads(stage)):
            self._m.d.sync += [register.eq(value) for register, value in values]

    def delay(self, value: Value, *, first: int, last: int, name: str) -> Value:
        """Return a value that came in at stage `first` as it is behind stage `last`."""
        for stage in range(first, last + 1):
            register = Signal(value.shape(), name=f"{name}_{stage}", reset_less=True)
            self.register(stage, [(register, value)])
            value = register
        return value
