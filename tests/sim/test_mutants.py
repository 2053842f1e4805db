"""The benches find faults: each of these changes to the RTL must make one of them fail."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pezo_hw.config import Config, from_mapping, load
from pezo_hw.errors import CheckFailed
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(groups=300, commands=800, beats=40, steps=2)

TINY = load("tiny")
BANK = load("tiny", ["scaling.mode=constant", "scaling.exponent=1"])
POOL = load(
    "zcu102-pregen",
    ["source.pool_size=31", "source.words=5", "reuse.lanes=10", "reuse.stride=2"],
)
# With exponents that differ and perturbations that are rounded.
STEP = from_mapping(
    load("zcu102-step").model_dump(mode="json", exclude_none=True)
    | {
        "source": {"kind": "on-the-fly", "generators": 1, "bits": 4},
        "reuse": {"lanes": 2, "stride": 0},
        "weights": {"bits": 8, "frac": 6},
        "zo": {"epsilon_log2": -4},
        "control": {"interface": "ports"},
    }
)
# With all outputs, both engines and a table.
FUSED = from_mapping(
    STEP.model_dump(mode="json", exclude_none=True)
    | {
        "source": {"kind": "on-the-fly", "generators": 2, "bits": 5, "phases": "seeded"},
        "zo": {"epsilon_log2": -4, "schedule": "fused"},
        "control": {"tensors": 4},
    }
)
FUSED_IP = from_mapping(
    FUSED.model_dump(mode="json", exclude_none=True)
    | {"control": {"tensors": 4, "interface": "axi-lite"}}
)

# Name: configuration, what is looked for in the RTL, what takes its place where it first comes.
MUTANTS: dict[str, tuple[Config, str, str]] = {
    "restore takes another generator's snapshot": (
        TINY, r"restore \? snapshot_0 :", "restore ? snapshot_1 :",
    ),
    "capture without a transfer": (TINY, r"= z__valid & z__ready;", "= z__valid;"),
    "capture in a clock with restore": (TINY, r"= ~ (\\restore\S* );", "= 1'h1;"),
    "valid stays at restore": (TINY, r"= clear \| \\restore\S* ;", "= clear;"),
    "an exponent is wrong": (TINY, r"(memory\[3\] = 1'h)1", r"\g<1>0"),
    "an inversion is lost": (BANK, r"= ~ (state_1\[)", r"= \1"),
    "capture is stuck": (BANK, r"assign capture = running \?", "assign capture = 1'h0 ?"),
    "start leads to another group": (
        BANK, r"clear \? (\d)'h[0-9a-f] :", r"clear ? \1'h3 :",
    ),
    "the walk is a group short": (
        BANK, r"steps == start_index", "steps + 1'h1 == start_index",
    ),
    "the wrap comes a row early": (POOL, r"row == 5'h1d", "row == 5'h1c"),
    "restore keeps the wrap flag": (POOL, r"restore \? snapshot_last :", "restore ? last :"),
    "lanes are exchanged": (
        POOL, r"(z__payload = \{ )(words\[\S+\]), (words\[\S+\])", r"\1\3, \2",
    ),
    "no upper limit": (STEP, r"was_high_0 \?", "1'h0 ?"),
    "no lower limit": (STEP, r"too_low_0 \?", "1'h0 ?"),
    "lanes without a weight are counted": (STEP, r"(_\d+_) & keep_1\[1\];", r"\1;"),
    "the count is not cleared": (
        STEP, r"restore \? 32'd0 : command__saturations", "command__saturations",
    ),
    "the change is added": (STEP, r"(\(weights_in__payload\[7:0\]\)) -", r"\1 +"),
    "negative halves are rounded up": (STEP, r"= ~ (word_0\[\d\];)", "= 1'h1;"),
    "the product is unsigned": (STEP, r"\$signed\(word_0\) \*", "$unsigned(word_0) *"),
    "a tap of the dither is wrong": (STEP, r"state\[0\] \^ state\[2\]", "state[0] ^ state[1]"),
    "the seed is not mixed": (STEP, r"= mix \| (_\d+_;)", r"= \1"),
    "a late TLAST goes unseen": (
        STEP, r"\? _\d+_ : command__tlast_late;", "? 1'h0 : command__tlast_late;",
    ),
    "an abort is not told": (STEP, r"command__abort \? 1'h1 :", "command__abort ? 1'h0 :"),
    "a flush does not stop": (STEP, r"command__flush \? _\d+_ : 1'h0;", "1'h0;"),
    "an output gets its beat twice": (FUSED, r"= ~ served\[1\];", "= 1'h1;"),
    "the second engine does not capture": (FUSED, r"= capture_b & (settings\S+);", "= 1'h0;"),
    "the second engine perturbs inline": (FUSED, r"(live = \S+ & )minus;", r"\1 1'h1;"),
    "a tensor is a beat short": (FUSED, r"remaining == 2'h2", "remaining == 2'h3"),
    "the last tensor is left out": (FUSED, r"ahead == 1'h1", "ahead == 2'h2"),
    "words with fewer bits lose their half": (
        FUSED, r"(_\d+_) \| \{ 1'h0, half_1 \};", r"\1;",
    ),
    "0 beats are written to the table": (
        FUSED_IP, r"(assign command__table_write = _\d+_) & _\d+_;", r"\1;",
    ),
    "0 beats are no error": (FUSED_IP, r"(ERROR__length_zero = _\d+_) \| no_beats;", r"\1;"),
    "0 beats are an error for settings": (
        FUSED_IP, r"no_beats = TENSOR_BEATS__write &", "no_beats = TENSOR_SETTINGS__write &",
    ),
    "the last group comes a beat early": (STEP, r"remaining == 2'h2", "remaining == 2'h3"),
    "valid waits for ready": (
        FUSED, r"(?s)(module \w+__plus_path\(.*?assign valid_moves = )_\d+_ \|", r"\1",
    ),
    "an abort goes unseen at first": (
        STEP, r"(_\d+_ = )command__abort \? 2'h2 : (_\d+_;)", r"\1\2",
    ),
    "a dither loses its lowest bit": (
        STEP, r"\{ perturbed_0, dither \}", "{ perturbed_0, dither[15:1], 1'h0 }",
    ),
    "the sweep does not capture": (STEP, r"(assign capture = )\\capture\S*\s+& last", r"\1 1'h0"),
}  # fmt: skip


@pytest.fixture(scope="module")
def simulator() -> str:
    # Icarus compiles in no time.
    return "verilator" if shutil.which("iverilog") is None else "icarus"


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(generated: Generated, tmp_path: Path, name: str, simulator: str) -> None:
    config, wanted, change = MUTANTS[name]
    folder = tmp_path / "mutant"
    shutil.copytree(generated(config), folder)
    rtl = folder / "rtl" / f"{config.core.name}_core.sv"
    text, count = re.subn(wanted, change, rtl.read_text(encoding="utf-8"), count=1)
    assert count == 1, f"the RTL no longer holds {wanted}"
    rtl.write_text(text, encoding="utf-8")
    with pytest.raises(CheckFailed, match=r"\Abench_\w+ on ") as caught:
        compare(folder, config=config, simulator=simulator, effort=EFFORT)
    # By a comparison, or because the core hangs; not because the bench itself stumbles.
    assert re.search("AssertionError", str(caught.value))


@pytest.mark.parametrize(
    "config",
    [TINY, BANK, POOL, STEP, FUSED, FUSED_IP],
    ids=["tiny", "bank", "pool", "step", "fused", "fused, registers"],
)
def test_without_a_mutation_all_is_well(
    generated: Generated, config: Config, simulator: str
) -> None:
    compare(generated(config), config=config, simulator=simulator, effort=EFFORT)
