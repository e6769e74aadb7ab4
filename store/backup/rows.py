"""Rows: the account tables as lines of JSON, the same of every engine, and back into a database.

A chunk is one line with the names of the columns and a line of values for each row. Times are ISO
8601 in UTC.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import utc_now
from store.accounts.audit import OPERATOR, EventKind, add_event
from store.database import migration
from store.database.tables import OWN, audit
from store.errors import BackupError, DatabaseMovedError, MissingTablesError

CHUNK_BYTES = 2**20
"""Bytes of a chunk, from which the next one begins."""

MAX_ROW_BYTES = 128 * 1024
"""Bytes of one row: an app's redirect addresses make the longest."""

MAX_CHUNK_BYTES = 2 * CHUNK_BYTES + MAX_ROW_BYTES
"""Bytes of a chunk of a backup that is read: a row more than `CHUNK_BYTES`, and line ends."""

ROWS_AT_ONCE = 1000
"""Rows that one statement inserts."""

UNREADABLE = "Rows of the backup cannot be read."


def kept_tables(found: sa.MetaData) -> list[sa.Table]:
    """The tables whose rows a backup keeps, each after those that its rows name."""
    return [table for table in found.sorted_tables if table.name not in OWN]


async def chunks(connection: AsyncConnection) -> AsyncIterator[tuple[str, bytes]]:
    """All rows of all tables, each table after those that its rows name: table and chunk. Equal
    rows give equal chunks, whatever the engine.

    Raises:
        MissingTablesError: there are no tables, as in a closed database.
    """
    found = await connection.run_sync(migration.tables_of)
    if not found.tables:
        raise MissingTablesError
    for table in kept_tables(found):
        head = orjson.dumps([column.name for column in table.columns])
        lines, size = [head], 0
        rows = await connection.stream(sa.select(table).order_by(*_order(connection, table)))
        async for row in rows:
            lines.append(orjson.dumps(list(row), option=orjson.OPT_NAIVE_UTC))
            size += len(lines[-1])
            if size > CHUNK_BYTES:
                yield table.name, b"\n".join(lines)
                lines, size = [head], 0
        yield table.name, b"\n".join(lines)


def _order(connection: AsyncConnection, table: sa.Table) -> list[sa.ColumnElement[Any]]:
    """The primary key, texts by their bytes, as SQLite orders them."""
    columns = table.primary_key.columns
    if connection.dialect.name == "sqlite":
        return list(columns)
    return [each.collate("C") if isinstance(each.type, sa.String) else each for each in columns]


def read_chunk(body: bytes) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The columns of a chunk, and its rows by column, with one at a time in memory.

    Raises:
        BackupError: it is none.
    """
    columns = _of_json(body.partition(b"\n")[0])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise BackupError(UNREADABLE)
    return columns, _rows(columns, body)


def _rows(columns: Sequence[str], body: bytes) -> Iterator[dict[str, Any]]:
    lines = iter(io.BytesIO(body))
    next(lines)
    for line in lines:
        row = _of_json(line)
        if not isinstance(row, list) or len(row) != len(columns):
            raise BackupError(UNREADABLE)
        yield dict(zip(columns, row, strict=True))


def _of_json(line: bytes) -> object:
    if len(line) > MAX_ROW_BYTES:
        raise BackupError("A row of the backup is too large.")
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BackupError(UNREADABLE) from error


class Loading:
    """Replaces all rows of a database within one transaction."""

    def __init__(self, connection: AsyncConnection, tables: Mapping[str, sa.Table]) -> None:
        self._connection = connection
        self._tables = tables

    @classmethod
    async def begin(cls, connection: AsyncConnection, revision: str) -> Loading:
        """Empty the database and bring it to the revision that the rows have."""
        await connection.run_sync(_emptied, revision)
        found = await connection.run_sync(migration.tables_of)
        return cls(connection, {table.name: table for table in kept_tables(found)})

    async def load(self, table: str, body: bytes) -> None:
        """Insert the rows of a chunk.

        Raises:
            BackupError: the database has no such table or columns, or refuses a row.
            DBAPIError: the database is away, or its disk is full.
        """
        columns, rows = read_chunk(body)
        into = self._tables.get(table)
        if into is None or set(columns) != set(into.columns.keys()):
            raise BackupError(f"The backup's table {table} is not in its schema.")
        readers = {name: _reader(into.columns[name]) for name in columns}
        try:
            while some := list(islice(rows, ROWS_AT_ONCE)):
                values = [{name: readers[name](row[name]) for name in columns} for row in some]
                await self._connection.execute(into.insert(), values)
        except (SQLAlchemyError, TypeError, ValueError, OverflowError) as error:
            if _is_away(error):
                raise
            raise BackupError(f"The database refuses rows of the table {table}.") from error

    async def end(self) -> None:
        """Bring the rows to this program's schema."""
        await self._connection.run_sync(migration.upgrade)
        await self._connection.run_sync(_count_on, self._tables)


async def mark_restored(connection: AsyncConnection, mark: str) -> None:
    """Note in the audit log that the rows were restored, under a mark by which a killed restore is
    known.
    """
    await add_event(connection, EventKind.RESTORED, OPERATOR, utc_now(), subject=mark)


async def newest_mark(connection: AsyncConnection) -> str | None:
    """The mark of the restore that was committed last; None if there was none."""
    if not await connection.run_sync(lambda sync: sa.inspect(sync).has_table(audit.name)):
        return None
    query = sa.select(audit.c.subject).where(audit.c.kind == EventKind.RESTORED)
    return (await connection.execute(query.order_by(audit.c.id.desc()).limit(1))).scalar()


def _emptied(connection: sa.Connection, revision: str) -> None:
    """Empty the database at a revision."""
    current = migration.revision_of(connection)
    if migration.is_closed(connection):
        raise DatabaseMovedError
    present = kept_tables(migration.tables_of(connection))
    if current != revision or not present:
        migration.drop(connection)
        migration.upgrade(connection, revision)
        return
    # A service that is running reads the old rows until the end: nothing is dropped.
    for table in reversed(present):
        connection.execute(table.delete())


def _count_on(connection: sa.Connection, tables: Mapping[str, sa.Table]) -> None:
    """Let PostgreSQL number the next rows after those that were loaded under their own numbers."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables.values():
        key: Sequence[sa.Column[Any]] = list(table.primary_key.columns)
        if len(key) != 1 or not isinstance(key[0].type, sa.Integer):
            continue
        sequence = sa.func.pg_get_serial_sequence(table.name, key[0].name)
        newest = sa.select(sa.func.coalesce(sa.func.max(key[0]), 0) + 1).scalar_subquery()
        connection.execute(sa.select(sa.func.setval(sequence, newest, False)))


def _is_away(error: Exception) -> bool:
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return is_lost or isinstance(error, OperationalError)


def _reader(column: sa.Column[Any]) -> Callable[[Any], Any]:
    if isinstance(column.type, sa.DateTime):
        return lambda value: None if value is None else dt.datetime.fromisoformat(value)
    if isinstance(column.type, sa.Date):
        return lambda value: None if value is None else dt.date.fromisoformat(value)
    return lambda value: value
