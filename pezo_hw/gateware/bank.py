"""The generator bank: a ring of registers whose step is the rotation."""

from amaranth import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden import bank as golden

from .lfsr import next_state, state_of_word, word_of_state


class Bank(wiring.Component):
    """n LFSRs in lock-step, with the snapshot that `restore` goes back to.

    The registers hold signed words. With ``rotation = "clock"`` position i steps to M s_(i+1), so
    rotating costs nothing; with ``"period"`` it does so once a period, and steps to M s_i
    otherwise. A row of M has at most 4 taps, so that with the restore input a state bit is one
    LUT6 deep.

    Latency: a command acts at the next clock edge. Throughput: one group a clock.

    Parameters
    ----------
    bank : golden.Bank
        Matrix, phases and rotation.
    prefetched : bool
        Which group a capture takes: the one shown (True: for a consumer that is one group behind),
        or the one shown after this clock (False: for one that takes the words as they stand here).
    tracked : bool
        Provide `tracked_next`, which addresses a norm table.

    Members
    -------
    step : In(1)
        Go to the next group.
    restore : In(1)
        Go back to the snapshot; wins over `step`.
    capture : In(1)
        Take the snapshot; without `prefetched` only in a clock with `step` or `restore`.
    clear : In(1)
        Make group 0 the snapshot; wins over `capture`.
    words : Out(ArrayLayout(signed(b), n))
        The current group.
    tracked_next : Out(b)
        State v of generator 0 after the next step or restore, wherever it is in the ring.
    """

    def __init__(self, bank: golden.Bank, *, prefetched: bool, tracked: bool):
        self._bank = bank
        self._prefetched = prefetched
        self._tracked = tracked or bank.rotation == "period"
        super().__init__(
            {
                "step": In(1),
                "restore": In(1),
                "capture": In(1),
                "clear": In(1),
                "words": Out(data.ArrayLayout(signed(bank.bits), bank.words)),
                "tracked_next": Out(bank.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bank = self._bank
        half = 1 << (bank.bits - 1)
        starts = [state - half for state in bank.states]
        states = [
            Signal(signed(bank.bits), init=start, name=f"state_{i}")
            for i, start in enumerate(starts)
        ]

        turn = None
        if self._tracked:
            turn = self._track(m)

        for i, state in enumerate(states):
            follower = states[(i + 1) % bank.words]
            stepped = word_of_state(next_state(bank.matrix, state_of_word(follower)))
            if bank.rotation == "period":
                stays = word_of_state(next_state(bank.matrix, state_of_word(state)))
                stepped = Mux(turn, stepped, stays)
            self._replay(m, state, stepped, start=starts[i], name=f"snapshot_{i}")
            m.d.comb += self.words[i].eq(state)
        return m

    def _track(self, m: Module) -> Signal:
        """Follow generator 0 and return whether the next step begins a new period."""
        bank = self._bank
        start = bank.states[0]
        tracked = Signal(unsigned(bank.bits), init=start)
        following = self._replay(
            m, tracked, next_state(bank.matrix, tracked), start=start, name="tracked_snapshot"
        )
        m.d.comb += self.tracked_next.eq(following)
        turn = Signal()
        last = int(bank.sequence[(bank.phases[0] - 1) % bank.word_period])
        m.d.comb += turn.eq(tracked == last)
        return turn

    def _replay(self, m: Module, state: Signal, stepped: Value, *, start: int, name: str) -> Signal:
        """Give a register its step, snapshot and restore; return its next value."""
        snapshot = Signal(state.shape(), init=start, name=name)
        following = Signal(state.shape(), name=f"{name}_next")
        m.d.comb += following.eq(Mux(self.restore, snapshot, stepped))
        with m.If(self.step | self.restore):
            m.d.sync += state.eq(following)
        with m.If(self.clear):
            m.d.sync += snapshot.eq(start)
        with m.Elif(self.capture):
            m.d.sync += snapshot.eq(state if self._prefetched else following)
        return following
