"""Pictures: a chart as its readers see it, sheets of four, and the key of a set.

A picture has no date, no symbol and no name of a detector, and it ends at the chart's last bar.
Everything is drawn several times larger and averaged, so that contacts of lines and wicks are
readable. The key says what each picture is and stays on the machine that drew them: it holds
prices, and a reader must never see it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mcp_server.drawing.text import FONTS
from research.chartist.charts import Chart, DrawnLine, shape_of
from research.chartist.finding import WINDOW, View
from screener.nightly.bars import Bars, to_date

WIDTH, HEIGHT = 780, 440
FINE = 3
LEFT, TOP, RIGHT, BOTTOM = 12, 36, 66, 14
PADDING = 0.04
"""Empty share of the height above the highest and below the lowest price."""

GROUND, INK, GRID, FRAME = "#ffffff", "#333333", "#eaeaea", "#bbbbbb"
RISEN, FALLEN, BLUE = "#00aa99", "#dd3333", "#1155cc"

CONTEXT, SHORTEST_CONTEXT = 0.8, 25
"""Bars shown before the pattern: a share of its length, or this many."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Which bars and log prices a picture shows, and where."""

    first: int
    last: int
    low: float
    high: float

    @property
    def step(self) -> float:
        """Pixels from bar to bar."""
        return (WIDTH - LEFT - RIGHT) / (self.last - self.first + 1)

    def x(self, bar: float) -> float:
        """The pixel column of the middle of a bar."""
        return LEFT + (bar - self.first + 0.5) * self.step

    def y(self, value: float) -> float:
        """The pixel row of a log price."""
        share = (self.high - value) / (self.high - self.low)
        return TOP + share * (HEIGHT - TOP - BOTTOM)


def frame_of(chart: Chart) -> Frame:
    """The frame that holds the chart's lines and its bars since some time before the pattern."""
    before = max(SHORTEST_CONTEXT, int(CONTEXT * (chart.last - chart.start)))
    first = max(0, chart.start - before)
    ends = [line.at(bar) for line in (chart.upper, chart.lower) for bar in (line.start, chart.last)]
    low = min(math.log(chart.bars.low[first : chart.last + 1].min()), *ends)
    high = max(math.log(chart.bars.high[first : chart.last + 1].max()), *ends)
    margin = PADDING * (high - low) or PADDING
    return Frame(first, chart.last, low - margin, high + margin)


def picture(chart: Chart, number: int) -> Image.Image:
    """The picture of a chart under a number."""
    frame = frame_of(chart)
    large = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), GROUND)
    pen = ImageDraw.Draw(large)
    _axis(pen, frame)
    for bar in range(frame.first, frame.last + 1):
        _candle(pen, frame, chart.bars, bar)
    for line in (chart.upper, chart.lower):
        _line(pen, frame, line)
    _title(pen, f"#{number:03d}  claimed: {chart.kind}")
    return large.reduce(FINE)


def unlined(view: View, number: int) -> Image.Image:
    """The picture of a stretch of bars without lines, with the number of every tenth bar."""
    shown = slice(view.first, view.last + 1)
    low, high = math.log(view.bars.low[shown].min()), math.log(view.bars.high[shown].max())
    margin = PADDING * (high - low) or PADDING
    frame = Frame(view.first, view.last, low - margin, high + margin)
    large = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), GROUND)
    pen = ImageDraw.Draw(large)
    _axis(pen, frame)
    for bar in range(0, WINDOW, 10):
        x, bottom = frame.x(view.first + bar) * FINE, (HEIGHT - BOTTOM) * FINE
        pen.line((x, TOP * FINE, x, bottom), GRID, FINE)
        pen.text((x, bottom + 7 * FINE), str(bar), INK, _font(10, "Regular"), anchor="mm")
    for bar in range(view.first, view.last + 1):
        _candle(pen, frame, view.bars, bar)
    _title(pen, f"#{number:03d}   bars 0 to {WINDOW - 1}")
    return large.reduce(FINE)


def _title(pen: ImageDraw.ImageDraw, text: str) -> None:
    pen.text((WIDTH / 2 * FINE, TOP / 2 * FINE), text, INK, _font(15, "SemiBold"), anchor="mm")


def sheets(pictures: Sequence[Image.Image]) -> Iterator[Image.Image]:
    """The pictures on sheets of two by two, in order."""
    for part in range(0, len(pictures), 4):
        sheet = Image.new("RGB", (2 * WIDTH, 2 * HEIGHT), GROUND)
        for place, image in enumerate(pictures[part : part + 4]):
            sheet.paste(image, (place % 2 * WIDTH, place // 2 * HEIGHT))
        yield sheet


def ticks(low: float, high: float) -> list[float]:
    """A few round prices between two, closer together if the range is narrow."""
    if high / low > 6:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        prices = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        inside = [price for price in prices if low <= price <= high]
        return inside[:: math.ceil(len(inside) / 8)]
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough)
    return [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _axis(pen: ImageDraw.ImageDraw, frame: Frame) -> None:
    """The frame, and a grid line and a label at each of a few prices."""
    prices = ticks(math.exp(frame.low), math.exp(frame.high))
    font = _font(11, "Regular")
    for price in prices:
        y = frame.y(math.log(price)) * FINE
        pen.line((LEFT * FINE, y, (WIDTH - RIGHT) * FINE, y), GRID, FINE)
        pen.text(((WIDTH - RIGHT + 6) * FINE, y), f"{price:.6g}", INK, font, anchor="lm")
    box = (LEFT * FINE, TOP * FINE, (WIDTH - RIGHT) * FINE, (HEIGHT - BOTTOM) * FINE)
    pen.rectangle(box, outline=FRAME, width=FINE)


def _candle(pen: ImageDraw.ImageDraw, frame: Frame, bars: Bars, bar: int) -> None:
    opened, high, low, close = (
        frame.y(math.log(values[bar])) * FINE
        for values in (bars.open, bars.high, bars.low, bars.close)
    )
    colour = RISEN if bars.close[bar] >= bars.open[bar] else FALLEN
    x = frame.x(bar) * FINE
    half = min(0.34 * frame.step, 6) * FINE
    wick = min(0.55 * FINE, half)
    pen.rectangle((x - wick, high, x + wick, low), colour)
    top, bottom = sorted((opened, close))
    pen.rectangle((x - half, top, x + half, max(bottom, top + FINE)), colour)


def _line(pen: ImageDraw.ImageDraw, frame: Frame, line: DrawnLine) -> None:
    """A line from its own start to the last bar."""
    ends = [(frame.x(bar) * FINE, frame.y(line.at(bar)) * FINE) for bar in (line.start, frame.last)]
    pen.line(ends, BLUE, round(1.6 * FINE))


def _font(size: int, weight: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / f"Inter-{weight}.ttf"), size * FINE)


def write_set(
    charts: Sequence[Chart], out: Path, seed: int, qualities: Sequence[float | None] = ()
) -> None:
    """Shuffle the charts, number them from 0 and write `pictures/` and `key.json`.

    Raises:
        FileExistsError: the folder has pictures of another set.
    """
    order = np.random.default_rng(seed).permutation(len(charts))
    known = qualities or [None] * len(charts)
    _write_pictures([picture(charts[index], n) for n, index in enumerate(order)], out)
    key = {n: _entry(charts[index]) | {"quality": known[index]} for n, index in enumerate(order)}
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n")


def write_views(views: Sequence[View], out: Path) -> None:
    """Number charts without lines from 0 and write `pictures/` and `key.json`.

    Raises:
        FileExistsError: the folder has pictures of another set.
    """
    _write_pictures([unlined(view, number) for number, view in enumerate(views)], out)
    key = {
        number: {"symbol": view.symbol, "last": to_date(view.bars.date[view.last]).isoformat()}
        for number, view in enumerate(views)
    }
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n")


def _write_pictures(images: Sequence[Image.Image], out: Path) -> None:
    folder = out / "pictures"
    folder.mkdir(parents=True)
    for number, image in enumerate(images):
        image.save(folder / f"{number:03d}.png")
    for number, sheet in enumerate(sheets(images)):
        sheet.save(folder / f"sheet-{number:03d}.png")


def read_key(path: Path) -> dict[int, dict[str, Any]]:
    """What each number of a set is."""
    return {int(number): entry for number, entry in json.loads(path.read_text()).items()}


def _entry(chart: Chart) -> dict[str, Any]:
    return {
        "by": chart.by,
        "symbol": chart.symbol or None,
        "plant": chart.plant or None,
        "kind": chart.kind,
        "start": chart.date(chart.start).isoformat(),
        "last": chart.date(chart.last).isoformat(),
        "upper_start": chart.date(chart.upper.start).isoformat(),
        "lower_start": chart.date(chart.lower.start).isoformat(),
        "upper": _prices(chart.upper, chart.last),
        "lower": _prices(chart.lower, chart.last),
        "shape": shape_of(chart),
    }


def _prices(line: DrawnLine, last: int) -> list[float]:
    """The line's prices at its start and at the last bar."""
    return [math.exp(line.at(bar)) for bar in (line.start, last)]
