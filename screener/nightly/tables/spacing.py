"""Spacing: whether bars are daily, by the distances between their dates or by their own words.

Weekly bars are never served as daily ones, and no daily bar is made of
others.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from screener.nightly.bars import Days
from screener.nightly.errors import RefusedInput
from screener.nightly.tables.columns import squeeze
from screener.nightly.tables.raw import RawTable

STEPS: Final = (
    ("three-day", 3, 3),
    ("weekly", 6, 8),
    ("fortnightly", 13, 15),
    ("monthly", 27, 35),
    ("quarterly", 85, 98),
    ("yearly", 355, 376),
)
"""Intervals with their shortest and longest step in days: months differ, and holidays shift."""
SHARE: Final = 0.8
"""At least this share of the steps are the interval's. Those of an illiquid stock are not."""
MIN_ROWS: Final = 8
"""Fewer rows do not decide."""
MIN_MEAN: Final = 2.0
"""Series with shorter steps on average are daily: those of a stock have 1.45 days."""
PER_DAY: Final = 1.5
"""More moments a day than this are bars within the day; one row is sometimes written twice."""
REPEATED: Final = 3.0
"""As many rows a date without times are of several symbols, or within the day."""

A_DAY: Final = 86_400
DAILY: Final = "D"
FETCH: Final = "fetch the interval of one day"
RESAMPLE: Final = (
    "make one row a day of them: the first open, the highest high, the lowest low, the last close "
    "and the summed volume"
)


def other_interval(rows: int, days: Days, moments: int | None = None) -> RefusedInput | None:
    """Refuse a symbol whose bars are not daily.

    `days` are its distinct days in order, `rows` how many rows it has, and `moments` how many of
    them differ in day or time, if the source tells times.
    """
    if not len(days):
        return None
    if moments is not None and moments > PER_DAY * len(days):
        return RefusedInput(
            "other_interval",
            f"The bars are intraday ({moments / len(days):.1f} rows a day on average); {RESAMPLE}.",
        )
    if rows >= REPEATED * len(days) and moments is None:
        return RefusedInput(
            "differing_rows",
            f"There are {rows / len(days):.1f} rows a date, without times, and no column tells "
            "them apart; add a column symbol, or write one row a day.",
        )
    if len(days) < MIN_ROWS or days[-1] - days[0] < MIN_MEAN * (len(days) - 1):
        return None
    steps = np.diff(days)
    middle = float(np.median(steps))
    for name, least, most in STEPS:
        if least <= middle <= most and np.mean((steps >= least) & (steps <= most)) >= SHARE:
            return RefusedInput(
                "other_interval",
                f"The bars are {name} ({middle:.0f} days from one to the next), and daily bars "
                "cannot be made of them; export the daily interval.",
            )
    return None


def stated_interval(raw: RawTable) -> RefusedInput | None:
    """Refuse a table whose own columns say that its bars are not daily: Stooq's, Binance's."""
    named = {squeeze(name): name for name in raw.names}
    if "per" in named and raw.schema[named["per"]] == pl.String:
        said = raw.head[named["per"]].drop_nulls().str.strip_chars().unique()
        if (said != DAILY).any():
            return _stated(raw.label, f"{named['per']} is not {DAILY}")
    if {"opentime", "closetime"} <= named.keys():
        opened, closed = (_first(raw, named[name]) for name in ("opentime", "closetime"))
        unit = 1_000_000 if abs(opened) >= 1e14 else 1_000
        if closed > opened and abs((closed - opened) / unit - A_DAY) > 1:
            return _stated(raw.label, "they do not close one day after they open")
    return None


def _stated(label: str, why: str) -> RefusedInput:
    return RefusedInput(
        "other_interval", f"{label} holds bars that are not daily ({why}); {FETCH}."
    )


def _first(raw: RawTable, column: str) -> float:
    values = raw.numbers(column).drop_nulls()
    return float(values[0]) if len(values) else 0.0
