"""The whole analysis of a source: figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pezo_hw.config import Config
from pezo_hw.config.advice import FEW_STARTS, MANY_STARTS, SMALL_SHARE
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import engine_of

from . import checks, correlation, directions, limits, norms, words
from .checks import VERDICTS, Check
from .correlation import Correlations
from .directions import Directions, Period
from .norms import Norms
from .source import Expectation, Source, expectation_of
from .words import Words

Progress = Callable[[str], None]

SAMPLE_WORDS = 1 << 22
"""Words that are looked at where a period has more."""

PARTICIPATION_SHARE = 0.9
"""Directions should spread over nine tenths of what Gaussian ones spread over."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """Figures and verdicts of a source.

    Attributes
    ----------
    name : str
    kind : str
        Kind of source.
    bits, words_a_group, lanes : int
        b, W and P.
    groups : int
        Groups looked at for the words and norms.
    expectation : Expectation
    period : Period
    words : Words
    correlations : Correlations
    norms : Norms
    parameters, pass_groups, starts : int or None
        D, T, and the start positions that training visits; None without D.
    directions : Directions or None
        None without D, or where D is too large.
    checks : tuple of Check
    """

    name: str
    kind: str
    bits: int
    words_a_group: int
    lanes: int
    groups: int
    expectation: Expectation
    period: Period
    words: Words
    correlations: Correlations
    norms: Norms
    parameters: int | None
    pass_groups: int | None
    starts: int | None
    directions: Directions | None
    checks: tuple[Check, ...]

    def count(self, verdict: str) -> int:
        """Return how many checks have a verdict."""
        return sum(check.verdict == verdict for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The promises of the hardware that do not hold."""
        return tuple(check for check in self.checks if check.verdict == "fail")

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, the same for the same source."""
        found = self.directions
        return {
            "core": self.name,
            "source": self.kind,
            "bits": self.bits,
            "words_a_group": self.words_a_group,
            "lanes": self.lanes,
            "period": self.period.least,
            "sample": {
                "groups": self.groups,
                "whole_period": self.groups
                == (self.expectation.word_period or self.period.declared),
            },
            "parameters": self.parameters,
            "groups_a_pass": self.pass_groups,
            "directions": self.starts,
            "rank": found.rank if found else None,
            "steps": found.steps if found else None,
            "words": self.words.to_json(),
            "correlation": self.correlations.to_json(),
            "exponents": {str(e): share for e, share in self.norms.exponents.items()},
            "leftover": self.norms.leftover,
            "group_norm": self.norms.to_json(),
            "subspace": found.to_json() if found else None,
            "verdicts": {verdict: self.count(verdict) for verdict in VERDICTS},
            "checks": [check.to_json() for check in self.checks],
        }


def analyse_config(
    config: Config,
    *,
    parameters: int | None = None,
    steps: int | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse the source that a configuration describes; see `analyse`.

    `parameters` is ``core.parameters`` unless it is given.
    """
    engine = engine_of(config)
    return analyse(
        engine,
        expectation=expectation_of(config, engine),
        name=config.core.name,
        kind=config.source.kind,
        parameters=parameters or config.core.parameters,
        steps=steps,
        progress=progress,
    )


def analyse(
    source: Source,
    *,
    expectation: Expectation,
    name: str = "source",
    kind: str = "source",
    parameters: int | None = None,
    steps: int | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse a source over its period, or over as much of it as is quickly looked at.

    Parameters
    ----------
    source : Source
    expectation : Expectation
        What it is supposed to be.
    name, kind : str
        For the report.
    parameters : int, optional
        D, weights of a training; without it nothing is said about directions.
    steps : int, optional
        S, successive directions whose rank is taken; by default as many as are quickly looked at,
        at most 512.
    progress : callable, optional
        Called with a line of text at each stage.

    Raises
    ------
    PezoError
        If there are too many steps, or steps without parameters.
    """
    say = progress or (lambda _: None)
    matrix = None
    if parameters is not None:
        matrix = directions.matrix_of(source, parameters=parameters)
        if steps is not None:
            matrix.check(steps)
    elif steps is not None:
        raise PezoError(
            "--steps needs the number of weights trained, which is not given; "
            "add --parameters or set core.parameters"
        )
    count = _sample(source, expectation)
    whole = count == (expectation.word_period or source.period) or (
        # What such a block repeats are the words of each generator, and so the norms of groups.
        expectation.block is not None and count % expectation.block == 0
    )
    say(f"period, words and norms of {count:,} groups")
    period = directions.period_of(source, expectation)
    groups = source.groups(0, count)
    figures = words.measure(groups, expectation, bits=source.bits)
    say("correlations of words and lanes")
    correlations = correlation.measure(source, expectation)
    group_norms = norms.measure(source, groups)
    verdicts = [
        _period_check(period, expectation),
        *words.verdicts(figures, expectation),
        *correlation.verdicts(correlations, source),
        *norms.verdicts(group_norms, expectation, whole=whole),
    ]
    pass_groups = starts = found = None
    if parameters is None or matrix is None:
        names = ("directions", "norm", "rank", "participation")
        verdicts += [checks.skipped(n, "needs --parameters or core.parameters") for n in names]
    else:
        pass_groups = matrix.groups
        starts = directions.starts_visited(source, pass_groups, period=period.least)
        verdicts.append(_starts_check(starts, pass_groups, period.least))
        steps = steps or matrix.most_steps
        if steps:
            say(f"rank of {steps} directions of {parameters:,} weights")
            found = directions.measure(matrix, steps=steps)
            verdicts += _direction_checks(found, expectation, leftover=group_norms.leftover)
        else:
            why = f"{parameters} parameters are too many for a matrix of directions"
            verdicts += [checks.skipped(n, why) for n in ("norm", "rank", "participation")]
    return Analysis(
        name=name,
        kind=kind,
        bits=source.bits,
        words_a_group=source.words,
        lanes=source.lane_count,
        groups=count,
        expectation=expectation,
        period=period,
        words=figures,
        correlations=correlations,
        norms=group_norms,
        parameters=parameters,
        pass_groups=pass_groups,
        starts=starts,
        directions=found,
        checks=tuple(verdicts),
    )


def _sample(source: Source, expectation: Expectation) -> int:
    """Return how many groups to look at: a period, or whole blocks of it."""
    most = max(1, SAMPLE_WORDS // source.words)
    period = expectation.word_period or source.period
    if period <= most:
        return period
    block = expectation.block or 1
    return most // block * block if most >= block else most


def _period_check(period: Period, expectation: Expectation) -> Check:
    if not period.wraps:
        return checks.exactly(
            "period", 0, period.declared, basis="promise: group K is group 0", note="it is not"
        )
    kind = "promise" if expectation.least_period else "definition"
    return checks.exactly(
        "period",
        period.least,
        period.declared,
        basis=f"{kind}: the groups repeat after K and not before",
        note="" if period.complete else "not all prime factors of K were tried",
        promised=expectation.least_period,
    )


def _starts_check(starts: int, groups: int, period: int) -> Check:
    enough = max(FEW_STARTS, min(MANY_STARTS, -(-period // SMALL_SHARE)))
    return checks.at_least(
        "directions",
        starts,
        enough,
        basis="start positions K / gcd(T, K), or seeds, that training visits; fewer trained badly",
        note=f"a pass takes T = {groups} {'group' if groups == 1 else 'groups'}",
    )


def _direction_checks(
    found: Directions, expectation: Expectation, *, leftover: float
) -> list[Check]:
    ratio = found.norms * leftover / limits.gaussian_norm(found.parameters)
    off = float(np.abs(ratio - 1).max())
    full = min(found.steps, found.parameters)
    gaussian = found.gaussian_participation
    own = min(found.own_words, expectation.fresh_words or found.own_words)
    shared = f"{found.parameters} weights share {own:.5g} words"
    if expectation.signs:
        own = min(own, found.own_magnitudes)
        shared += f" of {own:.5g} magnitudes"
    return [
        checks.at_most(
            "norm",
            off,
            directions.norm_limit(found, expectation),
            basis=f"||z|| to a Gaussian's mean, {own:.5g} words, 5 sigma, worst of steps",
            note=f"{ratio.mean():.4f} of E_D, {ratio.min():.4f} to {ratio.max():.4f}",
        ),
        checks.at_least(
            "rank",
            found.rank,
            full,
            basis="definition: as many dimensions as directions or weights; exact modulo a prime",
            note=f"{found.steps} directions, {found.distinct} different; {shared}",
        ),
        checks.at_least(
            "participation",
            found.participation,
            PARTICIPATION_SHARE * gaussian,
            basis=f"{PARTICIPATION_SHARE} of the {gaussian:.5g} of Gaussian directions",
        ),
    ]
