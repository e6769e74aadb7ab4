"""Calendars: the sessions of exchanges as `exchange_calendars` keeps them, by the names it has.

They are loaded when they are needed, since the library and each calendar take a while. Nothing here
knows a clock, bars or symbols.
"""

from __future__ import annotations

import datetime as dt
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Days, to_date, to_day

FIRST_CLOSING: Final = dt.date(1953, 1, 1)
"""Closed days are known from here on, or from where the library's calendar begins. Before October
1952 New York opened on Saturdays."""

Times = npt.NDArray[np.int64]

_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class Calendar:
    """The sessions of one exchange in many years."""

    sessions: Days
    """Day numbers, oldest first."""
    opens: Times
    closes: Times
    """When each session begins and ends, in seconds since 1970-01-01 UTC."""
    closed: Days
    """The weekdays that are no sessions, in the years that are known."""

    def place(self, day: dt.date) -> int:
        """The place of the session of a day, or of the last one before it."""
        return int(np.searchsorted(self.sessions, to_day(day), "right")) - 1

    def session_at(self, day: dt.date) -> dt.date:
        """The session of a day, or the one before it if the exchange is closed."""
        return to_date(self.sessions[self.place(day)])

    def following(self, day: dt.date, number: int) -> Days:
        """So many sessions after a day, as day numbers."""
        first = self.place(day) + 1
        return self.sessions[first : first + number]

    def open(self, session: dt.date) -> dt.datetime:
        """When a session begins."""
        return dt.datetime.fromtimestamp(int(self.opens[self.place(session)]), dt.UTC)

    def close(self, session: dt.date) -> dt.datetime:
        """When it ends."""
        return dt.datetime.fromtimestamp(int(self.closes[self.place(session)]), dt.UTC)

    def closed_until(self, year: int) -> Days:
        """The weekdays up to the end of a year on which it did not open, as far as is known."""
        end = to_day(dt.date(year, 12, 31))
        return self.closed[: np.searchsorted(self.closed, end, "right")]


def calendar_of(name: str, day: dt.date) -> Calendar:
    """The calendar of a name around a day: from 1953, or from a year before the day, to a year
    after it.
    """
    # The library needs as long for one year as for a century.
    century = day.year - day.year % 100
    start = min(FIRST_CLOSING, dt.date(century - 1, 1, 1))
    return _calendar(name, start, dt.date(century + 101, 12, 31))


def sessions_between(name: str, first: int, last: int) -> Days:
    """The sessions of the years of two days, as day numbers."""
    years = (to_date(first).year, to_date(last).year)
    return _calendar(name, dt.date(years[0], 1, 1), dt.date(years[1], 12, 31)).sessions


@lru_cache(maxsize=128)
def _calendar(name: str, start: dt.date, end: dt.date) -> Calendar:
    """That between two days."""
    begin, stop, sessions, opens, closes = _loaded(name, start, end)
    known = _weekdays(max(to_day(FIRST_CLOSING), begin), stop)
    # What the library does not know yet, or no longer, are taken to be weekdays of ordinary hours.
    before, after = _weekdays(to_day(start), begin - 1), _weekdays(stop + 1, to_day(end))
    earlier, later = (
        _DAY_SECONDS * (days.astype(np.int64) - day)
        for days, day in ((before, sessions[0]), (after, sessions[-1]))
    )
    opens, closes = (
        np.concatenate([times[0] + earlier, times, times[-1] + later]) for times in (opens, closes)
    )
    whole = np.concatenate([before, sessions, after])
    return Calendar(whole, opens, closes, np.setdiff1d(known, sessions))


def _loaded(name: str, start: dt.date, end: dt.date) -> tuple[int, int, Days, Times, Times]:
    """What the library has between two days: from which day to which, the sessions, and when they
    begin and end.
    """
    # Imported here because it imports pandas, which is slow to load.
    import exchange_calendars  # type: ignore[import-untyped]

    calendar = exchange_calendars.get_calendar
    with warnings.catch_warnings():
        # Version 4.13 builds its schedule in a way that pandas 4 will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            known = calendar(name, start=str(start), end=str(end))
        except ValueError:  # it begins later or ends earlier, as it says itself
            usual = calendar(name)
            low, high = usual.bound_min(), usual.bound_max()
            start = start if low is None else max(start, low.date())
            end = end if high is None else min(end, high.date())
            known = calendar(name, start=str(start), end=str(end))
    opens, closes = (
        times.dt.tz_convert(None).to_numpy().astype("datetime64[s]").astype(np.int64)
        for times in (known.opens, known.closes)
    )
    sessions = known.sessions.values.astype("datetime64[D]").astype(np.int32)
    return to_day(start), to_day(end), sessions, opens, closes


def _weekdays(first: int, last: int) -> Days:
    days = np.arange(first, last + 1, dtype=np.int32)
    return days[np.is_busday(days.astype("datetime64[D]"))]
