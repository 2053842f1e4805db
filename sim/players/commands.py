"""The commands of a step core, and what its status must be."""

from __future__ import annotations

from typing import Any

from kit import Bench

COMMANDS = ("beats", "kind", "k", "coefficient", "dither_seed", "capture", "capture_b")
"""What is taken with `go`, as far as the core has it."""

_OTHERS = ("go", "start", "start_index", "abort_sweep", "flush")
_TABLE = ("tensor_count", "table_write", "table_index", "table_field", "table_data")


def idle(dut: Any) -> dict[str, Any]:
    """Return the inputs beside the streams that a core has, all 0."""
    names = (*COMMANDS, *_OTHERS, *_TABLE)
    return dict.fromkeys((name for name in names if hasattr(dut, name)), 0)


class Status:
    """Watches busy and done, and gives commands that must be ignored while a sweep is under way.

    Attributes
    ----------
    ended : int or None
        `Bench.cycle` at the edge at which done was high, since `begin`.
    """

    def __init__(self, bench: Bench):
        self.ended: int | None = None
        self.shaken = 0
        self._bench = bench
        self._under_way = False
        self._shakes = False
        self._pulsed: list[Any] = []
        dut = bench.dut
        self._busy, self._done = dut.busy, dut.done
        ports = (*COMMANDS, "start_index")
        handles = [getattr(dut, name) for name in ports if hasattr(dut, name)]
        self._commands = [(handle, len(handle)) for handle in handles]
        self._ignored = (dut.go, dut.start, dut.flush)

    def begin(self, *, shakes: bool) -> None:
        """Note that go was taken."""
        self.ended, self._under_way, self._shakes = None, True, shakes

    def drive(self) -> None:
        """Now and then give go with other commands, start or flush."""
        self.rest()
        # At the clock after done another sweep may begin; until then it must not.
        if self._under_way and self._shakes and self._bench.rng.random() < 0.1:
            self.shaken += 1
            self.shake()
            self._pulsed.append(self._bench.rng.choice(self._ignored))
            self._bench.put(self._pulsed[0], 1)

    def calm(self) -> None:
        """Take back a go that was given in the sweep's last clock, before the next one is."""
        self._went = False
        self._bench.put(self._bench.dut.go, 0)

    def rest(self) -> None:
        """Take back what was given."""
        while self._pulsed:
            self._bench.put(self._pulsed.pop(), 0)

    def shake(self) -> None:
        """Put nonsense on the command ports."""
        for handle, width in self._commands:
            self._bench.put(handle, self._bench.rng.getrandbits(width))

    def sample(self) -> None:
        """Check that busy and done fit the sweep."""
        busy, done = str(self._busy.value), str(self._done.value)
        if self._under_way:
            assert busy == "1", f"clock {self._bench.cycle}: busy is {busy} in a sweep"
            if done == "1":
                self.ended = self._bench.cycle
                self._under_way = False
                self._bench.moved()
                return
        assert done == "0", f"clock {self._bench.cycle}: done is {done}"

    def reset(self) -> None:
        """Forget the sweep."""
        self._under_way = False
        self.ended = None
        self.rest()

    def check_reset(self) -> None:
        """Check that nothing is done."""
        assert str(self._done.value) == "0", "done must be 0 at the end of a reset"

    def state(self) -> str:
        """Return the levels of busy and done."""
        return f"busy={self._busy.value} done={self._done.value}"
