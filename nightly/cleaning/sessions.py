"""Sessions: the day a night is as of, and each calendar's last and next session on that day.

Stocks and funds follow the New York calendar; crypto follows UTC days. The clock is passed in.
Nothing here knows bars or files.
"""

from __future__ import annotations

import datetime as dt
import warnings
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Days, to_date, to_day
from nightly.errors import SourceError
from nightly.reference.reference import AssetType

EXCHANGE: Final = "XNYS"
QUORUM: Final = 0.8
"""Share of the active symbols that must be current on the day that a night is as of. If all were
needed, one late file would delay the night; if few were, most symbols would be left out of it.
"""
ACTIVE_SESSIONS: Final = 10
"""A symbol without a bar in this many sessions is inactive, and no night waits for it."""
FIRST_CLOSING: Final = dt.date(1953, 1, 1)
"""Closed days are known from here on. Before October 1952 the exchange opened on Saturdays."""

UPCOMING: Final = 252
"""How many sessions after its own a night names: about a year of New York's."""

_DAY: Final = dt.timedelta(days=1)
_EARLIEST_ZONE: Final = dt.timedelta(hours=14)
"""How far the Line Islands, where each day begins first, are ahead of UTC."""

CALENDARS: Final[tuple[AssetType, AssetType]] = ("stock", "crypto")
"""The asset types that stand for the two calendars; funds follow that of the stocks."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The last days of the symbols of each calendar that has any.

    They are sorted day numbers, none after the last completed session.
    """

    days: Mapping[AssetType, Sequence[int]]
    now: dt.datetime

    @classmethod
    def of(cls, last_days: Iterable[tuple[AssetType, int]], now: dt.datetime) -> Ends:
        """Collect the last days.

        Raises:
            SourceError: no symbol has a bar.
        """
        found: dict[AssetType, list[int]] = {calendar: [] for calendar in CALENDARS}
        limits = {calendar: to_day(last_completed(now, calendar)) for calendar in CALENDARS}
        for kind, day in last_days:
            calendar: AssetType = "crypto" if kind == "crypto" else "stock"
            found[calendar].append(min(day, limits[calendar]))
        if not any(found.values()):
            raise SourceError("No symbol has a bar up to today; check the dates of the bars.")
        return cls({calendar: sorted(days) for calendar, days in found.items() if days}, now)

    def newest(self, requested: dt.date = dt.date.max) -> dt.date:
        """The newest completed session that any symbol reaches, but none after `requested`."""
        return max(
            last_session(min(to_date(days[-1]), requested), calendar)
            for calendar, days in self.days.items()
        )

    def agreed(self, quorum: float = QUORUM) -> dt.date:
        """The newest day on which a share `quorum` of the active symbols is current."""
        agreed = next(day for day in self._candidates() if self._share_current(day) >= quorum)
        return self.newest(agreed)

    def _candidates(self) -> Iterator[dt.date]:
        """The days from which on fewer symbols are current, newest first: those on which some
        symbol ends, and those before the next session of stocks that end.
        """
        ends = sorted({day for days in self.days.values() for day in days}, reverse=True)
        later = to_date(ends[0])
        for day in map(to_date, ends):
            eve = next_session(day, "stock") - _DAY
            if day < eve < later:
                yield eve
            yield day
            later = day

    def _share_current(self, day: dt.date) -> float:
        """Of the symbols that are active on a day, the share that has its calendar's session."""
        known = windows(day, self.now)
        current = active = 0
        for calendar, days in self.days.items():
            current += len(days) - bisect_left(days, to_day(known[calendar].last))
            active += len(days) - bisect_left(days, to_day(known[calendar].active_since))
        return current / active if active else 0.0


def as_of_session(
    last_days: Iterable[tuple[AssetType, int]],
    *,
    now: dt.datetime,
    requested: dt.date | None = None,
    quorum: float = QUORUM,
) -> dt.date:
    """The day that a night is as of; no bar after it may be used.

    A symbol is current on a day if it has the last session of its own calendar up to that day:
    stocks that end on Friday and crypto that ends on Sunday are both current on Sunday. A night is
    as of the newest day on which a share `quorum` is current, of all symbols with a bar in the ten
    sessions before. If a session is `requested`, it is as of the newest session up to that one that
    any symbol reaches, because the operator may know which symbols are late. `last_days` are day
    numbers, none of them in the future; `now` is an aware time.

    Raises:
        SourceError: no symbol has a bar.
    """
    ends = Ends.of(last_days, now)
    return ends.newest(requested) if requested else ends.agreed(quorum)


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One calendar's days on a night: the last usable session, and the session `following` it.

    A symbol whose last bar is before `active_since` is stale. A bar after `begun` is dated in the
    future, so its date is wrong. On the weekdays `closed` (day numbers) the exchange did not open.
    """

    last: dt.date
    following: dt.date
    active_since: dt.date
    begun: dt.date
    closed: Days = field(default_factory=lambda: np.empty(0, np.int32))


def windows(as_of: dt.date, now: dt.datetime) -> dict[AssetType, Window]:
    """Each asset type's window at an aware time: the UTC day is unfinished when New York closes."""
    begun = last_begun(now)
    last = session_at(min(as_of, last_completed(now, "stock")))
    calendar = _calendar(last)
    since = to_date(calendar.sessions[calendar.place(last) - ACTIVE_SESSIONS])
    closed = closed_days(last.year)
    stocks = Window(last, next_session(last, "stock"), since, begun, closed)
    day = min(as_of, last_completed(now, "crypto"))
    crypto = Window(day, day + _DAY, day - ACTIVE_SESSIONS * _DAY, begun)
    return {"stock": stocks, "etf": stocks, "crypto": crypto}


def past_window(day: dt.date, asset_type: AssetType) -> Window:
    """The window of a night as of a past day, when that day was over everywhere."""
    return windows(day, dt.datetime.combine(day + 2 * _DAY, dt.time(), dt.UTC))[asset_type]


def last_session(day: dt.date, asset_type: AssetType) -> dt.date:
    """The last session up to a day: for crypto the day itself."""
    return day if asset_type == "crypto" else session_at(day)


def last_begun(now: dt.datetime) -> dt.date:
    """The newest day that has begun anywhere on earth at an aware time."""
    return (now.astimezone(dt.UTC) + _EARLIEST_ZONE).date()


def last_completed(now: dt.datetime, asset_type: AssetType) -> dt.date:
    """The newest session that is over at an aware time."""
    today = now.astimezone(dt.UTC).date()
    if asset_type == "crypto":
        return today - _DAY
    session = session_at(today)
    return session if _calendar(session).close(session) <= now else session_at(session - _DAY)


def settled_at(now: dt.datetime, settle: dt.timedelta) -> dt.datetime:
    """When the newest New York session that has begun by `now` is closed and its bars settled."""
    session = session_at(now.astimezone(dt.UTC).date())
    if _calendar(session).open(session) > now:
        session = session_at(session - _DAY)
    return _calendar(session).close(session) + settle


def next_session(day: dt.date, asset_type: AssetType) -> dt.date:
    """The first session after a day: the next UTC day for crypto, else New York's next session."""
    if asset_type == "crypto":
        return day + _DAY
    calendar = _calendar(day)
    return to_date(calendar.sessions[calendar.place(day) + 1])


def upcoming(day: dt.date, kinds: Collection[AssetType]) -> list[dt.date]:
    """The `UPCOMING` sessions after a day: those of New York if it trades any of some asset types,
    else UTC days.

    They are the exchange's by its rules: what closes it at short notice cannot be known before.
    """
    if not any(kind != "crypto" for kind in kinds):
        return [day + ahead * _DAY for ahead in range(1, UPCOMING + 1)]
    calendar = _calendar(day)
    first = calendar.place(day) + 1
    return [to_date(session) for session in calendar.sessions[first : first + UPCOMING]]


def session_at(day: dt.date) -> dt.date:
    """The New York session of a day, or the session before it if the exchange is closed."""
    calendar = _calendar(day)
    return to_date(calendar.sessions[calendar.place(day)])


def closed_days(year: int) -> Days:
    """The weekdays from 1953 to the end of a year on which New York did not open, as day numbers.

    None are known for a year before 1953.
    """
    end = dt.date(year, 12, 31)
    known = _calendar(end).closed
    return known[: np.searchsorted(known, to_day(end), "right")]


@dataclass(frozen=True, slots=True, eq=False)
class _Calendar:
    """The exchange's sessions of many years."""

    sessions: Days
    """Day numbers, oldest first."""
    opens: npt.NDArray[np.int64]
    closes: npt.NDArray[np.int64]
    """When each session begins and ends, in seconds since 1970-01-01 UTC."""
    closed: Days
    """The weekdays since `FIRST_CLOSING` that are no sessions."""

    def place(self, day: dt.date) -> int:
        """The place of the session of a day, or of the last one before it."""
        return int(np.searchsorted(self.sessions, to_day(day), "right")) - 1

    def open(self, session: dt.date) -> dt.datetime:
        """When a session begins."""
        return dt.datetime.fromtimestamp(int(self.opens[self.place(session)]), dt.UTC)

    def close(self, session: dt.date) -> dt.datetime:
        """When it ends."""
        return dt.datetime.fromtimestamp(int(self.closes[self.place(session)]), dt.UTC)


def _calendar(day: dt.date) -> _Calendar:
    """The calendar around a day: from 1953, or from a year before the day, to a year after it."""
    return _calendar_of_decade(day.year - day.year % 10)


@lru_cache(maxsize=4)
def _calendar_of_decade(year: int) -> _Calendar:
    """That of the decade that begins with a year. The library needs as long for one year as for a
    century, and days of one night hardly ever lie in two decades.
    """
    # Imported here because it imports pandas, which is slow to load.
    import exchange_calendars  # type: ignore[import-untyped]

    start, end = min(FIRST_CLOSING, dt.date(year - 1, 1, 1)), dt.date(year + 11, 12, 31)
    with warnings.catch_warnings():
        # Version 4.13 builds its schedule in a way that pandas 4 will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        known = exchange_calendars.get_calendar(
            EXCHANGE, start=start.isoformat(), end=end.isoformat()
        )
    sessions = known.sessions.values.astype("datetime64[D]").astype(np.int32)
    opens, closes = (
        times.dt.tz_convert(None).to_numpy().astype("datetime64[s]").astype(np.int64)
        for times in (known.opens, known.closes)
    )
    days = np.arange(to_day(FIRST_CLOSING), to_day(end) + 1, dtype=np.int32)
    weekdays = days[np.is_busday(days.astype("datetime64[D]"))]
    return _Calendar(sessions, opens, closes, np.setdiff1d(weekdays, sessions))
