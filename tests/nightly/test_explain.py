"""Explain: what a walk serves is scored by part, and what it does not serve is named a rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nightly.bars import Bars
from nightly.detector import detect, walk_on
from nightly.events import EndReason, PatternType, Rule, Scale
from nightly.explain import Candidate, Explanation, Fate, Score, explain
from nightly.judgement import PARTS
from nightly.parameters import Parameters
from nightly.series import Series
from tests.nightly.shapes import Shape, joined, random_walk, squeeze, wedge_or_triangle

PARAMETERS = Parameters()
TRIANGLE = wedge_or_triangle(-0.3, 0.3, approach=1, broken=-1)


def explained(bars: Bars, parameters: Parameters = PARAMETERS) -> Explanation:
    return explain(Series.sound(bars), parameters, gap_days=10)


def before_break(shape: Shape, direction: int) -> Bars:
    return shape.bars.take(slice(0, shape.break_bar(direction)))


def log_odds(score: Score) -> float:
    return math.log(score.percent / (100 - score.percent))


def furthest(found: Explanation, scale: Scale) -> Candidate:
    return next(pair for pair in found.candidates if pair.scale is scale)


@pytest.fixture(scope="module")
def series() -> Bars:
    """A random walk, then ideal patterns of two kinds."""
    return joined(random_walk(0, 600), TRIANGLE.bars, squeeze(1).bars)


def test_the_parts_of_a_served_triangle_add_up_to_the_log_odds_of_its_score() -> None:
    found = explained(before_break(TRIANGLE, -1))

    (served,) = found.served
    assert served.kind is PatternType.SYMMETRICAL_TRIANGLE
    assert served.trade is None
    total = served.score.best + sum(part.added for part in served.score.parts)
    assert total == pytest.approx(log_odds(served.score))
    assert {part.name for part in served.score.parts} == {p.name for p in PARTS if p.long.each}
    assert all(part.added <= 0 for part in served.score.parts)


def test_a_squeeze_is_scored_by_the_weights_of_squeezes() -> None:
    (served,) = explained(before_break(squeeze(1), 1)).served

    assert {part.name for part in served.score.parts} == {p.name for p in PARTS if p.squeeze.each}
    total = served.score.best + sum(part.added for part in served.score.parts)
    assert total == pytest.approx(log_odds(served.score))


def test_lines_start_at_the_first_touches_and_end_at_the_known_prices() -> None:
    bars = before_break(TRIANGLE, -1)
    (served,) = explained(bars).served

    last, lines = len(bars) - 1, TRIANGLE.lines
    assert served.upper.price == pytest.approx(math.exp(lines.upper_at(last)), rel=1e-3)
    assert served.lower.price == pytest.approx(math.exp(lines.lower_at(last)), rel=1e-3)


def test_a_shape_that_is_cut_early_fails_by_its_progress_with_the_right_number() -> None:
    bars = TRIANGLE.bars.take(slice(0, 90))
    found = explained(bars)

    candidate = furthest(found, Scale.LONG)
    lines = TRIANGLE.lines
    widths = [lines.upper_at(bar) - lines.lower_at(bar) for bar in (lines.start, len(bars) - 1)]
    assert not found.served
    assert candidate.kind is PatternType.SYMMETRICAL_TRIANGLE
    assert candidate.score is None
    assert candidate.finding.rule == Rule.PROGRESS
    assert candidate.finding.value == pytest.approx(1 - widths[1] / widths[0], abs=1e-3)
    assert candidate.finding.bound == PARAMETERS.progress_min


def test_lines_that_part_fail_by_convergence_with_the_width_in_atr() -> None:
    found = explained(random_walk(3, 300))

    parting = [pair for pair in found.candidates if pair.finding.rule == Rule.CONVERGENCE]
    assert parting
    assert all(pair.finding.bound == PARAMETERS.width_min for pair in parting)
    assert all(pair.kind is None and pair.score is None for pair in parting)


def test_a_score_below_the_minimum_is_kept_with_its_parts() -> None:
    strict = PARAMETERS._replace(quality_min=99.9)
    found = explained(before_break(TRIANGLE, -1), strict)

    candidate = furthest(found, Scale.LONG)
    assert not found.served
    assert candidate.finding.rule == Rule.SCORE
    assert candidate.score is not None
    assert candidate.score.parts
    assert candidate.finding.value == pytest.approx(candidate.score.percent)


def test_a_pair_that_passes_between_its_swings_waits_for_the_next() -> None:
    found = explained(TRIANGLE.bars.take(slice(0, 100)))

    assert not found.served
    assert found.candidates[0].fate is Fate.WAITING


def test_what_is_served_first_on_a_bar_is_among_the_pairs_of_that_bar(series: Bars) -> None:
    log = detect(series)

    for bar in np.unique(log.versions["first_served"]):
        found = explained(series.take(slice(0, int(bar) + 1)))
        new = [served for served in found.served if served.version["first_served"] == bar]
        pairs = [pair for pair in found.candidates if pair.fate is Fate.SERVED]
        assert len(pairs) >= len(new) > 0


def test_a_pair_that_fails_is_never_what_is_served(series: Bars) -> None:
    for bar in range(200, len(series), 37):
        for pair in explained(series.take(slice(0, bar))).candidates:
            assert (pair.fate is Fate.FAILED) == (pair.finding.rule != Rule.NONE)


def test_an_open_trade_is_scored_as_of_the_bar_before_its_breakout() -> None:
    broken = TRIANGLE.break_bar(-1)
    (served,) = explained(TRIANGLE.bars.take(slice(0, broken + 2))).served

    assert served.trade is not None
    assert served.last == broken - 1
    assert served.version["end_reason"] == EndReason.TRIGGERED
    assert served.score == explained(before_break(TRIANGLE, -1)).served[0].score


def test_explaining_changes_nothing_of_what_a_walk_returns(series: Bars) -> None:
    before = walk_on(None, Series.sound(series))
    explained(series)
    after = walk_on(None, Series.sound(series))

    assert before.state.tobytes() == after.state.tobytes()
    assert before.log.versions.tobytes() == after.log.versions.tobytes()
    assert before.log.trades.tobytes() == after.log.trades.tobytes()


def test_a_detector_that_scores_by_points_has_a_score_without_parts() -> None:
    reference = Parameters.reference()._replace(quality_min=0.0)
    found = explained(before_break(TRIANGLE, -1), reference)

    (served,) = found.served
    assert served.score.percent == served.version["quality"]
    assert served.score.parts == ()


def test_candidates_are_sorted_by_how_far_they_came(series: Bars) -> None:
    candidates = explained(series.take(slice(0, 500))).candidates

    rules = [pair.finding.rule or max(Rule) + 1 for pair in candidates]
    assert rules == sorted(rules, reverse=True)
    assert len(set(rules)) > 1
