"""The chart of a setup: positions, readable labels, and bytes that do not vary.

Longer than other modules: the package has a single entry point, `draw`, and is tested through it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import itertools
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from mcp_server.drawing import ChartView, Point, TrendLine, axes, draw
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.layout import Layout, layout, overlaps
from mcp_server.drawing.palette import COLOURS, Ink, colours, rgb
from mcp_server.drawing.pills import PILL_HEIGHT, spread

FIRST_DAY = dt.date(2024, 1, 2)
LONG = "Educational chart analysis, not investment advice; every level may be wrong. " * 9


def weekdays(count: int) -> tuple[dt.date, ...]:
    days = (FIRST_DAY + dt.timedelta(days=n) for n in itertools.count())
    return tuple(itertools.islice((day for day in days if day.weekday() < 5), count))


def line(dates: tuple[dt.date, ...], start: int, end: int, first: float, last: float) -> TrendLine:
    touches: tuple[Point, ...] = ((dates[start], first),)
    return TrendLine((dates[start], first), (dates[end], last), touches)


def view(bars: int = 120, price: float = 100.0, **changes: Any) -> ChartView:
    """A converging pattern around a price over the second half of the bars."""
    dates = weekdays(bars)
    close = [price * math.exp(0.03 * math.sin(i / 4)) for i in range(bars)]
    opened = [close[0], *close[:-1]]
    start, end = bars // 2, bars - 1
    made = ChartView(
        symbol="ACME",
        family_label="Falling wedge",
        direction="bullish",
        status="forming",
        as_of=dates[-1],
        dates=dates,
        open=opened,
        high=[max(pair) * 1.004 for pair in zip(opened, close, strict=True)],
        low=[min(pair) / 1.004 for pair in zip(opened, close, strict=True)],
        close=close,
        upper=line(dates, start, end, price * 1.08, price * 1.04),
        lower=line(dates, start, end, price * 0.94, price * 0.96),
        trigger=price * 1.04,
        stop=price * 0.96,
        target=price * 1.15,
        disclaimer="Educational chart analysis, not investment advice.",
        source="Sample bars",
    )
    return dataclasses.replace(made, **changes)


def running(bars: int = 120, ago: int = 20) -> ChartView:
    """A trade entered some bars ago; its lines end at the bar before."""
    forming = view(bars)
    dates = tuple(forming.dates)
    at = bars - 1 - ago
    return dataclasses.replace(
        forming,
        status="in_progress",
        upper=line(dates, bars // 3, at - 1, 108.0, 104.0),
        lower=line(dates, bars // 3, at - 1, 94.0, 96.0),
        entry=(dates[at], 104.5),
    )


def picture(shown: ChartView) -> npt.NDArray[np.uint8]:
    """The palette indices of a drawn chart."""
    return np.asarray(Image.open(io.BytesIO(draw(shown))))


def boxes(plan: Layout) -> list[Box]:
    flag = [plan.breakout.box] if plan.breakout else []
    return [*(label.box for label in plan.labels), *(pill.box for pill in plan.pills), *flag]


def luminance(ink: Ink) -> float:
    parts = (v / 255 for v in rgb(ink))
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("shown", [view(), running(), view(20), view(320)])
def test_a_chart_is_a_palette_png_of_1200_by_675_that_stays_small(shown: ChartView) -> None:
    body = draw(shown)
    image = Image.open(io.BytesIO(body))
    assert (image.format, image.mode, image.size) == ("PNG", "P", (1200, 675))
    assert len(body) < 40 * 1024


def test_the_palette_is_the_fixed_one() -> None:
    image = Image.open(io.BytesIO(draw(view())))
    kept = np.array(image.getpalette()).reshape(-1, 3)
    assert np.array_equal(kept[: len(colours())], colours())
    assert len(colours()) <= 256


def test_the_same_view_gives_the_same_bytes_and_survives_pickling() -> None:
    shown = running()
    assert draw(shown) == draw(pickle.loads(pickle.dumps(shown)))  # noqa: S301
    assert draw(shown) != draw(dataclasses.replace(shown, target=shown.target * 1.01))


def test_arrays_are_drawn_like_tuples() -> None:
    shown = view()
    arrays: dict[str, Any] = {
        name: np.array(getattr(shown, name)) for name in ("open", "high", "low", "close")
    }
    assert draw(dataclasses.replace(shown, **arrays)) == draw(shown)


@pytest.mark.proves("PAT-chart-drawing", "SETUP-price_scale")
@pytest.mark.proves("PAT-chart-drawing")
@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_line_runs_through_its_dated_endpoints_and_their_geometric_mean(side: str) -> None:
    shown = view(121)
    plan, pixels = layout(shown), picture(shown)
    drawn: TrendLine = getattr(shown, side)
    middle = math.sqrt(drawn.start[1] * drawn.end[1])
    for index, price in ((60, drawn.start[1]), (90, middle), (119.5, None), (120, drawn.end[1])):
        x = int(plan.sessions.x(index)) - (index == 120)
        ray = plan.upper if side == "upper" else plan.lower
        y = int(plan.prices.y(ray.price(index) if price is None else price))
        assert Ink.LINE in pixels[y - 1 : y + 2, x], (index, price)
    far = int(plan.prices.y(middle * 1.01))
    assert Ink.LINE not in pixels[far - 1 : far + 2, int(plan.sessions.x(90))]


def test_prices_lie_on_a_log_axis() -> None:
    prices = layout(view()).prices
    assert prices.y(90) - prices.y(99) == pytest.approx(prices.y(100) - prices.y(110))


def test_bars_are_evenly_spaced_whatever_the_calendar_does() -> None:
    shown = view(40)
    gap = [*shown.dates[:20], *(day + dt.timedelta(days=30) for day in shown.dates[20:])]
    moved = dataclasses.replace(
        shown, dates=gap, upper=line(tuple(gap), 20, 39, 108, 104), as_of=gap[-1]
    )
    moved = dataclasses.replace(moved, lower=line(tuple(gap), 20, 39, 94, 96))
    assert layout(moved).segments == layout(shown).segments


def test_a_date_without_a_bar_lies_between_or_beyond_the_bars_around_it() -> None:
    dates = weekdays(11)
    friday, monday = dates[3], dates[4]
    assert axes.session_index(dates, friday) == 3
    assert axes.session_index(dates, monday) == 4
    assert axes.session_index(dates, friday + dt.timedelta(days=1)) == pytest.approx(3 + 1 / 3)
    week = dt.timedelta(days=7)
    assert axes.session_index(dates, dates[0] - week) == pytest.approx(-5)
    assert axes.session_index(dates, dates[-1] + week) == pytest.approx(15)


def test_the_pattern_is_shaded_between_its_lines_and_nowhere_else() -> None:
    plan, pixels = layout(view()), picture(view())
    shaded = pixels == Ink.BODY
    columns = np.flatnonzero(shaded.any(axis=0))
    assert (columns[0], columns[-1]) == (plan.sessions.column(60), plan.sessions.column(119) - 1)
    x = plan.sessions.column(90) + plan.sessions.slot // 2
    rows = np.flatnonzero(shaded[:, x])
    index = plan.sessions.index(x + 0.5)
    assert rows[0] == pytest.approx(plan.prices.y(plan.upper.price(index)), abs=3)
    assert rows[-1] == pytest.approx(plan.prices.y(plan.lower.price(index)), abs=3)


@pytest.mark.proves("PAT-chart-drawing")
@pytest.mark.proves("PAT-chart-drawing")
def test_the_last_candle_stands_in_its_column_between_its_low_and_high() -> None:
    shown = view(120, lower=line(weekdays(120), 60, 119, 80.0, 80.0), stop=80.0)
    plan, pixels = layout(shown), picture(shown)
    column = plan.sessions.column(119)
    candle = np.isin(pixels[plan.prices.top : plan.prices.bottom, column], (Ink.UP, Ink.DOWN))
    rows = np.flatnonzero(candle) + plan.prices.top
    assert rows[0] == math.floor(plan.prices.y(shown.high[-1]))
    assert rows[-1] == math.floor(plan.prices.y(shown.low[-1]))


def test_up_and_down_days_have_their_own_ink() -> None:
    for close, ink, other in ((110.0, Ink.UP, Ink.DOWN), (90.0, Ink.DOWN, Ink.UP)):
        days = 30
        flat: dict[str, Any] = {
            "open": [100.0] * days,
            "close": [close] * days,
            "high": [111.0] * days,
            "low": [89.0] * days,
        }
        pixels = picture(view(days, **flat))
        assert (pixels == ink).sum() > 1000
        assert not (pixels == other).any()


def test_touches_are_dots_on_their_bar_and_price() -> None:
    shown = view(120)
    dates = tuple(shown.dates)
    touched = TrendLine(shown.upper.start, shown.upper.end, ((dates[80], 112.0),))
    plan = layout(dataclasses.replace(shown, upper=touched))
    pixels = picture(dataclasses.replace(shown, upper=touched))
    x, y = plan.touches[0]
    assert (x, y) == (plan.sessions.x(80), plan.prices.y(112.0))
    assert (pixels[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2] == Ink.LINE).all()


@pytest.mark.proves("PAT-chart-drawing")
@pytest.mark.proves("PAT-chart-drawing")
def test_each_level_is_dashed_in_its_row_and_named_in_its_pill() -> None:
    shown = view()
    plan, pixels = layout(shown), picture(shown)
    wanted = {"Target": "115.00", "Trigger": "104.00", "Stop": "96.00"}
    found = {pill.name: pill.price for pill in plan.pills if pill.level.dashed}
    assert found == wanted
    for pill in plan.pills:
        assert pill.y is not None
        row = pixels[int(pill.y), plan.sessions.column(60) : plan.sessions.right]
        if pill.level.dashed:
            assert 0.3 < (row == pill.level.ink).mean() < 0.7
        assert (pixels[pill.box[1] + 1, pill.box[0] + 5 : pill.box[2] - 5] == pill.level.ink).all()


def test_a_forming_pattern_is_extended_to_the_right_but_not_beyond_its_apex() -> None:
    wide = [part for part in layout(view()).segments if part.dotted]
    assert [round(part.end[0]) for part in wide] == [layout(view()).sessions.right - 4] * 2
    dates = weekdays(120)
    tight = view(upper=line(dates, 60, 119, 110.0, 100.2), lower=line(dates, 60, 119, 90.0, 100.0))
    upper, lower = (part for part in layout(tight).segments if part.dotted)
    assert upper.end == pytest.approx(lower.end, abs=1e-6)
    assert upper.end[0] < wide[0].end[0]


def test_the_lines_of_a_running_trade_end_before_its_marked_breakout() -> None:
    shown = running(ago=30)
    plan, pixels = layout(shown), picture(shown)
    assert plan.breakout is not None
    column, right = plan.breakout.column, plan.sessions.right
    assert column == plan.sessions.column(89)
    assert not any(part.dotted for part in plan.segments)
    assert {part.end[0] for part in plan.segments} == {plan.sessions.x(88)}
    assert not (pixels[plan.prices.top : plan.prices.bottom, column:right] == Ink.LINE).any()
    assert pixels[int(plan.prices.y(104.5)), column] == Ink.ENTRY
    assert "Entry" in {pill.name for pill in plan.pills}
    assert "Breakout May 6" in plan.breakout.label.text
    assert not (picture(dataclasses.replace(shown, entry=None)) == Ink.ENTRY).any()


def test_a_running_trade_shades_its_reward_and_its_risk_from_the_breakout_on() -> None:
    plan, pixels = layout(running()), picture(running())
    x = plan.sessions.right - 3
    assert pixels[int(plan.prices.y(110.7)), x] == Ink.REWARD
    assert pixels[int(plan.prices.y(98.3)), x] == Ink.RISK
    assert not np.isin(picture(view()), (Ink.REWARD, Ink.RISK)).any()


def test_a_line_that_began_before_the_first_bar_is_cut_at_the_left_edge() -> None:
    shown = view(80)
    early = TrendLine((FIRST_DAY - dt.timedelta(days=70), 120.0), (shown.dates[-1], 104.0))
    plan = layout(dataclasses.replace(shown, upper=early))
    pixels = picture(dataclasses.replace(shown, upper=early))
    assert plan.segments[0].start[0] < 0
    assert not (pixels[:, : plan.sessions.left - 1] == Ink.LINE).any()
    assert (pixels[:, plan.sessions.left] == Ink.LINE).any()


ratios = st.floats(-6, 6).map(math.exp)


@settings(max_examples=60, deadline=None)
@given(
    bars=st.integers(1, 320),
    price=st.floats(math.log(1e-5), math.log(5e5)).map(math.exp),
    levels=st.tuples(ratios, ratios, ratios),
    entered=st.none() | st.integers(0, 319),
    text=st.text(max_size=90),
)
@example(120, 100.0, (1.0, 1.0, 1.0), 40, LONG)
@example(320, 1e-5, (1.0001, 1.0, 0.9999), 300, "")
@example(1, 500_000.0, (1e-3, 1e3, 1.0), 0, "x" * 3000)
def test_no_label_ever_overlaps_another_or_leaves_the_picture(
    bars: int,
    price: float,
    levels: tuple[float, float, float],
    entered: int | None,
    text: str,
) -> None:
    shown = view(bars, price, disclaimer=text * 3, source=text, symbol=text[:24] or "X")
    trigger, stop, target = (price * level for level in levels)
    entry = None if entered is None else (shown.dates[entered % bars], price * 1.01)
    plan = layout(
        dataclasses.replace(shown, trigger=trigger, stop=stop, target=target, entry=entry)
    )
    for one, other in itertools.combinations(boxes(plan), 2):
        assert not overlaps(one, other), (one, other)
    for left, top, right, bottom in boxes(plan):
        assert left >= 0
        assert top >= 0
        assert right <= 1200
        assert bottom <= 675


def test_pills_and_price_labels_stay_out_of_the_plot() -> None:
    plan = layout(view())
    for box in boxes(plan):
        assert not overlaps(box, plan.plot)


def test_levels_within_one_pixel_keep_readable_pills_in_order_of_price() -> None:
    plan = layout(view(trigger=100.0, stop=100.001, target=100.002))
    tops = [pill.box[1] for pill in plan.pills]
    prices = [pill.level.price for pill in plan.pills]
    assert prices == sorted(prices, reverse=True)
    assert min(b - a for a, b in itertools.pairwise(tops)) > PILL_HEIGHT
    dashed = [pill for pill in plan.pills if pill.level.dashed]
    row = picture(view(trigger=100.0, stop=100.001, target=100.002))[int(dashed[0].y or 0)]
    assert {Ink.TARGET, Ink.TRIGGER, Ink.STOP} <= set(row[: plan.sessions.right].tolist())


@pytest.mark.parametrize(("target", "arrow"), [(5000.0, "↑"), (2.0, "↓")])
def test_a_level_far_away_is_named_at_the_edge_and_leaves_the_bars_their_room(
    target: float, arrow: str
) -> None:
    plan = layout(view(target=target))
    (pill,) = (pill for pill in plan.pills if pill.level.name == "Target")
    assert pill.name == f"Target {arrow}"
    assert pill.y is None
    height = plan.prices.y(94.0) - plan.prices.y(108.0)
    assert height > 0.4 * (plan.prices.bottom - plan.prices.top)


@pytest.mark.parametrize("price", [0.00001, 0.0123, 1.0, 7.5, 97.0, 4321.0, 500_000.0])
@pytest.mark.parametrize("spread_by", [1.0, 1.6, 30.0])
def test_price_labels_are_few_round_and_in_their_rows(price: float, spread_by: float) -> None:
    shown = view(price=price)
    close = [value * spread_by ** (i / 119) for i, value in enumerate(shown.close)]
    plan = layout(dataclasses.replace(shown, close=close, high=close, low=close, open=close))
    ticks = axes.price_ticks(plan.prices)
    assert 4 <= len(ticks) <= 14
    places = axes.tick_decimals(ticks)
    for tick, row in zip(ticks, plan.grid_rows, strict=True):
        assert float(f"{tick:.{places}f}") == tick
        assert len(f"{tick:e}".split("e")[0].rstrip("0").replace(".", "")) <= 4
        assert row == int(plan.prices.y(tick))
    assert min(a - b for a, b in itertools.pairwise(plan.grid_rows)) >= axes.PRICE_GAP - 1


@pytest.mark.parametrize(
    ("price", "text"), [(0.00001234, "0.000012340"), (1.5, "1.50"), (412345.678, "412,345.68")]
)
def test_prices_keep_significant_digits(price: float, text: str) -> None:
    plan = layout(view(price=price, trigger=price, stop=price, target=price, close=[price] * 120))
    assert {pill.price for pill in plan.pills} == {text}


@pytest.mark.parametrize(
    ("bars", "expected"), [(20, "Jan 5"), (90, "Apr 1"), (140, "Apr"), (320, "2025")]
)
def test_dates_are_labelled_by_day_fortnight_or_month_as_the_bars_allow(
    bars: int, expected: str
) -> None:
    plan = layout(view(bars, lower=line(weekdays(bars), 0, bars - 1, 94.0, 96.0)))
    texts = [label.text for label in plan.labels if label.baseline == 629]
    assert expected in texts
    assert 5 <= len(texts) <= 16


@given(st.integers(1, 400), st.integers(1, 400))
def test_the_window_holds_the_pattern_and_context_and_fits(pattern: int, available: int) -> None:
    pattern = min(pattern, available)
    bars, slot, ahead = axes.window(pattern, available, 1030)
    assert bars >= min(available, max(60, pattern), 320)
    assert bars <= available
    assert (bars + ahead) * slot <= 1030 or slot == axes.NARROWEST_SLOT


@given(st.lists(st.integers(-900, 900), min_size=1, max_size=9))
def test_pushed_pills_keep_their_distance_their_order_and_the_bounds(wanted: list[int]) -> None:
    wanted.sort()
    placed = spread(wanted, 24, 0, 500)
    assert all(b - a >= 24 for a, b in itertools.pairwise(placed))
    assert placed[0] >= 0
    assert placed[-1] <= 500
    if wanted[0] >= 0 and wanted[-1] <= 500:
        untouched = all(b - a >= 24 for a, b in itertools.pairwise(wanted))
        assert (placed == wanted) is untouched


def test_pushed_pills_share_the_way() -> None:
    assert spread([100, 100, 300], 24, 0, 500) == [88, 112, 300]


@pytest.mark.parametrize("text", ["数据来源", "\ud800\x00\n\t", "שלום עולם", "e\u0301 🦊", "­"])
def test_text_beyond_the_font_is_drawn_as_question_marks_or_nothing(text: str) -> None:
    shown = view(source=text, disclaimer=text, symbol=text, family_label=text)
    assert Image.open(io.BytesIO(draw(shown))).size == (1200, 675)
    assert all(char < "\u0180" or char in "↑↓…" for x in layout(shown).labels for char in x.text)


def test_a_long_disclaimer_takes_two_lines_and_ends_in_an_ellipsis() -> None:
    lines = [x for x in layout(view(disclaimer=LONG)).labels if x.baseline > 640]
    disclaimer = [x.text for x in lines if x.left == 16]
    assert len(disclaimer) == 2
    assert LONG.startswith(disclaimer[0])
    assert disclaimer[1].endswith("…")
    short = [x.text for x in layout(view()).labels if x.baseline > 640]
    assert short == ["Educational chart analysis, not investment advice.", "Source: Sample bars"]


def test_the_title_and_subtitle_state_what_the_chart_shows() -> None:
    title, subtitle = layout(view()).labels[:2]
    assert title.text == "ACME  ·  Falling wedge  ·  Daily"
    assert subtitle.text.split("  ·  ") == [
        f"As of {view().as_of.isoformat()}",
        "bullish, forming",
        "log price axis",
    ]
    assert "in progress" in layout(running()).labels[1].text


@pytest.mark.parametrize("ink", [Ink.TITLE, Ink.MUTED, *list(Ink)[Ink.LINE :]])
def test_every_ink_of_words_and_pills_has_the_contrast_of_wcag_aa(ink: Ink) -> None:
    assert 1.05 / (luminance(ink) + 0.05) >= 4.5, COLOURS[ink]


@pytest.mark.parametrize("ink", [Ink.UP, Ink.DOWN])
def test_candles_have_the_contrast_of_graphics_on_every_tint(ink: Ink) -> None:
    for tint in (Ink.PAPER, Ink.BODY, Ink.REWARD, Ink.RISK):
        assert (luminance(tint) + 0.05) / (luminance(ink) + 0.05) >= 3, COLOURS[tint]


def test_bars_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one bar"):
        view(30, close=[1.0])
    with pytest.raises(ValueError, match="at least one bar"):
        dataclasses.replace(view(30), dates=(), open=(), high=(), low=(), close=())
