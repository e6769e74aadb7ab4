"""The session axis of a chart: the whole pattern, the breakout and today, at every length."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.drawing.axes import LINGER, Candles, session_axis
from mcp_server.drawing.canvas import Ink
from mcp_server.drawing.layout import layout
from mcp_server.drawing.sheet import SHEETS
from mcp_server.drawing.view import WIDTHS, ChartStyle, TrendLine, Width, session_index
from tests.mcp_server.views import line, pennant, picture, running, view, weekdays

lengths = st.integers(1, 150)


@given(lengths, st.integers(0, 700), st.integers(0, 400), st.sampled_from(WIDTHS))
def test_the_window_holds_the_pattern_the_breakout_and_today(
    pattern: int, since: int, before: int, width: Width
) -> None:
    count, sheet = before + pattern + 1 + since, SHEETS[width]
    right = sheet.width - (200 if sheet.written else sheet.margin)
    axis = session_axis(count, before, before + pattern, sheet, right)
    assert axis.edges[0] <= before
    assert axis.edges[-1] == count
    assert all(a < b for a, b in itertools.pairwise(axis.edges))
    assert axis.column(axis.candles - 1) + axis.slot < right
    assert axis.left <= axis.x(before) < axis.x(before + pattern) <= axis.x(count - 1) < right


@given(lengths, st.integers(0, 700), st.sampled_from(WIDTHS))
def test_a_pattern_keeps_its_size_however_long_ago_its_breakout_was(
    pattern: int, since: int, width: Width
) -> None:
    sheet = SHEETS[width]
    count = 200 + pattern + since
    axis = session_axis(count, 200, 200 + pattern, sheet, sheet.width - 16)
    shown = sum(1 for edge in axis.edges[:-1] if edge >= 200 + pattern + LINGER)
    before = sum(1 for edge in axis.edges[:-1] if edge < 200 + pattern + LINGER)
    assert shown <= max(24, 1.62 * before)


@given(lengths, st.integers(0, 400), st.sampled_from(WIDTHS), st.floats(-40, 900))
def test_a_position_on_the_axis_has_its_session_and_the_session_its_position(
    pattern: int, since: int, width: Width, index: float
) -> None:
    sheet = SHEETS[width]
    axis = session_axis(100 + pattern + since, 100, 100 + pattern, sheet, sheet.width - 16)
    assert axis.index(axis.x(index)) == pytest.approx(index, abs=1e-6)
    assert axis.x(index) < axis.x(index + 0.5)


def test_later_sessions_of_a_long_trade_share_candles_and_the_axis_and_a_cut_say_so() -> None:
    shown = running(300, ago=140, length=40)
    plan, pixels = layout(shown), picture(shown)
    assert plan.sessions.folded == 5
    assert plan.sessions.pack == 1
    (words,) = [flag.label.text for flag in plan.flags if flag.ink is Ink.FOLD]
    assert words == "from here 5 sessions a candle"
    assert plan.breakout is not None
    assert plan.sessions.fold_column > plan.breakout.column + LINGER * plan.sessions.slot // 2
    plot = pixels[plan.prices.top : plan.prices.bottom, : plan.sessions.fold_column]
    assert (plot[:, -2] == Ink.MUTED).mean() > 0.2
    assert not (plot[:, -11] == Ink.MUTED).any()


def test_a_short_trade_has_a_candle_each_session() -> None:
    plan = layout(running(ago=20))
    assert not plan.sessions.is_folded
    assert not any(flag.ink is Ink.FOLD for flag in plan.flags)
    assert "daily bars" in "".join(label.text for label in plan.labels)


def test_a_candle_of_some_sessions_opens_with_the_first_and_closes_with_the_last() -> None:
    shown = running(300, ago=140, length=40)
    axis = layout(shown).sessions
    candles, (start, end) = Candles.of(shown, axis), axis.edges[-3:-1]
    assert end - start == 5
    assert candles.open[-2] == shown.open[start]
    assert candles.close[-2] == shown.close[end - 1]
    assert candles.high[-2] == max(shown.high[start:end])
    assert candles.low[-2] == min(shown.low[start:end])
    assert candles.volume is not None
    assert shown.volume is not None
    assert candles.volume[-2] == pytest.approx(np.mean(shown.volume[start:end]))


def test_a_pattern_too_long_for_a_small_picture_has_two_sessions_a_candle_and_says_so() -> None:
    shown = view(300)
    upper = line(weekdays(300), 150, 299, 108, 104)
    shown = dataclasses.replace(shown, lines=(upper, shown.lines[1]))
    plan = layout(shown, ChartStyle(width=720))
    assert plan.sessions.pack == 2
    assert "2 sessions a candle, log price axis" in [label.text for label in plan.labels]


def test_the_pole_of_a_pennant_is_in_the_window_and_drawn_from_base_to_tip() -> None:
    shown = pennant()
    plan, pixels = layout(shown), picture(shown)
    assert plan.pole is not None
    assert shown.pole is not None
    assert [plan.pole.start[0], plan.pole.end[0]] == [plan.sessions.x(100), plan.sessions.x(110)]
    x, y = int(plan.sessions.x(103.5)), int(plan.prices.y(97 * (104 / 97) ** 0.35))
    assert Ink.MUTED in pixels[y - 2 : y + 3, x]
    assert Ink.MUTED not in picture(dataclasses.replace(shown, pole=None))[y - 2 : y + 3, x]
    longer = dataclasses.replace(shown, pole=((shown.dates[20], 90.0), shown.pole[1]))
    assert layout(longer).sessions.first <= 20 < plan.sessions.first


def test_bars_are_evenly_spaced_whatever_the_calendar_does() -> None:
    shown = view(40)
    gap = [*shown.dates[:20], *(day + dt.timedelta(days=30) for day in shown.dates[20:])]
    lines = line(tuple(gap), 20, 39, 108, 104), line(tuple(gap), 20, 39, 94, 96)
    moved = dataclasses.replace(shown, dates=gap, lines=lines, as_of=gap[-1])
    assert layout(moved).segments == layout(shown).segments


def test_a_date_without_a_bar_lies_between_or_beyond_the_bars_around_it() -> None:
    dates = weekdays(11)
    friday, monday = dates[3], dates[4]
    assert session_index(dates, friday) == 3
    assert session_index(dates, monday) == 4
    assert session_index(dates, friday + dt.timedelta(days=1)) == pytest.approx(3 + 1 / 3)
    week = dt.timedelta(days=7)
    assert session_index(dates, dates[0] - week) == pytest.approx(-5)
    assert session_index(dates, dates[-1] + week) == pytest.approx(15)


def test_a_night_that_kept_too_few_bars_shows_all_that_it_has() -> None:
    shown = view(80)
    early = TrendLine((shown.dates[0] - dt.timedelta(days=70), 120.0), (shown.dates[-1], 104.0))
    gone = shown.dates[0] - dt.timedelta(days=30), 104.5
    lines = (early, shown.lines[1])
    plan = layout(dataclasses.replace(shown, lines=lines, entry=gone, status="in_progress"))
    assert plan.sessions.first == 0
    assert plan.breakout is None
    assert plan.segments[0].start[0] < 0


@pytest.mark.parametrize(
    ("bars", "expected"), [(20, "Jan 5"), (90, "Apr 1"), (140, "Apr"), (320, "2025")]
)
def test_dates_are_labelled_by_day_fortnight_or_month_as_the_bars_allow(
    bars: int, expected: str
) -> None:
    shown = view(bars)
    lower = line(weekdays(bars), 0, bars - 1, 94.0, 96.0)
    plan = layout(dataclasses.replace(shown, lines=(shown.lines[0], lower)))
    texts = [label.text for label in plan.labels if label.baseline == plan.sheet.date_baseline]
    assert expected in texts
    assert 5 <= len(texts) <= 16
