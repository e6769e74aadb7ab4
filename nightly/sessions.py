"""Sessions: which day a night describes, and which day follows it.

Stocks and funds follow the New York calendar, crypto the days of UTC. The clock is passed in;
nothing here knows bars or files.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, get_args

from nightly.bars import to_date
from nightly.errors import SourceError
from nightly.reference import AssetType

EXCHANGE: Final = "XNYS"
_DAY: Final = dt.timedelta(days=1)


def as_of_session(
    last_days: Iterable[tuple[AssetType, int]],
    *,
    now: dt.datetime,
    requested: dt.date | None = None,
) -> dt.date:
    """The session that a night describes; no bar after it may be used.

    It is the newest completed New York session among the symbols' last days (day numbers), or the
    newest completed UTC day where all are crypto; not after `requested`. `now` is an aware time.

    Raises:
        SourceError: no symbol has a bar.
    """
    newest: dict[bool, int] = {}
    for asset_type, day in last_days:
        crypto = asset_type == "crypto"
        newest[crypto] = max(day, newest.get(crypto, day))
    if not newest:
        raise SourceError("No symbol has a bar; check the bars.")
    crypto = False not in newest
    completed = last_completed(now, "crypto" if crypto else "stock")
    session = min(to_date(newest[crypto]), completed, requested or dt.date.max)
    return session if crypto else session_at(session)


@dataclass(frozen=True, slots=True)
class Window:
    """What one kind of asset knows on a night: no bar after `last`, and the session after it."""

    last: dt.date
    following: dt.date


def windows(as_of: dt.date, now: dt.datetime) -> dict[AssetType, Window]:
    """Each asset type's window at an aware time: a UTC day still runs when New York closes."""
    found: dict[AssetType, Window] = {}
    for asset_type in get_args(AssetType):
        last = min(as_of, last_completed(now, "crypto")) if asset_type == "crypto" else as_of
        found[asset_type] = Window(last, next_session(last, asset_type))
    return found


def last_completed(now: dt.datetime, asset_type: AssetType) -> dt.date:
    """The newest session that is over at an aware time."""
    today = now.astimezone(dt.UTC).date()
    if asset_type == "crypto":
        return today - _DAY
    session = session_at(today)
    return session if _close(session) <= now else session_at(session - _DAY)


def settled_at(now: dt.datetime, settle: dt.timedelta) -> dt.datetime:
    """When the newest New York session that has begun at an aware time is over and settled."""
    session = session_at(now.astimezone(dt.UTC).date())
    if _open(session) > now:
        session = session_at(session - _DAY)
    return _close(session) + settle


def next_session(day: dt.date, asset_type: AssetType) -> dt.date:
    """The first session after a day: the next UTC day for crypto, else New York's next session."""
    return day + _DAY if asset_type == "crypto" else _session(day + _DAY, "next")


def session_at(day: dt.date) -> dt.date:
    """The New York session of a day, or the one before it where the exchange is closed."""
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
    """The exchange's calendar of a year, with the days around it."""
    # Imported where it is needed: it brings pandas, and only the nightly asks for sessions.
    import exchange_calendars  # type: ignore[import-untyped]

    start, end = dt.date(year - 1, 12, 15), dt.date(year + 1, 1, 15)
    with warnings.catch_warnings():
        # Version 4.13 builds its schedule in a way that pandas 4 will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        return exchange_calendars.get_calendar(
            EXCHANGE, start=start.isoformat(), end=end.isoformat()
        )
