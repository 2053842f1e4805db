"""The experiments run, go on where they were, and their results are complete."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "scripts" / "experiments"
RESULTS = ROOT / "docs" / "results" / "experiments"
# Points of accuracy by which the best variant of PeZO may be below MeZO with Gaussian noise.
_POINT = 0.01


def _run(script: str, folder: Path, *options: str) -> str:
    command = [sys.executable, str(SCRIPTS / script), "--jobs", "1", *options]
    done = subprocess.run(
        [*command, "--kept", str(folder), "--output", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_experiment_goes_on_where_it_was(tmp_path: Path) -> None:
    options = ("--tasks", "digits-shift", "--steps", "4")
    said = _run("zoqo.py", tmp_path, *options)
    assert "zoqo: 12 of 12 trials" in said
    first = json.loads((tmp_path / "zoqo.json").read_text(encoding="utf-8"))
    kept = (tmp_path / "zoqo.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    # As if it had been stopped in the middle of writing.
    (tmp_path / "zoqo.jsonl").write_text("".join(kept[:-1]) + kept[-1][:20], encoding="utf-8")
    said = _run("zoqo.py", tmp_path, *options)
    assert said.count("trials") == 1 and "zoqo: 1 of 1 trials" in said
    assert json.loads((tmp_path / "zoqo.json").read_text(encoding="utf-8")) == first
    assert (tmp_path / "zoqo.png").read_bytes().startswith(b"\x89PNG")


def _files() -> list[str]:
    return sorted(path.name for path in RESULTS.glob("*.json"))


def _spreads(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        if {"mean", "std", "values"} <= set(content):
            yield content
        for value in content.values():
            yield from _spreads(value)


@pytest.mark.parametrize("name", _files())
def test_results_say_how_they_were_made_and_have_five_seeds(name: str) -> None:
    content = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    assert content["command"].startswith("python scripts/experiments/")
    assert (ROOT / content["command"].split()[1]).is_file()
    assert content["versions"].keys() >= {"pezo-hw", "numpy", "python"}
    assert len(set(content["seeds"])) >= 5
    assert not set(content["seeds"]) & set(content["tuning seeds"])
    spreads = list(_spreads(content["results"]))
    assert spreads
    assert all(len(spread["values"]) == len(content["seeds"]) for spread in spreads)


def test_the_best_variant_is_within_a_point_of_mezo_or_the_documents_say_so() -> None:
    results = json.loads((RESULTS / "finetune.json").read_text(encoding="utf-8"))["results"]
    text = (ROOT / "docs" / "experiments.rst").read_text(encoding="utf-8")
    for task, entries in results.items():
        gaussian = entries["MeZO Gaussian"]["accuracy"]
        best = max(
            entry["accuracy"]["mean"]
            for name, entry in entries.items()
            if name.startswith(("on the fly", "pre-generated"))
        )
        error = gaussian["std"] / len(gaussian["values"]) ** 0.5
        close = best >= gaussian["mean"] - max(_POINT, error)
        assert close or f"{task} is an exception" in text


def test_the_documents_say_what_word_bits_do() -> None:
    content = json.loads((RESULTS / "sweeps.json").read_text(encoding="utf-8"))
    sweeps = content["results"]
    texts = {
        name: " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for name in ("experiments.rst", "claims.rst")
    }

    def said(sweep: str, name: str) -> tuple[str, str]:
        found = sweeps[sweep][name]["accuracy"]
        mean = f"{100 * found['mean']:.1f}"
        return f"{mean} %", f"{mean} ± {100 * found['std']:.1f} %"

    short, full = said("word bits, pool", "4")
    assert f"4 bits as well ({short})" in texts["claims.rst"]
    assert f"4 bits are enough in a pool ({full})" in texts["experiments.rst"]
    bank = sweeps["word bits, on the fly"]["4 (15 generators)"]
    assert bank["directions"] == 15 and "visits 15 directions" in texts["experiments.rst"]
    short, full = said("word bits, on the fly", "4 (15 generators)")
    assert f"A bank of 4 bits does not ({short})" in texts["claims.rst"]
    assert f"not in a bank ({full})" in texts["experiments.rst"]
    alike = [
        entry["accuracy"]["mean"]
        for sweep, names in {
            "reuse": ["32 lanes"],
            "pool size": ["4095"],
            "scaling": ["exact", "constant"],
            "rotation": ["period"],
            "word bits, pool": ["4", "6", "12", "14"],
            "word bits, on the fly": ["6", "10", "12", "14"],
        }.items()
        for name, entry in sweeps[sweep].items()
        if name in names
    ]
    low, high = 100 * min(alike), 100 * max(alike)
    gaussian = said("Gaussian", "Gaussian")[1]
    assert f"{low:.1f} to {high:.1f} %, the Gaussian {gaussian}" in texts["experiments.rst"]


def test_every_configuration_of_the_sweeps_was_tuned() -> None:
    content = json.loads((RESULTS / "sweeps.json").read_text(encoding="utf-8"))
    rates = {entry["rate"] for entries in content["results"].values() for entry in entries.values()}
    assert len(rates) > 1 and rates <= set(content["rates"]) and content["tuning seeds"]
    text = " ".join((ROOT / "docs" / "experiments.rst").read_text(encoding="utf-8").split())
    assert "the best of four learning rates for each configuration" in text
    assert len(content["rates"]) == 4
