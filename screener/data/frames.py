"""Frames: a night's tables in Polars and in pandas, which extras of the same names bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from screener.data.columns import TableName, Type, columns_of
from screener.data.rows import table_rows
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

    columns = columns_of(table)
    dates = [pl.col(column.name).str.to_date() for column in columns if column.type == "date"]
    types = {
        "text": pl.String,
        "date": pl.String,
        "number": pl.Float64,
        "integer": pl.Int64,
        "boolean": pl.Boolean,
    }
    schema = {column.name: types[column.type] for column in columns}
    return pl.DataFrame(list(table_rows(book, table)), schema, orient="row").with_columns(dates)


def pandas_frame(book: Book, table: TableName) -> pd.DataFrame:
    """A table as a frame of pandas; null is NaN in text and numbers, else NaT or NA.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    import pandas as pd

    types = {column.name: PANDAS[column.type] for column in columns_of(table)}
    # As objects first, so that whole numbers beside a null do not become floats.
    cells = pd.DataFrame(table_rows(book, table), columns=list(types), dtype="object")
    return cells.astype(types)
