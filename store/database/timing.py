"""Timing: how long the statements of the account database take."""

from __future__ import annotations

import time

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from telemetry.metrics import database_seconds

STATEMENT = database_seconds.labels("statement")

UNTIMED = ("BEGIN", "PRAGMA")
"""Statements that wait for nothing, or whose time is that of getting a connection and a lock."""


def time_statements(engine: AsyncEngine) -> None:
    """Observe how long each statement takes that does not fail."""

    def begin(connection: sa.Connection, *_statement: object) -> None:
        connection.info["began"] = time.perf_counter()

    def end(connection: sa.Connection, _cursor: object, statement: str, *_more: object) -> None:
        if not statement.startswith(UNTIMED):
            STATEMENT.observe(time.perf_counter() - connection.info["began"])

    sa.event.listen(engine.sync_engine, "before_cursor_execute", begin)
    sa.event.listen(engine.sync_engine, "after_cursor_execute", end)
