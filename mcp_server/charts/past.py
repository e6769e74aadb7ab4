"""Past: what a symbol's chart shows without a setup, its past trades as marks or one of them alone.

Trades are those of the history of the night, with their lines, which older nights lack.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from mcp_server.drawing.view import ChartView, Point, TradeMark, TrendLine
from store.nights.book import Book
from store.nights.prices import SHOWN, Prices
from store.wire.currency import money
from store.wire.families import pattern_words
from store.wire.labels import CHANGE_REASONS, words_of
from store.wire.words import tenths

AFTER = 20
"""Sessions that are drawn after the exit of a trade."""

BEFORE = 50
"""Sessions that it is given before a pattern, or its pole."""

MARKS = "An arrowhead is an entry, a dot an exit at the target, a ring any other exit."
LEVELS = ("entry", "stop", "target", "exit")

Trade = Mapping[str, Any]
"""A PastTrade."""
Change = Mapping[str, Any]
"""A DrawnChange."""


@dataclass(frozen=True, slots=True)
class Past:
    """What to draw: one past trade of a symbol, or its bars with all of them as marks."""

    symbol: str
    trade: Trade | None = None
    lines: tuple[TrendLine, ...] = ()
    lost: Change | None = None
    """A setup that the night does not list any more, if it is the drawing of this one."""

    @classmethod
    def of(cls, book: Book, symbol: str, lineage_id: str) -> Past | None:
        """The trade of a lineage, without lines where the night has none; None without one."""
        trades = (trade for trade in trades_of(book, symbol) if trade["lineage_id"] == lineage_id)
        return next((cls.with_trade(symbol, trade) for trade in trades), None)

    @classmethod
    def with_trade(cls, symbol: str, trade: Trade) -> Past:
        """A trade of a symbol."""
        return cls(symbol, trade, trend_lines(trade.get("lines")))

    @classmethod
    def lost_by(cls, book: Book, symbol: str, lineage_id: str | None = None) -> Past | None:
        """The drawing that a symbol lost tonight, of a lineage or else of any; None without one."""
        rows = (book.changes() or {"changes": ()})["changes"]
        lost = (row for row in rows if row["symbol"] == symbol and row.get("lines"))
        found = [row for row in lost if lineage_id in (None, row["lineage_id"])]
        return cls(symbol, None, trend_lines(found[-1]["lines"]), found[-1]) if found else None

    @property
    def name(self) -> str:
        """What it is called among the pictures of a night."""
        if self.lost:
            return f"lost-{self.lost['lineage_id']}"
        return f"trade-{self.trade['lineage_id']}" if self.trade else f"symbol-{self.symbol}"

    @property
    def since(self) -> dt.date | None:
        """The session on which its pattern begins, or if that is not known its entry."""
        entry = _day(self.trade["entry_date"]) if self.trade else None
        return min((line.start[0] for line in self.lines), default=entry)

    def is_among(self, prices: Prices) -> bool:
        """Whether its bars are among those that are kept."""
        return self.since is None or self.since >= prices.first_day


def trades_of(book: Book, symbol: str) -> list[Trade]:
    """The first attempts of a symbol that have a page and a mark, newest entry first."""
    stored = book.history(symbol)
    rows = map(orjson.loads, stored.rows if stored else ())
    return [row for row in rows if row["lineage_id"] and row["entry_date"] and row["direction"]]


def shown(prices: Prices, since: dt.date | None = None) -> Prices:
    """Those of the stored bars that a chart of a pattern since a day is given."""
    first = len(prices.date) - SHOWN
    if since is not None:
        first = min(first, bisect_left(prices.days, since) - BEFORE)
    return prices.part(slice(max(0, first), None))


def bare_view(book: Book, symbol: str, prices: Prices, name: str) -> ChartView:
    """The bars of a symbol by themselves; the name is that of the company."""
    dates = prices.days
    return ChartView(
        symbol=symbol,
        pattern="",
        direction="bullish",
        status="in_progress",
        as_of=book.session or dates[-1],
        dates=dates,
        open=tuple(prices.open.tolist()),
        high=tuple(prices.high.tolist()),
        low=tuple(prices.low.tolist()),
        close=tuple(prices.close.tolist()),
        volume=None if prices.volume is None else tuple(prices.volume.tolist()),
        next_session=book.next_session,
        name=name,
        disclaimer=book.disclaimer,
        source=book.source,
        currency=book.currency(symbol),
    )


def past_view(book: Book, past: Past, prices: Prices, name: str = "") -> ChartView:
    """What the chart of a symbol's past shows; the name is that of the company."""
    trade = past.trade
    if trade is None:
        return _with_lost(book, past, prices, name) or _with_marks(book, past.symbol, prices, name)
    mark = _mark(trade)
    delisted = ", delisted" if trade.get("exit_reason") == "delisted" else ""
    last = mark.exit and bisect_left(prices.days, mark.exit[0]) + AFTER + 1
    prices = shown(prices.part(slice(last)), past.since)
    return replace(
        bare_view(book, past.symbol, prices, name),
        pattern=pattern_words(trade),
        direction=mark.direction,
        note=f"{mark.direction}, {trade['outcome']}{delisted}",
        lines=past.lines,
        stop=trade["stop_price"],
        target=trade["target_price"],
        entry=mark.entry,
        exit=mark.exit,
    )


def _with_lost(book: Book, past: Past, prices: Prices, name: str) -> ChartView | None:
    """The drawing that a symbol lost tonight; None if it lost none."""
    lost = past if past.lost else Past.lost_by(book, past.symbol)
    if lost is None or not lost.lost or not lost.lines or not lost.is_among(prices):
        return None
    prices = shown(prices, lost.since)
    return replace(
        bare_view(book, past.symbol, prices, name),
        marks=marks_of(book, past.symbol, prices),
        pattern=f"{pattern_words(lost.lost)}, {lost.lost['direction']}",
        note=f"no longer listed: {words_of(lost.lost['reason'], CHANGE_REASONS)}",
        lines=lost.lines,
    )


def _with_marks(book: Book, symbol: str, prices: Prices, name: str) -> ChartView:
    """The bars of a symbol with its past trades, and the best drawing of today if there is one."""
    prices = shown(prices)
    marks, nearest = marks_of(book, symbol, prices), book.nearest(symbol)
    note = f"{len(marks)} marked" if marks else "none among these bars"
    view = bare_view(book, symbol, prices, name)
    view = replace(view, marks=marks, pattern="Past trades", note=note)
    return _with_nearest(view, nearest) if nearest and nearest["lines"] else view


def _with_nearest(view: ChartView, drawing: Mapping[str, Any]) -> ChartView:
    """A view with the drawing that came furthest, which is no setup and has no levels."""
    pattern = f"Best drawing, {pattern_words(drawing).lower()}"
    trades = "past trades marked" if view.marks else "no past trade among these bars"
    note = f"no setup, quality {tenths(drawing['quality_pct'])}; {trades}"
    return replace(view, pattern=pattern, note=note, lines=trend_lines(drawing["lines"]))


def marks_of(book: Book, symbol: str, prices: Prices) -> list[TradeMark]:
    """The past trades of a symbol that were entered or left within its kept bars."""
    first, marks = prices.days[0], map(_mark, trades_of(book, symbol))
    return [mark for mark in marks if (mark.exit or mark.entry)[0] >= first]


def past_words(book: Book, past: Past, prices: Prices | None = None) -> str | None:
    """What such a chart shows, in words, for a reader who cannot see it; None without its bars."""
    prices = book.kept_prices(past.symbol) if prices is None else prices
    if prices is None or not past.is_among(prices):
        return None
    view, trade = past_view(book, past, prices), past.trade
    shown = f"{past.symbol}: {view.pattern}, {view.note}, as of {view.as_of}."
    if trade is None:
        return f"{shown} {MARKS} {book.disclaimer}"
    levels = ", ".join(
        f"{level} {money(trade[f'{level}_price'], view.currency)}"
        for level in LEVELS
        if trade[f"{level}_price"]
    )
    return f"{shown} {levels}. {book.disclaimer}"


def trend_lines(lines: Mapping[str, Any] | None) -> tuple[TrendLine, ...]:
    """The upper and the lower line of a setup or of a past trade; none where a night has none."""
    return (_line(lines["upper"]), _line(lines["lower"])) if lines else ()


def _line(line: Mapping[str, Any]) -> TrendLine:
    touches = tuple(_point(touch) for touch in line.get("touches", ()))
    return TrendLine(_point(line["start"]), _point(line["end"]), touches)


def _mark(trade: Trade) -> TradeMark:
    entry = _day(trade["entry_date"]), trade["entry_price"]
    left = (_day(trade["exit_date"]), trade["exit_price"]) if trade["exit_date"] else None
    return TradeMark(trade["direction"], entry, left, trade["outcome"] == "win")


def _point(point: Mapping[str, Any]) -> Point:
    return _day(point["date"]), point["price"]


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)
