"""Drawing a chart, compared with a plain way: Pillow at twice the size, scaled down, in RGB.

Prints the median CPU time and size of both over the same views in the same run, and their ratios;
then those of the other looks, and how long the first and the next chart of a service take where its
worker is warm and where it is not. Each view has its own symbol, dates and prices, so that cached
lettering helps only as much as it does in a real night.

    python -m benchmarks.charts
"""

from __future__ import annotations

import datetime as dt
import io
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import anyio
import anyio.to_process
from anyio import CapacityLimiter
from PIL import Image, ImageDraw, ImageFont

from mcp_server.drawing import LOOKS, USUAL, ChartView, Record, TrendLine, draw, prepare
from mcp_server.drawing.canvas import Box, Ink
from mcp_server.drawing.layout import Layout, layout
from mcp_server.drawing.text import FONTS

BARS, VIEWS, ROUNDS = 320, 24, 3
SCALE = 2
COLOURS = {ink: ink.light for ink in Ink}


def a_view(seed: int) -> ChartView:
    """A random walk of 320 bars with two converging lines over its last 40 to 130."""
    chance = random.Random(seed)  # noqa: S311
    opened, high, low, close = walk(chance)
    start = dt.date(2022, 1, 3) + dt.timedelta(days=17 * seed)
    first, last = BARS - chance.randint(40, 130), close[-1]
    dates = [start + dt.timedelta(days=n + n // 5 * 2) for n in range(BARS)]
    begins = (dates[first], max(high[first:])), (dates[first + 3], min(low[first:]))
    ends = (dates[-1], last * 1.03), (dates[-1], last / 1.03)
    upper, lower = (TrendLine(one, other, (one,)) for one, other in zip(begins, ends, strict=True))
    return ChartView(
        f"SYM{seed}", "Falling wedge", "bullish", "forming", dates[-1],
        dates, opened, high, low, close, upper, lower,
        trigger=last * 1.03,
        stop=last / 1.03,
        target=last * 1.2,
        next_session=dates[-1] + dt.timedelta(days=1),
        volume=[10 ** chance.uniform(5, 6) for _ in range(BARS)],
        name=f"Company {seed} Incorporated",
        record=Record("Falling wedge", start, dates[-1], 1000 + seed, 34.11, -9.05, 33.05),
        disclaimer="Educational chart analysis, not investment advice.",
        source="Sample bars",
    )  # fmt: skip


def walk(chance: random.Random) -> tuple[list[float], ...]:
    """The opens, highs, lows and closes of a random walk."""
    close = [10 ** chance.uniform(-3, 5)]
    while len(close) < BARS:
        close.append(close[-1] * math.exp(chance.gauss(0, 0.015)))
    opened = [value * math.exp(chance.gauss(0, 0.006)) for value in close]
    pairs = list(zip(opened, close, strict=True))
    high = [max(pair) * (1 + abs(chance.gauss(0, 0.006))) for pair in pairs]
    low = [min(pair) / (1 + abs(chance.gauss(0, 0.006))) for pair in pairs]
    return opened, high, low, close


def plain(view: ChartView) -> bytes:
    """The same chart by the same layout: everything at twice the size, then LANCZOS, in RGB."""
    plan = layout(view)
    image = Image.new("RGB", (USUAL.width * SCALE, USUAL.height * SCALE), COLOURS[Ink.PAPER])
    pen = ImageDraw.Draw(image)
    _plain_grid(pen, plan)
    _plain_candles(pen, plan)
    for segment in plan.segments:
        ends = [(x * SCALE, y * SCALE) for x, y in (segment.start, segment.end)]
        pen.line(ends, COLOURS[Ink.LINE], 2 * SCALE)
    for x, y in plan.touches:
        _plain_disc(pen, x, y, 3.6)
    _plain_words(pen, plan)
    body = io.BytesIO()
    image.resize((USUAL.width, USUAL.height), Image.Resampling.LANCZOS).save(body, "PNG")
    return body.getvalue()


def _scaled(box: Sequence[float]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (edge * SCALE for edge in box)
    return left, top, right - 1, bottom - 1


def _plain_grid(pen: ImageDraw.ImageDraw, plan: Layout) -> None:
    left, top, right, bottom = plan.plot
    rows: list[Box] = [(left, row, right, row + 1) for row in plan.grid_rows]
    columns: list[Box] = [(at, top, at + 1, bottom) for at in plan.grid_columns]
    for box in (*rows, *columns):
        pen.rectangle(_scaled(box), COLOURS[Ink.GRID])
    for pill in plan.pills:
        for at in range(left, right, 10):
            if pill.y is not None and pill.level.dashed:
                dash = (at, int(pill.y), at + 6, int(pill.y) + 1)
                pen.rectangle(_scaled(dash), COLOURS[pill.level.ink])


def _plain_candles(pen: ImageDraw.ImageDraw, plan: Layout) -> None:
    body, drawn = plan.sessions.slot * 0.35, plan.candles
    columns = zip(drawn.high, drawn.low, drawn.open, drawn.close, strict=True)
    for candle, prices in enumerate(columns):
        x = plan.sessions.column(candle) + 0.5
        high, low, opened, closed = (plan.prices.y(float(price)) for price in prices)
        colour = COLOURS[Ink.UP if closed <= opened else Ink.DOWN]
        pen.line((x * SCALE, high * SCALE, x * SCALE, low * SCALE), colour, SCALE)
        top, bottom = sorted((opened, closed))
        pen.rectangle(_scaled((x - body, top, x + body, bottom + 1)), colour)
    _plain_volume(pen, plan)


def _plain_volume(pen: ImageDraw.ImageDraw, plan: Layout) -> None:
    volume, (top, bottom) = plan.candles.volume, plan.sheet.volume
    if volume is None:
        return
    for candle, share in enumerate(volume / plan.candles.busiest):
        x, height = plan.sessions.column(candle) + 0.5, min(1.0, float(share)) * (bottom - top)
        body = plan.sessions.slot * 0.35
        colour = COLOURS[Ink.VOLUME_UP if plan.candles.rising[candle] else Ink.VOLUME_DOWN]
        pen.rectangle(_scaled((x - body, bottom - height, x + body, bottom)), colour)


def _plain_disc(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float) -> None:
    edges = (x - radius, y - radius, x + radius, y + radius)
    pen.ellipse([edge * SCALE for edge in edges], COLOURS[Ink.LINE])


def _plain_words(pen: ImageDraw.ImageDraw, plan: Layout) -> None:
    labels = list(plan.labels)
    for pill in plan.pills:
        pen.rounded_rectangle(_scaled(pill.box), 4 * SCALE, COLOURS[pill.level.ink])
        labels += [pill.name, pill.price]
    for flag in plan.flags:
        pen.rounded_rectangle(_scaled(flag.box), 4 * SCALE, COLOURS[flag.ink])
        labels.append(flag.label)
    for label in labels:
        font = ImageFont.truetype(str(FONTS / f"Inter-{label.weight}.ttf"), label.size * SCALE)
        at = (label.left * SCALE, label.baseline * SCALE)
        pen.text(at, label.text, COLOURS[label.ink], font, anchor="ls")


def measure(way: Callable[[ChartView], bytes], views: Sequence[ChartView]) -> tuple[float, float]:
    """The median CPU milliseconds and the median KB of a chart."""
    spent, sizes = [], []
    for view in views:
        began = time.process_time()
        body = way(view)
        spent.append((time.process_time() - began) * 1000)
        sizes.append(len(body) / 1024)
    return statistics.median(spent), statistics.median(sizes)


async def first_charts(warm: bool) -> tuple[float, float]:
    """The milliseconds of the first chart of a new worker process, and of the next ones."""
    worker, spent = CapacityLimiter(1), []
    if warm:
        await anyio.to_process.run_sync(prepare, limiter=worker)
    for seed in range(1, 8):
        began = time.perf_counter()
        await anyio.to_process.run_sync(draw, a_view(seed), limiter=worker)
        spent.append((time.perf_counter() - began) * 1000)
    return spent[0], statistics.median(spent[1:])


def main() -> None:
    """Draw new views both ways in turn, and print the medians over the rounds."""
    prepare()
    ours, reference = [], []
    for turn in range(ROUNDS):
        views = [a_view(1 + turn * VIEWS + n) for n in range(VIEWS)]
        ours.append(measure(draw, views))
        reference.append(measure(plain, views))
    ms, kb = (statistics.median(column) for column in zip(*ours, strict=True))
    plain_ms, plain_kb = (statistics.median(column) for column in zip(*reference, strict=True))
    print(f"ours            {ms:6.1f} ms CPU  {kb:6.1f} KB")
    print(f"2x LANCZOS RGB  {plain_ms:6.1f} ms CPU  {plain_kb:6.1f} KB")
    print(f"ours / plain    {ms / plain_ms:6.2f}         {kb / plain_kb:6.2f}")
    for number, look in enumerate(LOOKS.values()):
        views = [a_view(1000 + number * VIEWS + n) for n in range(VIEWS)]
        ms, kb = measure(partial(draw, look=look), views)
        print(f"{look.width:4} {look.theme:10} {ms:6.1f} ms CPU  {kb:6.1f} KB")
    for warm in (True, False):
        first, after = anyio.run(first_charts, warm)
        print(
            f"{'warm' if warm else 'cold'} worker: first chart {first:.0f} ms, next {after:.0f} ms"
        )


if __name__ == "__main__":
    main()
