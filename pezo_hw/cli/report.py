"""``pezo report``: synthesise a core and show what it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pezo_hw.cli import common
from pezo_hw.cli.progress import Progress
from pezo_hw.config import Config
from pezo_hw.errors import CheckFailed, PezoError

if TYPE_CHECKING:
    from pezo_hw.synth.baseline import Difference


def run(
    config: common.ConfigArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
    place: Annotated[
        str | None,
        typer.Option(
            "--place",
            metavar="FAMILY",
            help="Place and route as well, for Fmax: ecp5. Takes minutes; results are kept.",
        ),
    ] = None,
    activity: Annotated[
        bool,
        typer.Option("--activity", help="Count toggles in simulation, a proxy for power."),
    ] = False,
    groups: Annotated[
        int | None,
        typer.Option("--groups", metavar="G", min=1, help="Groups that --activity simulates."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for report.json and, with --activity, the SAIF file of the RTL.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="FILE", help="Compare with accepted figures; exit 1 if worse."
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option("--write-baseline", metavar="FILE", help="Accept the figures of this run."),
    ] = None,
    all_lanes: Annotated[
        bool,
        typer.Option(
            "--all-lanes",
            help="Synthesise every lane of a source with a generator a lane, for up to an hour, "
            "instead of some and scale.",
        ),
    ] = False,
    overrides: common.SetOption = None,
) -> None:
    """Synthesise with Yosys: LUT, FF, BRAM36, DSP, share, blocks, LUT levels."""
    _check_place(place)
    if groups is not None and not activity:
        raise PezoError("--groups must come with --activity, which simulates them; add --activity")
    checked = common.load(config, overrides)
    if not as_json:
        common.warn(checked)
    files = _Files(checked, baseline=baseline, accepted=write_baseline, output=output)
    files.check_options([*(["--place ecp5"] if place else []), *(["--activity"] * activity)])
    # Here and not at the top: this brings Amaranth, which most errors come before.
    from pezo_hw.simulate.activity import GROUPS
    from pezo_hw.synth import cores

    with Progress(quiet=as_json) as progress:
        result = cores.report(
            checked, where=config, place=place, progress=progress, all_lanes=all_lanes
        )
        if activity:
            result["activity"] = cores.activity(
                checked,
                groups=groups or GROUPS,
                saif_file=output / f"{checked.core.name}.saif" if output else None,
                progress=progress,
                all_lanes=all_lanes,
            )
    differences = files.compare(result)
    files.write(result)
    if as_json:
        typer.echo(json.dumps(result, indent=2))
    else:
        _show(result, checked)
        if differences is not None:
            typer.echo(differences_text(differences, where=str(baseline), notes=files.notes))
    if differences is not None:
        check(differences, where=str(baseline))


def differences_text(
    differences: list[Difference], *, where: str, notes: tuple[str, ...] = ()
) -> str:
    """Return the table of figures beside those of the baseline `where`."""
    from pezo_hw.synth.baseline import FIGURES

    rows = [("", "accepted", "measured", "change", "may be worse by", "")]
    for item in differences:
        measured, change = "-", "-"
        if item.measured is not None:
            measured = f"{item.measured:,.6g}"
            change = f"{item.measured - item.accepted:+,.6g}" if item.verdict != "same" else "0"
            if item.accepted and item.verdict != "same":
                change += f" ({100 * (item.measured / item.accepted - 1):+.1f} %)"
        option = FIGURES[item.figure].option
        verdict = item.verdict + (f", needs {option}" if item.measured is None and option else "")
        rows.append(
            (
                FIGURES[item.figure].title,
                f"{item.accepted:,.6g}",
                measured,
                change,
                f"{100 * item.tolerance:g} %",
                verdict,
            )
        )
    lines = [f"against {where}:", common.table(rows, indent="  ")]
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def check(differences: list[Difference], *, where: str) -> None:
    """Raise CheckFailed if a figure is worse than it may be."""
    from pezo_hw.synth.baseline import FIGURES

    worse = [
        f"{FIGURES[item.figure].title} {item.accepted:,.6g} -> {item.measured:,.6g}"
        for item in differences
        if item.verdict == "worse"
    ]
    if worse:
        raise CheckFailed(
            f"figures must not be worse than those of {where}, but are: {', '.join(worse)}; "
            "make the design better, or accept them with --write-baseline"
        )


class _Files:
    """The files of a run, checked before anything takes long."""

    def __init__(
        self, config: Config, *, baseline: Path | None, accepted: Path | None, output: Path | None
    ):
        from pezo_hw.export.manifest import portable
        from pezo_hw.synth import baseline as baselines

        self._name = config.core.name
        self._config = portable(config.model_dump(mode="json", exclude_none=True))
        self._accepted, self._output = accepted, output
        self._baseline = baselines.load(baseline) if baseline else None
        self._before = baselines.load(accepted) if accepted and accepted.exists() else None
        self.notes: tuple[str, ...] = ()
        if self._baseline and (keys := baselines.changed_keys(self._baseline, self._config)):
            self.notes = (f"the baseline is of another configuration, in {', '.join(keys)}",)
        if accepted and not accepted.absolute().parent.is_dir():
            raise PezoError(
                f"{accepted}: the folder {accepted.parent} must exist to write there; "
                "create it first"
            )
        if output is not None:
            _make_folder(output)

    def check_options(self, given: Sequence[str]) -> None:
        """Check that the options measure all that a baseline to be replaced holds."""
        from pezo_hw.synth import baseline as baselines

        if self._before is not None:
            figures = baselines.FIGURES.items()
            covered = [key for key, figure in figures if figure.option in ("", *given)]
            baselines.check_covered(self._before, covered)

    def compare(self, result: dict[str, Any]) -> list[Difference] | None:
        """Compare with the baseline, if there is one, and add the outcome to the report."""
        from pezo_hw.synth import baseline as baselines

        if self._baseline is None:
            return None
        found = baselines.compare(self._baseline, result)
        result["baseline"] = {
            "worse": any(item.verdict == "worse" for item in found),
            "notes": list(self.notes),
            "figures": [vars(item) for item in found],
        }
        return found

    def write(self, result: Mapping[str, Any]) -> None:
        """Write what was asked for."""
        from pezo_hw.synth import baseline as baselines

        if self._accepted is not None:
            made = baselines.accept(
                result, name=self._name, config=self._config, before=self._before
            )
            common.write_text(self._accepted, baselines.to_json(made), force=True)
        if self._output is not None:
            text = json.dumps(result, indent=2) + "\n"
            common.write_text(self._output / "report.json", text, force=True)


def _make_folder(folder: Path) -> None:
    """Make a folder for results; files of earlier runs in it are replaced.

    Raises
    ------
    PezoError
        If it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise PezoError(
            f"--output {folder} must be a folder that can be made, but: {reason}"
        ) from None


def _check_place(family: str | None) -> None:
    if family is not None:
        # Here and not at the top: this brings Amaranth, which most errors come before.
        from pezo_hw.synth.place import FAMILIES_PLACED

        if family not in FAMILIES_PLACED:
            raise PezoError(
                f'--place must be {" or ".join(FAMILIES_PLACED)}, not "{family}"; for UltraScale+ '
                "there is no open place and route, and the LUT levels stand for the clock"
            )


def _show(result: Mapping[str, Any], config: Config) -> None:
    from rich.console import Console

    from pezo_hw.synth.render import render

    Console().print(render(result, name=config.core.name))
    if "place" in result:
        typer.echo(_place_text(result["place"]))
    if "activity" in result:
        typer.echo(_activity_text(result["activity"]))


def _place_text(place: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            f"placed and routed for {place['device']} ({place['tool']}): "
            f"{place['fmax_mhz']:.1f} MHz, the median of {len(place['seeds'])} seeds, "
            f"{place['fmax_min_mhz']:.1f} to {place['fmax_max_mhz']:.1f}",
            "  inputs and outputs are registered; lanes that are always equal share a register",
            *([f"  with {place['lanes']} lanes"] if "lanes" in place else []),
            f"  critical path: {place['critical_path_words']}",
        ]
    )


def _activity_text(activity: Mapping[str, Any]) -> str:
    by_class = activity["per_lane_value_by_class"]
    rows = [("toggles a lane value", f"{activity['per_lane_value']:.4g}", "")]
    rows += [
        (f"  {name}", f"{value:.4g}", f"of {activity['nets'][name]:,} nets")
        for name, value in by_class.items()
        if activity["nets"][name]
    ]
    wires, clock = activity["lane_wires"], activity["clock"]
    rows += [
        ("not in the sum: lane wires", f"{wires['per_lane_value']:.4g}", ""),
        (
            "not in the sum: clock pins",
            f"{clock['per_lane_value']:.4g}",
            f"of {clock['pins']:,} pins",
        ),
    ]
    size = f"{activity['groups']} groups of {activity['lanes']:,} lanes"
    lines = [
        f"activity, {activity['label']}: {size}",
        common.table(rows, indent="  "),
    ]
    if activity["saif"]:
        saif = activity["saif"]
        lines.append(
            f"  {saif['file']}: the RTL in {saif['clocks']} clocks of {saif['period_ps']} ps"
        )
    return "\n".join(lines)
