"""The streams of the Gaussian sources, worked out anew from the manifest's ``"source"`` alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config, load, load_preset
from pezo_hw.export import manifest
from pezo_hw.export.ports import ports
from pezo_hw.export.rtl import build
from pezo_hw.golden.seeded import SeededEngine

Source = dict[str, Any]


class Wide:
    """A wide generator: lists of bits, one after the other."""

    def __init__(self, keys: Source, seed: int):
        rows = [int(row, 16) for row in keys["matrix"]]
        self.taps = [[i for i in range(len(rows)) if row >> i & 1] for row in rows]
        expansion = keys["expansion"]
        reset = int(expansion["reset"], 16)
        self.state = [reset >> i & 1 for i in range(keys["state_bits"])]
        for number in range(expansion["clocks"]):
            following = self.clock()
            for row, i, j in expansion["products"]:
                following[row] ^= self.state[i] & self.state[j]
            if number == 0:
                for bit, row in enumerate(expansion["seed_rows"]):
                    following[row] ^= seed >> bit & 1
            self.state = following

    def clock(self) -> list[int]:
        return [sum(self.state[i] for i in row) % 2 for row in self.taps]

    def group(self) -> list[int]:
        shown = self.state
        self.state = self.clock()
        return shown


def step(level: Source, state: int) -> int:
    return sum(((state & row).bit_count() & 1) << i for i, row in enumerate(level["matrix"]))


def tree(source: Source, seed: int, count: int) -> list[list[int]]:
    lanes = range(source["lanes"])
    states = [list(level["resets"]) for level in source["levels"]]
    for level, row in zip(source["levels"], states, strict=True):
        for _ in range(source["wait_clocks"]):
            row[:] = [step(level, v) for v in row]
    seeder = Wide(source["seeder"], seed)
    for _ in range(source["fill_clocks"]):
        chosen = seeder.group()
        for level, row in zip(source["levels"], states, strict=True):
            for lane in lanes:
                t = step(level, row[lane])
                changes = [
                    (t >> j & chosen[feed[lane]] & 1) << i
                    for (i, j), feed in zip(level["choices"], level["feeds"], strict=True)
                ]
                row[lane] = t ^ sum(changes)
    result = []
    for _ in range(count):
        group = []
        for lane in lanes:
            m, sign = 0, 0
            for level, row in zip(source["levels"], states, strict=True):
                sign ^= row[lane] & level["signs"]
                if level["thresholds"]:
                    m = 2 * m + int(row[lane] <= level["thresholds"][m])
            group.append(-2 * m - 1 if sign else 2 * m + 1)
        result.append(group)
        for level, row in zip(source["levels"], states, strict=True):
            row[:] = [step(level, v) for v in row]
    return result


def clt(source: Source, seed: int, count: int) -> list[list[int]]:
    sets = [
        [Wide(part["generator"], seed ^ flips) for flips in part["flips"]]
        for part in source["sets"]
    ]
    result = []
    for _ in range(count):
        t = []
        for part, generators in zip(source["sets"], sets, strict=True):
            states = [generator.group() for generator in generators]
            for lane in range(len(part["places"][0])):
                bits = [s[p[lane]] for s, p in zip(states, part["places"], strict=True)]
                t.append(source["table"][sum(bit << i for i, bit in enumerate(bits))])
        n, group = source["terms"], []
        for lane in range(source["lanes"]):
            first, i = lane - lane % n, lane % n
            total = sum(
                -t[first + j] if (i & j).bit_count() % 2 else t[first + j] for j in range(n)
            )
            assert total % 2 == 0
            group.append(total // 2)
        result.append(group)
    return result


RECOMPUTE: dict[str, Callable[[Source, int, int], list[list[int]]]] = {
    "gaussian-tree": tree,
    "gaussian-clt": clt,
}
CONFIGS = {
    "tree-1": load("zcu102-gaussian-tree", ["reuse.lanes=1"]),
    "tree-300": load("zcu102-gaussian-tree", ["reuse.lanes=300"]),
    "clt-4": load("zcu102-gaussian-clt", ["reuse.lanes=4"]),
    "clt-8": load("zcu102-gaussian-clt", ["reuse.lanes=136", "source.terms=8"]),
    "clt-sets": load("zcu102-gaussian-clt", ["reuse.lanes=1028"]),
}


def exported(config: Config) -> tuple[Source, SeededEngine]:
    core = build(config)
    assert isinstance(core.model, SeededEngine)
    # As a reader gets it: through JSON.
    return json.loads(json.dumps(manifest.source(core))), core.model


def equal(source: Source, model: SeededEngine, *, seed: int, count: int) -> bool:
    model.start(seed)
    return np.array_equal(model.lanes(0, count), RECOMPUTE[source["kind"]](source, seed, count))


@pytest.mark.parametrize("seed", [0, 0xDEADBEEF])
@pytest.mark.parametrize("name", CONFIGS)
def test_streams(name: str, seed: int) -> None:
    source, model = exported(CONFIGS[name])
    assert equal(source, model, seed=seed, count=4)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tree-1", lambda s: s.update(wait_clocks=s["wait_clocks"] + 1)),
        ("tree-1", lambda s: s.update(fill_clocks=s["fill_clocks"] - 1)),
        ("tree-1", lambda s: s["levels"][5]["resets"].__setitem__(0, 2)),
        ("tree-1", lambda s: s["levels"][3]["feeds"][2].__setitem__(0, 3)),
        ("tree-1", lambda s: s["levels"][2]["choices"].reverse()),
        ("tree-1", lambda s: s["levels"][3].update(signs=False)),
        ("tree-1", lambda s: s["levels"][2]["thresholds"].reverse()),
        ("clt-4", lambda s: s["table"].reverse()),
        ("clt-4", lambda s: s["sets"][0]["flips"].reverse()),
        ("clt-4", lambda s: s["sets"][0]["places"].reverse()),
    ],
)
def test_a_wrong_manifest_is_caught(name: str, change: Callable[[Source], None]) -> None:
    source, model = exported(CONFIGS[name])
    wrong = copy.deepcopy(source)
    change(wrong)
    assert wrong != source
    assert equal(source, model, seed=5, count=20)
    assert not equal(wrong, model, seed=5, count=20)


@pytest.mark.parametrize("preset", ["zcu102-gaussian-tree", "zcu102-gaussian-clt"])
def test_keys(preset: str) -> None:
    config = load_preset(preset)
    core = build(config)
    source = manifest.source(core)
    assert source["kind"] == config.source.kind
    assert source["lanes"] == source["words"] == 1024
    assert source["word_bits"] == 9
    assert source["fraction_bits"] == config.source.fraction_bits
    assert source["exponents"] == [0]
    clocks = source["load_clocks"] + 1
    assert manifest._latency(core) == {"restore_to_valid": clocks, "start_to_valid": clocks}
    assert {port.name: port.width for port in ports(core)}["start_index"] == 32
    json.dumps(source)
