"""README and documents say what is so: commands exist, figures are current, examples run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import typer

from pezo_hw import tools
from pezo_hw.cli.main import app, main
from pezo_hw.config import load, preset_names
from pezo_hw.export import folder
from pezo_hw.export.manifest import source
from pezo_hw.export.rtl import Core, build, fingerprint
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.vectors import vectors
from pezo_hw.synth.boards import resolve
from scripts import resources

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.rst"))]
RESULTS: dict[str, Any] = json.loads(resources.RESULTS.read_text(encoding="utf-8"))


def lines() -> Iterator[tuple[str, str]]:
    """Yield page and text of every line that is a command."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            text = line.strip().removeprefix("$ ")
            if re.match(r"(pezo|make|python) ", text) and line.startswith("   "):
                yield page.name, text


def commands(program: str) -> list[str]:
    """Return every command line of a program that the pages show."""
    return list(dict.fromkeys(text for _, text in lines() if text.startswith(f"{program} ")))


def parse(line: str) -> None:
    """Parse a command line of pezo as the program does, without running it."""
    name, *rest = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(app)
    if name in ("--version", "--help"):
        assert not rest
        return
    context = command.commands[name].make_context(name, rest)
    config, overrides = context.params.get("config"), context.params.get("overrides")
    if config in preset_names() and name != "check":
        load(config, overrides or ())


def test_the_pages_show_commands() -> None:
    assert len(commands("pezo")) > 15
    assert {page for page, _ in lines()} >= {"README.md", "quickstart.rst"}


@pytest.mark.parametrize("line", commands("pezo"))
def test_a_command_line_parses(line: str) -> None:
    parse(line)


@pytest.mark.parametrize(
    "line",
    [
        "pezo synthesise tiny",
        "pezo report",
        "pezo report tiny --yaml",
        "pezo vectors tiny --start x --groups 1 -o a.npz",
        "pezo generate tiny -o a --set reuse.lane=5",
    ],
)
def test_a_wrong_command_line_is_found(line: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - of several kinds
        parse(line)


def _synopses() -> list[str]:
    found: list[str] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += re.findall(r"`pezo ([^`]+)`", text)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("synopsis", _synopses())
def test_a_synopsis_names_what_exists(synopsis: str) -> None:
    name, *rest = synopsis.split()
    command: Any = typer.main.get_command(app)
    if name == "--version":
        return
    known = {option for p in command.commands[name].params for option in p.opts}
    options = {word.strip("[]") for word in rest if word.strip("[]").startswith("-")}
    assert options <= known


def test_every_command_has_a_synopsis() -> None:
    command: Any = typer.main.get_command(app)
    assert set(command.commands) <= {synopsis.split()[0] for synopsis in _synopses()}


def _transcripts() -> list[tuple[str, str]]:
    """Return commands that are shown with all that they print."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(
            r"^( +)\$ (pezo check .*)\n((?:\1[^$\s].*\n|\1 +\S.*\n)+)", text, re.MULTILINE
        ):
            indent, command, output = match.groups()
            found.append((command, re.sub(f"(?m)^{indent}", "", output)))
    return found


def test_there_are_transcripts() -> None:
    assert len(_transcripts()) == 3


@pytest.mark.parametrize(("command", "output"), _transcripts())
def test_a_command_prints_what_the_page_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert printed.out + printed.err == output


@pytest.mark.parametrize("line", commands("make"))
def test_a_target_exists(line: str) -> None:
    targets = re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert line.split()[1] in targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)", text) if page.suffix == ".md" else []
    # Paths in inline code, of folders that are in the repository.
    links += re.findall(r"`((?:docs|scripts|sim|boards|pezo_hw)/[\w./-]*\w)`", text)
    links += re.findall(r"python ((?:docs|scripts)/[\w./-]*\w)", text)
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert missing == []


@pytest.mark.parametrize("picture", sorted(DOCS.glob("_static/*.svg")), ids=lambda p: p.name)
def test_a_picture_is_complete_and_used(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    assert root.find("{http://www.w3.org/2000/svg}title") is not None
    text = picture.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert any(picture.name in page.read_text(encoding="utf-8") for page in PAGES)


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    readme = resources.README.read_text(encoding="utf-8")
    assert resources.with_table(readme, RESULTS) == readme
    changed = json.loads(json.dumps(RESULTS))
    changed["designs"][0]["report"]["resources"]["lut"] += 1
    assert resources.with_table(readme, changed) != readme


def test_the_results_are_complete() -> None:
    assert [d["command"] for d in RESULTS["designs"]] == [d.command for d in resources.DESIGNS]
    assert RESULTS["tools"]["yosys"] == tools.versions()["yosys"]
    for design in RESULTS["designs"]:
        used = design["report"]["resources"]
        assert sum(block["lut"] for block in design["report"]["blocks"]) == used["lut"]
        luts = sum(c["count"] for c in design["cells"] if re.match("LUT|INV|SRL", c["type"]))
        # Of LUT RAM there is one kind.
        rams = sum(c["count"] for c in design["cells"] if c["type"] == "RAM64M8")
        assert luts + 8 * rams == used["lut"]


def test_the_readme_shows_the_step_with_everything() -> None:
    config = next(d for d in RESULTS["designs"] if d["command"] == "pezo report zcu102-fused")
    readme = resources.README.read_text(encoding="utf-8")
    for column in ("lut", "ff", "dsp"):
        assert f"| {config['report']['resources'][column]:,} |" in readme
    # The second table is that of the plain step.
    plain = {**RESULTS, "designs": [d for d in RESULTS["designs"] if d is not config]}
    assert resources.step_table(plain) == resources.step_table(RESULTS)


@pytest.mark.parametrize("design", resources.DESIGNS, ids=lambda design: design.name)
def test_the_results_are_of_this_gateware(design: resources.Design) -> None:
    # If this fails: python scripts/resources.py, and read docs/resources.rst again.
    entry = next(d for d in RESULTS["designs"] if d["name"] == design.name)
    assert fingerprint(design.build()) == entry["fingerprint"]


def test_a_fingerprint_tells_cores_apart() -> None:
    prints = {fingerprint(build(load("tiny", [f"source.seed={seed}"]))) for seed in (1, 2)}
    assert len(prints) == 2


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run_example(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(DOCS / "examples" / f"{name}.py"), *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("preset", "overrides"),
    [
        ("tiny", ()),
        ("tiny", ("source.rotation=period", "source.bits=5", "reuse.stride=2")),
        ("zcu102-onthefly", ("reuse.lanes=64", "source.phases=seeded", "source.seed=7")),
        ("zcu102-pregen", ("reuse.lanes=64", "source.pool_size=100")),
        ("tiny", ("reuse.signs=true",)),
        ("zcu102-pregen", ("reuse.lanes=64", "source.pool_size=97", "reuse.signs=true")),
        ("zcu102-pregen", ("reuse.lanes=64", "source.pool_size=97", "source.phases=seeded")),
    ],
)
def test_the_example_recomputes_the_stream(preset: str, overrides: tuple[str, ...]) -> None:
    config = load(preset, overrides)
    core = Core(config, Engine(config))
    stated = json.loads(json.dumps(source(core)))
    start = core.model.sequence.period - 3
    wanted = vectors(config, start=start, groups=10)
    example = _example("recompute")
    assert np.array_equal(example.words(stated, start, 10), wanted["words"])
    assert np.array_equal(example.lanes(stated, start, 10), wanted["lanes"])
    stated["stride"] += 1
    assert not np.array_equal(example.lanes(stated, start, 10), wanted["lanes"])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("docs") / "tiny"
    folder.generate(load("tiny"), place)
    return place


def test_the_example_reads_a_generated_folder(tiny: Path) -> None:
    assert _run_example("recompute", str(tiny), "3", "2") == (
        f"{vectors(load('tiny'), start=3, groups=2)['lanes']}\n"
    )


def test_the_example_of_a_step_learns() -> None:
    found = re.fullmatch(r"loss before (\S+), after 400 steps (\S+)\n", _run_example("one_step"))
    assert found is not None
    before, after = map(float, found.groups())
    assert after < before / 10


def test_the_example_of_a_bench_runs(tiny: Path) -> None:
    simulator = "icarus" if shutil.which("iverilog") else "verilator"
    assert _run_example("run_bench", str(tiny), simulator).endswith("all equal\n")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield key
            if key not in ("config", "sha256", "files", "tools"):
                yield from _keys(entry)
    elif isinstance(value, list):
        for entry in value[:1]:
            yield from _keys(entry)


@pytest.mark.parametrize("preset", ["tiny", "zcu102-pregen", "zcu102-step"])
def test_every_key_of_the_manifest_is_documented(preset: str) -> None:
    config = load(preset, ["source.pool_size=64"] if preset == "zcu102-pregen" else [])
    with folder.temporary(build(config), board=resolve(config.board_reference)) as place:
        keys = set(_keys(folder.read(place)))
    documented = set(re.findall(r"``([a-z_0-9]+)``", (DOCS / "manifest.rst").read_text()))
    assert keys - documented == set()
    assert "pool" in keys
