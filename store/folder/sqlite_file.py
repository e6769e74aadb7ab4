"""A new SQLite file of tables, for people and programs that read it; no file of ours is one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

Rows: TypeAlias = Iterable[Sequence[object]]


def write_tables(path: Path, tables: Mapping[str, tuple[Mapping[str, str], Rows]]) -> None:
    """Write tables to a file that does not exist yet, each by its name: the SQL types of its
    columns, and its rows. Names and types must be of this program's code.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, (columns, rows) in tables.items():
            typed = ", ".join(f'"{column}" {sql}' for column, sql in columns.items())
            connection.execute(f'CREATE TABLE "{name}" ({typed})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)  # noqa: S608
