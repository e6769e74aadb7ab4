"""Explain: what the detector makes of every pair of live lines as of the last bar, and why.

A walk keeps only what it serves. Here the bars are walked, and then each pair of lines that is
live at the end is judged as the kernel judges it, without serving it: the first rule that it fails
is kept with the number and its bound, and a score with its parts.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from nightly.bars import Bars, to_date
from nightly.detector import (
    Walk,
    line_values,
    prices_of,
    segments,
    shape_at,
    touch_buffers,
    walk_on,
)
from nightly.events import EndReason, PatternType, Rows, Rule, Scale
from nightly.formations import running_trades
from nightly.judgement import BASES, PARTS, Part
from nightly.kernel.candidates import is_possible, note
from nightly.kernel.formations import NOBODY, REJECTED, find_rival, free_slot
from nightly.kernel.judge import Verdict, judge, rejected
from nightly.kernel.judgement import judged
from nightly.kernel.naming import Naming, name_wedge_or_triangle
from nightly.kernel.pairs import NO_PATTERN, converge, pair_of, width_at
from nightly.kernel.prices import LOWER, UPPER
from nightly.kernel.refit import refit_pair
from nightly.kernel.rules import Finding, failed
from nightly.kernel.shape import Shape, shape_of
from nightly.kernel.squeezes import name_squeeze
from nightly.kernel.walk import flag_known_swings
from nightly.parameters import Parameters
from nightly.series import Series

SQUEEZES = (PatternType.BULLISH_SQUEEZE, PatternType.BEARISH_SQUEEZE)

GEOMETRY = (
    "type",
    "scale",
    *("upper_start", "upper_value", "upper_slope"),
    *("lower_start", "lower_value", "lower_slope"),
)
"""The fields in which two drawings are the same."""


class Fate(Enum):
    """What becomes of a pair of lines, in words."""

    FAILED = "fails a rule"
    SERVED = "passes every rule and is served"
    RIVALLED = "passes every rule, but a better drawing of the same formation is served"
    WAITING = (
        "passes every rule, but pairs are judged only on bars that confirm a swing on one of the "
        "lines, and this bar confirms none"
    )
    CROWDED = "passes every rule, but as many setups as the detector keeps are forming already"


@dataclass(frozen=True, slots=True)
class Line:
    """A trend line: the session that it starts on, and its price today in dollars."""

    start: dt.date
    price: float


@dataclass(frozen=True, slots=True)
class PartScore:
    """One part of a score: its number, and the log-odds that it lacks to its best (0 or less)."""

    name: str
    value: float
    added: float
    reason: str


@dataclass(frozen=True, slots=True)
class Score:
    """A score in percent; `best` plus all that the parts add are its log-odds.

    Under the prototype's points, which have no parts, there are none.
    """

    percent: float
    best: float
    """The log-odds of the type if every part were at its best."""
    parts: tuple[PartScore, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair of live lines, the first rule that it fails, and its score if it got that far."""

    version: Rows
    """The drawing as a `VERSION` record."""
    scale: Scale
    kind: PatternType | None
    upper: Line
    lower: Line
    finding: Finding
    score: Score | None
    fate: Fate

    @property
    def order(self) -> tuple[int, float, float]:
        """The sort key by how far it came: the rule, the score, the distance to the bound."""
        rule, value, bound = self.finding
        reached = rule if rule != Rule.NONE else max(Rule) + 1
        return -reached, -(self.score.percent if self.score else 0.0), abs(value - bound)


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A pattern that is served: a forming version, or the version of an open trade."""

    version: Rows
    trade: Rows | None
    scale: Scale
    kind: PatternType
    since: dt.date
    last: int
    """The last bar of the pattern: of an open trade, the bar before its breakout."""
    upper: Line
    lower: Line
    score: Score


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that the detector considers as of a session; candidates by how far they came."""

    session: dt.date
    served: tuple[Served, ...]
    candidates: tuple[Candidate, ...]


def explain(series: Series, parameters: Parameters, *, gap_days: int) -> Explanation:
    """Judge every pair of live lines as of the last bar, and score what is served there."""
    bars = series.bars
    walked = walk_on(None, series, parameters, gap_days=gap_days)
    candidates = _Review(series, walked, parameters, gap_days).candidates()
    return Explanation(
        to_date(bars.date[-1]),
        tuple(_served(bars, walked, parameters)),
        tuple(sorted(candidates, key=lambda candidate: candidate.order)),
    )


def score_of(shape: Shape, kind: PatternType) -> Score:
    """The judgement on a shape, part by part."""
    best, parts = BASES[kind], []
    for part, value in zip(PARTS, shape, strict=True):
        low, high, each = part.squeeze if kind in SQUEEZES else part.long
        if each:
            most = max(each * low, each * high)
            best += most
            parts.append(_part(part, float(value), each * min(max(value, low), high) - most))
    return Score(float(judged(shape, kind.value)), best, tuple(parts))


def _part(part: Part, value: float, added: float) -> PartScore:
    return PartScore(part.name, value, added, part.reason)


class _Review:
    """The pairs of live lines at the end of a walk, judged on a copy of its state."""

    def __init__(self, series: Series, walked: Walk, parameters: Parameters, gap_days: int) -> None:
        self._bars = bars = series.bars
        self._last = len(bars) - 1
        self._versions = walked.log.versions
        self._state = walked.state.copy()[0]
        self._prices = prices_of(bars, parameters)
        self._prices["segment"] = segments(bars.date, gap_days, series.idle)
        self._touches = touch_buffers(len(bars))
        self._parameters = parameters
        self._record = parameters.record()
        flag_known_swings(self._prices, parameters.atr_bars + 1, len(bars), self._record)

    def candidates(self) -> Iterator[Candidate]:
        """Every pair on both scales."""
        counts, lines = self._state["line_counts"], self._state["lines"]
        for scale in Scale:
            for upper in lines[scale, UPPER, : counts[scale, UPPER]]:
                for lower in lines[scale, LOWER, : counts[scale, LOWER]]:
                    yield self._candidate(scale, upper, lower)

    def _candidate(self, scale: Scale, upper: Rows, lower: Rows) -> Candidate:
        self._state["drawn"][UPPER], self._state["drawn"][LOWER] = upper, lower
        lines = self._fitted(scale)
        verdict = self._verdict(lines, scale)
        note(self._state["candidate"], lines, verdict, scale.value, self._last)
        version = self._state["candidate"].copy()
        kind = PatternType(verdict.naming.type) if verdict.naming.type != NO_PATTERN else None
        upper_line, lower_line = drawn_lines(self._bars, version, self._last)
        return Candidate(
            version,
            scale,
            kind,
            upper_line,
            lower_line,
            verdict.finding,
            self._score(lines, verdict, kind),
            self._fate(verdict, int(max(upper["changed"], lower["changed"]))),
        )

    def _fitted(self, scale: Scale) -> Rows:
        """The drawn pair, fitted to its touches if the kernel would come to fit it."""
        drawn: Rows = self._state["drawn"]
        fixed = (scale.value, self._last, self._record)
        if not self._parameters.refit_touches or not is_possible(
            self._prices, drawn[UPPER], drawn[LOWER], *fixed
        ):
            return drawn
        found = refit_pair(
            self._prices, self._state, scale.value, self._touches, self._last, self._record
        )
        return self._state["refitted"] if found else drawn

    def _verdict(self, lines: Rows, scale: Scale) -> Verdict:
        """The kernel's verdict, with the name of the pair even if it fails a rule."""
        upper, lower, last = lines[UPPER], lines[LOWER], self._last
        atr = self._prices["atr"][last]
        if not converge(upper, lower, atr, last, self._record):
            width = width_at(upper, lower, last) / max(atr, 1e-9)
            return rejected(failed(Rule.CONVERGENCE, width, self._parameters.width_min))
        verdict = judge(self._prices, lines, scale.value, self._touches, last, self._record)
        return verdict._replace(naming=self._naming(lines, scale))

    def _naming(self, lines: Rows, scale: Scale) -> Naming:
        pair = pair_of(lines[UPPER], lines[LOWER], self._last)
        if scale is Scale.SHORT:
            return name_squeeze(self._prices, lines, pair, self._last, self._record)
        return name_wedge_or_triangle(self._prices, pair, self._last, self._record)

    def _score(self, lines: Rows, verdict: Verdict, kind: PatternType | None) -> Score | None:
        if kind is None or Rule.NONE < verdict.finding.rule <= Rule.TOUCH_GAP:
            return None
        if not self._parameters.judgement:
            return Score(verdict.quality, math.nan, ())
        pair = pair_of(lines[UPPER], lines[LOWER], self._last)
        shape = shape_of(
            self._prices, lines, pair, verdict.contacts, kind.value, self._last, self._record
        )
        return score_of(shape, kind)

    def _fate(self, verdict: Verdict, changed: int) -> Fate:
        """What became of the pair that was noted as the state's candidate."""
        if verdict.finding.rule != Rule.NONE:
            return Fate.FAILED
        state = self._state.copy()
        if any(_same(setup, state["candidate"]) for setup in self._forming()):
            return Fate.SERVED
        atr = self._prices["atr"][self._last]
        rival = find_rival(state, self._versions, atr, self._last, self._record)
        if rival == REJECTED:
            return Fate.RIVALLED
        if changed != self._last:
            return Fate.WAITING
        crowded = rival == NOBODY and free_slot(state["forming"]) == NOBODY
        return Fate.CROWDED if crowded else Fate.RIVALLED

    def _forming(self) -> Rows:
        live: Rows = self._versions[self._versions["end_reason"] == EndReason.FORMING]
        return live


def _same(version: Rows, other: Rows) -> bool:
    return all(version[name] == other[name] for name in GEOMETRY)


def _served(bars: Bars, walked: Walk, parameters: Parameters) -> Iterator[Served]:
    """The forming versions, then the open trades."""
    versions = walked.log.versions
    for version in versions[versions["end_reason"] == EndReason.FORMING]:
        yield _pattern(bars, version, None, len(bars) - 1, parameters)
    for trade in running_trades(walked.log):
        # Beyond the breakout price has left the lines, which may even have crossed.
        yield _pattern(bars, versions[trade["version"]], trade, int(trade["entry"]) - 1, parameters)


def _pattern(
    bars: Bars, version: Rows, trade: Rows | None, last: int, parameters: Parameters
) -> Served:
    kind = PatternType(int(version["type"]))
    if parameters.judgement:
        score = score_of(shape_at(bars, version, last, parameters), kind)
    else:
        score = Score(float(version["quality"]), math.nan, ())
    return Served(
        version,
        trade,
        Scale(int(version["scale"])),
        kind,
        to_date(bars.date[version["first_served"]]),
        last,
        *drawn_lines(bars, version, last),
        score,
    )


def drawn_lines(bars: Bars, version: Rows, bar: int) -> tuple[Line, Line]:
    """The upper and the lower line of a drawing as of a bar."""
    starts = (version["upper_start"], version["lower_start"])
    upper, lower = (
        Line(to_date(bars.date[start]), float(np.exp(value)))
        for start, value in zip(starts, line_values(version, bar), strict=True)
    )
    return upper, lower
