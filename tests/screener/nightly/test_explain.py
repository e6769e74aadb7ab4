"""Explain: what a walk serves is scored by part, and what it does not serve is named a rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import detect, walk_on
from screener.nightly.detector.events import EndReason, PatternType, Rule, Scale
from screener.nightly.detector.parameters import Parameters
from screener.nightly.explain import Decision, Explanation, JudgedPair, explain
from screener.nightly.results.nearest import nearest_drawing
from screener.nightly.results.views import type_name
from screener.nightly.series import Series
from tests.screener.nightly.shapes import Shape, joined, random_walk, squeeze, wedge_or_triangle

PARAMETERS = Parameters()
TRIANGLE = wedge_or_triangle(-0.3, 0.3, approach=1, broken=-1)


def explained(bars: Bars, parameters: Parameters = PARAMETERS) -> Explanation:
    return explain(Series.sound(bars), parameters, gap_days=10)


def before_break(shape: Shape, direction: int) -> Bars:
    return shape.bars.take(slice(0, shape.break_bar(direction)))


def furthest(found: Explanation) -> JudgedPair:
    return next(pair for pair in found.pairs if pair.scale is Scale.LONG)


@pytest.fixture(scope="module")
def series() -> Bars:
    """A random walk, then ideal patterns of two kinds."""
    return joined(random_walk(0, 600), TRIANGLE.bars, squeeze(1).bars)


def test_a_served_triangle_is_told_with_the_score_of_its_drawing() -> None:
    found = explained(before_break(TRIANGLE, -1))

    (served,) = found.served
    assert served.version["type"] == PatternType.SYMMETRICAL_TRIANGLE
    assert served.trade is None
    assert served.version["quality"] >= PARAMETERS.quality_min
    drawn = [pair for pair in found.pairs if pair.decision is Decision.RIVALLED]
    assert all(pair.kind is PatternType.SYMMETRICAL_TRIANGLE for pair in drawn)
    assert all(pair.score is not None and pair.score >= PARAMETERS.quality_min for pair in drawn)
    assert drawn


def test_lines_start_at_the_first_touches_and_end_at_the_known_prices() -> None:
    bars = before_break(TRIANGLE, -1)
    (served,) = explained(bars).served

    last, lines = len(bars) - 1, TRIANGLE.lines
    assert served.upper.price == pytest.approx(math.exp(lines.upper_at(last)), rel=1e-3)
    assert served.lower.price == pytest.approx(math.exp(lines.lower_at(last)), rel=1e-3)


def test_a_shape_that_is_cut_early_fails_by_its_progress_with_the_right_number() -> None:
    bars = TRIANGLE.bars.take(slice(0, 92))
    found = explained(bars, PARAMETERS._replace(progress_min=0.95))

    pair = furthest(found)
    lines = TRIANGLE.lines
    widths = [lines.upper_at(bar) - lines.lower_at(bar) for bar in (lines.start, len(bars) - 1)]
    assert not found.served
    assert pair.kind is PatternType.SYMMETRICAL_TRIANGLE
    assert pair.score is None
    assert pair.finding.rule == Rule.PROGRESS
    assert pair.finding.value == pytest.approx(1 - widths[1] / widths[0], abs=1e-3)
    assert pair.finding.bound == 0.95


def test_lines_that_part_fail_by_convergence_with_the_width_in_atr() -> None:
    found = explained(random_walk(3, 300))

    parting = [pair for pair in found.pairs if pair.finding.rule == Rule.CONVERGENCE]
    assert parting
    assert all(pair.finding.bound == PARAMETERS.width_min for pair in parting)
    assert all(pair.kind is None and pair.score is None for pair in parting)


def test_a_score_below_the_minimum_is_kept() -> None:
    strict = PARAMETERS._replace(quality_min=99.9)
    found = explained(before_break(TRIANGLE, -1), strict)

    pair = furthest(found)
    assert not found.served
    assert pair.finding.rule == Rule.SCORE
    assert pair.finding.value == pair.score


def test_what_is_served_first_on_a_bar_is_among_the_pairs_of_that_bar(series: Bars) -> None:
    log = detect(series)

    for bar in np.unique(log.versions["first_served"]):
        found = explained(series.take(slice(0, int(bar) + 1)))
        new = [served for served in found.served if served.version["first_served"] == bar]
        pairs = [pair for pair in found.pairs if pair.decision is Decision.SERVED]
        assert len(pairs) >= len(new) > 0


def test_a_pair_that_fails_is_never_what_is_served(series: Bars) -> None:
    for bar in range(200, len(series), 37):
        for pair in explained(series.take(slice(0, bar))).pairs:
            assert (pair.decision is Decision.FAILED) == (pair.finding.rule != Rule.NONE)


def test_the_lines_of_an_open_trade_are_those_of_the_bar_before_its_breakout() -> None:
    broken = TRIANGLE.break_bar(-1)
    (served,) = explained(TRIANGLE.bars.take(slice(0, broken + 2))).served
    (forming,) = explained(before_break(TRIANGLE, -1)).served

    assert served.trade is not None
    assert served.version["end_reason"] == EndReason.TRIGGERED
    assert (served.upper, served.lower) == (forming.upper, forming.lower)


def test_pairs_are_sorted_by_how_far_they_came(series: Bars) -> None:
    pairs = explained(series.take(slice(0, 500))).pairs

    rules = [pair.finding.rule or max(Rule) + 1 for pair in pairs]
    assert rules == sorted(rules, reverse=True)
    assert len(set(rules)) > 1


@pytest.mark.parametrize("seed", range(12))
def test_what_a_night_keeps_is_the_pair_that_comes_furthest(seed: int) -> None:
    """A walk over the bars, resumed at the last one, keeps it too."""
    bars = random_walk(seed, 400)
    found, series = explained(bars), Series.sound(bars)
    nearest, first = found.nearest, next(iter(found.pairs), None)
    before = walk_on(None, series.first(399), PARAMETERS, gap_days=10)
    resumed = walk_on(before, series, PARAMETERS, gap_days=10)

    assert nearest_drawing(resumed, series, PARAMETERS, gap_days=10) == nearest
    if first is None:
        assert (nearest.rule, nearest.lines) == ("convergence", None)
        return
    assert nearest.rule == Rule(first.finding.rule).name.lower()
    if first.score is None:
        assert nearest.lines is None
        return
    assert first.kind is not None
    assert nearest.pattern_type == type_name(first.kind)
    assert nearest.quality_pct == pytest.approx(first.score, abs=0.06)
    assert nearest.lines is not None
    for side in ("upper", "lower"):
        line, drawn = getattr(nearest.lines, side), getattr(first, side)
        assert line.start.date == drawn.start
        assert line.end.date == to_date(bars.date[-1])
        assert line.end.price == pytest.approx(drawn.price, rel=1e-6)
