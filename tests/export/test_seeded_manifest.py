"""The streams of the wide sources, worked out anew from nothing but the manifest's ``"source"``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config, from_mapping, load_preset
from pezo_hw.export import manifest
from pezo_hw.export.ports import ports
from pezo_hw.export.rtl import build
from pezo_hw.golden.seeded import SeededEngine

Source = dict[str, Any]


class Recomputed:
    """What a reader of ``pezo.json`` would write: lists of bits, one after the other."""

    def __init__(self, source: Source):
        self.source = source
        self.size: int = source["state_bits"]
        rows = [int(row, 16) for row in source["matrix"]]
        self.taps = [[i for i in range(self.size) if row >> i & 1] for row in rows]

    def clock(self, state: list[int]) -> list[int]:
        return [sum(state[i] for i in row) % 2 for row in self.taps]

    def expanded(self, seed: int) -> list[int]:
        expansion = self.source["expansion"]
        reset = int(expansion["reset"], 16)
        state = [reset >> i & 1 for i in range(self.size)]
        for number in range(expansion["clocks"]):
            following = self.clock(state)
            for row, i, j in expansion["products"]:
                following[row] ^= state[i] & state[j]
            if number == 0:
                for bit, row in enumerate(expansion["seed_rows"]):
                    following[row] ^= seed >> bit & 1
            state = following
        return state

    def lanes(self, seed: int, count: int) -> list[list[int]]:
        source, state, result = self.source, self.expanded(seed), []
        words, stride = source["words"], source["stride"]
        for _ in range(count):
            group = [self.value([state[i] for i in places]) for places in source["places"]]
            scaled = [u * 2 ** source["exponents"][0] for u in group]
            lanes = range(source["lanes"])
            result.append([scaled[(m % words + m // words * stride) % words] for m in lanes])
            state = self.clock(state)
        return result

    def value(self, bits: list[int]) -> int:
        number = sum(bit << i for i, bit in enumerate(bits))
        if self.source["kind"] == "rademacher":
            return 1 - 2 * number
        signed = number - (2 ** len(bits) if bits[-1] else 0)
        return 2 * signed + 1


def exported(config: Config) -> tuple[Source, SeededEngine]:
    core = build(config)
    assert isinstance(core.model, SeededEngine)
    # As a reader gets it: through JSON.
    return json.loads(json.dumps(manifest.source(core))), core.model


def equal(source: Source, model: SeededEngine, *, seed: int, count: int) -> bool:
    model.start(seed)
    return np.array_equal(model.lanes(0, count), Recomputed(source).lanes(seed, count))


def configured(source: Source, *, lanes: int, **scaling: Any) -> Config:
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "perturbation", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": lanes},
        }
    )


def uniform(words: int, bits: int) -> Source:
    return {"kind": "wide-uniform", "words": words, "bits": bits}


@pytest.mark.parametrize("seed", [0, 1, 0x12345678, 2**32 - 1])
@pytest.mark.parametrize(
    "config",
    [
        configured(uniform(3, 5), lanes=9),
        configured(uniform(17, 7), lanes=34, mode="constant"),
        configured(uniform(32, 8), lanes=32),
        configured(uniform(24, 16), lanes=48, mode="constant", exponent=3),
        configured(uniform(64, 16), lanes=64),
        configured({"kind": "rademacher"}, lanes=1),
        configured({"kind": "rademacher"}, lanes=100),
        configured({"kind": "rademacher"}, lanes=1024),
    ],
    ids=lambda config: f"{config.source.kind}-{config.words}x{config.source.bits}",
)
def test_streams(config: Config, seed: int) -> None:
    source, model = exported(config)
    assert equal(source, model, seed=seed, count=6)


def test_a_wrong_manifest_is_caught() -> None:
    source, model = exported(configured(uniform(4, 8), lanes=8))
    assert equal(source, model, seed=5, count=3)
    expansion = source["expansion"]
    first = f"{int(source['matrix'][0], 16) ^ 1 << 7:x}"
    wrong: list[Source] = [
        {"matrix": [first, *source["matrix"][1:]]},
        {"expansion": expansion | {"clocks": expansion["clocks"] + 1}},
        {"expansion": expansion | {"products": expansion["products"][:-1]}},
        {"expansion": expansion | {"seed_rows": expansion["seed_rows"][::-1]}},
        {"expansion": expansion | {"reset": "1"}},
        {"places": [source["places"][0][::-1], *source["places"][1:]]},
        {"stride": 0},
    ]
    for change in wrong:
        assert not equal(source | change, model, seed=5, count=3), change


@pytest.mark.parametrize("preset", ["zcu102-wide", "zcu102-rademacher"])
def test_keys(preset: str) -> None:
    config = load_preset(preset)
    source, model = exported(config)
    assert source["kind"] == config.source.kind
    assert source["seed"] == config.source.seed == model.reset_seed
    assert source["period"] == 2 ** source["state_bits"] - 1
    assert int(source["polynomial"], 16).bit_length() == source["state_bits"] + 1
    assert source["taps"] == max(int(row, 16).bit_count() for row in source["matrix"]) <= 5
    assert source["bits"] == config.source.bits
    assert source["word_bits"] == model.bits
    assert source["fraction_bits"] == config.source.fraction_bits
    assert len(source["places"]) == source["words"]
    used = [place for places in source["places"] for place in places]
    assert len(set(used)) == len(used) == source["words"] * source["bits"]
    core = build(config)
    # One clock for the command to arrive, one for the reset state, the others for the seed.
    clocks = 2 + source["expansion"]["clocks"]
    assert manifest._latency(core) == {"restore_to_valid": clocks, "start_to_valid": clocks}
    assert source["load_clocks"] == clocks - 1
    port = {port.name: port for port in ports(core)}
    assert port["start_index"].width == 32
    assert port["start_index"].description == "seed, taken with start"
