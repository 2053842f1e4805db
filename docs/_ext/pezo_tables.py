"""Directives that write tables from the code and from measured results, so that they cannot drift.

``pezo-config`` takes a section of the configuration and lists the keys of its models.
``pezo-presets`` lists the presets, ``pezo-ports`` the ports of one's wrapper. ``pezo-figures`` is
the table of results, ``pezo-blocks`` and ``pezo-cells`` divide one design of
``results/resources.json`` by block and by type of cell, and ``pezo-tools`` names the versions that
the results were measured with. ``pezo-compare`` is the table of ``results/compare``,
``pezo-columns`` says what is in it, ``pezo-signs`` is the table of ``results/signs.json``,
``pezo-digits`` that of ``results/digits.json``, and ``pezo-distributions`` describes those of the
Gaussian sources.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pezo_hw.analysis import expectation_of
from pezo_hw.compare import Comparison, tables
from pezo_hw.compare.result import from_document
from pezo_hw.config import load, preset_names, preset_summary
from pezo_hw.config.models import SECTIONS, Section
from pezo_hw.config.text import choices, requirement
from pezo_hw.export.ports import ports
from pezo_hw.export.rtl import build
from pezo_hw.golden.engine import engine_of
from pezo_hw.synth.published import BASELINE, LANES, PEZO

RESULTS = Path(__file__).resolve().parent.parent / "results" / "resources.json"
# LUT RAM as well, a cell of which fills several.
LUTS = re.compile(r"LUT|INV|SRL|RAM\d+M")
COLUMNS = {"lut": "LUT", "ff": "FF", "bram36": "BRAM36", "dsp": "DSP"}


def list_table(rows: Iterable[Sequence[str]], *, widths: str = "auto") -> str:
    """Return rows, of which the first is the head, as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in rows:
        for number, cell in enumerate(row):
            # A lone dash would be the bullet of an empty list.
            text = r"\-" if cell == "-" else cell
            lines.append(f"   {'* -' if number == 0 else '  -'} {text}".rstrip())
    return "\n".join(lines) + "\n"


class Table(SphinxDirective):
    """A directive whose content is computed."""

    has_content = False
    path = RESULTS
    """What it is computed from; `text` may have more."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed text."""
        self.env.note_dependency(str(self.path))
        return self.parse_text_to_nodes(self.text())

    def text(self) -> str:
        """Return reStructuredText."""
        raise NotImplementedError

    def results(self) -> dict[str, Any]:
        """Return the measured results."""
        loaded: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return loaded

    def made(self) -> str:
        """Return the command and the tools that the results were measured with."""
        found = self.results()
        tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
        return f"``{found['command']}`` ({tools})"

    def design(self) -> dict[str, Any]:
        """Return the entry of the design that the argument names."""
        found = [d for d in self.results()["designs"] if d["name"] == self.arguments[0]]
        if not found:
            raise self.error(f"no design {self.arguments[0]!r} in {RESULTS.name}")
        return dict(found[0])


class Keys(Table):
    """``.. pezo-config:: SECTION``."""

    required_arguments = 1

    def text(self) -> str:
        """Return a table for each model of the section."""
        models = SECTIONS[self.arguments[0]]
        parts = []
        for model in models:
            text = " ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split())
            parts += [
                text.removesuffix(".") + ":",
                "",
                list_table(self._rows(model), widths="20 22 14 44"),
            ]
        return "\n".join(parts)

    def _rows(self, model: type[Section]) -> list[list[str]]:
        rows = [["key", "value", "default", "meaning"]]
        for key, field in model.model_fields.items():
            rows.append([f"``{key}``", _value(field), _default(field), str(field.description)])
        return rows


def _value(field: FieldInfo) -> str:
    options = choices(field)
    if options:
        return " or ".join(f"``{json.dumps(option)}``" for option in options)
    return requirement(field)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "not set" if field.default is None else f"``{json.dumps(field.default)}``"


class Figures(Table):
    """``.. pezo-figures::``."""

    def text(self) -> str:
        """Return the table of results, with the published ones."""
        rows = [["design", "lanes", *COLUMNS.values(), "LUT share"]]
        for entry in self.results()["designs"]:
            report = entry["report"]
            rows.append(
                [
                    f"{entry['name']}: ``{entry['command']}``",
                    f"{entry['lanes']:,}",
                    *_numbers(report["resources"]),
                    f"{100 * report['share']['lut']:.2f} %",
                ]
            )
        for figures in (PEZO["on-the-fly"], PEZO["pre-generated"], BASELINE):
            counts = [f"≈ {figures.lut:,}", f"≈ {figures.ff:,}", "-", "-"]
            rows.append(
                [
                    f"*published: {figures.design}*",
                    f"{LANES:,}",
                    *counts,
                    f"{figures.lut_percent:g} %",
                ]
            )
        return list_table(rows)


class Blocks(Table):
    """``.. pezo-blocks:: DESIGN``."""

    required_arguments = 1
    final_argument_whitespace = True

    def text(self) -> str:
        """Return the resources of each block."""
        report = self.design()["report"]
        rows = [["block", *COLUMNS.values()]]
        rows += [[f"``{b['name']}``", *_numbers(b)] for b in report["blocks"]]
        rows.append(["sum", *_numbers(report["resources"])])
        return list_table(rows)


class Cells(Table):
    """``.. pezo-cells:: DESIGN``."""

    required_arguments = 1
    final_argument_whitespace = True

    def text(self) -> str:
        """Return the cells of each block by type: what counts as LUT, and the others."""
        cells = self.design()["cells"]
        rows = [["block", "counted as LUT", "other cells"]]
        for name in dict.fromkeys(cell["block"] for cell in cells):
            of_block = [c for c in cells if c["block"] == name]
            luts = [c for c in of_block if LUTS.match(c["type"])]
            others = [c for c in of_block if c not in luts]
            rows.append([f"``{name}``", _cells(luts), _cells(others)])
        return list_table(rows)


class Tools(Table):
    """``.. pezo-tools::``."""

    def text(self) -> str:
        """Return one sentence."""
        results = self.results()
        report = results["designs"][0]["report"]
        versions = ", ".join(f"{name} {version}" for name, version in results["tools"].items())
        command = report["command"].partition(" -top")[0]
        return (
            f"All figures are estimates of {report['tool']}, ``{command}``, for "
            f"``{report['device']}`` ({versions}). None has been placed and routed.\n"
        )


class Ports(Table):
    """``.. pezo-ports:: PRESET [OVERRIDE ...]``: the ports of the wrapper."""

    required_arguments = 1
    optional_arguments = 9

    def text(self) -> str:
        """Return a table of the ports."""
        rows = [["port", "direction", "bits", "meaning"]]
        rows.append(["``aclk``", "input", "1", "clock"])
        rows.append(["``aresetn``", "input", "1", "synchronous reset, active low"])
        for port in ports(build(load(self.arguments[0], self.arguments[1:]))):
            bits = f"{port.width:,}" + (", signed" if port.signed else "")
            rows.append([f"``{port.name}``", port.direction, bits, port.description])
        return list_table(rows)


class Compare(Table):
    """``.. pezo-compare::``."""

    def text(self) -> str:
        """Return the table of the comparison, with what is to be said below it."""
        found = comparison()
        items = "".join(f"- {note}\n" for note in tables.notes(found))
        cells = tables.cells(found)
        # All columns side by side are wider than a page; of the published designs, the others say
        # only a clock, on another device.
        cost = [row[:7] for row in cells]
        others = [[row[0], *row[7:]] for row in cells[: 1 + len(found.rows)]]
        parts = [f"{tables.title(found)}.\n", list_table(cost), list_table(others), items]
        return "\n".join(parts)


class Columns(Table):
    """``.. pezo-columns::``."""

    def text(self) -> str:
        """Return the columns of the comparison."""
        return list_table([["column", "meaning"], *tables.meanings()], widths="15 85")


class Signs(Table):
    """``.. pezo-signs::``."""

    path = RESULTS.parent / "signs.json"

    def text(self) -> str:
        """Return what signs cost and do."""
        found = self.results()
        heads = ["preset", "signs", "LUT", "FF", "levels", "rank", "participation"]
        rows = [
            [
                f"``{entry['preset']}``",
                "yes" if entry["signs"] else "no",
                f"{entry['lut']:,}",
                f"{entry['ff']:,}",
                str(entry["logic_levels"]),
                f"{entry['rank']} of {found['steps']}",
                f"{entry['participation']} (Gaussian {entry['gaussian_participation']})",
            ]
            for entry in found["entries"]
        ]
        return list_table([heads, *rows])


class Digits(Table):
    """``.. pezo-digits::``."""

    path = RESULTS.parent / "digits.json"

    def text(self) -> str:
        """Return the accuracies of the training on digits."""
        found = self.results()
        runs = found["runs"]
        rows = [["way", "rate", "test accuracy", "standard deviation", "limited weights"]]
        for way, row in found["summary"].items():
            own = [run for run in runs if run["way"] == way]
            limited = sum(run.get("saturations", 0) for run in own)
            rows.append(
                [
                    way,
                    f"{own[0]['rate']:.3g}",
                    f"{row['mean']:.1%}",
                    f"{row['std']:.1%}",
                    f"{limited:,}" if "saturations" in own[0] else "-",
                ]
            )
        seeds = len({run["seed"] for run in runs})
        caption = (
            f"{found['steps']:,} steps of batch {found['batch']}, mean of {seeds} seeds: "
            f"{self.made()}.\n\n"
        )
        return caption + list_table(rows)


class Distributions(Table):
    """``.. pezo-distributions::``."""

    def text(self) -> str:
        """Return how near the Gaussian sources come to a normal distribution."""
        rows = [["source", "standard deviation", "kurtosis", "largest"]]
        for name, overrides in (
            ("zcu102-gaussian-tree", ""),
            ("zcu102-gaussian-clt", "source.terms=4"),
            ("zcu102-gaussian-clt", "source.terms=8"),
        ):
            config = load(name, [*overrides.split(), "reuse.lanes=8"])
            expected = expectation_of(config, engine_of(config))
            unit = 2**config.source.fraction_bits
            size = expected.variance**0.5 / unit
            rows.append(
                [
                    f"``{config.source.kind}``" + (f", {overrides}" if overrides else ""),
                    f"{size:.4f}",
                    f"{expected.kurtosis:.3f} (normal 3)",
                    f"{expected.values.max() / unit / size:.2f} standard deviations",
                ]
            )
        return list_table(rows)


def comparison() -> Comparison:
    """Return the comparison that has been measured."""
    path = RESULTS.parent / "compare" / "compare.json"
    return from_document(json.loads(path.read_text(encoding="utf-8")))


def _cells(cells: Iterable[dict[str, Any]]) -> str:
    return ", ".join(f"{cell['count']:,} {cell['type']}" for cell in cells) or "-"


class Presets(Table):
    """``.. pezo-presets::``."""

    def text(self) -> str:
        """Return a table of the presets."""
        rows = [["name", "what"]]
        rows += [[f"``{name}``", preset_summary(name)] for name in preset_names()]
        return list_table(rows)


def _numbers(counts: dict[str, Any]) -> list[str]:
    return [f"{counts[column]:,}" for column in COLUMNS]


def escape_bars(*event: Any) -> None:
    """Keep the bars of |u| in docstrings from being read as a substitution."""
    lines: list[str] = event[-1]
    bars = re.compile(r"\|+[^|`\s][^|`]*\|+")
    lines[:] = [bars.sub(lambda found: found[0].replace("|", r"\|"), line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("pezo-config", Keys)
    app.add_directive("pezo-distributions", Distributions)
    app.add_directive("pezo-digits", Digits)
    app.add_directive("pezo-figures", Figures)
    app.add_directive("pezo-blocks", Blocks)
    app.add_directive("pezo-cells", Cells)
    app.add_directive("pezo-columns", Columns)
    app.add_directive("pezo-compare", Compare)
    app.add_directive("pezo-ports", Ports)
    app.add_directive("pezo-presets", Presets)
    app.add_directive("pezo-signs", Signs)
    app.add_directive("pezo-tools", Tools)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
