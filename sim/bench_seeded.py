"""Bench of a perturbation core with a seeded source: in every clock its outputs are as documented.

`pezo_hw.simulate.check` prepares the golden model's groups and runs this bench.

Arrays: ``seeds`` and ``counts`` (the seeds with data and the groups of each; the first one is the
seed after a reset) and ``lanes`` (the lane values of all their groups, one row each).  Parameter:
``commands`` (clocks of random commands).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer
from kit import Bench, Stalls, pack

COMMANDS = ("capture", "restore", "start", "start_index")
SEEDS = 1 << 32


class Streams:
    """Payload of each group that the golden model was asked for, as one number."""

    _CHUNK = 64

    def __init__(self, bench: Bench):
        self._width = int(bench.manifest["lane_bits"])
        self._lanes = bench.arrays["lanes"]
        self.seeds = [int(seed) for seed in bench.arrays["seeds"]]
        counts = bench.arrays["counts"].tolist()
        firsts = np.cumsum([0, *counts[:-1]]).tolist()
        self._counts = dict(zip(self.seeds, counts, strict=True))
        self._firsts = dict(zip(self.seeds, firsts, strict=True))
        self._known: dict[int, int] = {}

    def count(self, seed: int) -> int:
        """Return of how many groups of a seed there is data."""
        return self._counts.get(seed, 0)

    def payload(self, seed: int, index: int) -> int:
        """Return the payload of a group."""
        assert index < self.count(seed), f"the bench has no data of group {index} of seed {seed}"
        row = self._firsts[seed] + index
        if row not in self._known:
            # Many at once: packing them one by one takes longer than simulating them.
            packed = pack(self._lanes[row : row + self._CHUNK], width=self._width)
            self._known |= {row + i: beat for i, beat in enumerate(packed)}
        return self._known[row]


class Player:
    """Drives commands and ready, and compares the outputs of every clock with a model.

    The model is what the core's documentation says: a transfer advances, a capture acts with a
    transfer only and makes the seed the next one for later restores, a restore wins over a capture
    and a start over both, both expand the seed for a fixed number of clocks.

    Attributes
    ----------
    stalls : iterator of bool
        True in clocks in which ready is low.
    commands : iterator of mappings, or None
        Values of command ports for each clock; those that are not named are 0.
    seed, index : int
        The group that is offered, or that is on its way.
    captured : int
        The core's seed register.
    counts : dict of str to int
        What has happened.
    """

    def __init__(self, bench: Bench, streams: Streams):
        self.stalls: Stalls = bench.stalls("never")
        self.commands: Iterator[Mapping[str, int]] | None = None
        self.counts = dict.fromkeys(("transfers", "captures", "restores", "starts", "resets"), 0)
        self.seen: set[tuple[int, int]] = set()
        self._bench, self._streams = bench, streams
        latency = bench.manifest["latency"]
        self._restore_latency = int(latency["restore_to_valid"])
        self._start_latency = int(latency["start_to_valid"])
        self._reset_seed = int(bench.manifest["source"]["seed"])
        dut = bench.dut
        self._valid, self._data, self._busy = dut.m_axis_tvalid, dut.m_axis_tdata, dut.busy
        self._handles = {n: getattr(dut, n) for n in (*COMMANDS, "m_axis_tready")}
        self._levels = dict.fromkeys(self._handles, 0)
        self._once: dict[str, int] = {}
        self.seed = self.captured = self._reset_seed
        self.index = 0
        self._wait = 0
        self._shown: str | None = None

    def give(self, **commands: int) -> None:
        """Give commands, or a level of ``m_axis_tready``, at the next clock only."""
        self._once = commands

    def drive(self) -> None:
        """Set the inputs."""
        levels = {"capture": 0, "restore": 0, "start": 0}
        levels["m_axis_tready"] = int(not next(self.stalls))
        if self.commands is not None:
            levels |= next(self.commands)
        if self._once:
            levels |= self._once
            self._once = {}
        for name, level in levels.items():
            if self._levels[name] != level:
                self._levels[name] = level
                self._bench.put(self._handles[name], level)

    def sample(self) -> None:
        """Compare the outputs with the model, and move the model on."""
        valid, busy = str(self._valid.value), str(self._busy.value)
        if (valid, busy) != (("1", "0") if self.offered else ("0", "1")):
            self._fail(f"tvalid is {valid} and busy is {busy}, {self._wait} clocks to wait")
        if self.offered:
            self._compare()
        self._step()

    def reset(self) -> None:
        """Go back to the seed of the configuration."""
        self.counts["resets"] += 1
        self.captured = self._reset_seed
        # The last clock of a reset counts as that of a start.
        self._begin(self._start_latency)

    def check_reset(self) -> None:
        """Check that nothing is offered."""
        assert str(self._valid.value) == "0", "tvalid must be 0 at the end of a reset"
        assert str(self._busy.value) == "1", "busy must be 1 at the end of a reset"

    def state(self) -> str:
        """Return what it waits for."""
        return f"group {self.index} of seed {self.seed}, {self._wait} clocks to wait"

    @property
    def offered(self) -> bool:
        """Whether a group stands at the output before the next clock."""
        return self._wait == 0

    def _begin(self, latency: int) -> None:
        self.seed, self.index = self.captured, 0
        self._wait = latency - 1
        self._shown = None

    def _compare(self) -> None:
        text = str(self._data.value)
        if text == self._shown:
            return
        try:
            value = int(text, 2)
        except ValueError:
            self._fail("tdata is X or Z in some bits")
        expected = self._streams.payload(self.seed, self.index)
        if value != expected:
            self._fail(f"tdata is {value:x} and must be {expected:x}")
        self.seen.add((self.seed, self.index))
        # What is offered may not change until it is taken or a command comes.
        self._shown = text

    def _step(self) -> None:
        levels, counts = self._levels, self.counts
        offered = self.offered
        transfer = offered and levels["m_axis_tready"] == 1
        if not offered:
            self._wait -= 1
        if transfer:
            counts["transfers"] += 1
            self._bench.moved()
            self.index += 1
            self._shown = None
        if levels["start"]:
            counts["starts"] += 1
            self.captured = levels["start_index"]
            self._begin(self._start_latency)
        elif levels["restore"] and offered:
            counts["restores"] += 1
            self._begin(self._restore_latency)
        elif levels["capture"] and transfer:
            counts["captures"] += 1
            self.captured = (self.captured + 1) % SEEDS

    def _fail(self, what: str) -> None:
        raise AssertionError(f"clock {self._bench.cycle}, {self.state()}: {what}")


def begin(dut: Any) -> tuple[Bench, Streams, Player]:
    """Return what every test needs."""
    bench = Bench(dut, m_axis_tready=0, capture=0, restore=0, start=0, start_index=0)
    streams = Streams(bench)
    return bench, streams, bench.add(Player(bench, streams))


async def clocks_until(bench: Bench, condition: Callable[[], bool]) -> int:
    """Return after how many clocks a condition holds."""
    begun = bench.cycle
    while not condition():
        await bench.clock()
        assert bench.cycle - begun < 1 << 12, "hang"
    return bench.cycle - begun


async def transfers(bench: Bench, player: Player, count: int) -> None:
    """Let a number of groups be taken."""
    wanted = player.counts["transfers"] + count
    await bench.run_until(lambda: player.counts["transfers"] >= wanted)


async def give(bench: Bench, player: Player, **commands: int) -> None:
    """Give commands for one clock."""
    player.give(**commands)
    await bench.clock()


@cocotb.test
async def latencies(dut: Any) -> None:
    """Measure the clocks from a command to a group, at the ports alone: the manifest's."""
    bench, streams, player = begin(dut)
    stated = bench.manifest["latency"]

    def offered() -> bool:
        return bench.read("m_axis_tvalid") == 1

    await bench.reset()
    measured = {"reset_to_valid": await clocks_until(bench, offered)}
    assert measured["reset_to_valid"] == stated["start_to_valid"] - 1, measured
    for seed in streams.seeds[:3]:
        await give(bench, player, start=1, start_index=seed)
        measured["start_to_valid"] = 1 + await clocks_until(bench, offered)
        await give(bench, player, restore=1)
        measured["restore_to_valid"] = 1 + await clocks_until(bench, offered)
        for name in ("start_to_valid", "restore_to_valid"):
            assert measured[name] == stated[name], measured
    bench.report(latencies=measured)


@cocotb.test
async def period(dut: Any) -> None:
    """Take all groups of the seed after a reset, with stalls and without."""
    bench, streams, player = begin(dut)
    await bench.reset()
    part = (streams.count(player.seed) - 1) // 2
    for stalls in ("bursts", "never"):
        player.stalls = bench.stalls(stalls)
        await transfers(bench, player, part)
    bench.report(period={**player.counts, "seen": len(player.seen), "wrapped": False})


@cocotb.test
async def starts(dut: Any) -> None:
    """Start at every seed with data, in the middle of a stream or of another seed's expansion."""
    bench, streams, player = begin(dut)
    await bench.reset()
    latency = bench.manifest["latency"]["start_to_valid"]
    for seed in streams.seeds:
        player.stalls = bench.stalls("half")
        if bench.rng.random() < 0.3:
            await give(bench, player, start=1, start_index=seed ^ bench.rng.getrandbits(32))
            await bench.clock(bench.rng.randrange(latency - 1))
        await give(bench, player, start=1, start_index=seed)
        for _ in range(2):
            await transfers(bench, player, bench.rng.randint(1, 9))
            await clocks_until(bench, lambda: player.offered)
            await give(bench, player, restore=1)
        assert player.captured == seed
    # A start and a reset at every clock of an expansion.
    player.stalls = bench.stalls("never")
    for clocks in range(latency + 1):
        await give(bench, player, start=1, start_index=streams.seeds[1])
        await bench.clock(clocks)
        await give(bench, player, start=1, start_index=streams.seeds[2])
        await transfers(bench, player, 2)
        await give(bench, player, restore=1)
        await bench.clock(clocks)
        await bench.reset(1)
        await transfers(bench, player, 2)
    bench.report(starts={**player.counts, "chosen": len(streams.seeds)})


@cocotb.test
async def restores(dut: Any) -> None:
    """Try directed cases of restore and capture, in the clocks where they meet each other."""
    bench, streams, player = begin(dut)
    await bench.reset()
    quiet, taken = {"m_axis_tready": 0}, {"m_axis_tready": 1}
    seed = streams.seeds[-6]
    last = SEEDS - 1
    assert last in streams.seeds and 0 in streams.seeds
    # A few clocks more than an expansion.
    while_expanding = int(bench.manifest["latency"]["restore_to_valid"]) + 7
    cases: list[list[dict[str, int]]] = [
        # Restore before any transfer, with nothing taken.
        [{"restore": 1, **quiet}],
        # Again while the seed is expanded: that does nothing, at any of its clocks.
        [{"restore": 1, **taken}] * 3,
        [{"restore": 1, **taken}] * while_expanding,
        # In the clock of a transfer, and right behind one.
        [taken, {"restore": 1, **taken}],
        [taken, {"restore": 1, **quiet}],
        # A capture without a transfer does nothing; with one it leads to the next seed.
        [taken, {"capture": 1, **quiet}, taken, {"restore": 1, **quiet}],
        [taken, {"capture": 1, **taken}, {"restore": 1, **quiet}],
        [taken, {"capture": 1, **taken}, taken, taken, {"restore": 1, **taken}],
        # The stream goes on after a capture, and the second capture counts as well.
        [{"capture": 1, **taken}, {"capture": 1, **taken}, taken, taken, {"restore": 1, **quiet}],
        # Restore wins over a capture in the same clock; start wins over both.
        [taken, {"capture": 1, "restore": 1, **taken}],
        [taken, {"capture": 1, "start": 1, "start_index": seed, **taken}],
        [taken, {"restore": 1, "start": 1, "start_index": seed + 1, **taken}],
        # A start in the clock after a restore, and the other way round; two starts.
        [taken, {"restore": 1, **taken}, {"start": 1, "start_index": seed, **taken}],
        [{"start": 1, "start_index": seed}, {"restore": 1, "capture": 1, **taken}],
        [{"start": 1, "start_index": 0}, {"start": 1, "start_index": seed + 2}],
        # What start_index shows afterwards does not matter.
        [{"start": 1, "start_index": seed}, *[{"start_index": 0}] * while_expanding],
        # The seed after the last one is 0.
        [
            {"start": 1, "start_index": last},
            *[taken] * while_expanding,
            {"capture": 1, **taken},
            taken,
        ],
    ]
    for case in cases:
        for before in (0, 2):
            await give(bench, player, start=1, start_index=streams.seeds[0])
            await clocks_until(bench, lambda: player.offered)
            player.stalls = bench.stalls("never")
            await transfers(bench, player, before)
            player.stalls = bench.stalls("bursts")
            for commands in case:
                await give(bench, player, **commands)
            await transfers(bench, player, 3)
            await give(bench, player, restore=1, **quiet)
            await transfers(bench, player, 2)
    assert player.captured == 0, "the last case ends with seed 0"
    bench.report(restores=player.counts)


# Stalls, and how often each command comes: every kind of collision is frequent in one of them.
_MIXES: tuple[tuple[str, float, float, float], ...] = (
    ("half", 0.1, 0.02, 0.002),
    ("never", 0.05, 0.02, 0.0),
    ("heavy", 0.5, 0.05, 0.005),
    ("bursts", 0.1, 0.05, 0.005),
    ("never", 0.5, 0.5, 0.01),
    ("alternate", 0.3, 0.1, 0.01),
    ("half", 0.2, 0.0, 0.1),
)


@cocotb.test
async def commands(dut: Any) -> None:
    """Give commands at random clocks, and a reset in the middle of each mix of them."""
    bench, streams, player = begin(dut)
    known = set(streams.seeds)

    def choose(capture: float, restore: float, start: float) -> Iterator[Mapping[str, int]]:
        draw = bench.rng.random
        while True:
            given = {"capture": int(draw() < capture), "restore": int(draw() < restore)}
            given["start_index"] = bench.rng.getrandbits(32)  # nobody looks without a start
            ends = player.index + 2 >= streams.count(player.seed)
            leaves = (player.captured + 1) % SEEDS not in known
            if draw() < start or ends or leaves:
                given |= {"start": 1, "start_index": bench.rng.choice(streams.seeds)}
            yield given

    # So long that seeds get through their expansion.
    latency = int(bench.manifest["latency"]["restore_to_valid"])
    count = max(3 * latency, bench.parameters["commands"] // (2 * len(_MIXES)))
    for stalls, capture, restore, start in _MIXES:
        player.stalls = bench.stalls(stalls)
        player.commands = choose(capture, restore, start)
        for _ in range(2):
            await bench.reset(bench.rng.randint(1, 3))
            await bench.clock(count + bench.rng.randint(0, 9))
    assert player.counts["restores"] > 5 and player.counts["transfers"] > 50
    assert player.counts["captures"] > 5 and player.counts["starts"] > 5
    bench.report(commands=player.counts)


@cocotb.test
async def trace(dut: Any) -> None:
    """Save all outputs in every clock from time 0 on, to be compared between simulators."""
    bench = Bench(dut, m_axis_tready=0, capture=0, restore=0, start=0, start_index=0)
    ports = ("m_axis_tvalid", "m_axis_tdata", "busy")
    # Constants and logic have no value before the simulator has begun.
    await Timer(1, "ns")
    shown = [",".join(str(getattr(dut, port).value) for port in ports)]
    draw = bench.rng.random
    for clock in range(bench.parameters["trace"]):
        bench.write(
            aresetn=int(clock > 3 and draw() < 0.99),
            m_axis_tready=int(draw() < 0.6),
            capture=int(draw() < 0.1),
            restore=int(draw() < 0.03),
            start=int(draw() < 0.01),
            start_index=bench.rng.getrandbits(32),
        )
        await bench.clock()
        shown.append(",".join(str(getattr(dut, port).value) for port in ports))
    bench.save(trace=np.array(shown))
