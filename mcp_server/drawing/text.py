"""Text: the bundled font, a line of text and its room, and what a chart says of a setup."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mcp_server.drawing.canvas import Box, Canvas, Ink, Pixels, steps
from mcp_server.drawing.sheet import FactRow, Sheet
from mcp_server.drawing.view import ChartView
from store.wire.currency import currency_words
from store.wire.view import PlanView
from store.wire.words import (
    SHORT_VERDICTS,
    age_words,
    attempt_words,
    average_loss_words,
    capitalized,
    change,
    percent,
    ratio,
    status_words,
    tenths,
)

Weight: TypeAlias = Literal["Regular", "SemiBold"]

FONTS = Path(__file__).parent.parent / "fonts"

FINE = 4
"""Letters are drawn this many times larger and averaged; whole pixels would space them unevenly."""

GAMMA = 0.8
"""Exponent of a letter's coverage; without it, thin strokes would look paler than their ink."""

PUNCTUATION = frozenset(
    "\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u20ac\u20bf\u2122"
    "\u2190\u2191\u2192\u2193\u2212\u2248\u25b2\u25bc\u25cf"
)
"""The characters that the bundled subset of the font has besides Latin letters."""

MAX_TEXT = 600
"""Characters of a text that are measured. More never fit, and measuring them takes time."""

SEPARATOR = "  ·  "
CUT = "…"

WHOLE = frozenset({"record", "short_record"})
"""Facts that are left out where they do not fit: no win rate goes without its average loss."""


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text: the pen starts at `left` on `baseline`; `box` is the room it takes."""

    text: str
    left: int
    baseline: int
    size: int
    ink: Ink
    weight: Weight = "Regular"

    @property
    def right(self) -> int:
        """The pixel after its last letter."""
        return self.left + text_width(self.text, self.size, self.weight)

    @property
    def box(self) -> Box:
        """The room of the text, from above the capitals to below the descenders."""
        top = self.baseline - round(self.size * 0.8)
        return self.left, top, self.right, self.baseline + round(self.size * 0.25)

    def draw(self, canvas: Canvas) -> None:
        """Write it on a picture."""
        cover, row = _mask(self.text, self.size, self.weight)
        canvas.blend(self.left - 1, self.baseline - row, cover, self.ink)


def overlaps(one: Box, other: Box, across: int = 0, down: int = 0) -> bool:
    """Whether two boxes share a pixel, or are less than some pixels apart, `across` and `down`."""
    beside = one[0] >= other[2] + across or other[0] >= one[2] + across
    return not beside and one[1] < other[3] + down and other[1] < one[3] + down


@lru_cache(maxsize=16)
def _font(size: int, weight: Weight) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / f"Inter-{weight}.ttf"), size * FINE)


@lru_cache(maxsize=2048)
def text_width(text: str, size: int, weight: Weight = "Regular") -> int:
    """The advance width of a text in whole pixels."""
    return round(_font(size, weight).getlength(text) / FINE)


@lru_cache(maxsize=256)
def _mask(text: str, size: int, weight: Weight) -> tuple[Pixels, int]:
    """The coverage of a text in steps, and the row of its baseline; it starts at column 1."""
    baseline = round(size * 1.15)
    extent = (text_width(text, size, weight) + 4, baseline + round(size * 0.45))
    fine = Image.new("L", (extent[0] * FINE, extent[1] * FINE))
    pen = (FINE, baseline * FINE)
    ImageDraw.Draw(fine).text(pen, text, 255, _font(size, weight), anchor="ls")
    return steps((np.asarray(fine.reduce(FINE)) / 255.0) ** GAMMA), baseline


def clean(text: str) -> str:
    """The text on one line; characters that the font lacks become question marks."""
    words = "".join(char if char.isprintable() else " " for char in text[:MAX_TEXT]).split()
    return "".join(
        char if " " <= char < "\u0180" or char in PUNCTUATION else "?" for char in " ".join(words)
    )


def fit(text: str, room: int, size: int, weight: Weight = "Regular") -> str:
    """The text, or as much of its beginning as fits into `room` pixels with an ellipsis."""
    if text_width(text, size, weight) <= room:
        return text
    ends = range(1, len(text) + 1)
    fitting = bisect_right(ends, room, key=lambda end: text_width(text[:end] + CUT, size, weight))
    return text[:fitting].rstrip() + CUT


def wrap(text: str, room: int, lines: int, size: int) -> list[str]:
    """The text in at most `lines` lines of `room` pixels; the last line is cut if necessary."""
    wrapped: list[str] = []
    words = text.split(" ")
    while words and len(wrapped) < lines - 1:
        count = 1
        while count < len(words) and text_width(" ".join(words[: count + 1]), size) <= room:
            count += 1
        wrapped.append(fit(" ".join(words[:count]), room, size))
        words = words[count:]
    wrapped.append(fit(" ".join(words), room, size))
    return [line for line in wrapped if line]


def facts(view: ChartView, pack: int, since: int | None) -> dict[str, str]:
    """Everything that is said, by name; what there is nothing to say of is empty.

    `pack` is how many sessions a candle holds, `since` how many there were since the breakout.
    """
    plans = view.plans
    entered = any(plan.entry is not None for plan in plans)
    reward = ", ".join(
        f"{ratio(plan.reward_to_risk)}{f' {plan.direction}' if plans[1:] else ''}"
        for plan in plans
        if plan.reward_to_risk is not None
    )
    reward = reward and f"reward to risk {reward}"
    moves = "" if plans[1:] else "".join(map(_moves, plans))  # there is no room for those of two
    directions = " or ".join(plan.direction for plan in plans) or view.direction
    bars = "daily bars" if pack == 1 else f"{pack} sessions a candle"
    return {
        "symbol": view.symbol,
        "name": view.name,
        "pattern": view.pattern,
        "status": view.note or f"{directions}, {status_words(view.status)}",
        "age": age_words(since),
        "quality": "" if view.quality is None else f"quality {tenths(view.quality)}",
        "attempt": attempt_words(view.attempt, view.attempts),
        "as_of": f"As of {view.as_of.isoformat()}",
        "levels": moves,
        "short_reward": reward,
        "reward": f"{reward} from the entry" if reward and entered else reward,
        "axis": ", ".join(filter(None, (bars, "log price axis", currency_words(view.currency)))),
        "record": _record(view),
        "short_record": _record(view, short=True),
        "disclaimer": view.disclaimer,
        "source": f"Source: {view.source}" if view.source else "",
    }


def _moves(plan: PlanView) -> str:
    target, stop = map(change, (plan.target_pct, plan.stop_pct))
    first = f"Target {target}," if plan.entry is None else f"Entry to target {target}, to"
    return f"{first} stop {stop}"


def _record(view: ChartView, *, short: bool = False) -> str:
    """The record in one sentence: sample and average loss stand beside the win rate.

    It counts the first attempt of each formation, which is said where the setup is a later one.
    """
    record = view.record
    if record is None:
        return ""
    span = "" if short else f" record, {record.start} to {record.end}"
    figures = record.figures
    placebo = figures.placebo_win_rate_pct
    beside = f", {SHORT_VERDICTS[figures.verdict]}" if figures.verdict else ""
    random = "" if placebo is None else f" (random entries: {percent(placebo)}{beside})"
    lost = average_loss_words(figures.avg_loss_pct)
    counted = "first attempt" if view.attempt > 1 else "trade"
    counted += "" if figures.sample_size == 1 else "s"
    return (
        f"{record.name}{span}: {percent(figures.win_rate_pct)} of {figures.sample_size:,} "
        f"{counted} {'won' if short else 'reached the target'}{random}, {lost}"
    )


def amount(value: float) -> str:
    """A volume in three digits: `12.3M`."""
    for unit, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if value >= unit:
            return f"{value / unit:.3g}{suffix}" if value < 1e15 else ">999T"
    return f"{value:.3g}"


def fact_labels(texts: Mapping[str, str], sheet: Sheet) -> Iterator[Label]:
    """The rows of a sheet, without facts that are empty."""
    for row in sheet.rows:
        yield from _row_labels(row, texts, sheet)


def _row_labels(row: FactRow, texts: Mapping[str, str], sheet: Sheet) -> Iterator[Label]:
    left, right = sheet.margin, sheet.width - sheet.margin
    end = capitalized(_joined(row.right, texts))
    if end:
        end = fit(end, (right - left) * 9 // 20, row.size)
        start = right - text_width(end, row.size)
        yield Label(end, start, row.baseline, row.size, Ink.MUTED)
        right = start - 2 * row.size
    lead = clean(texts[row.lead]) if row.lead else ""
    if lead:
        lead = fit(lead, right - left, row.lead_size, "SemiBold")
        label = Label(lead, left, row.baseline, row.lead_size, Ink.TITLE, "SemiBold")
        yield label
        left = label.right + row.size * 3 // 4
    rest = _joined(row.left, texts)
    rows = wrap(rest if lead else capitalized(rest), max(0, right - left), row.lines, row.size)
    if WHOLE.isdisjoint(row.left) or not any(text.endswith(CUT) for text in rows):
        for number, text in enumerate(rows):
            if text != CUT:
                yield Label(text, left, row.baseline + number * row.step, row.size, Ink.MUTED)


def _joined(names: tuple[str, ...], texts: Mapping[str, str]) -> str:
    return SEPARATOR.join(text for name in names if (text := clean(texts[name])))
