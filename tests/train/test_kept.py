"""The results of fixed-point training that the documents show are of today's cores and models."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config
from pezo_hw.driver import Backend, CheckedBackend, GoldenBackend
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.driver.rtl import driven, open_folder
from pezo_hw.errors import CheckFailed
from pezo_hw.export import folder
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.synth.boards import of
from pezo_hw.train import data, hardware, opening
from pezo_hw.train.loop import Plan, Trainer
from scripts import check_rtl_training as rtl
from scripts import train_digits as digits

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RTL: dict[str, Any] = json.loads((RESULTS / "rtl_training.json").read_text(encoding="utf-8"))
DIGITS: dict[str, Any] = json.loads((RESULTS / "digits.json").read_text(encoding="utf-8"))
# With all steps of the script: of each source, update rule and size.
WHOLE = {("on-the-fly", "dsp", 16), ("pre-generated", "zoqo", 8)}
LANES = 8


def _row(case: tuple[str, str, int]) -> dict[str, Any]:
    for row in RTL["runs"]:
        if (row["source"], row["update"], row["bits"]) == case:
            return dict(row)
    raise AssertionError(f"no run of {case}")


def _core(case: tuple[str, str, int]) -> Config:
    source, update, bits = case
    return rtl.core(source=source, update=update, bits=bits, lanes=LANES)


@contextmanager
def _opened(config: Config, *, print_: str) -> Iterator[RegisterBackend]:
    """Open the RTL of a configuration, after a look at its fingerprint."""
    core = build(driven(config))
    # If this fails: the command in docs/results/rtl_training.json, with --json and that file.
    assert fingerprint(core) == print_
    with folder.temporary(core, board=of(core.config, where="test")) as place:
        backend = open_folder(place)
    try:
        yield backend
    finally:
        backend.close()


@pytest.mark.parametrize("case", rtl.CASES, ids=str)
def test_training_through_the_rtl_is_that_of_the_model(case: tuple[str, str, int]) -> None:
    config, row = _core(case), _row(case)
    steps = 300 if case in WHOLE else 30
    golden, _ = rtl.train(config, GoldenBackend(config), name="golden", steps=steps)
    with _opened(config, print_=row["fingerprint"]) as backend:
        checked = CheckedBackend(backend, reference=GoldenBackend(config))
        through, _ = rtl.train(config, checked, name="rtl", steps=steps)
        assert through.sha256 == golden.sha256
        assert checked.difference is None and checked.sweeps == 3 * steps
        assert not np.array_equal(through.engine.weights, through.engine.initial)
        if case in WHOLE:
            assert through.sha256 == row["weights_sha256"]
        # And the steps that were kept, on both.
        for one in (backend, GoldenBackend(config)):
            opening.check(row["opening"], golden.engine.initial, backend=one)


def test_the_kept_trainings_are_all_and_were_equal() -> None:
    assert [(row["source"], row["update"], row["bits"]) for row in RTL["runs"]] == list(rtl.CASES)
    assert RTL["command"].endswith(f"--steps 300 --lanes {LANES}")
    for row in RTL["runs"]:
        assert row["equal"] and row["difference"] is None and row["sweeps"] == 900
        assert row["weights_sha256"] == row["golden_sha256"]
        assert row["steps_per_second"] >= rtl.LEAST
    for values in ({case[i] for case in WHOLE} for i in range(3)):
        assert len(values) == 2


def test_the_documents_show_every_kept_training(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(RESULTS.parent / "_ext"))
    shown = importlib.import_module("pezo_training")
    head, *rows = shown.rows(RTL)
    assert len(head) == len(rows[0]) and [(r[0], r[1], int(r[2])) for r in rows] == list(rtl.CASES)
    for row, run in zip(rows, RTL["runs"], strict=True):
        speed, digest = f"{run['steps_per_second']:.0f}", f"``{run['weights_sha256'][:8]}``"
        assert row[3:] == [speed, "yes", digest]
    changed = {**RTL["runs"][0], "equal": False, "steps_per_second": 7.4}
    assert shown.rows({"runs": [changed]})[1][3:5] == ["7", "no"]
    # The text has no measured speed beside the table.
    text = " ".join((RESULTS.parent / "training.rst").read_text(encoding="utf-8").split())
    assert ".. pezo-rtl-training::" in text
    assert re.findall(r"(\d+) steps a second", text) == [f"{rtl.LEAST:.0f}"]


def _digits_trainer(config: Config, backend: Backend) -> Trainer:
    rate = digits.rate_of(config, constant=False)
    plan = Plan("digits", digits.SIZES, digits.BATCH, rate, 0, "golden", DIGITS["steps"])
    return Trainer(plan, backend, data.digits())


OPENINGS = {run["way"]: run["opening"] for run in DIGITS["runs"] if "opening" in run}


@pytest.mark.parametrize("way", OPENINGS)
def test_the_digits_are_trained_by_this_model(way: str) -> None:
    # If this fails: the command in docs/results/digits.json
    config = hardware.configuration(**digits.WAYS[way])
    trainer = _digits_trainer(config, GoldenBackend(config))
    kept = OPENINGS[way]
    opening.check(kept, trainer.engine.initial, backend=GoldenBackend(config))
    trainer.run(opening.STEPS)
    log = trainer.engine.log
    assert (log.seed, log.indices) == (kept["seed"], kept["indices"])
    assert log.coefficients == kept["coefficients"]


def test_every_way_has_kept_steps() -> None:
    ways = [way for way in DIGITS["summary"] if way != digits.GAUSSIAN]
    assert list(OPENINGS) == ways and len(ways) >= 3
    assert all(len(kept["coefficients"]) == opening.STEPS for kept in OPENINGS.values())


def test_a_model_that_changed_is_found() -> None:
    kept = OPENINGS["on the fly"]
    config = hardware.configuration(**digits.WAYS["on the fly"])
    initial = _digits_trainer(config, GoldenBackend(config)).engine.initial
    other = config.model_copy(update={"source": config.source.model_copy(update={"seed": 2})})
    with pytest.raises(CheckFailed, match=r"^weights of the kept training must have the SHA-256"):
        opening.check(kept, initial, backend=GoldenBackend(other))
    with pytest.raises(CheckFailed, match=r"^initial of the kept training must have the SHA-256"):
        opening.check(kept, initial + 1, backend=GoldenBackend(config))
    changed = {**kept, "coefficients": [*kept["coefficients"][:-1], 1]}
    with pytest.raises(CheckFailed, match=r"^weights of"):
        opening.check(changed, initial, backend=GoldenBackend(config))


def test_what_is_kept_is_what_was_done() -> None:
    config = hardware.configuration(**digits.WAYS["ZOQO"])
    trainer = _digits_trainer(config, GoldenBackend(config))
    trainer.run(opening.STEPS + 3)
    kept, before = opening.record(trainer), trainer.sha256
    opening.check(kept, trainer.engine.initial, backend=GoldenBackend(config))
    # The training goes on as if nothing had been looked at.
    whole = _digits_trainer(config, GoldenBackend(config))
    whole.run(opening.STEPS + 9)
    assert trainer.sha256 == before
    trainer.run(opening.STEPS + 9)
    assert trainer.sha256 == whole.sha256
