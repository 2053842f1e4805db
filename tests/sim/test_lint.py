"""Simulators take the RTL without a word, and two cores live in one design."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pezo_hw import tools
from pezo_hw.config import Config, load, load_preset, preset_names
from pezo_hw.simulate.design import Design

Generated = Callable[[Config], Path]


# Presets whose hardware is the same for every lane, and takes minutes to generate for all of them.
FEWER_LANES = {
    "zcu102-gaussian-tree": 4,
    "zcu102-gaussian-clt": 4,
    "zcu102-rademacher": 32,
}


def preset(name: str) -> Config:
    lanes = FEWER_LANES.get(name)
    return load_preset(name) if lanes is None else load(name, [f"reuse.lanes={lanes}"])


def lint(design: Design, *options: str, waivers: Sequence[Path]) -> str:
    """Return what Verilator says."""
    verilator = tools.verilator()
    command = [*verilator.command, "--lint-only", "-Wall", *options]
    command += ["--top-module", design.top, *map(str, (*waivers, *design.sources))]
    done = subprocess.run(
        command,
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    # Without -Wno-fatal a warning is a failure; so is anything that is not a warning.
    assert done.returncode == 0, done.stderr
    return done.stderr


def warnings(design: Design) -> set[tuple[str, str]]:
    """Return the warnings that come without waivers: kind and file."""
    text = lint(design, "-Wno-fatal", waivers=())
    found = re.findall(r"^%Warning-(\w+): (\S+?):\d", text, flags=re.MULTILINE)
    return {(kind, Path(file).name) for kind, file in found}


def waived(design: Design) -> dict[tuple[str, str], str]:
    """Return kind, file and reason of each waiver."""
    (path,) = design.waivers
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    assert first == "`verilator_config"
    rules = {}
    for reason, rule in zip(lines[::2], lines[1::2], strict=True):
        match = re.fullmatch(r'lint_off -rule (\w+) -file "\*/(\S+)"', rule)
        assert match and re.fullmatch(r"// [A-Z].{20,}\.", reason), (reason, rule)
        rules[match[1], match[2]] = reason
    return rules


def test_presets_are_clean_and_every_waiver_is_needed(generated: Generated) -> None:
    needed: set[str] = set()
    for name in preset_names():
        config = preset(name)
        design = Design.read(generated(config))
        assert lint(design, waivers=design.waivers) == "", name
        rules = waived(design)
        # Only the generated core has warnings; what people read first, the wrapper, has none.
        assert {file for _, file in rules} == {f"{config.core.name}_core.sv"}
        needed |= {kind for kind, _ in warnings(design)}
        kinds = {kind for kind, _ in rules}
    assert needed == kinds, "the waivers must be those that the presets need, neither more nor less"


def test_a_warning_is_seen(generated: Generated, tmp_path: Path) -> None:
    design = Design.read(generated(load_preset("tiny")))
    bad = tmp_path / "bad.v"
    bad.write_text("module bad (input wire [3:0] a, output wire b); assign b = a; endmodule\n")
    broken = Design(design.folder, "bad", (bad,), ())
    assert ("WIDTHTRUNC", "bad.v") in warnings(broken)
    with pytest.raises(AssertionError, match="WIDTHTRUNC"):
        lint(broken, waivers=design.waivers)


@pytest.fixture(scope="module")
def two_cores(generated: Generated, tmp_path_factory: pytest.TempPathFactory) -> Design:
    """A design of three cores: two that differ in their name alone, and one of another kind."""
    small = ["reuse.lanes=3", "source.generators=3", "source.bits=4"]
    cores = [
        Design.read(generated(load("tiny"))),
        Design.read(generated(load("tiny", ["core.name=other"]))),
        Design.read(generated(load("zcu102-step", small))),
    ]
    instances = "\n".join(f"  {core.top} {core.top}_i ();" for core in cores)
    top = tmp_path_factory.mktemp("two") / "two.v"
    top.write_text(f"module two;\n{instances}\nendmodule\n", encoding="utf-8")
    sources = [file for core in cores for file in core.sources]
    return Design(top.parent, "two", (*sources, top), tuple(w for c in cores for w in c.waivers))


def test_modules_are_named_after_their_core(two_cores: Design) -> None:
    seen: set[str] = set()
    for file in two_cores.sources[:-1]:
        core = file.name.removesuffix(file.suffix).removesuffix("_core")
        modules = re.findall(r"^module (\S+?)\s*\(", file.read_text(), flags=re.MULTILINE)
        assert modules and all(re.match(rf"{core}(__core(__\w+)?)?\Z", name) for name in modules)
        assert not seen & set(modules)
        seen |= set(modules)


def test_cores_of_different_names_elaborate_together(two_cores: Design) -> None:
    # Instances without connections are the point of the test design, not of the cores.
    lint(two_cores, "-Wno-PINMISSING", "-Wno-DECLFILENAME", waivers=two_cores.waivers)


def test_cores_of_different_names_elaborate_together_on_icarus(
    two_cores: Design, tmp_path: Path, icarus: str
) -> None:
    del icarus  # it is there
    command = [str(tools.icarus().iverilog), "-g2012", "-s", "two", "-o", str(tmp_path / "two")]
    command += map(str, two_cores.sources)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
