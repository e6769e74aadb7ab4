"""Explain: what the detector makes of every pair of live lines as of the last bar, and why.

A walk keeps only what it serves. Here the bars are walked, and then each pair of lines that is
live at the end is judged as the kernel judges it, without serving it: the first rule that it fails
is kept with the number and its bound.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import (
    DetectorRun,
    line_values,
    touch_buffers,
    walk_on,
    walked_prices,
)
from screener.nightly.detector.events import EndReason, EventLog, PatternType, Rows, Rule, Scale
from screener.nightly.detector.kernel.candidates import judge_live, note
from screener.nightly.detector.kernel.judge import Verdict
from screener.nightly.detector.kernel.lineages import NOBODY, REJECTED, find_rival, free_slot
from screener.nightly.detector.kernel.naming import NO_PATTERN, Finding, name_of
from screener.nightly.detector.kernel.pairs import pair_of
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.walk import flag_known_swings
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.nearest import nearest_drawing
from screener.nightly.results.setups import running_trades
from screener.nightly.series import Series
from store.wire.records import NearestDrawing

SQUEEZES = (PatternType.BULLISH_SQUEEZE, PatternType.BEARISH_SQUEEZE)

GEOMETRY = (
    "type",
    "scale",
    *("upper_start", "upper_value", "upper_slope"),
    *("lower_start", "lower_value", "lower_slope"),
)
"""The fields in which two drawings are the same."""


class Decision(Enum):
    """What becomes of a pair of lines, in words."""

    FAILED = "fails a rule"
    SERVED = "passes every rule and is served"
    RIVALLED = "passes every rule, but a better drawing of the same formation is served"
    WAITING = (
        "passes every rule today, but it was far from that when it was last judged; it is judged "
        "again within days"
    )
    CROWDED = "passes every rule, but as many setups as the detector keeps are forming already"


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A trend line: the session that it starts on, and its last price in dollars."""

    start: dt.date
    price: float


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair of live lines, the first rule that it fails, and its score if it got that far."""

    scale: Scale
    kind: PatternType | None
    upper: DrawnLine
    lower: DrawnLine
    finding: Finding
    score: float | None
    """In percent."""
    decision: Decision

    @property
    def order(self) -> tuple[int, float, float]:
        """The sort key by how far it came: the rule, the score, the distance to the bound."""
        rule, value, bound = self.finding
        reached = rule if rule != Rule.NONE else max(Rule) + 1
        return -reached, -(self.score or 0.0), abs(value - bound)


@dataclass(frozen=True, slots=True, eq=False)
class ServedPattern:
    """A pattern that is served: a forming version, or the version of an open trade."""

    version: Rows
    trade: Rows | None
    since: dt.date
    upper: DrawnLine
    """As of the last bar; of an open trade, of the bar before its breakout."""
    lower: DrawnLine


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that the detector considers as of a session; pairs by how far they came."""

    session: dt.date
    served: tuple[ServedPattern, ...]
    pairs: tuple[JudgedPair, ...]
    nearest: NearestDrawing
    """What a night keeps of them if it serves none."""


def explain(series: Series, parameters: Parameters, *, gap_days: int) -> Explanation:
    """Judge every pair of live lines as of the last bar, and list what is served there."""
    walked = walk_on(None, series, parameters, gap_days=gap_days)
    pairs = _Review(series, walked, parameters, gap_days).pairs()
    return Explanation(
        to_date(series.bars.date[-1]),
        tuple(_served(series.bars, walked.log)),
        tuple(sorted(pairs, key=lambda pair: pair.order)),
        nearest_drawing(walked, series, parameters, gap_days=gap_days),
    )


class _Review:
    """The pairs of live lines at the end of a walk, judged on a copy of its state."""

    def __init__(
        self, series: Series, walked: DetectorRun, parameters: Parameters, gap_days: int
    ) -> None:
        self._bars = bars = series.bars
        self._last = len(bars) - 1
        self._log = walked.log
        self._state = walked.state.copy()[0]
        self._prices = walked_prices(series, parameters, gap_days)
        self._touches = touch_buffers(len(bars))
        self._record = parameters.record()
        flag_known_swings(self._prices, parameters.atr_bars + 1, len(bars), self._record)

    def pairs(self) -> Iterator[JudgedPair]:
        """Every pair on both scales."""
        counts = self._state["line_counts"]
        for scale in Scale:
            for upper in range(counts[scale, UPPER]):
                for lower in range(counts[scale, LOWER]):
                    yield self._judged(scale, upper, lower)

    def _judged(self, scale: Scale, upper: int, lower: int) -> JudgedPair:
        prices, state, last, record = self._prices, self._state, self._last, self._record
        verdict = judge_live(prices, state, self._touches, scale.value, upper, lower, last, record)
        rule, lines = verdict.finding.rule, state["drawn"]
        if rule != Rule.CONVERGENCE:
            # The kernel names no pair that fails a rule.
            pair = pair_of(lines[UPPER], lines[LOWER], last)
            naming = name_of(prices, lines, pair, scale.value, last, record)
            verdict = verdict._replace(naming=naming)
        note(state["candidate"], lines, verdict, scale.value, last)
        kind = verdict.naming.type
        return JudgedPair(
            scale,
            PatternType(kind) if kind != NO_PATTERN else None,
            *drawn_lines(self._bars, state["candidate"], last),
            verdict.finding,
            verdict.quality if rule in (Rule.NONE, Rule.SCORE) else None,
            self._decision(verdict),
        )

    def _decision(self, verdict: Verdict) -> Decision:
        """What became of the pair that was noted as the state's candidate."""
        if verdict.finding.rule != Rule.NONE:
            return Decision.FAILED
        state = self._state.copy()
        if any(_same(setup, state["candidate"]) for setup in _forming(self._log)):
            return Decision.SERVED
        atr = self._prices["atr"][self._last]
        rival = find_rival(state, self._log.versions, atr, self._last, self._record)
        if rival == REJECTED:
            return Decision.RIVALLED
        crowded = rival == NOBODY and free_slot(state["forming"]) == NOBODY
        return Decision.CROWDED if crowded else Decision.WAITING


def _forming(log: EventLog) -> Rows:
    live: Rows = log.versions[log.versions["end_reason"] == EndReason.FORMING]
    return live


def _same(version: Rows, other: Rows) -> bool:
    return all(version[name] == other[name] for name in GEOMETRY)


def _served(bars: Bars, log: EventLog) -> Iterator[ServedPattern]:
    """The forming versions, then the open trades."""
    for version in _forming(log):
        yield _pattern(bars, version, None, len(bars) - 1)
    for trade in running_trades(log):
        # Beyond the breakout price has left the lines, which may even have crossed.
        yield _pattern(bars, log.versions[trade["version"]], trade, int(trade["entry"]) - 1)


def _pattern(bars: Bars, version: Rows, trade: Rows | None, last: int) -> ServedPattern:
    since = to_date(bars.date[version["first_served"]])
    return ServedPattern(version, trade, since, *drawn_lines(bars, version, last))


def drawn_lines(bars: Bars, version: Rows, bar: int) -> tuple[DrawnLine, DrawnLine]:
    """The upper and the lower line of a drawing as of a bar."""
    upper, lower = (
        DrawnLine(to_date(bars.date[version[f"{side}_start"]]), float(np.exp(value)))
        for side, value in zip(("upper", "lower"), line_values(version, bar), strict=True)
    )
    return upper, lower
