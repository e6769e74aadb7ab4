"""The chart of a setup: where everything is drawn, in every look, and bytes that do not vary."""

from __future__ import annotations

import dataclasses
import io
import math
import pickle
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mcp_server.drawing import draw, prepare
from mcp_server.drawing.canvas import Ink
from mcp_server.drawing.layout import layout
from mcp_server.drawing.view import (
    LOOKS,
    WIDTHS,
    ChartStyle,
    ChartView,
    TradeMark,
    TrendLine,
    Width,
)
from tests.mcp_server.views import FIRST_DAY, line, pennant, picture, running, view, weekdays

THUMBNAIL = ChartStyle(width=320)


@pytest.mark.parametrize("look", LOOKS.values())
@pytest.mark.parametrize(
    "shown", [view(), running(), view(20), view(320), pennant(), running(700, ago=300, length=60)]
)
def test_a_chart_is_a_palette_png_of_its_size_that_stays_small(
    shown: ChartView, look: ChartStyle
) -> None:
    body = draw(shown, look)
    image = Image.open(io.BytesIO(body))
    size = {320: (320, 180), 720: (720, 900), 1200: (1200, 675)}[look.width]
    assert (image.format, image.mode, image.size) == ("PNG", "P", size)
    assert len(body) < (4 if look.width == 320 else 42) * 1024


def test_the_same_view_gives_the_same_bytes_pickled_and_in_a_process_that_is_prepared() -> None:
    shown, looks = running(), (ChartStyle(), ChartStyle("dark", 720), ChartStyle("dark", 320))
    before = [draw(shown, look) for look in looks]
    prepare()
    sent = pickle.loads(pickle.dumps(shown))  # noqa: S301
    assert [draw(sent, look) for look in looks] == before
    changed = dataclasses.replace(shown, target=150.0)
    assert not {draw(changed, look) for look in looks} & {*before}


@pytest.mark.proves("PAT-chart-drawing", "SETUP-price_scale")
@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_line_runs_through_its_dated_endpoints_and_their_geometric_mean(side: str) -> None:
    shown = view(121)
    plan, pixels = layout(shown), picture(shown)
    drawn = shown.lines[side == "lower"]
    middle = math.sqrt(drawn.start[1] * drawn.end[1])
    assert plan.prices.y(90) - plan.prices.y(99) == pytest.approx(
        plan.prices.y(100) - plan.prices.y(110)
    )
    ray = plan.lines[side == "lower"]
    for index, price in ((66, ray.price(66)), (90, middle), (119.5, ray.price(119.5))):
        x, y = int(plan.sessions.x(index)), int(plan.prices.y(price))
        assert Ink.LINE in pixels[y - 1 : y + 2, x], (index, price)
    far = int(plan.prices.y(middle * 1.01))
    assert Ink.LINE not in pixels[far - 1 : far + 2, int(plan.sessions.x(90))]


def test_the_pattern_is_shaded_between_its_lines_and_nowhere_else() -> None:
    plan, pixels = layout(view()), picture(view())
    shaded = pixels == Ink.BODY
    columns = np.flatnonzero(shaded.any(axis=0))
    ends = int(plan.sessions.x(60)), int(plan.sessions.x(119)) - 1
    assert (columns[0], columns[-1]) == pytest.approx(ends, abs=1)
    x = plan.sessions.column(90 - plan.sessions.first) + plan.sessions.slot // 2
    rows = np.flatnonzero(shaded[:, x])
    index = plan.sessions.index(x + 0.5)
    edges = [plan.prices.y(line.price(index)) for line in plan.lines]
    assert [rows[0], rows[-1]] == pytest.approx(edges, abs=3)


@pytest.mark.proves("PAT-chart-drawing")
def test_the_last_candle_stands_in_its_column_between_its_low_and_high() -> None:
    lines = (view(120).lines[0], line(weekdays(120), 60, 119, 80.0, 80.0))
    shown = view(120, lines=lines, stop=80.0)
    plan, pixels = layout(shown), picture(shown)
    column = plan.sessions.column(plan.sessions.candles - 1)
    plot = pixels[plan.prices.top : plan.prices.bottom, column]
    rows = np.flatnonzero(np.isin(plot, (Ink.UP, Ink.DOWN))) + plan.prices.top
    assert rows[0] == math.floor(plan.prices.y(shown.high[-1]))
    assert rows[-1] == math.floor(plan.prices.y(shown.low[-1]))


def flat(opened: float, close: float) -> ChartView:
    """Thirty days of the same candle."""
    prices = {"open": opened, "close": close, "high": 111.0, "low": 89.0}
    days: dict[str, Any] = {name: [price] * 30 for name, price in prices.items()}
    return view(30, **days)


def test_rising_candles_are_hollow_and_falling_ones_full_and_each_has_its_ink() -> None:
    for shown, ink, other in (
        (flat(100.0, 110.0), Ink.UP, Ink.DOWN),
        (flat(110.0, 100.0), Ink.DOWN, Ink.UP),
    ):
        plan, pixels = layout(shown), picture(shown)
        assert (pixels == ink).sum() > 1000
        assert not (pixels == other).any()
        row = (plan.prices.y(110.0) + plan.prices.y(100.0)) / 2
        inside = pixels[int(row), plan.sessions.column(3) + 2]
        assert inside == (Ink.PAPER if ink is Ink.UP else Ink.DOWN)


@pytest.mark.parametrize("width", [720, 1200])
def test_touches_are_dots_on_the_line_at_their_bar(width: Width) -> None:
    shown = view(120)
    upper, lower = shown.lines
    touched = TrendLine(upper.start, upper.end, ((shown.dates[80], 112.0),))
    shown = dataclasses.replace(shown, lines=(touched, lower))
    plan, pixels = layout(shown, ChartStyle(width=width)), picture(shown, ChartStyle(width=width))
    x, y = plan.touches[0]
    assert (x, y) == (plan.sessions.x(80), plan.prices.y(plan.lines[0].price(80)))
    assert (pixels[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2] == Ink.LINE).all()


@pytest.mark.proves("PAT-chart-drawing")
def test_each_level_of_a_forming_setup_is_dashed_from_the_last_bar_on_and_named() -> None:
    shown = view()
    plan, pixels = layout(shown), picture(shown)
    named = {pill.name.text: pill.price.text for pill in plan.pills if pill.level.dashed}
    assert named == {"Target +10.58%": "115.00", "Trigger": "104.00", "Stop -7.69%": "96.00"}
    after = int(plan.sessions.x(119)) + plan.sessions.slot
    for pill in plan.pills:
        assert pill.y is not None
        row = pixels[int(pill.y)]
        if pill.level.dashed:
            assert 0.3 < (row[after : plan.sessions.right] == pill.level.ink).mean() < 0.7
            assert not (row[: after - plan.sessions.slot] == pill.level.ink).any()
        assert (pixels[pill.box[1] + 1, pill.box[0] + 5 : pill.box[2] - 5] == pill.level.ink).all()


def test_the_trigger_is_marked_on_the_line_at_the_session_it_is_for() -> None:
    shown = view()
    plan, pixels = layout(shown), picture(shown)
    assert plan.trigger is not None
    assert plan.trigger.column == int(plan.sessions.x(120))
    assert pixels[int(plan.trigger.y), plan.trigger.column] == Ink.TRIGGER
    assert "Trigger for Jun 18" in [flag.label.text for flag in plan.flags]


def test_a_forming_pattern_is_extended_to_the_right_but_not_beyond_its_apex() -> None:
    wide = [part for part in layout(view()).segments if part.dotted]
    assert [round(part.end[0]) for part in wide] == [layout(view()).sessions.right - 4] * 2
    dates = weekdays(120)
    lines = line(dates, 60, 119, 110.0, 100.2), line(dates, 60, 119, 90.0, 100.0)
    tight = view(lines=lines)
    upper, lower = (part for part in layout(tight).segments if part.dotted)
    assert upper.end == pytest.approx(lower.end, abs=1e-6)
    assert upper.end[0] < wide[0].end[0]


def test_the_lines_of_a_running_trade_end_before_its_marked_breakout() -> None:
    shown = running(ago=30)
    plan, pixels = layout(shown), picture(shown)
    assert plan.breakout is not None
    column, right = plan.breakout.column, plan.sessions.right
    assert column == int(plan.sessions.x(89))
    assert not any(part.dotted for part in plan.segments)
    assert {part.end[0] for part in plan.segments} == {plan.sessions.x(88)}
    assert not (pixels[plan.prices.top : plan.prices.bottom, column:right] == Ink.LINE).any()
    assert pixels[int(plan.prices.y(104.5)), column] == Ink.ENTRY
    assert "Entry" in {pill.level.name for pill in plan.pills}
    assert "Breakout May 6" in [flag.label.text for flag in plan.flags]
    assert not (picture(dataclasses.replace(shown, entry=None)) == Ink.ENTRY).any()


def test_a_running_trade_has_its_levels_reward_and_risk_from_the_breakout_on() -> None:
    shown = running(ago=30)
    plan, pixels = layout(shown), picture(shown)
    assert plan.breakout is not None
    for ink in (Ink.TARGET, Ink.STOP, Ink.ENTRY):
        (price,) = [level.price for level in plan.levels if level.ink is ink]
        row = pixels[int(plan.prices.y(price)), : plan.sessions.right] == ink
        assert np.flatnonzero(row)[0] >= plan.breakout.column - 6
        assert row[plan.breakout.column :].mean() > 0.3
    x = plan.sessions.right - 3
    assert pixels[int(plan.prices.y(110.7)), x] == Ink.REWARD
    assert pixels[int(plan.prices.y(98.3)), x] == Ink.RISK
    assert not np.isin(picture(view()), (Ink.REWARD, Ink.RISK)).any()


def test_a_line_that_began_before_the_first_bar_is_cut_at_the_left_edge() -> None:
    shown = view(80)
    early = TrendLine((FIRST_DAY.replace(year=2023), 120.0), (shown.dates[-1], 104.0))
    shown = dataclasses.replace(shown, lines=(early, shown.lines[1]))
    plan, pixels = layout(shown), picture(shown)
    assert plan.segments[0].start[0] < 0
    plot = pixels[plan.prices.top : plan.prices.bottom]
    assert not (plot[:, : plan.sessions.left - 1] == Ink.LINE).any()
    assert (plot[:, plan.sessions.left] == Ink.LINE).any()


@pytest.mark.parametrize(("target", "arrow"), [(5000.0, "↑"), (2.0, "↓")])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_level_far_away_is_marked_at_the_edge_and_leaves_the_bars_their_room(
    target: float, arrow: str, width: Width
) -> None:
    shown = view(target=target)
    plan, pixels = layout(shown, ChartStyle(width=width)), picture(shown, ChartStyle(width=width))
    height = plan.prices.y(94.0) - plan.prices.y(108.0)
    assert height > 0.4 * (plan.prices.bottom - plan.prices.top)
    edge = plan.prices.top if arrow == "↑" else plan.prices.bottom - 6
    assert (pixels[edge : edge + 6, : plan.sessions.right] == Ink.TARGET).sum() > 12
    if plan.pills:
        (pill,) = (pill for pill in plan.pills if pill.level.ink is Ink.TARGET)
        assert pill.name.text.endswith(arrow)
        assert pill.y is None


def test_bars_before_the_pattern_that_are_far_away_do_not_flatten_it() -> None:
    shown = view()
    crashed: dict[str, Any] = {
        name: [*(np.array(getattr(shown, name)[:50]) * 20), *getattr(shown, name)[50:]]
        for name in ("open", "high", "low", "close")
    }
    plan = layout(dataclasses.replace(shown, **crashed))
    pixels = picture(dataclasses.replace(shown, **crashed))
    height = plan.prices.y(94.0) - plan.prices.y(108.0)
    assert height > 0.3 * (plan.prices.bottom - plan.prices.top)
    above = pixels[: plan.prices.top, plan.sessions.left : plan.sessions.right]
    assert not np.isin(above, (Ink.UP, Ink.DOWN)).any()


def test_volume_stands_below_the_price_and_leaves_its_room_to_price_where_it_is_not_known() -> None:
    plan, pixels = layout(view()), picture(view())
    columns = pixels[plan.sheet.volume[0] : plan.sheet.volume[1]]
    assert np.isin(columns, (Ink.VOLUME_UP, Ink.VOLUME_DOWN)).sum() > 5000
    assert max(view().volume or ()) == 7e6
    assert "Vol 1M" in [label.text for label in plan.labels]  # of the last bar
    for unknown in (None, [math.nan] * 120, [0.0] * 120):
        bare = view(volume=unknown)
        assert layout(bare).prices.bottom == plan.sheet.volume[1]
        assert not np.isin(picture(bare), (Ink.VOLUME_UP, Ink.VOLUME_DOWN)).any()


def test_one_busy_day_does_not_flatten_the_volume_of_the_others() -> None:
    busy = view(volume=[1e6] * 119 + [1e9])
    plan, pixels = layout(busy), picture(busy)
    column = plan.sessions.column(plan.sessions.candles - 9)
    rows = pixels[plan.sheet.volume[0] : plan.sheet.volume[1], column]
    assert np.isin(rows, (Ink.VOLUME_UP, Ink.VOLUME_DOWN)).sum() >= 10


def test_a_thumbnail_has_candles_lines_and_levels_and_no_text() -> None:
    for shown in (view(), running()):
        plan, pixels = layout(shown, THUMBNAIL), picture(shown, THUMBNAIL)
        assert not [*plan.labels, *plan.pills, *plan.flags]
        for ink in (Ink.UP, Ink.DOWN, Ink.LINE, Ink.TARGET, Ink.STOP):
            assert (pixels == ink).sum() > 20, ink
        assert not np.isin(pixels, (Ink.TITLE, Ink.GRID)).any()


BARE: dict[str, Any] = {
    "lines": (),
    **dict.fromkeys(("trigger", "stop", "target", "record")),
}


def test_bars_without_a_setup_have_their_last_close_alone_and_no_line() -> None:
    shown = view(120, **BARE)
    plan, pixels = layout(shown), picture(shown)
    assert [level.name for level in plan.levels] == ["Last"]
    assert not np.isin(pixels, [Ink.LINE, Ink.BODY, Ink.TRIGGER, Ink.STOP, Ink.TARGET]).any()
    assert plan.flags == ()


@pytest.mark.parametrize("width", [720, 1200])
@pytest.mark.parametrize("won", [True, False])
def test_a_past_trade_is_marked_at_its_entry_and_its_exit(width: Width, won: bool) -> None:
    dates = view(120).dates
    mark = TradeMark("bearish", (dates[90], 101.0), (dates[110], 98.0), won)
    shown = view(120, marks=[mark], **BARE)
    pixels = picture(shown, ChartStyle(width=width))
    ((_, entry, left),) = layout(shown, ChartStyle(width=width)).marks
    assert entry is not None
    assert left is not None
    assert pixels[round(entry.y), entry.column] == Ink.ENTRY
    middle = pixels[int(left.y), left.column]
    assert middle == (Ink.TARGET if won else Ink.PAPER)
    assert (pixels == (Ink.TARGET if won else Ink.STOP)).any()


def test_a_chart_with_marks_begins_before_the_first_and_a_thumbnail_has_none() -> None:
    dates = view(320).dates
    mark = TradeMark("bullish", (dates[15], 100.0), (dates[40], 104.0), won=True)
    shown = view(320, marks=[mark], **BARE)
    assert layout(shown).sessions.first <= 5
    assert not (picture(shown, ChartStyle(width=320)) == Ink.TARGET).any()


def test_a_drawing_has_a_candle_for_each_session_however_old_a_marked_trade_is() -> None:
    marked = view(320)
    mark = TradeMark("bullish", (marked.dates[15], 100.0), (marked.dates[40], 104.0), won=True)
    plan = layout(dataclasses.replace(marked, marks=[mark]))
    assert plan.lines
    assert (plan.sessions.pack, plan.sessions.is_folded) == (1, False)


def test_a_past_trade_has_its_exit_and_shades_no_further() -> None:
    shown = running(120, 40)
    left = (shown.dates[100], 98.0)
    past = dataclasses.replace(shown, exit=left)
    plan, pixels = layout(past), picture(past)
    assert "Exit" in [level.name for level in plan.levels]
    assert "Last" not in [level.name for level in plan.levels]
    assert any(flag.label.text.startswith("Exit") for flag in plan.flags)
    assert plan.exit is not None
    shaded = np.flatnonzero(np.isin(pixels, [Ink.REWARD, Ink.RISK]).any(axis=0))
    assert shaded[-1] <= plan.exit.column
    assert not plan.sessions.is_folded
