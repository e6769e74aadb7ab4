"""What is written on a chart: all that a reader needs, whole, and nothing over anything else."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from mcp_server.drawing import draw
from mcp_server.drawing.axes import price_ticks, tick_decimals
from mcp_server.drawing.canvas import Ink
from mcp_server.drawing.layout import Layout, layout
from mcp_server.drawing.tags import spread
from mcp_server.drawing.text import amount, overlaps
from mcp_server.drawing.view import WIDTHS, ChartStyle, ChartView, PastRecord, Width
from store.wire.currency import money
from store.wire.view import PlanView
from tests.mcp_server.views import RECORD, boxes, pennant, picture, running, view

LONG = "Educational chart analysis, not investment advice; every level may be wrong. " * 9
PHONE = ChartStyle(width=720)
SMALLEST_PHONE_LETTERS = 24


def texts(plan: Layout) -> list[str]:
    return [label.text for label in plan.labels]


def all_text(shown: ChartView, width: Width = 1200) -> str:
    plan = layout(shown, ChartStyle(width=width))
    return " | ".join((*texts(plan), *(flag.label.text for flag in plan.flags)))


ratios = st.floats(-6, 6).map(math.exp)


@settings(max_examples=150, deadline=None)
@given(
    bars=st.integers(1, 700),
    price=st.floats(math.log(1e-5), math.log(5e5)).map(math.exp),
    levels=st.tuples(ratios, ratios, ratios),
    entered=st.none() | st.integers(0, 699),
    text=st.text(max_size=90),
    volume=st.none() | st.floats(0, 1e18),
    attempt=st.integers(1, 12),
    width=st.sampled_from(WIDTHS),
)
@example(120, 100.0, (1.0, 1.0, 1.0), 40, LONG, None, 1, 1200)
@example(120, 100.0, (1.0, 1.0, 1.0), 40, LONG, 3e6, 2, 720)
@example(320, 1e-5, (1.0001, 1.0, 0.9999), 300, "", 1e5, 1, 720)
@example(1, 500_000.0, (1e-3, 1e3, 1.0), 0, "x" * 3000, 1e18, 11, 1200)
@example(700, 500_000.0, (1.0, 1.2, 0.9), 330, "x" * 3000, 1e18, 11, 720)
@example(1, 70.10541234668786, (1.0, 1.0, 1.0), None, "", None, 1, 720)
def test_no_label_ever_overlaps_another_or_the_plot_or_leaves_the_picture(
    bars: int,
    price: float,
    levels: tuple[float, float, float],
    entered: int | None,
    text: str,
    volume: float | None,
    attempt: int,
    width: Width,
) -> None:
    texts = {"disclaimer": text * 3, "source": text, "symbol": text[:24] or "X", "name": text * 2}
    prices = zip(("trigger", "stop", "target"), (price * level for level in levels), strict=True)
    shown = view(bars, price, attempt=attempt, quality=price % 100, **texts, **dict(prices))
    entry = None if entered is None else (shown.dates[entered % bars], price * 1.01)
    volumes = None if volume is None else [volume] * bars
    shown = dataclasses.replace(shown, entry=entry, volume=volumes)
    look = ChartStyle(width=width)
    plan = layout(shown, look)
    written = boxes(plan)
    for one, other in itertools.combinations([plan.plot, *written], 2):
        assert not overlaps(one, other), (one, other)
    for left, top, right, bottom in written:
        assert (min(left, top) >= 0, right <= width, bottom <= look.height) == (True,) * 3


def test_a_chart_says_what_it_shows() -> None:
    said = all_text(dataclasses.replace(running(ago=20, attempt=3), quality=81.37))
    for words in (
        "ACME",
        "Acme Corporation",
        "Falling wedge",
        "bullish, triggered",
        "broke out 20 sessions ago",
        "attempt 3",
        "quality 81.4%",
        f"As of {view().as_of}",
        "log price axis",
        "Reward to risk 1.2",
        "Educational chart analysis, not investment advice.",
        "Source: Sample bars",
    ):
        assert words in said


RANGE = "1995-03-29 to 2024-06-17"


def record_with(name: str = RECORD.name, **figures: Any) -> PastRecord:
    changed = dataclasses.replace(RECORD.figures, **figures)
    return dataclasses.replace(RECORD, name=name, figures=changed)


def recorded(**figures: Any) -> ChartView:
    return view(record=record_with(**figures))


@pytest.mark.parametrize(
    ("shown", "words", "others"),
    [
        (view(), "bullish, forming", ("attempt", "broke out")),
        (running(ago=0), "broke out this session", ()),
        (running(ago=1), "broke out 1 session ago", ()),
        (running(ago=118), "Breakout Jan 3", ("Breakout Jan 3,",)),
        (running(320, ago=250, length=60, as_of=dt.date(2025, 3, 25)), ", 2024", ()),
        (recorded(avg_loss_pct=None), "no loss", ()),
        (view(record=None), "Acme", ("record",)),
        (recorded(sample_size=1), "of 1 trade ", ()),
        (
            recorded(sample_size=7, win_rate_pct=0.0),
            f"Falling wedge record, {RANGE}: 0.00% of 7",
            (),
        ),
        (view(stop=104.0), "Acme", ("eward to risk",)),
    ],
)
def test_a_chart_says_no_more_than_there_is(
    shown: ChartView, words: str, others: tuple[str, ...]
) -> None:
    said = all_text(shown)
    assert words in said
    assert not any(other in said for other in others)


@pytest.mark.parametrize("width", [720, 1200])
@pytest.mark.parametrize("attempt", [1, 4])
@pytest.mark.parametrize("random_entries", [None, 29.44])
@pytest.mark.parametrize("name", ["Rising wedge", "Bearish pennant", "Bullish triangle"])
def test_a_win_rate_never_stands_without_its_sample_and_its_average_loss(
    name: str, random_entries: float | None, attempt: int, width: Width
) -> None:
    record = record_with(name, sample_size=18_934, placebo_win_rate_pct=random_entries)
    said = all_text(running(attempt=attempt, record=record), width).replace(" | ", " ")
    counted = "trades" if attempt == 1 else "first attempts"
    assert f"34.11% of 18,934 {counted}" in said
    assert "average loss -9.05%" in said
    beside = "(random entries: 29.44%, no edge)"
    assert (beside in said) is (random_entries is not None)


@pytest.mark.parametrize("width", [720, 1200])
def test_a_record_that_has_no_room_is_left_out_whole(width: Width) -> None:
    said = all_text(view(record=dataclasses.replace(RECORD, name="Wedge " * 40)), width)
    assert "34.11" not in said
    assert "Wedge" not in said.replace("Falling wedge", "")


def test_stop_and_target_are_told_in_per_cent_of_the_trigger_or_the_entry() -> None:
    names = {pill.name.text for pill in layout(view(trigger=100.0)).pills}
    assert {"Target +15.00%", "Stop -4.00%"} <= names
    entered = running(stop=94.05, target=125.4)
    names = {pill.level.name for pill in layout(entered).pills}
    assert {"Target +20.00%", "Stop -10.00%"} <= names
    assert "Entry to target +20.00%, to stop -10.00%" in all_text(entered, 720)


def test_a_phones_chart_has_its_levels_date_and_disclaimer_in_letters_that_can_be_read() -> None:
    for shown in (view(), running(), running(700, ago=300, attempt=2), pennant()):
        plan, said = layout(shown, PHONE), all_text(shown, 720)
        start = "Trigger" if shown.entry is None else "Entry"
        assert {pill.level.name for pill in plan.pills} == {"Target", start, "Stop", "Last"}
        assert f"As of {shown.as_of}" in said
        assert "Educational chart analysis, not investment advice." in said
        written = [*plan.labels, *(flag.label for flag in plan.flags)]
        written += [label for pill in plan.pills for label in (pill.name, pill.price)]
        assert min(label.size for label in written) >= SMALLEST_PHONE_LETTERS


def test_a_long_disclaimer_takes_two_lines_and_ends_in_an_ellipsis() -> None:
    plan = layout(view(disclaimer=LONG))
    first, second = [x.text for x in plan.labels if x.baseline > 640 and x.left == 16]
    assert LONG.startswith(first)
    assert second.endswith("…")


def test_levels_within_one_pixel_keep_readable_pills_in_order_of_price() -> None:
    shown = view(trigger=100.0, stop=100.001, target=100.002)
    plan = layout(shown)
    tops = [pill.box[1] for pill in plan.pills]
    prices = [pill.level.price for pill in plan.pills]
    assert prices == sorted(prices, reverse=True)
    assert min(b - a for a, b in itertools.pairwise(tops)) > plan.sheet.pill_height
    dashed = [pill for pill in plan.pills if pill.level.dashed]
    row = picture(shown)[int(dashed[0].y or 0)]
    assert {Ink.TARGET, Ink.TRIGGER, Ink.STOP} <= set(row[: plan.sessions.right].tolist())


@pytest.mark.parametrize("price", [0.00001, 0.02, 1.0, 7.5, 97.0, 4321.0, 500_000.0])
@pytest.mark.parametrize("spread_by", [1.0, 1.6, 30.0])
def test_price_labels_are_few_round_and_in_their_rows(price: float, spread_by: float) -> None:
    shown = view(price=price)
    close = [value * spread_by ** (i / 119) for i, value in enumerate(shown.close)]
    plan = layout(dataclasses.replace(shown, close=close, high=close, low=close, open=close))
    ticks = price_ticks(plan.prices, plan.sheet.price_gap)
    assert 4 <= len(ticks) <= 14
    places = tick_decimals(ticks)
    for tick, row in zip(ticks, plan.grid_rows, strict=True):
        assert float(f"{tick:.{places}f}") == tick
        assert len(f"{tick:e}".split("e")[0].rstrip("0").replace(".", "")) <= 4
        assert row == int(plan.prices.y(tick))
    assert min(a - b for a, b in itertools.pairwise(plan.grid_rows)) >= plan.sheet.price_gap - 1


@pytest.mark.parametrize("price", [0.00001, 0.02, 1.0, 9.9, 97.0, 4321.0, 500_000.0])
@pytest.mark.parametrize("look", [PHONE, ChartStyle()])
def test_every_round_price_of_the_axis_is_written_beside_it(price: float, look: ChartStyle) -> None:
    for bars, ago in ((120, 20), (120, 0), (700, 300)):
        shown = view(bars, price)
        entry = None if not ago else (shown.dates[-ago], price)
        plan = layout(dataclasses.replace(shown, entry=entry), look)
        ticks = price_ticks(plan.prices, plan.sheet.price_gap)
        places = tick_decimals(ticks)
        assert len(ticks) >= 3
        assert {f"{tick:,.{places}f}" for tick in ticks} <= set(texts(plan))


@pytest.mark.parametrize(
    ("price", "text"), [(0.00001234, "0.000012340"), (1.5, "1.50"), (12345.678, "12,345.68")]
)
def test_prices_keep_significant_digits(price: float, text: str) -> None:
    plan = layout(view(price=price, trigger=price, stop=price, target=price, close=[price] * 120))
    assert {pill.price.text for pill in plan.pills} == {text}


@pytest.mark.parametrize("price", [109.675, 1.005, 9.995, 2.675, 4123.455, 77.125])
def test_the_last_close_is_rounded_once_as_sentences_round_it(price: float) -> None:
    """Bars are kept as float32, which is a little more or less than the price that is served."""
    kept = float(np.float32(price))
    plan = layout(view(close=[kept] * 120))
    (last,) = (pill for pill in plan.pills if pill.level.name == "Last")

    assert f"${last.price.text}" == money(price, "USD")


@pytest.mark.parametrize(
    ("volume", "text"),
    [(0.0042, "0.0042"), (950.0, "950"), (12_345.0, "12.3K"), (4e9, "4B"), (1e18, ">999T")],
)
def test_a_volume_is_written_in_three_digits(volume: float, text: str) -> None:
    assert amount(volume) == text


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
    shown = view(source=text, disclaimer=text, symbol=text, pattern=text, name=text)
    assert Image.open(io.BytesIO(draw(shown))).size == (1200, 675)
    written = "".join(texts(layout(shown)))
    assert re.fullmatch(r"[ -\u017f↑↓…\u2212]*", written)


@pytest.mark.parametrize("width", [720, 1200])
def test_a_running_trade_says_that_its_reward_counts_from_the_entry(width: Width) -> None:
    from_entry = {720: "Entry to target", 1200: "from the entry"}[width]

    assert from_entry in all_text(running(), width)
    assert from_entry not in all_text(view(), width)
    assert "reward to risk 1.2" in all_text(running(), width).lower()


def test_a_chart_names_the_levels_of_both_plans() -> None:
    other = PlanView("bearish", 90.0, 101.0, 70.0, None)
    shown = view(direction="bullish", trigger=100.0, stop=91.0, target=130.0, other=other)

    named = [(level.name, level.price) for level in layout(shown, PHONE).levels]

    assert named[:-1] == [
        ("Bullish target", 130.0),
        ("Bullish trigger", 100.0),
        ("Bullish stop", 91.0),
        ("Bearish target", 70.0),
        ("Bearish trigger", 90.0),
        ("Bearish stop", 101.0),
    ]
    assert "Reward to risk 3.33 bullish, 1.82 bearish" in all_text(shown, 720)
