"""The usage log: who called what with which client, counted by UTC day.

Calls are counted in memory and written in batches off the request path. The memory is bounded, and
what was counted is written when the service stops.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from store import database as tables
from store.accounts import utc_now
from store.database import Database
from store.errors import DatabaseBusyError

FLUSH_SECONDS = 2.0
PENDING_LIMIT = 10_000
"""Distinct lines held between two writes; beyond them clients are counted as one."""
OTHER = "(other)"

log = logging.getLogger(__name__)


class Line(NamedTuple):
    """One line of the log, without its count."""

    account_id: int
    day: dt.date
    key_prefix: str
    operation: str
    client: str
    """X-Service-Client, else the User-Agent, else nothing."""
    host: str = ""
    """The MCP host's name and version, where it said so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line with how often it was seen, and when last."""

    line: Line
    calls: int
    last_at: dt.datetime


class UsageLog:
    """Counts calls; `running` writes them."""

    def __init__(self, database: Database, clock: Callable[[], dt.datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._pending: Counter[Line] = Counter()

    def record(
        self, account_id: int, key_prefix: str, operation: str, client: str, host: str = ""
    ) -> None:
        """Count one call."""
        day = self._clock().date()
        line = Line(account_id, day, key_prefix, operation, client, host)
        calls = self._pending.get(line, 0)
        if calls == 0 and len(self._pending) >= PENDING_LIMIT:
            line = Line(account_id, day, key_prefix, operation, OTHER)
            calls = self._pending[line]
        self._pending[line] = calls + 1

    async def keep_writing(self) -> None:
        """Write what was counted every few seconds, until cancelled, and once more then."""
        try:
            while True:
                await anyio.sleep(FLUSH_SECONDS)
                await self._flush_or_wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self._flush_or_wait()

    async def flush(self) -> None:
        """Write what was counted.

        Raises:
            DatabaseBusyError: it was not written and is still counted.
        """
        taken, self._pending = self._pending, Counter()
        if not taken:
            return
        now = self._clock()
        try:
            async with self._database.write() as connection:
                rows = [
                    {**line._asdict(), "calls": calls, "last_at": now}
                    for line, calls in taken.items()
                ]
                await connection.execute(_upsert(connection.dialect.name), rows)
        except BaseException:
            self._pending.update(taken)
            raise

    async def entries(self, account_id: int) -> list[Entry]:
        """The log of an account, newest day first."""
        usage = tables.usage
        query = (
            sa.select(usage)
            .where(usage.c.account_id == account_id)
            .order_by(usage.c.day.desc(), usage.c.last_at.desc(), usage.c.operation)
        )
        async with self._database.read() as connection:
            return [_to_entry(row) for row in await connection.execute(query)]

    async def _flush_or_wait(self) -> None:
        try:
            await self.flush()
        except DatabaseBusyError as error:
            log.warning("The usage log is written later: %s", error)


def _upsert(dialect: str) -> Any:  # noqa: ANN401 - either dialect's own statement
    usage = tables.usage
    statement: Any = (postgresql if dialect == "postgresql" else sqlite).insert(usage)
    added = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=list(usage.primary_key.columns),
        set_={"calls": usage.c.calls + added.calls, "last_at": added.last_at},
    )


def _to_entry(row: sa.Row[*tuple[Any, ...]]) -> Entry:
    line = Line(row.account_id, row.day, row.key_prefix, row.operation, row.client, row.host)
    last_at = row.last_at if row.last_at.tzinfo else row.last_at.replace(tzinfo=dt.UTC)
    return Entry(line, row.calls, last_at)
