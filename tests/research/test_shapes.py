"""Shapes: the numbers of two lines, on a pattern whose lines and touches are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from research.chartist.charts import Chart, DrawnLine, shape_of
from research.chartist.fit import is_named_today
from research.chartist.ratings import Rating
from research.chartist.renumber import renumbered
from research.chartist.shapes import shape_at
from screener.nightly.bars import Bars
from screener.nightly.detector.events import VERSION, PatternType, Scale
from screener.nightly.detector.kernel.shape import Shape
from screener.nightly.detector.parameters import DEFAULTS
from tests.screener.nightly.series import changed
from tests.screener.nightly.shapes import HALF_SWING, UNIT, wedge_or_triangle

DRAWN = wedge_or_triangle(-0.3, 0.3, approach=1, broken=0)
START = DRAWN.lines.start
LAST = START + 6 * HALF_SWING - 1


def measured(bars: Bars, last: int = LAST) -> Shape:
    """The shape of the drawn triangle's lines in some bars."""
    version = np.zeros(1, VERSION)[0]
    version["type"], version["scale"] = PatternType.SYMMETRICAL_TRIANGLE, Scale.LONG
    for side in ("upper", "lower"):
        version[f"{side}_start"] = START
        version[f"{side}_value"], version[f"{side}_slope"] = getattr(DRAWN.lines, side)
    return shape_at(bars, version, last)


def test_a_visit_counts_once_until_price_has_left_the_line() -> None:
    """Six half swings come to one line three times and to the other three times; a second bar at
    the line is the same visit.
    """
    shape = measured(DRAWN.bars)
    assert (shape.visits, shape.visits_other) == (3, 3)
    turn = START + 2 * HALF_SWING
    again = changed(DRAWN.bars, turn + 1, high=float(np.exp(DRAWN.lines.upper_at(turn + 1))))
    assert measured(again).visits == 3


def test_a_line_that_price_comes_near_but_not_to_has_no_visit() -> None:
    missed = DRAWN.bars.high.copy()
    turn = START + 2 * HALF_SWING
    for bar in range(turn - 2, turn + 3):
        missed[bar] = min(missed[bar], np.exp(DRAWN.lines.upper_at(bar) - 0.5 * UNIT))
    bars = Bars(
        DRAWN.bars.date,
        np.minimum(DRAWN.bars.open, missed),
        missed,
        DRAWN.bars.low,
        np.minimum(DRAWN.bars.close, missed),
        DRAWN.bars.volume,
    )
    assert (measured(bars).visits, measured(bars).visits_other) == (3, 2)


def test_the_width_that_is_left_is_a_share_of_the_first() -> None:
    assert measured(DRAWN.bars, START + 24).width_left == pytest.approx(0.7)


def test_bars_before_a_pattern_that_cross_both_lines_drawn_back_are_told() -> None:
    """Price came from below, so nothing before the pattern was above its upper line."""
    assert measured(DRAWN.bars).before < 0.0
    wild = changed(
        DRAWN.bars, START - 4, high=float(np.exp(DRAWN.lines.upper_at(START - 4) + UNIT))
    )
    wild = changed(wild, START - 3, low=float(np.exp(DRAWN.lines.lower_at(START - 3) - UNIT)))
    assert measured(wild).before == pytest.approx(1 / 6, abs=0.01)


def test_a_rating_whose_name_no_drawing_has_today_does_not_teach() -> None:
    """Readers refused triangles whose flat line moved by more than that, for their name."""
    bound = DEFAULTS.flat_slope
    assert is_named_today("ascending triangle", {"inward": -0.9 * bound})
    assert not is_named_today("ascending triangle", {"inward": -1.1 * bound})
    assert not is_named_today("descending triangle", {"inward": 1.1 * bound})
    assert is_named_today("rising wedge", {"inward": -1.1 * bound})


def test_a_rating_gets_the_numbers_that_it_lacks_from_those_that_it_has() -> None:
    """Its lines are found again without a price, and what was kept stays to the last digit."""
    upper, lower = (DrawnLine(START, *getattr(DRAWN.lines, side)) for side in ("upper", "lower"))
    chart = Chart("evening", "AAA", "symmetrical triangle", DRAWN.bars, upper, lower, LAST)
    whole = shape_of(chart)
    assert whole is not None
    start, last = (chart.date(bar).isoformat() for bar in (START, LAST))
    kept = {name: value for name, value in whole.items() if name not in ("visits", "before")}
    rating = Rating(
        *("evening-0", "two models", "evening", "AAA", None, "symmetrical triangle"),
        *(start, last, start, start, (2, 2), ("", "")),
        shape=kept,
    )

    again = renumbered(rating, DRAWN.bars).shape
    assert again is not None
    assert again["visits"] == whole["visits"]
    assert again["before"] == pytest.approx(whole["before"], abs=0.02)
    assert {name: again[name] for name in kept} == kept
    moved = replace(rating, shape=kept | {"steepness": 3 * kept["steepness"]})
    assert renumbered(moved, DRAWN.bars).shape is None
