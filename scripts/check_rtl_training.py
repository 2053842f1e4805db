"""Train the digits through the RTL and on the golden model, and compare the weights.

Both sources, both update rules, 8 and 16 bits, 300 steps each: the SHA-256 of the weights must be
the same, every sweep of the RTL equal to the golden model's, and the RTL's steps at least 20 a
second. The cores have 8 lanes, so that they are compiled fast; ``--lanes 32`` takes those of the
preset. Prints a line for each, and writes a JSON file if told to, with a fingerprint of the RTL and
the first steps of each training, by which a test finds out that they are of other cores. The exit
code is 1 if anything differs or is too slow.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

from pezo_hw import tools
from pezo_hw.config import Config, from_mapping
from pezo_hw.driver import Backend, CheckedBackend, GoldenBackend
from pezo_hw.driver.rtl import driven, open_rtl
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.files import write_atomically
from pezo_hw.train import data, hardware, opening
from pezo_hw.train.loop import Plan, Trainer

SIZES = (64, 32, 10)
BATCH = 64
LEAST = 20.0
CASES = tuple(itertools.product(("on-the-fly", "pre-generated"), ("dsp", "zoqo"), (16, 8)))
"""Source, update rule and bits of a weight."""


def print_of(config: Config) -> str:
    """Return a checksum of the RTL that is driven."""
    return fingerprint(build(driven(config)))


def core(*, source: str, update: str, bits: int, lanes: int) -> Config:
    """Return the configuration of a training with fewer lanes."""
    config = hardware.configuration(source=source, update=update, bits=bits)
    mapping = config.model_dump(exclude_unset=True)
    # As many words as lanes: nothing is reused.
    mapping["source"]["generators" if source == "on-the-fly" else "words"] = lanes
    mapping["reuse"] = {"lanes": lanes}
    return from_mapping(mapping, where="scripts/check_rtl_training.py")


def train(config: Config, backend: Backend, *, name: str, steps: int) -> tuple[Trainer, float]:
    """Return a finished training and its steps a second."""
    plan = Plan("digits", SIZES, BATCH, hardware.rate_of(config), 0, name)
    trainer = Trainer(plan, backend, data.digits())
    began = time.monotonic()
    trainer.run(steps)
    return trainer, steps / (time.monotonic() - began)


def compare(config: Config, *, steps: int) -> dict[str, Any]:
    """Train both ways and return what was found."""
    golden, _ = train(config, GoldenBackend(config), name="golden", steps=steps)
    alone = open_rtl(config)
    try:
        checked = CheckedBackend(alone, reference=GoldenBackend(config))
        through, _ = train(config, checked, name="rtl", steps=steps)
        _, speed = train(config, alone, name="rtl", steps=min(steps, 100))
    finally:
        alone.close()
    return {
        "weights_sha256": through.sha256,
        "golden_sha256": golden.sha256,
        "test_accuracy": through.test_accuracy,
        "saturations": through.engine.saturations,
        "sweeps": checked.sweeps,
        "difference": checked.difference,
        "steps_per_second": speed,
        "fingerprint": print_of(config),
        "opening": opening.record(golden),
    }


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--json", type=Path, help="file to write")
    arguments = parser.parse_args()
    rows = []
    for source, update, bits in CASES:
        config = core(source=source, update=update, bits=bits, lanes=arguments.lanes)
        row: dict[str, Any] = {"source": source, "update": update, "bits": bits}
        row |= compare(config, steps=arguments.steps)
        row["equal"] = row["weights_sha256"] == row["golden_sha256"] and row["difference"] is None
        rows.append(row)
        print(
            f"{source:<13} {update:<4} {bits:>2} bits: {'equal' if row['equal'] else 'DIFFERS'}, "
            f"{row['sweeps']} sweeps, {row['saturations']} saturations, "
            f"{row['steps_per_second']:.0f} steps/s, sha256 {row['weights_sha256'][:16]}",
            flush=True,
        )
    if arguments.json is not None:
        document = {
            "command": "python scripts/check_rtl_training.py "
            f"--steps {arguments.steps} --lanes {arguments.lanes}",
            "tools": tools.versions(),
            "runs": rows,
        }
        write_atomically(arguments.json, f"{json.dumps(document, indent=1)}\n".encode())
    good = all(row["equal"] and row["steps_per_second"] >= LEAST for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
