"""Views of made-up setups, for the tests of drawing."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from mcp_server.drawing import draw
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.layout import Layout
from mcp_server.drawing.view import ChartStyle, ChartView, PastRecord, Point, TrendLine
from store.wire.view import RecordView

FIRST_DAY = dt.date(2024, 1, 2)

RECORD = PastRecord(
    name="Falling wedge",
    start=dt.date(1995, 3, 29),
    end=dt.date(2024, 6, 17),
    figures=RecordView(
        scope="family",
        sided=False,
        sample_size=1598,
        win_rate_pct=34.11,
        win_rate_ci95=None,
        avg_r=0.1,
        avg_win_pct=None,
        avg_loss_pct=-9.05,
        placebo_win_rate_pct=33.05,
        verdict="not_distinguishable",
        summary=None,
    ),
)


def weekdays(count: int) -> tuple[dt.date, ...]:
    days = (FIRST_DAY + dt.timedelta(days=n) for n in itertools.count())
    return tuple(itertools.islice((day for day in days if day.weekday() < 5), count))


def line(dates: tuple[dt.date, ...], start: int, end: int, first: float, last: float) -> TrendLine:
    touches: tuple[Point, ...] = ((dates[start], first),)
    return TrendLine((dates[start], first), (dates[end], last), touches)


def view(bars: int = 120, price: float = 100.0, **changes: Any) -> ChartView:
    """A converging pattern around a price over the second half of the bars."""
    dates = weekdays(bars + 1)
    close = [price * math.exp(0.03 * math.sin(i / 4)) for i in range(bars)]
    opened = [close[0], *close[:-1]]
    start, end = bars // 2, bars - 1
    made = ChartView(
        symbol="ACME",
        pattern="Falling wedge",
        direction="bullish",
        status="forming",
        as_of=dates[-2],
        dates=dates[:-1],
        open=opened,
        high=[max(pair) * 1.004 for pair in zip(opened, close, strict=True)],
        low=[min(pair) / 1.004 for pair in zip(opened, close, strict=True)],
        close=close,
        lines=(
            line(dates, start, end, price * 1.08, price * 1.04),
            line(dates, start, end, price * 0.94, price * 0.96),
        ),
        trigger=price * 1.04,
        stop=price * 0.96,
        target=price * 1.15,
        next_session=dates[-1],
        volume=[1e6 * (1 + i % 7) for i in range(bars)],
        name="Acme Corporation",
        record=RECORD,
        disclaimer="Educational chart analysis, not investment advice.",
        source="Sample bars",
    )
    return dataclasses.replace(made, **changes)


def running(bars: int = 120, ago: int = 20, length: int = 0, **changes: Any) -> ChartView:
    """A trade entered some bars ago; its lines end at the bar before."""
    forming = view(bars)
    dates = tuple(forming.dates)
    at = bars - 1 - ago
    start = at - length if length else bars // 3
    return dataclasses.replace(
        forming,
        status="in_progress",
        lines=(
            line(dates, start, at - 1, 108.0, 104.0),
            line(dates, start, at - 1, 94.0, 96.0),
        ),
        entry=(dates[at], 104.5),
        **changes,
    )


def pennant(**changes: Any) -> ChartView:
    """A small pattern over the last ten of 120 bars, after a pole of ten bars."""
    dates = weekdays(120)
    lines = line(dates, 110, 119, 104.0, 102.0), line(dates, 112, 119, 98.0, 100)
    pole = (dates[100], 97.0), (dates[110], 104.0)
    return view(pole=pole, lines=lines, **changes)


def picture(shown: ChartView, look: ChartStyle | None = None) -> npt.NDArray[np.uint8]:
    """The palette indices of a drawn chart."""
    return np.asarray(Image.open(io.BytesIO(draw(shown, look or ChartStyle()))))


def boxes(plan: Layout) -> list[Box]:
    """The boxes of everything that is written on a chart."""
    pills, flags = (pill.box for pill in plan.pills), (flag.box for flag in plan.flags)
    return [*(label.box for label in plan.labels), *pills, *flags]


Floats = npt.NDArray[np.float64]

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: Sequence[int]) -> Floats:
    parts = np.array(list(colour)) / 255
    light: Floats = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return light


def contrast(one: Sequence[int], other: Sequence[int]) -> float:
    """The contrast ratio of two colours (WCAG 2.2)."""
    lights = [float(XYZ[1] @ linear(colour)) for colour in (one, other)]
    return (max(lights) + 0.05) / (min(lights) + 0.05)
