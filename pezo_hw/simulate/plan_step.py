"""The sweeps that a step core is put through, and what the golden model says must come out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import Config
from pezo_hw.golden import dither
from pezo_hw.golden.schedules import KINDS, OFFERED, USED
from pezo_hw.golden.seeded import SEED_BITS, SeededEngine
from pezo_hw.golden.step import StepCore
from pezo_hw.golden.tensors import Tensor
from pezo_hw.simulate.effort import Effort, Plan


class Sweeps:
    """Collects sweeps and the golden model's results of them.

    Parameters
    ----------
    config : Config
        Of kind ``zo-step``.
    seed : int
        Of the random weights and commands.

    Attributes
    ----------
    patient : int
        Sweeps, from the first on, that are put through sinks whose ready waits for valid as well;
        0: all.
    """

    def __init__(self, config: Config, *, seed: int):
        registers = config.control is not None and config.control.interface == "axi-lite"
        self._bench = "bench_ip" if registers else "bench_step"
        self.core = StepCore(config)
        self.rng = np.random.default_rng(seed)
        self.lanes = self.core.engine.lane_count
        self.patient = 0
        self._sweeps: list[dict[str, Any]] = []
        self._weights: list[NDArray[np.int64]] = []
        self._results: list[NDArray[np.int64]] = []

    def add(
        self,
        weights: NDArray[np.int64],
        *,
        k: int = 0,
        coefficient: int = 0,
        capture: bool = False,
        dither_seed: int | None = None,
        start: int | None = None,
        stalls: tuple[str, str] = ("never", "never"),
        kind: str = "in-place",
        capture_b: bool = False,
        table: Sequence[Tensor] = (),
        **special: Any,
    ) -> NDArray[np.int64]:
        """Add a sweep and return the stored weights behind it.

        Parameters
        ----------
        weights : ndarray of int64, shape (d,)
            In LSBs.
        k, coefficient, capture, dither_seed, kind, capture_b, table
            As for `golden.step.StepCore.sweep`; the seed is random by default.
        start : int, optional
            Group to go to first.
        stalls : (str, str)
            Stall patterns of the weights that go in and of those that come out.
        **special
            For the bench: ``early``, beats that are missing behind an early TLAST; ``late``, no
            TLAST with the last beat; ``extra``, beats behind it that are flushed; ``reset`` and
            ``abort``, beats that have come when it is given, after 0 with ``clocks`` to wait for;
            or for an abort "last" and "behind", with the last beat and behind it.
        """
        if dither_seed is None:
            dither_seed = int(self.rng.integers(1 << 32))
        if start is not None:
            self.core.start(start)
        before = self.core.engine.captured
        commands: dict[str, Any] = {
            "k": k,
            "coefficient": coefficient,
            "dither_seed": dither_seed,
            "kind": kind,
            "table": table,
        }
        if "abort" in special:
            special["limited"] = self._limited(weights, commands)
        entries = [[tensor.beats, tensor.settings] for tensor in table]
        if table:
            entries[-1][0] += special.get("early", 0)
        result = self.core.sweep(weights, capture=capture, capture_b=capture_b, **commands)
        if "reset" in special:
            self.core.start(self.core.engine.reset_index)
        self._sweeps.append(
            {
                "length": len(weights),
                "k": k,
                "coefficient": coefficient,
                "capture": int(capture),
                "dither_seed": dither_seed,
                "start": start,
                "first_group": before,
                "stalls": stalls,
                "saturations": result.saturations,
                "kind": KINDS.index(kind),
                "capture_b": int(capture_b),
                "table": entries,
                "outputs": USED[kind],
                **special,
            }
        )
        self._weights.append(weights)
        self._results += [getattr(result, name) for name in USED[kind]]
        return result.weights

    def _limited(self, weights: NDArray[np.int64], commands: dict[str, Any]) -> list[int]:
        """Return the saturations of the first beats of a sweep without a table: of 0, 1, ..."""
        counts = [
            self.core.sweep(weights[: beats * self.lanes], **commands).saturations
            for beats in range(1, 1 - (-len(weights) // self.lanes))
        ]
        return [0, *counts]

    def be_patient(self) -> None:
        """Put the sweeps so far through patient sinks as well, and no more."""
        self.patient = len(self._sweeps)

    def limited_weights(self, count: int, *, output: str, **commands: Any) -> NDArray[np.int64]:
        """Return weights that a sweep takes beyond the limit, each that it changes on an output."""
        zero = np.zeros(count, dtype=np.int64)
        changes = getattr(self.core.sweep(zero, **commands), output)
        top = self.core.arithmetic.weight_max
        weights: NDArray[np.int64] = np.where(changes > 0, top, -top - 1)
        return weights

    def random_weights(self, count: int, *, margin: int = 0) -> NDArray[np.int64]:
        """Return weights of the whole range less a margin, one in eight at its very ends."""
        top = self.core.arithmetic.weight_max - margin
        weights = self.rng.integers(-top - 1, top, count, endpoint=True)
        ends = self.rng.random(count) < 1 / 8
        weights[ends] = self.rng.choice((-top - 1, -top, top - 1, top), int(ends.sum()))
        return weights

    def random_coefficient(self) -> int:
        """Return a coefficient of any size, either sign, the extremes among them."""
        bits = self.core.arithmetic.coefficient_bits
        limit = 1 << (bits - 1)
        size = 1 << int(self.rng.integers(bits))
        chosen = int(self.rng.integers(-size, size, endpoint=True))
        return int(np.clip(self.rng.choice((chosen, chosen, -limit, limit - 1)), -limit, limit - 1))

    def plan(self) -> Plan:
        """Return what the bench needs."""
        kind = np.int16 if self.core.arithmetic.weight_bits == 16 else np.int8
        return Plan(
            bench=self._bench,
            tests=("sweeps", "patient_sink"),
            parameters={"sweeps": self._sweeps, "patient": self.patient or len(self._sweeps)},
            arrays={
                "weights": np.concatenate(self._weights).astype(kind),
                "results": np.concatenate(self._results).astype(kind),
            },
            period=self.core.engine.period,
        )


# Bits of a sweep's length in beats.
LENGTH_BITS = 32

# Sides of a sweep that stall: crossed, as each fault needs its own combination.
_STALLS = (
    ("never", "half"),
    ("half", "never"),
    ("bursts", "bursts"),
    ("alternate", "alternate"),
    ("rare", "heavy"),
    ("heavy", "rare"),
    ("half", "half"),
    ("never", "bursts"),
)


def make(config: Config, *, seed: int, effort: Effort) -> Plan:
    """Return the sweeps of a step core's bench; see `plan.make_plan`."""
    sweeps = Sweeps(config, seed=seed)
    schedule = sweeps.core.schedule
    _lengths(sweeps)
    _faults(sweeps)
    for kind in OFFERED[schedule]:
        _kind(sweeps, kind)
    sweeps.be_patient()
    _borders(sweeps)
    _steps(sweeps, effort)
    # An early end of the longest sweeps: each bit of their length counts.
    for bit, beats in itertools.product(range(4, LENGTH_BITS), (1, 2)):
        sweeps.add(sweeps.random_weights(beats * sweeps.lanes), k=1, early=1 << bit)
    if schedule == "fused":
        _fused(sweeps, effort)
    if sweeps.core.tensors:
        _tables(sweeps, effort)
        _exponents(sweeps)
    # Speed: nothing but the fixed overhead is added to a clock a beat.
    for kind in OFFERED[schedule]:
        for beats in (1, effort.beats if kind in ("in-place", "fused") else 20):
            weights = sweeps.random_weights(beats * sweeps.lanes)
            commands: dict[str, Any] = {
                "kind": kind,
                "k": 1,
                "coefficient": sweeps.random_coefficient(),
                "dither_seed": int(sweeps.rng.integers(1 << 32)),
            }
            # Half of them limited: many, as the count of them is wide.
            limited = sweeps.limited_weights(len(weights), output=USED[kind][0], **commands)
            chosen = sweeps.rng.random(len(weights)) < 1 / 2
            sweeps.add(np.where(chosen, limited, weights), measured=True, **commands)
    return sweeps.plan()


def _lengths(sweeps: Sweeps) -> None:
    """Add lengths around the size of a beat, and extreme values."""
    lanes, rng, arithmetic = sweeps.lanes, sweeps.rng, sweeps.core.arithmetic
    limit = 1 << (arithmetic.coefficient_bits - 1)

    # Lengths around the size of a beat, and a prime; every k; stalls crossed.
    lengths = [1, lanes - 1 or 1, lanes, lanes + 1, 7 * lanes - 1, _prime(11 * lanes)]
    for number, length in enumerate(lengths * 2):
        k = (1, -2, 2, -1, 0)[number % 5]
        coefficient = sweeps.random_coefficient() if number % 5 == 4 or number % 3 == 2 else 0
        stalls = _STALLS[number % len(_STALLS)]
        sweeps.add(sweeps.random_weights(length), k=k, coefficient=coefficient, stalls=stalls)

    # Of as many beats as a number has that is all ones: no bit of a count turns back unseen.
    sweeps.add(sweeps.random_weights(127 * lanes), k=1)

    # The largest products, on weights at the ends of the range: what is wider wraps here.
    for number, (k, coefficient) in enumerate(((2, -limit), (-2, limit - 1), (0, -limit), (2, 0))):
        top = arithmetic.weight_max
        weights = rng.choice((-top - 1, top), 5 * lanes)
        sweeps.add(weights, k=k, coefficient=coefficient, stalls=_STALLS[-1 - number])

    # A sweep of 0 beats counts as one of 1.
    sweeps.add(sweeps.random_weights(lanes), k=-1, beats=0)

    # Extreme dither seeds; the same seed gives the same.
    for dither_seed in (0, (1 << 32) - 1, 0):
        weights = sweeps.random_weights(4 * lanes + 1)
        sweeps.add(weights, coefficient=limit // 3, dither_seed=dither_seed)


def _borders(sweeps: Sweeps) -> None:
    """Add updates that the lowest bit of a dither rounds up or down, so that each bit counts."""
    core, arithmetic = sweeps.core, sweeps.core.arithmetic
    shift, limit = arithmetic.shift, 1 << (arithmetic.coefficient_bits - 1)
    count = 9
    core.engine.restore()
    words = core.engine.advance(count).astype(np.int64)
    core.engine.restore()
    for word, border, k, _ in itertools.product(range(words.shape[1])[:2], (0, -1), (1, -1), "xyz"):
        # Of the fewest zeros at its end, as the bits of a dither there do not count.
        values = words[:, word].tolist()
        even = [
            min((value & -value).bit_length() - 1, shift) if value else shift for value in values
        ]
        at = even.index(min(even))
        modulus = 1 << (shift - even[at])
        if not 1 < modulus <= 2 * limit:
            continue
        seed = int(sweeps.rng.integers(1 << 32))
        chance = int(dither.dither(seed, count, words=words.shape[1], shift=shift)[at, word])
        # C such that value C + chance = border, modulo 2^shift.
        target = (border >> even[at]) - (chance >> even[at])
        coefficient = target * pow(values[at] >> even[at], -1, modulus) % modulus
        coefficient -= modulus if coefficient >= limit else 0
        # Weights that the change brings towards 0, so that the limit does not hide it.
        commands = {"k": k, "coefficient": coefficient, "dither_seed": seed}
        weights = ~sweeps.limited_weights(count * sweeps.lanes, output="weights", **commands)
        sweeps.add(weights, **commands)


def _steps(sweeps: Sweeps, effort: Effort) -> None:
    """Add training steps in place."""
    lanes, rng, arithmetic = sweeps.lanes, sweeps.rng, sweeps.core.arithmetic
    period = sweeps.core.engine.period

    # Training steps: both probes, restored exactly, the update with the restore or on its own.
    margin = 2 * arithmetic.largest_perturbation(
        sweeps.core.engine.bits, exponent=sweeps.core.engine.max_exponent
    )
    seeds: tuple[int, ...] = ()
    if isinstance(sweeps.core.engine, SeededEngine):
        # Each bit of a seed is 0 once and 1 once. An index must be near, as it is walked to.
        seed = int(rng.integers(1 << SEED_BITS))
        seeds = (seed, seed ^ ((1 << SEED_BITS) - 1))
    for number in range(effort.steps):
        length = int(rng.integers(1, 9 * lanes))
        stalls = _STALLS[number % len(_STALLS)]
        start = None
        if number % 3 == 0 and seeds:
            start = seeds[number % 2]
        elif number % 3 == 0:
            start = int(rng.integers(min(period, 200)))
        first = sweeps.random_weights(length, margin=margin)
        plus = sweeps.add(first, k=1, start=start, stalls=stalls)
        minus = sweeps.add(plus, k=-2, stalls=stalls[::-1])
        update = sweeps.random_coefficient()
        if number % 2:
            sweeps.add(minus, k=1, coefficient=update, capture=True, stalls=stalls)
            continue
        restored = sweeps.add(minus, k=1, restores=2, stalls=stalls)
        assert np.array_equal(restored, first), "golden model: weights are not restored"
        sweeps.add(restored, coefficient=update, capture=True)


def _faults(sweeps: Sweeps) -> None:
    """Add faults of the stream, aborts and resets, each followed by a sweep that must be sound."""
    lanes = sweeps.lanes
    limit = 1 << (sweeps.core.arithmetic.coefficient_bits - 1)
    # Faults of the stream and resets, each followed by a sweep that must be sound.
    count = 6 * lanes
    faults: tuple[dict[str, Any], ...] = (
        {"early": 3}, {"late": True}, {"early": 20}, {"reset": 2}, {"reset": 0},
        {"late": True, "extra": 4}, {"abort": 2}, {"abort": 0},
        # In every state of the control.
        *({"abort": 0, "clocks": clocks} for clocks in (0, 1, 9, 14, 15, 16, 17, 18, 19)),
    )  # fmt: skip
    for special in faults:
        long = "reset" in special or "abort" in special
        stalls = ("half", "half") if long else ("rare", "never")
        # A reset or an abort must come before the sweep's end.
        weights = sweeps.random_weights(64 * lanes if long else count)
        sweeps.add(weights, k=1, coefficient=limit // 2, **special)
        sweeps.add(sweeps.random_weights(count + 1), k=-1, coefficient=3, stalls=stalls)


def _kind(sweeps: Sweeps, kind: str) -> None:
    """Add sweeps of one kind, and faults in the middle of them."""
    lanes, fused = sweeps.lanes, sweeps.core.schedule == "fused"
    for number, length in enumerate((1, lanes, lanes + 1, 9 * lanes, _prime(13 * lanes))):
        sweeps.add(
            sweeps.random_weights(length),
            kind=kind,
            k=(1, -1, 2, 0, -2)[number],
            coefficient=sweeps.random_coefficient(),
            capture=number % 2 == 1,
            capture_b=fused and number % 3 == 1,
            stalls=_STALLS[number],
        )
    for output in USED[kind]:
        weights = sweeps.limited_weights(5 * lanes - 1, output=output, kind=kind, k=1)
        sweeps.add(weights, kind=kind, k=1, stalls=_STALLS[-1])
    # An abort at the end, whatever waits then: the sink or the source.
    for number, when in enumerate(("last", "behind", "last", "last", "behind")):
        weights = sweeps.random_weights((3 + number) * lanes - 1)
        stalls = _STALLS[number]
        sweeps.add(weights, kind=kind, k=2, coefficient=1, stalls=stalls, abort=when)
    faults: tuple[dict[str, Any], ...] = ({"early": 2}, {"late": True, "extra": 3}, {"abort": 3})
    for special in faults:
        weights = sweeps.random_weights(64 * lanes if "abort" in special else 7 * lanes)
        stalls = ("rare", "half")
        sweeps.add(weights, kind=kind, k=1, coefficient=3, stalls=stalls, **special)
        sweeps.add(sweeps.random_weights(5 * lanes - 1), kind=kind, k=-1, stalls=stalls)


def _fused(sweeps: Sweeps, effort: Effort) -> None:
    """Add a training run of fused steps, whose engine A lags a step behind engine B."""
    weights = sweeps.random_weights(9 * sweeps.lanes - 1, margin=50)
    sweeps.add(weights, kind="inline-both", capture_b=True, start=3)
    for number in range(effort.steps):
        weights = sweeps.add(
            weights,
            kind="fused",
            coefficient=sweeps.random_coefficient(),
            capture=True,
            capture_b=True,
            stalls=_STALLS[number % len(_STALLS)],
        )


def _tables(sweeps: Sweeps, effort: Effort) -> None:
    """Add sweeps over tables of random tensors, many of them a single beat long."""
    rng, core = sweeps.rng, sweeps.core
    for number in range(8):
        count = core.tensors if number == 0 else int(rng.integers(1, core.tensors, endpoint=True))
        table = [
            Tensor(
                int(rng.choice((1, 1, 2, 3, 7))),
                strength=int(rng.integers(4)),
                word_bits=int(rng.integers(16)),
                frozen=bool(rng.random() < 1 / 4),
                coefficient_exponent=int(rng.integers(8)),
            )
            for _ in range(count)
        ]
        length = sum(tensor.beats for tensor in table) * sweeps.lanes
        kinds = OFFERED[core.schedule]
        sweeps.add(
            sweeps.random_weights(length),
            table=table,
            kind=kinds[number % len(kinds)],
            k=(1, -2, 2, 0)[number % 4],
            coefficient=sweeps.random_coefficient(),
            stalls=("never", "never") if number < 2 else _STALLS[number],
            measured=number < 1,
        )
        # In between, one without it.
        sweeps.add(sweeps.random_weights(3 * sweeps.lanes - 1), k=1, coefficient=7)
    # A long one; and an early end of the longest: each bit of their length counts.
    table = [Tensor(2), Tensor(effort.beats)][-core.tensors :]
    beats = sum(tensor.beats for tensor in table)
    sweeps.add(sweeps.random_weights(beats * sweeps.lanes), k=1, table=table)
    for bit in range(4, LENGTH_BITS):
        weights = sweeps.random_weights(2 * sweeps.lanes)
        sweeps.add(weights, k=1, table=[Tensor(2)], early=1 << bit)


def _exponents(sweeps: Sweeps) -> None:
    """Add tensors of words with few bits, on groups of every exponent."""
    core, engine = sweeps.core, sweeps.core.engine
    if not engine.live:
        return
    exponents = engine.exponents(0, min(engine.period, 200))
    for exponent in np.unique(exponents):
        start: int | None = int(np.flatnonzero(exponents == exponent)[0])
        for word_bits in range(1, engine.bits):
            table = [Tensor(2, word_bits=word_bits, strength=word_bits % 4)]
            weights = sweeps.random_weights(2 * sweeps.lanes)
            sweeps.add(weights, kind=OFFERED[core.schedule][-1], k=1, table=table, start=start)
            start = None


def _prime(least: int) -> int:
    value = max(least, 2)
    while any(value % factor == 0 for factor in range(2, int(value**0.5) + 1)):
        value += 1
    return value
