"""SQLite: an engine for the account database in a file, by aiosqlite."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

BUSY_SECONDS = 5
"""Seconds a transaction waits for another writer before the caller is told to try again."""


def new_engine(url: str) -> AsyncEngine:
    """An engine whose transactions that write take the lock at their start."""
    connect = {"timeout": BUSY_SECONDS}
    # Errors of statements are logged and shown: without the values, which are people's.
    engine = create_async_engine(url, connect_args=connect, hide_parameters=True)
    sa.event.listen(engine.sync_engine, "connect", _prepare)
    sa.event.listen(engine.sync_engine, "begin", _begin)
    return engine


def open_reader(path: str) -> sqlite3.Connection:
    """A connection that only reads, in the thread of whoever asks, and waits for no lock.

    A look-up is so short that handing it to another thread would cost a hundred times as much.

    Raises:
        sqlite3.Error: there is no such file, or it cannot be opened.
    """
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    return sqlite3.connect(
        address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's
    # The driver must not open transactions of its own: a read that becomes a write could then
    # fail at once with "database is locked" instead of waiting for the lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # What is deleted, as an account, is gone from the file too.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    # Each time, because whoever had the connection before may have waited for longer.
    seconds = options.get("waits", BUSY_SECONDS)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")
