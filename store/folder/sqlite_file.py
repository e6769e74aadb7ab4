"""A new SQLite file of tables, for people and programs that read it; no file of ours is one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple


class SqliteTable(NamedTuple):
    """A table: its name and the SQL types of its columns, both from this program's code."""

    name: str
    columns: Mapping[str, str]
    rows: Iterable[Sequence[object]]


def write_tables(path: Path, tables: Iterable[SqliteTable]) -> None:
    """Write tables to a file that does not exist yet, in one transaction.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, columns, rows in tables:
            typed = ", ".join(f'"{column}" {sql}' for column, sql in columns.items())
            connection.execute(f'CREATE TABLE "{name}" ({typed})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)  # noqa: S608
