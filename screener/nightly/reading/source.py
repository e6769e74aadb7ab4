"""The source: the interface to a collection of bars, and what it returns for one raw name.

A source is a small picklable value. A worker process receives it with the names of its symbols and
reads their bars itself. Nothing here knows a file.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, Self

import numpy as np
import polars as pl

from screener.nightly.bars import NO_BARS, Adjustment, Bars, to_date
from screener.nightly.errors import RefusedInput
from screener.nightly.markets.calendars import calendar_of
from screener.nightly.tables.columns import BARS, PRICES
from screener.nightly.tables.layout import TIME, BarsTable
from screener.nightly.tables.spacing import other_interval
from store.wire.exchanges import NEW_YORK

NUMBERS: Final = BARS[1:]

WEEKEND_SHARE: Final = 0.2
"""A series with a larger share of its bars on weekends trades every day; 2 of 7 is all of them."""

DAY_SHARE: Final = 0.05
"""A larger share of its bars is on each day of the week: a seventh, for crypto."""
ODD_SHARE: Final = 0.1
STRAY_SHARE: Final = 0.02
"""A week with many bars on weekends and hardly any on one of Friday to Sunday is the Gulf's."""
LAST_DAYS: Final = ("fridays", "saturdays", "sundays")
WEEK: Final = 10
HOLIDAY_SHARE: Final = 0.01
"""A series with a larger share of its bars on New York's holidays trades elsewhere. It would be
refused otherwise."""
IN_THIS_CENTURY: Final = dt.date(2000, 1, 1)

NEWEST: Final = 20
"""Among so many of the newest rows nothing may be unreadable or unsure."""
FEW: Final = 3
DIFFERING_SHARE: Final = 0.01
"""More dates than `FEW`, and a larger share of them, must not have rows that differ."""
ALIKE: Final = 1e-4
"""Prices that differ by less are the same price, rounded in another way."""
SORTING: Final = "sorting the bars by symbol"
UNUSED: Final = "files left out"
MAX_TOLD: Final = 40
"""The most columns that the report lists."""

Step = Callable[[str, int, int], None]
"""A progress callback: the name of a step, how much of it is done, and its total."""


def silent(_name: str, _done: int, _total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a source knows of a raw name before its bars are loaded."""

    last_day: int
    """The day number of its newest bar."""
    weekends: bool = False
    """Whether it trades on every day of the week, as crypto does and no exchange."""
    odd_week: bool = False
    """Whether it trades on one day of the weekend, or both, and not on every day."""
    abroad: bool = False
    """Whether it trades on New York's holidays."""

    @classmethod
    def of(
        cls, last_day: int, bars: int, fridays: int, saturdays: int, sundays: int, on_holidays: int
    ) -> Self:
        """The outline of some bars, of which so many are on each of those days."""
        abroad = on_holidays > max(1, HOLIDAY_SHARE * bars)
        weekend, rarest = saturdays + sundays, min(fridays, saturdays, sundays)
        daily = weekend > WEEKEND_SHARE * bars and rarest > DAY_SHARE * bars
        odd = weekend > ODD_SHARE * bars and rarest <= STRAY_SHARE * bars and bars > WEEK
        return cls(last_day, daily, odd, abroad)


def outline_columns() -> list[pl.Expr]:
    """The arguments of `Outline.of`, from the days of one symbol."""
    weekday = pl.col("date") % 7  # day 0 was a Thursday
    closed = pl.Series(calendar_of(NEW_YORK, IN_THIS_CENTURY).closed).implode()
    return [
        pl.col("date").max().alias("last_day"),
        pl.col("date").count().alias("bars"),
        *((weekday == place).sum().alias(name) for place, name in enumerate(LAST_DAYS, 1)),
        pl.col("date").is_in(closed).sum().alias("on_holidays"),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What a source has for one raw name: its raw bars and the findings, or why there are none."""

    name: str
    bars: Bars = NO_BARS
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: RefusedInput | None = None
    adjustment: Adjustment | None = None
    """What the prices are adjusted for, where the form of the file tells; else None."""
    currency: str | None = None
    """The currency of the prices, where the file tells; else None."""


class BarSource(Protocol):
    """A collection of the daily bars of many symbols, under its own raw names."""

    def names(self) -> list[str]:
        """Every raw name, sorted. Neighbouring names are the cheapest to load together."""
        ...

    def part(self, names: Sequence[str]) -> BarSource:
        """The source as a worker needs it to load some names; it is sent to another process."""
        ...

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """The bars of some names, in their order, reading as few others as the format allows."""
        ...

    def outlines(self) -> dict[str, Outline]:
        """The outline of each raw name that has bars."""
        ...

    def digest(self) -> str:
        """The SHA-256 of everything that the source reads, in hex."""
        ...


@dataclass(slots=True)
class ReadReport:
    """How files were read: how many of each form, how columns were used, and what was left out."""

    forms: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    """By form: the rows of its files. Those of files that are left out as a whole are under
    `UNUSED`. What becomes of each is in `RefusedInput.rows`, or in the bars and findings of a
    symbol.
    """
    columns: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, RefusedInput] = field(default_factory=dict)
    """By file: why it was left out, where that refuses no symbol of its own."""

    def add(self, table: BarsTable, rows: int) -> None:
        """Add one file of so many rows."""
        self.forms[table.form] += 1
        self.rows[table.form] += rows
        for name, said in table.columns.items():
            if len(self.columns) < MAX_TOLD:
                self.columns.setdefault(name, said)

    def leave(self, label: str, refusal: RefusedInput) -> None:
        """Leave out a file, or rows of it; of two reasons both are said."""
        if other := self.skipped.get(label):
            reason = f"{other.reason} {refusal.reason}"
            refusal = RefusedInput(refusal.code, reason, other.rows + refusal.rows)
        self.skipped[label] = refusal

    def leave_file(self, label: str, refusal: RefusedInput, rows: int) -> None:
        """Leave out a file of so many rows as a whole."""
        self.rows[UNUSED] += rows
        self.leave(label, replace(refusal, rows=rows))

    def leave_nameless(self, label: str, rows: int) -> None:
        """Leave out the rows of a file that name no symbol, unless there are none."""
        if rows:
            reason = f"{rows:,} of its rows name no symbol; they are left out."
            self.leave(label, RefusedInput("bad_symbol", reason, rows))

    def as_dict(self) -> dict[str, Any]:
        """The forms and columns as JSON values."""
        return {"forms": dict(sorted(self.forms.items())), "columns": self.columns}


def to_bars(frame: pl.DataFrame) -> tuple[Bars, dict[str, int], RefusedInput | None]:
    """The bars of one symbol, sorted by date; the findings; and why they are none, if not daily.

    Rows without a date are dropped and counted as `undated_row`. If several rows have one date,
    those without prices, or without a trade, give way; the last of equal rows is kept, and the
    others count as `repeated_date`. All rows of a date on which they differ are dropped as
    `differing_date`: nobody knows which is right. A missing number becomes NaN.

    What is wrong among the newest rows, or often, refuses the symbol: a night would be old, or made
    of the bars of something else.
    """
    findings: dict[str, int] = {}
    rows, undated = len(frame), frame["date"].null_count()
    if undated:
        findings["undated_row"] = undated
        if (lost := _undated_at_end(frame)) is not None:
            return NO_BARS, {}, replace(lost, rows=rows)
        frame = frame.drop_nulls("date")
    days = frame["date"].to_numpy()
    steps = np.diff(days)
    order: slice | np.ndarray = slice(None)  # a slice copies nothing
    differing = np.zeros(0, np.int32)
    if (steps <= 0).any():
        order, differing = _ordered(frame, days)
    many = len(days) > 2 * len(days[order])
    unlike = frame.select("date", *PRICES).n_unique() if many else len(days)
    refusal = other_interval(unlike, days[order], _moments(frame))
    refusal = refusal or _unsure(differing, days[order], rows)
    if refusal is not None:
        return NO_BARS, {}, replace(refusal, rows=rows)
    if unclear := int(np.isin(days, differing).sum()):
        findings["differing_date"] = unclear
        order = np.arange(len(days))[order]
        order = order[~np.isin(days[order], differing)]
    if repeated := len(days) - len(days[order]) - unclear:
        findings["repeated_date"] = repeated
    numbers = (frame[name].to_numpy()[order] for name in NUMBERS)
    return Bars(days[order], *numbers), findings, None


def _ordered(frame: pl.DataFrame, days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of the row that counts of each date, in order, and the dates whose rows differ."""
    untraded = (frame["volume"] == 0) & (frame["high"] == frame["low"])
    rank = frame["close"].is_not_null().cast(pl.Int8) * 2 - untraded.fill_null(value=False)
    order = np.lexsort((rank.to_numpy(), days))
    last = np.append(np.diff(days[order]) != 0, True)
    return order[last], np.unique(days[order][_conflicts(frame, order, rank.to_numpy())])


def _conflicts(frame: pl.DataFrame, order: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Which rows, in order, have other prices than the next one of their date that counts alike."""
    days = frame["date"].to_numpy()[order]
    same = (np.diff(days) == 0) & (np.diff(rank[order]) == 0) & (rank[order][1:] > 0)
    other = np.zeros(len(days) - 1, np.bool_)
    for name in PRICES:
        price = frame[name].to_numpy()[order]
        with np.errstate(invalid="ignore"):  # of prices without end
            other |= np.abs(np.diff(price)) > ALIKE * np.abs(price[1:])
    return np.flatnonzero(same & other)


def _unsure(differing: np.ndarray, days: np.ndarray, rows: int) -> RefusedInput | None:
    """Why rows of one date that differ refuse a symbol, if they do."""
    if not len(differing):
        return None
    many = len(differing) > max(FEW, DIFFERING_SHARE * len(days))
    if not many and differing[-1] < days[-NEWEST:][0]:
        return None
    return RefusedInput(
        "differing_rows",
        f"{len(differing):,} dates have several rows with other prices ({to_date(differing[-1])} "
        "is one), and no column tells them apart; add a column symbol if they are of several "
        "symbols, or keep the right row of each date.",
        rows,
    )


def _undated_at_end(frame: pl.DataFrame) -> RefusedInput | None:
    """Why rows without a date refuse a symbol: with prices, they are at the end of the newest."""
    undated = frame["date"].is_null() & frame["close"].is_not_null()
    dated = frame["date"].drop_nulls()
    if not undated.any() or not len(dated):
        return None
    newest_first = len(dated) > 1 and dated[0] > dated[-1]
    end = undated.head(NEWEST) if newest_first else undated.tail(NEWEST)
    if not end.any():
        return None
    return RefusedInput(
        "undated_rows",
        f"{int(undated.sum()):,} rows have no date that can be read, and some of them are among "
        f"the newest {NEWEST}; write all dates in one form.",
    )


def _moments(frame: pl.DataFrame) -> int | None:
    """How many of some rows differ in date or time; None if they have no times."""
    timed = TIME in frame.columns and frame[TIME].null_count() < len(frame)
    return frame.select("date", TIME).n_unique() if timed else None
