"""Sessions: which session a night describes, and which session follows it.

Stocks and funds follow the New York calendar; crypto follows UTC days. The clock is passed in.
Nothing here knows bars or files.
"""

from __future__ import annotations

import datetime as dt
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, get_args

from nightly.bars import to_date, to_day
from nightly.errors import SourceError
from nightly.reference import AssetType

EXCHANGE: Final = "XNYS"
QUORUM: Final = 0.8
"""Share of the active symbols whose bars must reach a session before a night describes it. If all
were needed, one late file would delay the night; if few were, most levels would be older than the
session they are stated for.
"""
ACTIVE_SESSIONS: Final = 10
"""A symbol without a bar in this many sessions is inactive, and no night waits for it."""

_DAY: Final = dt.timedelta(days=1)
_EARLIEST_ZONE: Final = dt.timedelta(hours=14)
"""How far the Line Islands, where each day begins first, are ahead of UTC."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The last days of all symbols as sorted day numbers: stocks and funds, and crypto."""

    stocks: Sequence[int]
    crypto: Sequence[int]

    @classmethod
    def of(cls, last_days: Iterable[tuple[AssetType, int]], now: dt.datetime) -> Ends:
        """Collect the last days, ignoring days in the future, which are wrong dates.

        Raises:
            SourceError: no symbol has a bar, or every symbol has a last bar in the future.
        """
        given = list(last_days)
        if not given:
            raise SourceError("No symbol has a bar; check the bars.")
        begun = to_day(last_begun(now))
        stocks = sorted(day for kind, day in given if kind != "crypto" and day <= begun)
        crypto = sorted(day for kind, day in given if kind == "crypto" and day <= begun)
        if not stocks and not crypto:
            raise SourceError("Every symbol has a bar dated in the future; correct the dates.")
        return cls(stocks, crypto)

    def newest(self, now: dt.datetime, requested: dt.date | None = None) -> dt.date:
        """The newest completed session that any symbol reaches, but none after `requested`."""
        ends: Sequence[int] = self.stocks or self.crypto
        completed = last_completed(now, "stock" if self.stocks else "crypto")
        return self._session(min(to_date(ends[-1]), completed, requested or dt.date.max))

    def agreed(self, now: dt.datetime, quorum: float = QUORUM) -> dt.date:
        """The newest completed session that enough symbols reach.

        Enough means a share `quorum` of all active symbols, and also of the stocks and funds among
        them, so that crypto, which trades every day, cannot outvote them on their own calendar.
        """
        return next(
            session
            for session in self._candidates(self.newest(now))
            if all(
                active and current / active >= quorum
                for current, active in self._reach(session, now)
            )
        )

    def _candidates(self, newest: dt.date) -> Iterator[dt.date]:
        """The sessions at which some symbol ends, newest first; between them the count is equal."""
        yield newest
        limit = to_day(newest)
        for day in sorted({day for day in (*self.stocks, *self.crypto) if day < limit})[::-1]:
            yield self._session(to_date(day))

    def _reach(self, session: dt.date, now: dt.datetime) -> Iterator[tuple[int, int]]:
        """How many symbols reach a session, and how many are active: first of the stocks and funds,
        if there are any, then of all symbols.
        """
        stocks = _reach(self.stocks, session, "stock")
        # The UTC day may still be running when New York closes; its bar does not exist then.
        crypto = _reach(self.crypto, min(session, last_completed(now, "crypto")), "crypto")
        if self.stocks:
            yield stocks
        yield stocks[0] + crypto[0], stocks[1] + crypto[1]

    def _session(self, day: dt.date) -> dt.date:
        return session_at(day) if self.stocks else day


def _reach(ends: Sequence[int], session: dt.date, asset_type: AssetType) -> tuple[int, int]:
    """How many of the symbols of one calendar reach a session, and how many are active."""
    first = session
    for _ in range(ACTIVE_SESSIONS):
        first = first - _DAY if asset_type == "crypto" else session_at(first - _DAY)
    current = len(ends) - bisect_left(ends, to_day(session))
    return current, len(ends) - bisect_left(ends, to_day(first))


def as_of_session(
    last_days: Iterable[tuple[AssetType, int]],
    *,
    now: dt.datetime,
    requested: dt.date | None = None,
) -> dt.date:
    """The session that a night describes; no bar after it may be used.

    It is the newest completed New York session that enough symbols reach with their last days (day
    numbers), or the newest such UTC day if all symbols are crypto. If a session is `requested`, it
    is the newest session up to that one that any symbol reaches, because the operator may know
    which symbols are late. `now` is an aware time.

    Raises:
        SourceError: no symbol has a bar, or every symbol has a last bar in the future.
    """
    ends = Ends.of(last_days, now)
    return ends.newest(now, requested) if requested else ends.agreed(now)


@dataclass(frozen=True, slots=True)
class Window:
    """One asset type's days on a night: the last usable one, and the session `following` it.

    A bar after `begun` is dated in the future, so its date is wrong.
    """

    last: dt.date
    following: dt.date
    begun: dt.date


def windows(as_of: dt.date, now: dt.datetime) -> dict[AssetType, Window]:
    """Each asset type's window at an aware time: the UTC day is unfinished when New York closes."""
    found: dict[AssetType, Window] = {}
    for asset_type in get_args(AssetType):
        last = min(as_of, last_completed(now, "crypto")) if asset_type == "crypto" else as_of
        found[asset_type] = Window(last, next_session(last, asset_type), last_begun(now))
    return found


def last_begun(now: dt.datetime) -> dt.date:
    """The newest day that has begun anywhere on earth at an aware time."""
    return (now.astimezone(dt.UTC) + _EARLIEST_ZONE).date()


def last_completed(now: dt.datetime, asset_type: AssetType) -> dt.date:
    """The newest session that is over at an aware time."""
    today = now.astimezone(dt.UTC).date()
    if asset_type == "crypto":
        return today - _DAY
    session = session_at(today)
    return session if _close(session) <= now else session_at(session - _DAY)


def settled_at(now: dt.datetime, settle: dt.timedelta) -> dt.datetime:
    """When the newest New York session that has begun by `now` is closed and its bars settled."""
    session = session_at(now.astimezone(dt.UTC).date())
    if _open(session) > now:
        session = session_at(session - _DAY)
    return _close(session) + settle


def next_session(day: dt.date, asset_type: AssetType) -> dt.date:
    """The first session after a day: the next UTC day for crypto, else New York's next session."""
    return day + _DAY if asset_type == "crypto" else _session(day + _DAY, "next")


def session_at(day: dt.date) -> dt.date:
    """The New York session of a day, or the session before it if the exchange is closed."""
    return _session(day, "previous")


def _session(day: dt.date, direction: str) -> dt.date:
    session: dt.date = _calendar(day.year).date_to_session(day.isoformat(), direction).date()
    return session


def _open(session: dt.date) -> dt.datetime:
    begin: dt.datetime = _calendar(session.year).session_open(session.isoformat()).to_pydatetime()
    return begin


def _close(session: dt.date) -> dt.datetime:
    close: dt.datetime = _calendar(session.year).session_close(session.isoformat()).to_pydatetime()
    return close


@lru_cache(maxsize=4)
def _calendar(year: int) -> Any:  # noqa: ANN401 - the library has no types
    """The exchange's calendar of a year, with a few days before and after."""
    # Imported here because it imports pandas, which is slow to load.
    import exchange_calendars  # type: ignore[import-untyped]

    start, end = dt.date(year - 1, 12, 15), dt.date(year + 1, 1, 15)
    with warnings.catch_warnings():
        # Version 4.13 builds its schedule in a way that pandas 4 will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        return exchange_calendars.get_calendar(
            EXCHANGE, start=start.isoformat(), end=end.isoformat()
        )
