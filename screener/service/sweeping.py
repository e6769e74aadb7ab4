"""Sweeping: what is expired, or older than its retention, is removed from the account database."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

import anyio

from screener.service.sessions import sessions_of
from screener.settings.settings import Settings
from store.accounts.browsers import Browsers
from store.accounts.events import AuditLog
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.told_changes import sweep as sweep_changes
from store.accounts.usage import UsageLog
from store.accounts.used_forms import UsedForms
from store.database.database import Database
from store.errors import StoreError

SWEEP_SECONDS = 3600

START_SECONDS = 300
"""Within which each process begins, at a moment of its own, so that they do not all write at once.
"""

Sweep = Callable[[], Awaitable[Mapping[str, int]]]
"""Removes rows; returns how many of what."""

log = logging.getLogger(__name__)


class Removed(NamedTuple):
    """How many rows were removed of what, and how many sweeps failed."""

    rows: dict[str, int]
    failures: int


class Sweeper:
    """Runs sweeps one after the other; one that fails stops no other."""

    def __init__(
        self,
        *sweeps: Sweep,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,  # noqa: S311 - no secret
    ) -> None:
        self._sweeps = sweeps
        self._pause = pause
        self._chance = chance

    async def sweep(self) -> Removed:
        """Run every sweep once; a failure is logged."""
        removed: dict[str, int] = {}
        failures = 0
        for sweep in self._sweeps:
            try:
                removed |= await sweep()
            except StoreError as error:
                failures += 1
                log.warning("Expired rows could not be removed and stay for now: %s", error)
            except Exception:
                failures += 1
                log.exception("Expired rows could not be removed and stay for now.")
        return Removed(removed, failures)

    async def keep_sweeping(self) -> None:
        """Sweep every hour until cancelled, first within START_SECONDS."""
        await self._pause(START_SECONDS * self._chance())
        while True:
            await self.sweep()
            await self._pause(SWEEP_SECONDS)


def sweeper_of(settings: Settings, database: Database) -> Sweeper:
    """The sweeps of the account database, by the retention of the settings."""
    usage, audit = UsageLog(database), AuditLog(database)
    return Sweeper(
        partial(_grants_and_hosts, Grants(database)),
        counted("keys", partial(Keys(database).sweep, settings.usage_days)),
        counted("sessions", sessions_of(settings, database).sweep),
        counted("known browsers", Browsers(database).sweep),
        counted("used forms", UsedForms(database).sweep),
        counted("noted changes", partial(sweep_changes, database)),
        counted("lines of usage", partial(usage.sweep, settings.usage_days)),
        counted("events", partial(audit.sweep, settings.audit_days)),
    )


def counted(what: str, sweep: Callable[[], Awaitable[int]]) -> Sweep:
    """A sweep of one kind of rows, which `what` names in the plural."""

    async def work() -> Mapping[str, int]:
        return {what: await sweep()}

    return work


async def _grants_and_hosts(grants: Grants) -> Mapping[str, int]:
    swept = asdict(await grants.sweep())
    return {"hosts" if what == "clients" else what: count for what, count in swept.items()}
