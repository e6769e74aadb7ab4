"""The sign-ins of browsers, as the settings have them; for the service and the command line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from screener.settings.settings import Settings
from store.accounts.accounts import utc_now
from store.accounts.sessions import Sessions
from store.database.database import Database


def sessions_of(
    settings: Settings, database: Database, clock: Callable[[], dt.datetime] = utc_now
) -> Sessions:
    """The sign-ins of browsers, as long as the settings let them last by the clock."""
    return Sessions(
        database,
        idle=dt.timedelta(days=settings.session_idle_days),
        lifetime=dt.timedelta(days=settings.session_days),
        clock=clock,
    )
