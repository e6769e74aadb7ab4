"""Look-ups: queries by one value, each described once for both engines."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

VALUE: Final[sa.BindParameter[Any]] = sa.bindparam("value")
"""What a look-up is by."""

SQLITE: Final = sqlite.dialect(paramstyle="named")


class LookUp:
    """A query with `VALUE`; SQLite's SQL of it, and how its columns are read, are made once."""

    def __init__(self, query: sa.Select[Any]) -> None:
        self.query = query
        compiled = query.compile(dialect=SQLITE)
        self._sql, self._fixed = str(compiled), compiled.params
        types = [column.type.dialect_impl(SQLITE) for column in query.selected_columns]
        self._readers = [each.result_processor(SQLITE, None) for each in types]

    def rows(self, connection: sqlite3.Connection, value: object) -> list[list[Any]]:
        """The rows of SQLite, read at once, with the values that SQLAlchemy gives."""
        found = connection.execute(self._sql, {**self._fixed, "value": value})
        return [
            [read(each) if read else each for read, each in zip(self._readers, row, strict=True)]
            for row in found
        ]
