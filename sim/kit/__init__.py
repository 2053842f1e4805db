"""The kit of all benches: clock and reset, streams with stalls, contract checks, a watchdog.

A bench is cycle based. One coroutine, `Bench.clock`, is the clock and calls everything that takes
part, so that a clock costs two wake-ups of Python whatever the number of streams:

- at the falling edge inputs change (`Agent.drive`);
- just before the rising edge, when all is settled, ports are looked at (`Agent.sample`).

Nothing changes at or near a rising edge and no write depends on how a simulator schedules it, so
benches see the same on every simulator.

Between two calls of `Bench.clock` the simulation stands at a falling edge: what is written then
holds at the next rising edge, and what is read then is the state after the last one.
"""

from kit.axi_lite import OKAY, SLVERR, AxiLite
from kit.bench import Agent, Bench
from kit.stalls import STALLS, Stalls, make_stalls
from kit.streams import StreamMonitor, StreamSink, StreamSource
from kit.values import pack, unpack

__all__ = [
    "OKAY",
    "SLVERR",
    "STALLS",
    "Agent",
    "AxiLite",
    "Bench",
    "Stalls",
    "StreamMonitor",
    "StreamSink",
    "StreamSource",
    "make_stalls",
    "pack",
    "unpack",
]
