"""Columns: the tables of a night, and what each of their columns holds: type, unit and meaning.

They stand in `columns.csv`; those of features are the filters of the scan. `screener export
--columns` and the table `columns` of every export are made of them, and so is the table of
`docs/data.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, TypeAlias, get_args

from mcp_server.filters.kinds import KINDS, FilterKind, Period
from store.wire.scan_index import NUMBERS

Type: TypeAlias = Literal["text", "date", "number", "integer", "boolean"]
TableName: TypeAlias = Literal["night", "setups", "trades", "records", "features", "columns"]
TABLES: Final[tuple[TableName, ...]] = get_args(TableName)

UNITS: Final = {"$": "USD", "boolean": ""}
"""Units of filters that have another name here."""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column of a table. A cell without a value is null."""

    name: str
    type: Type
    unit: str
    """Unit of a number; `currency` is the quote currency of the symbol."""
    meaning: str


@cache
def tables() -> Mapping[TableName, tuple[ExportColumn, ...]]:
    """The columns of every table, in their order."""
    text = resources.files("screener.data").joinpath("columns.csv").read_text(encoding="utf-8")
    found: dict[Any, list[ExportColumn]] = {name: [] for name in TABLES}
    rows: list[Any] = list(csv.reader(text.splitlines()))
    for table, *cells in rows[1:]:
        found[table].append(ExportColumn(*cells))
    found["features"] += _features({column.name for column in found["setups"]} | NUMBERS.keys())
    return {name: tuple(columns) for name, columns in found.items()}


def columns_of(table: TableName) -> tuple[ExportColumn, ...]:
    """The columns of a table.

    Raises:
        ValueError: there is no such table.
    """
    if table not in TABLES:
        raise ValueError(f"there is no table {table!r}; it is one of {', '.join(TABLES)}")
    return tables()[table]


def described() -> Iterator[dict[str, str | None]]:
    """The rows of the table `columns`: every column of the others."""
    for table, columns in tables().items():
        for column in columns if table != "columns" else ():
            fields = {**asdict(column), "unit": column.unit or None}
            yield {"table": table, "column": fields.pop("name"), **fields}


def _features(known: set[str]) -> Iterator[ExportColumn]:
    """A column for each filter of the scan, and period of it, that compares nothing known."""
    for kind in KINDS.values():
        if kind.name not in known:
            yield from (_feature(kind, period) for period in kind.periods or (None,))


def _feature(kind: FilterKind, period: Period | None) -> ExportColumn:
    of: Type = "text" if kind.takes == "choice" else kind.takes
    meaning = kind.meaning or f"{kind.name.replace('_', ' ').capitalize()} of the symbol."
    over = "" if period is None else f" Period: {period}."
    unit = UNITS.get(kind.unit, kind.unit)
    return ExportColumn(kind.column(period), of, unit, f"{meaning}{over}")
