"""Dates: which sessions are labelled on the date axis, and how dates are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence

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


def date_ticks(dates: Sequence[dt.date], first: int) -> Iterator[tuple[list[int], bool]]:
    """The sessions from index `first` on that open a unit of the calendar, for each unit from years
    to days, and whether the unit consists of whole months.
    """
    start = max(0, first - 1)
    for at, unit in enumerate(UNITS):
        units = [unit(date) for date in dates[start:]]
        ticks = [start + i for i in range(1, len(units)) if units[i] != units[i - 1]]
        yield ticks, at < MONTHLY


def date_label(date: dt.date, before: dt.date | None, monthly: bool) -> str:
    """What stands below a session; the first label of a year names it."""
    new_year = before is None or before.year != date.year
    if monthly:
        month = MONTHS[date.month - 1]
        opens = month == MONTHS[0] and before is not None
        return (str(date.year) if opens else f"{month} {date.year}") if new_year else month
    return f"{day_label(date)}, {date.year}" if new_year else day_label(date)


def day_label(date: dt.date) -> str:
    """A session within the year, as people write it: `Nov 12`."""
    return f"{MONTHS[date.month - 1]} {date.day}"


def near_label(date: dt.date, today: dt.date) -> str:
    """A session as people write it on a day: with its year only if that is another one."""
    label = day_label(date)
    return label if date.year == today.year else f"{label}, {date.year}"
