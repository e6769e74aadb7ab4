"""Axes: the session axis. It says which bars are shown, how many a candle holds, and where it is.

Coordinates are continuous pixels, y downward: pixel row r covers y in [r, r + 1).
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_server.drawing.sheet import Sheet

LINGER = 8
"""Sessions after a breakout that always have a candle each."""

LATER = 0.8
"""Candles of the sessions after that, at most, as a share of those before."""

FEWEST_LATER = 20
"""So many candles they may have however short the pattern is."""

COARSEST = 18
"""The fewest candles to which the later sessions are packed further to make room."""

PACKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Sessions that one candle may hold."""

AHEAD = 0.1
"""Room after the last candle, as a share of the candles."""


@dataclass(frozen=True, slots=True)
class SessionAxis:
    """Candles at even pixel steps, one for the bars between two neighbours of `edges`.

    The first candles hold `pack` sessions each. From the candle `fold` on they hold `folded`;
    without a fold, that is the number of candles.
    """

    left: int
    right: int
    slot: int
    edges: tuple[int, ...]
    fold: int
    pack: int = 1
    folded: int = 1

    @property
    def first(self) -> int:
        """The index of the first bar shown."""
        return self.edges[0]

    @property
    def candles(self) -> int:
        """How many candles there are."""
        return len(self.edges) - 1

    @property
    def is_folded(self) -> bool:
        """Whether later candles hold more sessions than earlier ones."""
        return self.fold < self.candles

    @property
    def fold_column(self) -> int:
        """The pixel column at which the fold begins."""
        return self.left + self.fold * self.slot

    def column(self, candle: int) -> int:
        """The pixel column in the middle of a candle."""
        return self.left + candle * self.slot + self.slot // 2

    def x(self, index: float) -> float:
        """The pixel coordinate of a session index, which may lie between or beyond bars."""
        at = index + 0.5
        candle = min(max(bisect_right(self.edges, at) - 1, 0), self.candles - 1)
        begins = self.edges[candle]
        width = self.edges[candle + 1] - begins
        if at < begins:
            width = self.pack
        elif at > self.edges[-1]:
            candle, begins, width = self.candles, self.edges[-1], self.ahead
        return self._middle(candle + (at - begins) / width - 0.5)

    def index(self, x: float) -> float:
        """The session index at a pixel coordinate."""
        place = (x - 0.5 - self.slot // 2 - self.left) / self.slot + 0.5
        candle = min(max(math.floor(place), 0), self.candles - 1)
        begins = self.edges[candle]
        width = self.edges[candle + 1] - begins
        if place < 0:
            width = self.pack
        elif place > self.candles:
            candle, begins, width = self.candles, self.edges[-1], self.ahead
        return begins + (place - candle) * width - 0.5

    @property
    def ahead(self) -> int:
        """How many sessions a slot after the last candle stands for."""
        return 1 if self.is_folded else self.pack

    def _middle(self, candle: float) -> float:
        return self.left + candle * self.slot + self.slot // 2 + 0.5


def session_axis(
    count: int, start: int, breakout: int | None, sheet: Sheet, right: int
) -> SessionAxis:
    """The axis for so many bars that shows all from the pattern's start to the last one.

    Before the pattern it shows a share of as many as the pattern has, and more if there is room.
    When a breakout is long ago, later sessions share candles, so that the pattern keeps its size.
    """
    room = right - sheet.margin
    turn = count if breakout is None else min(count, breakout + 1 + LINGER)
    pack, folded = _packs(max(1, turn - start), count - turn, room // sheet.narrowest)
    if pack >= folded:
        turn, folded = count, pack
    before, later = math.ceil(max(1, turn - start) / pack), math.ceil((count - turn) / folded)
    wanted = max(sheet.fewest_bars // pack, round(before * (1 + sheet.context)) + later)
    wanted = min(wanted, math.ceil(turn / pack) + later)
    slot = max(sheet.narrowest, min(sheet.widest, room // (wanted + _ahead(wanted))))
    shown = max(room // slot - _ahead(wanted), before + later) - later
    first = max(0, turn - shown * pack)
    near = [*range(turn, first, -pack), first][::-1]
    far = [*range(count, turn, -folded)][::-1]
    return SessionAxis(sheet.margin, right, slot, (*near, *far), len(near) - 1, pack, folded)


def _packs(before: int, after: int, slots: int) -> tuple[int, int]:
    """How many sessions a candle holds before and after the fold, as few as fit into the slots.

    Candles after the fold are packed first, down to `COARSEST` of them, then those before it.
    """
    most = max(FEWEST_LATER, round(before * LATER))
    least = next(pack for pack in (*PACKS, after) if after <= pack * most)
    for pack in PACKS:
        for folded in (least, *(size for size in PACKS if size > least)):
            if folded > least and after < COARSEST * folded:
                break
            candles = math.ceil(before / pack) + math.ceil(after / max(pack, folded))
            if candles + _ahead(candles) <= slots:
                return pack, max(pack, folded)
    return PACKS[-1], PACKS[-1]


def _ahead(candles: int) -> int:
    """How many slots stay free after the last candle."""
    return min(20, max(3, round(candles * AHEAD)))


def session_index(dates: Sequence[dt.date], date: dt.date) -> float:
    """The index of a date among sessions; for a date without a bar, estimated by calendar days."""
    at = bisect_left(dates, date)
    if at < len(dates) and dates[at] == date:
        return float(at)
    if 0 < at < len(dates):
        return at - 1 + (date - dates[at - 1]).days / (dates[at] - dates[at - 1]).days
    nearest = 0 if at == 0 else len(dates) - 1
    days = (dates[-1] - dates[0]).days
    pace = (len(dates) - 1) / days if days else 5 / 7
    return nearest + (date - dates[nearest]).days * pace
