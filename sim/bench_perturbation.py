"""Bench of a perturbation core: in every clock its outputs are what the documented semantics say.

`pezo_hw.simulate.check` prepares the golden model's groups and runs this bench.

Arrays: ``first`` and ``count`` (windows of group indices) and ``lanes`` (the lane values of the
groups of all windows, one row each).  Parameters: ``wraps`` (times that `period` goes through the
period), ``commands`` (clocks of random commands) and ``reach`` (longest walk to a start index).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer
from kit import Bench
from players.cyclic import INPUTS, Groups, Player


def begin(dut: Any) -> tuple[Bench, Groups, Player]:
    """Return the device with its player, at time 0."""
    bench = Bench(dut, **INPUTS)
    groups = Groups(bench)
    return bench, groups, bench.add(Player(bench, groups))


async def clocks_until(bench: Bench, condition: Callable[[], bool]) -> int:
    """Return after how many clocks a condition holds."""
    begun = bench.cycle
    while not condition():
        await bench.clock()
        assert bench.cycle - begun < 1 << 18, "hang"
    return bench.cycle - begun


async def transfers(bench: Bench, player: Player, count: int) -> None:
    """Let a number of groups be taken."""
    wanted = player.counts["transfers"] + count
    await bench.run_until(lambda: player.counts["transfers"] >= wanted)


async def go_to(bench: Bench, player: Player, index: int) -> None:
    """Give start and wait for the group."""
    player.give(start=1, start_index=index)
    await bench.clock()
    await clocks_until(bench, lambda: player.offered)


@cocotb.test
async def latencies(dut: Any) -> None:
    """Clocks from a command to a group, measured at the ports alone: those of the manifest."""
    bench, groups, player = begin(dut)
    stated = bench.manifest["latency"]

    def offered() -> bool:
        return bench.read("m_axis_tvalid") == 1

    await bench.reset()
    measured = {"reset_to_valid": await clocks_until(bench, offered)}
    assert measured["reset_to_valid"] == stated["start_to_valid"] - 1, measured
    for index in (0, 1, 2, 5, groups.period - 1):
        if index not in groups or index > min(bench.parameters["reach"], 1000):
            continue
        player.give(start=1, start_index=index)
        await bench.clock()
        clocks = 1 + await clocks_until(bench, offered)
        assert clocks == stated["start_to_valid"] + index, (index, clocks)
        measured["start_to_valid"] = clocks - index
        player.give(restore=1)
        await bench.clock()
        measured["restore_to_valid"] = 1 + await clocks_until(bench, offered)
        assert measured["restore_to_valid"] == stated["restore_to_valid"], measured
    bench.report(latencies=measured)


@cocotb.test
async def period(dut: Any) -> None:
    """Every group of the period, with and without stalls, and what comes after the last."""
    bench, groups, player = begin(dut)
    await bench.reset()
    if groups.reachable == groups.period:
        for wrap in range(bench.parameters["wraps"]):
            player.stalls = bench.stalls(("bursts", "never", "half")[wrap % 3])
            await transfers(bench, player, groups.period)
    else:
        for part in ("bursts", "never"):
            player.stalls = bench.stalls(part)
            await transfers(bench, player, (groups.reachable - 1) // 2)
    await transfers(bench, player, 1)
    last = groups.period - 1
    wrapped = last in groups and last <= bench.parameters["reach"]
    if wrapped:
        back = min(5, last)
        await go_to(bench, player, last - back)
        player.stalls = bench.stalls("half")
        await transfers(bench, player, back + 8 if groups.period > 8 else 8)
    bench.report(period={**player.counts, "seen": len(player.seen), "wrapped": wrapped})


@cocotb.test
async def starts(dut: Any) -> None:
    """Start at chosen groups, also beyond the period; each is the start of the step."""
    bench, groups, player = begin(dut)
    await bench.reset()
    await bench.clock(bench.rng.randint(0, 3))
    highest = (1 << len(dut.start_index)) - 1
    chosen = {0, 1, 2, groups.period // 2, groups.period - 1, groups.period, highest}
    walked = 0
    # The highest first: what is left in the walk's counter must not matter to the next.
    for index in sorted(chosen, reverse=True):
        position = index % groups.period
        if index > highest or position not in groups or index > bench.parameters["reach"]:
            continue
        walked += 1
        player.stalls = bench.stalls("half")
        await go_to(bench, player, index)
        count = min(5, groups.period)
        for _ in range(2):
            await transfers(bench, player, count)
            player.give(restore=1)
            await bench.clock()
        assert player.captured == position
    bench.report(starts={**player.counts, "chosen": walked})


@cocotb.test
async def restores(dut: Any) -> None:
    """Directed cases of restore and capture, in the clocks where they meet each other."""
    bench, groups, player = begin(dut)
    await bench.reset()
    await clocks_until(bench, lambda: player.offered)
    quiet, taken = {"m_axis_tready": 0}, {"m_axis_tready": 1}
    cases: list[list[dict[str, int]]] = [
        # Restore before any transfer, with nothing taken.
        [{"restore": 1, **quiet}],
        # Twice in a row, and again in the clock in which the group stands.
        [taken, {"restore": 1, **quiet}, {"restore": 1, **quiet}],
        [taken, taken, {"restore": 1, **taken}, taken, {"restore": 1, **taken}],
        # In the clock of a transfer, right behind one, and with ready high all along.
        [taken, {"restore": 1, **taken}],
        [taken, {"restore": 1, **quiet}],
        # A capture without a transfer does nothing.
        [taken, {"capture": 1, **quiet}, taken, {"restore": 1, **quiet}],
        # A capture takes the group after the transferred one.
        [taken, {"capture": 1, **taken}, {"restore": 1, **quiet}],
        [taken, {"capture": 1, **taken}, taken, taken, {"restore": 1, **taken}],
        # Two captures: the last one counts.
        [{"capture": 1, **taken}, {"capture": 1, **taken}, taken, {"restore": 1, **quiet}],
        # Restore wins over a capture in the same clock.
        [
            taken,
            {"capture": 1, "restore": 1, **taken},
            *[quiet] * 3,
            taken,
            {"restore": 1, **quiet},
        ],
        # Start wins over both.
        [taken, {"capture": 1, "start": 1, "start_index": 0, **taken}, *[quiet] * 6],
        [taken, {"restore": 1, "start": 1, "start_index": 0, **taken}, *[quiet] * 6],
        [taken, {"start": 1, "start_index": 0}, {"start": 1, "start_index": 0}, *[quiet] * 6],
        # While busy, restore and capture do nothing.
        [taken, {"start": 1, "start_index": 0}, *[{"restore": 1, "capture": 1, **quiet}] * 2],
    ]
    for case in cases:
        # A group is taken before and after, so that the case does not begin at the snapshot.
        for before in (0, 1, 3):
            player.stalls = bench.stalls("never")
            await transfers(bench, player, before)
            for commands in case:
                player.give(**commands)
                await bench.clock()
            await transfers(bench, player, 3)
            player.give(restore=1)
            await bench.clock()
            await transfers(bench, player, 2)
        if player.index > groups.reachable // 2 and groups.reachable < groups.period:
            await go_to(bench, player, 0)
    bench.report(restores=player.counts)


# Stalls, and how often each command comes: every kind of collision is frequent in one of them.
_MIXES: tuple[tuple[str, float, float, float], ...] = (
    ("half", 0.15, 0.05, 0.005),
    ("never", 0.05, 0.02, 0.0),
    ("heavy", 0.5, 0.1, 0.01),
    ("bursts", 0.1, 0.1, 0.01),
    ("never", 0.5, 0.5, 0.05),
    ("alternate", 0.3, 0.3, 0.02),
    ("rare", 1.0, 0.03, 0.003),
    ("half", 0.2, 0.0, 0.3),
)


@cocotb.test
async def commands(dut: Any) -> None:
    """Commands at random clocks, and a reset in the middle of each mix of them."""
    bench, groups, player = begin(dut)
    highest = (1 << len(dut.start_index)) - 1
    far = groups.reachable - 256  # from here on, start comes before groups without data
    whole = groups.reachable == groups.period

    def choose_index() -> int:
        near = bench.rng.randrange(min(24, groups.period, highest + 1))
        if groups.period > 128:
            return near
        return bench.rng.choice((near, 0, groups.period - 1, min(groups.period, highest), highest))

    def choose(capture: float, restore: float, start: float) -> Iterator[Mapping[str, int]]:
        draw = bench.rng.random
        while True:
            given = {"capture": int(draw() < capture), "restore": int(draw() < restore)}
            if draw() < start or (not whole and player.index > far):
                given |= {"start": 1, "start_index": choose_index()}
            elif player.offered:
                given["start_index"] = bench.rng.getrandbits(31) & highest  # nobody looks
            yield given

    count = max(2, bench.parameters["commands"] // (2 * len(_MIXES)))
    for stalls, capture, restore, start in _MIXES:
        player.stalls = bench.stalls(stalls)
        player.commands = choose(capture, restore, start)
        for _ in range(2):
            await bench.reset(bench.rng.randint(1, 3))
            await bench.clock(count + bench.rng.randint(0, 9))
    assert player.counts["restores"] > 10 and player.counts["transfers"] > 100
    bench.report(commands=player.counts)


@cocotb.test
async def trace(dut: Any) -> None:
    """All outputs in every clock from time 0 on, to be compared between simulators."""
    bench = Bench(dut, **INPUTS)
    ports = ("m_axis_tvalid", "m_axis_tdata", "busy")
    # Registers have values at power-up, so this begins without a reset.
    bench.write(aresetn=1)
    await Timer(1, "ns")
    shown = [",".join(str(getattr(dut, port).value) for port in ports)]
    draw = bench.rng.random
    highest = min((1 << len(dut.start_index)) - 1, 7)
    start_index = 0
    for _ in range(bench.parameters["trace"]):
        if bench.read("busy") == 0:
            start_index = bench.rng.randint(0, highest)
        bench.write(
            aresetn=int(draw() < 0.98),
            m_axis_tready=int(draw() < 0.6),
            capture=int(draw() < 0.1),
            restore=int(draw() < 0.05),
            start=int(draw() < 0.02),
            start_index=start_index,
        )
        await bench.clock()
        shown.append(",".join(str(getattr(dut, port).value) for port in ports))
    bench.save(trace=np.array(shown))
