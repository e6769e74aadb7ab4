"""Frames: a night's tables in Polars and in pandas, which extras of the same names bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from screener.data.columns import TableName, Type, columns_of
from screener.data.rows import names_of, table_rows
from store.nights.book import Book

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

PANDAS: Final[Mapping[Type, str]] = {
    "text": "str",
    "date": "datetime64[s]",
    "number": "float64",
    "integer": "Int64",
    "boolean": "boolean",
}


def polars_frame(book: Book, table: TableName) -> pl.DataFrame:
    """A table as a frame of Polars: String, Date, Float64, Int64 and Boolean; null is null.

    Raises:
        ModuleNotFoundError: Polars is not installed.
    """
    import polars as pl

    types = {
        "text": pl.String,
        "date": pl.String,
        "number": pl.Float64,
        "integer": pl.Int64,
        "boolean": pl.Boolean,
    }
    schema = {column.name: types[column.type] for column in columns_of(table)}
    dates = [
        pl.col(column.name).str.to_date() for column in columns_of(table) if column.type == "date"
    ]
    return pl.DataFrame(_cells(book, table), schema=schema).with_columns(dates)


def pandas_frame(book: Book, table: TableName) -> pd.DataFrame:
    """A table as a frame of pandas; null is NaN in text and numbers, else NaT or NA.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    import pandas as pd

    cells = _cells(book, table)
    return pd.DataFrame(
        {c.name: pd.Series(cells[c.name], dtype=PANDAS[c.type]) for c in columns_of(table)}
    )


def _cells(book: Book, table: TableName) -> dict[str, Sequence[object]]:
    """The cells of each column."""
    names = names_of(table)
    columns = zip(*table_rows(book, table), strict=True)
    return dict.fromkeys(names, ()) | dict(zip(names, columns, strict=False))
