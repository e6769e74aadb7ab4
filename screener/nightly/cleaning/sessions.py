"""Sessions: the day a night is as of, and each calendar's last and next session on that day.

Stocks and funds follow the calendar of their exchange (`screener.nightly.markets.calendars`),
crypto follows UTC days. The clock is passed in. Nothing here knows bars or files.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from screener.nightly.bars import Days, to_date, to_day
from screener.nightly.errors import SourceError
from screener.nightly.markets.calendars import calendar_of
from store.wire.exchanges import NEW_YORK, UTC_DAYS

QUORUM: Final = 0.8
"""Share of the active symbols that must be current on the day that a night is as of. If all were
needed, one late file would delay the night; if few were, most symbols would be left out of it.
"""
ACTIVE_SESSIONS: Final = 10
"""A symbol without a bar in this many sessions is inactive, and no night waits for it."""
UPCOMING: Final = 252
"""How many sessions after its own a night names: about a year of an exchange's."""

SUNDAY_MARKETS: Final = {
    **dict.fromkeys(("SR", "SAU", "TADAWUL"), "Riyadh"),
    **dict.fromkeys(("CA", "EGX"), "Cairo"),
    "TA": "Tel Aviv",
    "QA": "Doha",
    "KW": "Kuwait",
    "OM": "Muscat",
    "BH": "Bahrain",
}
"""By suffix: the markets that open on Sundays, or did until lately, whose days are not known."""

_DAY: Final = dt.timedelta(days=1)
_EARLIEST_ZONE: Final = dt.timedelta(hours=14)
"""How far the Line Islands, where each day begins first, are ahead of UTC."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The last days of the symbols of each calendar that has any.

    They are sorted day numbers, none after the last completed session.
    """

    days: Mapping[str, Sequence[int]]
    now: dt.datetime

    @classmethod
    def of(cls, last_days: Iterable[tuple[str, int]], now: dt.datetime) -> Ends:
        """Collect the last days, each with the name of its calendar.

        Raises:
            SourceError: no symbol has a bar.
        """
        found: dict[str, list[int]] = {}
        for calendar, day in last_days:
            found.setdefault(calendar, []).append(day)
        if not found:
            raise SourceError("No symbol has a bar up to today; check the dates of the bars.")
        limits = {calendar: to_day(last_completed(now, calendar)) for calendar in found}
        return cls(
            {name: sorted(min(day, limits[name]) for day in days) for name, days in found.items()},
            now,
        )

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
        symbol ends, and those before the next session of an exchange after them.
        """
        ends = sorted({day for days in self.days.values() for day in days}, reverse=True)
        later = to_date(ends[0])
        for day in map(to_date, ends):
            eves = {next_session(day, name) - _DAY for name in self.days if name != UTC_DAYS}
            yield from sorted((eve for eve in eves if day < eve < later), reverse=True)
            yield day
            later = day

    def _share_current(self, day: dt.date) -> float:
        """The share of the symbols active on a day that have their calendar's session."""
        known = windows(day, self.now, self.days)
        current = active = 0
        for calendar, days in self.days.items():
            current += len(days) - bisect_left(days, to_day(known[calendar].last))
            active += len(days) - bisect_left(days, to_day(known[calendar].active_since))
        return current / active if active else 0.0


def as_of_session(
    last_days: Iterable[tuple[str, int]],
    *,
    now: dt.datetime,
    requested: dt.date | None = None,
    quorum: float = QUORUM,
) -> dt.date:
    """The day that a night is as of; no bar after it may be used.

    A symbol is current on a day if it has the last session of its own calendar up to that day:
    stocks that end on Friday and crypto that ends on Sunday are both current on Sunday. A night is
    as of the newest day on which a share `quorum` is current, of all symbols with a bar in the ten
    sessions before. With several markets it is the newest session of any. If a
    session is `requested`, it is as of the newest session up to that one that any symbol reaches,
    because the operator may know which symbols are late. `last_days` are names of calendars with
    day numbers, none of them in the future; `now` is an aware time.

    Raises:
        SourceError: no symbol has a bar.
    """
    ends = Ends.of(last_days, now)
    return ends.newest(requested) if requested else ends.agreed(quorum)


@dataclass(frozen=True, slots=True, eq=False)
class SessionWindow:
    """One calendar's days on a night: the last usable session, and the session `following` it.

    A symbol whose last bar is before `active_since` is stale. A bar after `begun` is dated in the
    future, so its date is wrong. On the weekdays `closed` (day numbers) the exchange did not open.
    The windows of one calendar are equal.
    """

    calendar: str

    last: dt.date
    following: dt.date
    active_since: dt.date
    begun: dt.date
    closed: Days = field(default_factory=lambda: np.empty(0, np.int32))


def windows(
    as_of: dt.date, now: dt.datetime, calendars: Collection[str] = (NEW_YORK, UTC_DAYS)
) -> dict[str, SessionWindow]:
    """The window of each calendar at an aware time: a UTC day is unfinished when New York closes,
    and so is New York's when Tokyo does.
    """
    return {name: _window(name, as_of, now) for name in calendars}


def _window(name: str, as_of: dt.date, now: dt.datetime) -> SessionWindow:
    last, begun = last_session(min(as_of, last_completed(now, name)), name), last_begun(now)
    following = next_session(last, name)
    if name == UTC_DAYS:
        return SessionWindow(name, last, following, last - ACTIVE_SESSIONS * _DAY, begun)
    calendar = calendar_of(name, last)
    since = to_date(calendar.sessions[calendar.place(last) - ACTIVE_SESSIONS])
    return SessionWindow(name, last, following, since, begun, calendar.closed_until(last.year))


def past_window(day: dt.date, calendar: str) -> SessionWindow:
    """The window of a night as of a past day, when that day was over everywhere."""
    return _window(calendar, day, dt.datetime.combine(day + 2 * _DAY, dt.time(), dt.UTC))


def last_session(day: dt.date, calendar: str) -> dt.date:
    """The last session up to a day, such as the one before it if the exchange is closed."""
    return day if calendar == UTC_DAYS else calendar_of(calendar, day).session_at(day)


def last_begun(now: dt.datetime) -> dt.date:
    """The newest day that has begun anywhere on earth at an aware time."""
    return (now.astimezone(dt.UTC) + _EARLIEST_ZONE).date()


def last_completed(now: dt.datetime, calendar: str) -> dt.date:
    """The newest session that is over at an aware time."""
    today = now.astimezone(dt.UTC).date()
    if calendar == UTC_DAYS:
        return today - _DAY
    # East of Greenwich a session may begin on the UTC day before it.
    session = last_session(today + _DAY, calendar)
    while calendar_of(calendar, session).close(session) > now:
        session = last_session(session - _DAY, calendar)
    return session


def settled_at(now: dt.datetime, settle: dt.timedelta, calendar: str = NEW_YORK) -> dt.datetime:
    """When the newest session of an exchange that has begun by `now` is closed and its bars have
    settled.
    """
    session = last_session(now.astimezone(dt.UTC).date() + _DAY, calendar)
    while calendar_of(calendar, session).open(session) > now:
        session = last_session(session - _DAY, calendar)
    return calendar_of(calendar, session).close(session) + settle


def next_session(day: dt.date, calendar: str) -> dt.date:
    """The first session after a day."""
    return day + _DAY if calendar == UTC_DAYS else upcoming(day, {calendar})[0]


def upcoming(day: dt.date, calendars: Collection[str]) -> list[dt.date]:
    """The `UPCOMING` sessions after a day: those of any of the exchanges, or UTC days if there is
    none among some calendars.

    They are the exchanges' by their rules: what closes one at short notice cannot be known before.
    """
    exchanges = [name for name in calendars if name != UTC_DAYS]
    if not exchanges:
        return [day + ahead * _DAY for ahead in range(1, UPCOMING + 1)]
    found = (calendar_of(name, day).following(day, UPCOMING) for name in exchanges)
    return [to_date(session) for session in np.unique(np.concatenate([*found]))[:UPCOMING]]
