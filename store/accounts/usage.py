"""The usage log: calls by account, key, operation and client, counted by UTC day.

Calls are counted in memory and written in batches, outside the requests. The memory is bounded, and
pending counts are written when the service stops.
"""

from __future__ import annotations

import datetime as dt
import logging
import sys
import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import anyio
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.keys import Principal
from store.database import tables
from store.database.database import Database
from store.database.engines import upsert
from store.errors import DatabaseUnavailableError

FLUSH_SECONDS = 2.0
PENDING_BYTES = 4 * 1024 * 1024
"""Bytes of the lines held between two writes; beyond them all clients count as `OTHER`."""
LINE_BYTES = 400
"""An upper bound on a line without the names that its client chose."""
LINES_A_DAY = 300
"""Lines of an account and a day; beyond them all its clients count as `OTHER`."""
OTHER = "(other)"
UNCOUNTED = ("initialize",)
"""Operations that are logged and are no calls."""

EPOCH = dt.date(1970, 1, 1)
SECONDS_A_DAY = 86_400

Pending = tuple[int, int, str, str, str, str]
"""A line until its host, its day as days since 1970-01-01: counting a call needs no date object."""

log = logging.getLogger(__name__)


class UsageLine(NamedTuple):
    """One line of the log: the calls of an account, a day, a key, an operation and a client."""

    account_id: int
    day: dt.date
    key_prefix: str
    operation: str
    client: str
    """X-Service-Client, else the User-Agent, else empty."""
    host: str
    """The MCP host's name and version; empty if it did not send them."""
    calls: int
    last_at: dt.datetime


class UsageLog:
    """Counts calls; `keep_writing` writes them."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.time,
        most_bytes: int = PENDING_BYTES,
    ) -> None:
        self._database = database
        self._most_bytes = most_bytes
        self._clock = clock
        self._pending: dict[Pending, int] = {}
        self._pending_bytes = 0
        self.is_behind = False
        """Whether the last write failed, so that the counts wait for the next."""

    def record(self, principal: Principal, operation: str, client: str, host: str = "") -> None:
        """Count one call."""
        day, account_id = int(self._clock() // SECONDS_A_DAY), principal.account.id
        key_prefix = principal.key.prefix
        line = (account_id, day, key_prefix, operation, client, host)
        if line not in self._pending:
            size = LINE_BYTES + sys.getsizeof(client) + sys.getsizeof(host)
            if self._pending_bytes + size <= self._most_bytes:
                self._pending_bytes += size
            else:
                line = (account_id, day, key_prefix, operation, OTHER, "")
        self._pending[line] = self._pending.get(line, 0) + 1

    @property
    def waiting(self) -> int:
        """How many lines are not written yet."""
        return len(self._pending)

    async def keep_writing(self) -> None:
        """Write the pending counts every few seconds until cancelled, and once more on cancel."""
        try:
            while True:
                await anyio.sleep(FLUSH_SECONDS)
                await self._flush_or_wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self._flush_or_wait()

    async def flush(self) -> None:
        """Write the pending counts, except for accounts that have been deleted meanwhile, or are
        others under the same number since a restore: those do not hold the key.

        Raises:
            DatabaseUnavailableError: nothing was written; the counts stay pending.
        """
        batch, self._pending = self._pending, {}
        size, self._pending_bytes = self._pending_bytes, 0
        if not batch:
            return
        now = self._now()
        try:
            async with self._database.write() as connection:
                owners = await _owners(connection, {line[2] for line in batch})
                accounts = {account_id for account_id, _ in owners}
                full = await _full(connection, accounts, now.date() - dt.timedelta(days=1))
                rows = [
                    _to_line(line, full, calls, now)._asdict()
                    for line, calls in sorted(batch.items())
                    if (line[0], line[2]) in owners
                ]
                if rows:  # all processes in one order, or two would wait for each other's lines
                    await connection.execute(_adding(connection), rows)
        except BaseException as error:
            for line, calls in batch.items():
                self._pending[line] = self._pending.get(line, 0) + calls
            self._pending_bytes += size
            if isinstance(error, IntegrityError):
                raise DatabaseUnavailableError("An account was deleted just now.") from error
            raise

    async def calls_by_key(self, account_id: int, day: dt.date) -> dict[str, int]:
        """The calls of a day by the prefix of the key or grant."""
        own = _calls_of(day).where(tables.usage.c.account_id == account_id)
        return {prefix: int(calls) for _, prefix, calls in await self._database.rows(own)}

    async def calls_today(self) -> list[tuple[int, str, int]]:
        """The account, the prefix of the key or grant and its calls of this UTC day, of all."""
        is_call = tables.usage.c.operation.not_in(UNCOUNTED)
        rows = await self._database.rows(_calls_of(self._now().date()).where(is_call))
        return [(account_id, prefix, int(calls)) for account_id, prefix, calls in rows]

    async def calls_by_operation(
        self, account_id: int, day: dt.date, most: int
    ) -> list[tuple[str, str, int]]:
        """Operation, client and calls of a day, most calls first; at most `most` lines."""
        usage = tables.usage
        caller = sa.case((usage.c.host != "", usage.c.host), else_=usage.c.client)
        total = sa.func.sum(usage.c.calls)
        query = (
            sa.select(usage.c.operation, caller.label("caller"), total.label("total"))
            .where(usage.c.account_id == account_id, usage.c.day == day)
            .group_by(usage.c.operation, "caller")
            .order_by(sa.desc("total"), usage.c.operation, "caller")
            .limit(most)
        )
        rows = await self._database.rows(query)
        return [(row.operation, row.caller, int(row.total)) for row in rows]

    async def last_uses(self, account_id: int) -> dict[str, UsageLine]:
        """The newest line of every live key and grant that was used, by prefix."""
        usage, newest = tables.usage, _newest(account_id).subquery()
        of_key = (usage.c.account_id == account_id) & (usage.c.key_prefix == newest.c.prefix)
        query = (
            sa.select(usage)
            .join(newest, of_key & (usage.c.last_at == newest.c.last_at))
            .order_by(usage.c.host, usage.c.client, usage.c.operation)
        )
        lines = [UsageLine(*row) for row in await self._database.rows(query)]
        return {line.key_prefix: line for line in lines}

    def _now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._clock(), dt.UTC)

    async def _flush_or_wait(self) -> None:
        try:
            await self.flush()
            self.is_behind = False
        except DatabaseUnavailableError as error:
            self.is_behind = True
            log.warning("The usage log could not be written and will be tried again: %s", error)


def _calls_of(day: dt.date) -> sa.Select[*tuple[Any, ...]]:
    """The account, the prefix of the key or grant and its calls of a day, of all."""
    usage = tables.usage
    whose = (usage.c.account_id, usage.c.key_prefix)
    return sa.select(*whose, sa.func.sum(usage.c.calls)).where(usage.c.day == day).group_by(*whose)


def _newest(account_id: int) -> sa.CompoundSelect[*tuple[Any, ...]]:
    """The time of last use by prefix: one index look-up per key, however long the log is."""

    def of(held: sa.Table) -> sa.Select[*tuple[Any, ...]]:
        usage = tables.usage
        last_at = sa.select(sa.func.max(usage.c.last_at)).where(
            usage.c.account_id == account_id, usage.c.key_prefix == held.c.prefix
        )
        return sa.select(held.c.prefix, last_at.scalar_subquery().label("last_at")).where(
            held.c.account_id == account_id, held.c.revoked_at.is_(None)
        )

    return sa.union_all(of(tables.keys), of(tables.grants))


async def _owners(connection: AsyncConnection, prefixes: Collection[str]) -> set[tuple[int, str]]:
    """The account and prefix of each key and grant that exists under one of some prefixes."""
    queries = (
        sa.select(held.c.account_id, held.c.prefix).where(held.c.prefix.in_(prefixes))
        for held in (tables.keys, tables.grants)
    )
    rows = await connection.execute(sa.union_all(*queries))
    return {(account_id, prefix) for account_id, prefix in rows}


def _adding(connection: AsyncConnection) -> sa.Insert:
    usage, statement = tables.usage, upsert(connection, tables.usage)
    added = statement.excluded
    adding: sa.Insert = statement.on_conflict_do_update(
        index_elements=list(usage.primary_key.columns),
        set_={"calls": usage.c.calls + added.calls, "last_at": added.last_at},
    )
    return adding


async def _full(
    connection: AsyncConnection, account_ids: Collection[int], since: dt.date
) -> set[tuple[int, dt.date]]:
    """The accounts, and days since one, that have as many lines as they may."""
    usage = tables.usage
    query = (
        sa.select(usage.c.account_id, usage.c.day)
        .where(usage.c.account_id.in_(account_ids), usage.c.day >= since)
        .group_by(usage.c.account_id, usage.c.day)
        .having(sa.func.count() >= LINES_A_DAY)
    )
    return {(account_id, day) for account_id, day in await connection.execute(query)}


def _to_line(
    pending: Pending, full: Collection[tuple[int, dt.date]], calls: int, now: dt.datetime
) -> UsageLine:
    account_id, days, prefix, operation, client, host = pending
    day = EPOCH + dt.timedelta(days=days)
    if (account_id, day) in full:
        client, host = OTHER, ""
    return UsageLine(account_id, day, prefix, operation, client, host, calls, now)
