"""Moving averages on charts: their values, where they are drawn, and that they move no axis."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from mcp_server.drawing import AVERAGES, ChartStyle, ChartView, look_of
from mcp_server.drawing.axes import moving_average
from mcp_server.drawing.canvas import Ink
from mcp_server.drawing.layout import layout
from mcp_server.drawing.text import overlaps
from mcp_server.drawing.view import Width
from tests.mcp_server.views import picture, running, view

ALL = ChartStyle(averages=AVERAGES)
INKS = {20: Ink.SMA_20, 50: Ink.SMA_50, 200: Ink.SMA_200}


def test_an_average_is_the_mean_of_so_many_closes_and_there_is_none_of_fewer() -> None:
    close = [100 * math.exp(0.1 * math.sin(at)) for at in range(60)]
    for count in (1, 20, 60):
        values = moving_average(close, count)
        assert np.isnan(values[: count - 1]).all()
        means = [np.mean(close[at + 1 - count : at + 1]) for at in range(count - 1, 60)]
        np.testing.assert_allclose(values[count - 1 :], means)
    assert np.isnan(moving_average(close, 61)).all()
    assert len(moving_average(close, 200)) == 60


@pytest.mark.parametrize("count", AVERAGES)
def test_an_average_that_is_asked_for_is_drawn_through_its_values(count: int) -> None:
    shown, look = view(320), ChartStyle(averages=(count,))
    plan, bare = layout(shown, look), layout(shown)
    assert plan.sessions == bare.sessions

    drawn = picture(shown, look) != picture(shown)

    values = moving_average(shown.close, count)
    assert (picture(shown, look) == INKS[count]).sum() > 50
    for index in (290, 300, 310):
        x, y = int(plan.sessions.x(index)), int(plan.prices.y(values[index]))
        assert drawn[y - 1 : y + 2, x].any()
        assert not drawn[y + 6 : y + 9, x].any()


@pytest.mark.parametrize("width", [720, 1200])
def test_each_average_has_a_pill_with_its_last_value(width: Width) -> None:
    shown = view(320)
    plan = layout(shown, ChartStyle(width=width, averages=AVERAGES))

    named = {pill.name.text: pill.price.text for pill in plan.pills}

    for count in AVERAGES:
        assert named[f"SMA {count}"] == f"{moving_average(shown.close, count)[-1]:.2f}"


def test_an_average_begins_where_there_are_bars_enough_for_it() -> None:
    shown = view(100)
    plan = layout(shown, ALL)

    begins = {ink: places[0][0] if places else None for ink, places in plan.average_lines}

    assert begins[Ink.SMA_50] == pytest.approx(plan.sessions.x(max(49, plan.sessions.first)))
    assert begins[Ink.SMA_200] is None
    names = {pill.name.text for pill in plan.pills}
    assert {"SMA 20", "SMA 50"} <= names
    assert "SMA 200" not in names
    assert not (picture(shown, ALL) == Ink.SMA_200).any()


def test_averages_move_no_axis_and_are_cut_at_the_edge_of_the_plot() -> None:
    shown = view(320)
    higher: dict[str, Any] = {
        name: [*(np.array(getattr(shown, name)[:150]) * 9), *getattr(shown, name)[150:]]
        for name in ("open", "high", "low", "close")
    }
    shown = dataclasses.replace(shown, **higher)
    plan, bare, pixels = layout(shown, ALL), layout(shown), picture(shown, ALL)

    assert (plan.prices.low, plan.prices.high) == (bare.prices.low, bare.prices.high)
    (pill,) = (pill for pill in plan.pills if pill.level.name == "SMA 200")
    assert pill.name.text == "SMA 200 ↑"
    plot = np.isin(pixels[:, : plan.sessions.right], list(INKS.values()))
    assert not plot[: plan.prices.top].any()
    assert not plot[plan.prices.bottom :].any()


@pytest.mark.parametrize("shown", [view(320), running(700, ago=300, length=60), view(320, 1e-5)])
@pytest.mark.parametrize("width", [720, 1200])
def test_the_pills_of_averages_leave_the_others_their_room(shown: ChartView, width: Width) -> None:
    plan = layout(shown, ChartStyle(width=width, averages=AVERAGES))

    assert len(plan.pills) == len(layout(shown, ChartStyle(width=width)).pills) + 3
    for one, other in itertools.combinations([pill.box for pill in plan.pills], 2):
        assert not overlaps(one, other)
    assert max(pill.box[2] for pill in plan.pills) <= width


def test_without_averages_nothing_changes_and_a_thumbnail_has_none() -> None:
    shown = view(320)

    assert not np.isin(picture(shown), list(INKS.values())).any()
    small = ChartStyle(width=320)
    assert (
        picture(shown, dataclasses.replace(small, averages=AVERAGES)) == picture(shown, small)
    ).all()


def test_a_look_is_asked_for_in_words() -> None:
    assert look_of("dark", "720", "200, 20,20") == ChartStyle("dark", 720, (20, 200))
    assert look_of("light", "1200") == look_of("light", "1200", "") == ChartStyle()
    assert look_of("light", "320", "20") == ChartStyle(width=320)
    for words in (
        ("light", "1200", "10"),
        ("light", "1200", "20;50"),
        ("light", "0", ""),
        ("", "1200", ""),
    ):
        assert look_of(*words) is None
