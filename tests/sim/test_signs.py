"""The RTL of cores with signs equals the golden model, and faults in it are found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pezo_hw.config import Config, load
from pezo_hw.errors import CheckFailed
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(groups=600, commands=800)
SIGNED = "reuse.signs=true"

BANK = load("tiny", [SIGNED, "source.phases=seeded", "source.bits=5"])
POOL = load("zcu102-pregen", ["source.pool_size=31", "source.words=5", "reuse.lanes=15", SIGNED])
WIDE = load("zcu102-wide", ["source.words=4", "source.bits=6", "reuse.lanes=12", SIGNED])

# Name: configuration, what is looked for in the RTL, what takes its place where it first comes.
MUTANTS: dict[str, tuple[Config, str, str]] = {
    "restore forgets the signs": (POOL, r"restore \? snapshot\b", "1'h0 ? snapshot"),
    "the signs step without a transfer": (POOL, r"= z__valid & z__ready;", "= z__valid;"),
    "a sign is inverted": (POOL, r"negative\[1\] \?", "~negative[1] ?"),
    "a negative is off by one": (POOL, r"(= )- (\S+;)", r"\1~ \2"),
    "the signs of the seed of the words": (WIDE, r"= ~ (\{ .*seed)", r"= \1"),
}


@pytest.fixture(scope="module")
def simulator() -> str:
    # Icarus compiles in no time.
    return "verilator" if shutil.which("iverilog") is None else "icarus"


@pytest.mark.parametrize("config", [BANK, POOL, WIDE], ids=["bank", "pool", "wide"])
def test_equal_to_golden(generated: Generated, config: Config, simulator: str) -> None:
    report = compare(generated(config), config=config, simulator=simulator, effort=EFFORT)
    data = report.result.data
    assert data["period"]["seen"] >= EFFORT.groups - 5
    assert data["commands"]["captures"] > 10 and data["starts"]["chosen"] >= 3


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
    assert re.search("AssertionError", str(caught.value))
