"""The account database by its parts, as the settings have them: for the service and commands."""

from __future__ import annotations

import datetime as dt

from screener.settings.settings import Settings
from store.accounts.accounts import Accounts, Clock, utc_now
from store.accounts.audit import AuditLog
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.retention import Periods, Sweeper
from store.accounts.sessions import Browsers, Sessions
from store.accounts.tokens import Tokens
from store.database.database import Database


class AccountStore:
    """What reads and changes accounts; sign-ins and approvals end by the clock."""

    def __init__(self, settings: Settings, database: Database, clock: Clock = utc_now) -> None:
        periods = Periods(
            usage=dt.timedelta(days=settings.usage_days),
            audit=dt.timedelta(days=settings.audit_days),
            session_idle=dt.timedelta(days=settings.session_idle_days),
            session=dt.timedelta(days=settings.session_days),
        )
        self.settings, self.database, self.clock = settings, database, clock
        self.accounts = Accounts(database)
        self.keys = Keys(database, prefix=settings.key_prefix)
        self.sessions = Sessions(
            database, idle=periods.session_idle, lifetime=periods.session, clock=clock
        )
        self.browsers = Browsers(database, clock=clock)
        self.grants = Grants(database, clock=clock)
        leeway = dt.timedelta(seconds=settings.refresh_leeway_seconds)
        self.tokens = Tokens(database, clock=clock, leeway=leeway)
        self.audit = AuditLog(database)
        self.sweeper = Sweeper(database, periods)
