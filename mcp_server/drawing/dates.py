"""Dates: which sessions are labelled on the date axis, and how dates are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from itertools import pairwise

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

UNITS: tuple[Callable[[dt.date], object], ...] = (
    lambda date: date.year,
    lambda date: (date.year, (date.month - 1) // 3),
    lambda date: (date.year, date.month),
    lambda date: (date.toordinal() - 1) // 14,
    lambda date: (date.toordinal() - 1) // 7,
    lambda date: date,
)
"""Years, quarters, months, fortnights and weeks from Monday, days."""

MONTHLY = 3
"""How many of the units, from the first, consist of whole months."""


def date_ticks(dates: Sequence[dt.date], first: int, fewest: int) -> list[tuple[int, str]]:
    """The sessions from index `first` on that open a unit of the calendar, with their labels.

    The unit is the coarsest that gives at least `fewest` labels. The first label of a new year names the year.
    """
    ticks, monthly = _date_choice(dates, first, fewest)
    years = [dates[max(0, first - 1)].year, *(dates[i].year for i in ticks)]
    return [
        (i, _date_label(dates[i], monthly, year != before))
        for i, (before, year) in zip(ticks, pairwise(years), strict=True)
    ]


def _date_choice(dates: Sequence[dt.date], first: int, fewest: int) -> tuple[list[int], bool]:
    """The sessions that open a unit, and whether the unit consists of whole months."""
    ticks: list[int] = []
    start = max(0, first - 1)
    for at, unit in enumerate(UNITS):
        units = [unit(date) for date in dates[start:]]
        ticks = [start + i for i in range(1, len(units)) if units[i] != units[i - 1]]
        if len(ticks) >= fewest:
            return ticks, at < MONTHLY
    return ticks, False


def _date_label(date: dt.date, monthly: bool, new_year: bool) -> str:
    if monthly:
        return str(date.year) if new_year else MONTHS[date.month - 1]
    return f"{day_label(date)}, {date.year}" if new_year else day_label(date)


def day_label(date: dt.date) -> str:
    """A session within the year, as people write it: `Nov 12`."""
    return f"{MONTHS[date.month - 1]} {date.day}"


def near_label(date: dt.date, today: dt.date) -> str:
    """A session as people write it on a day: with its year only if that is another one."""
    label = day_label(date)
    return label if date.year == today.year else f"{label}, {date.year}"
