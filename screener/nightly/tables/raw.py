"""The raw table: the rows of a file with its own columns, before it is known which are the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from screener.nightly.tables.columns import squeeze

BROKEN: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises on a broken file."""
HEAD_ROWS: Final = 10_000
"""The rows of a large table that show how its texts are written. A small one shows all."""

STOOQ: Final = "Stooq"
MASSIVE: Final = "Massive day file"
TUSHARE: Final = "Tushare"
DATABENTO: Final = "Databento"
BINANCE: Final = "Binance klines"

# The first form counts of whose columns none is missing.
_FORMS: Final = (
    (MASSIVE, frozenset({"windowstart"})),
    (BINANCE, frozenset({"opentime", "closetime"})),
    (STOOQ, frozenset({"ticker", "per", "date", "open", "vol"})),
    (TUSHARE, frozenset({"tscode", "tradedate", "vol", "amount"})),
    (DATABENTO, frozenset({"tsevent", "rtype", "publisherid", "instrumentid"})),
)


@dataclass(frozen=True)
class RawTable:
    """A table, lazily, and what the format of its file tells.

    `format` is what the file is, for the report, unless the columns are those of a known program.
    `texts` are cells as people write them, in which titles and remarks stand between the rows.
    `whole` says that the rows are in memory, so that all of them show how they are written.
    """

    label: str
    rows: pl.LazyFrame
    format: str
    separator: str = ","
    texts: bool = False
    whole: bool = False

    @cached_property
    def schema(self) -> pl.Schema:
        """The names and types of the columns."""
        return self.rows.collect_schema()

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.schema.names()

    @cached_property
    def form(self) -> str:
        """The program that wrote the columns, where they are read in its own way; or the format."""
        have = {squeeze(name) for name in self.names}
        return next((form for form, columns in _FORMS if columns <= have), self.format)

    @cached_property
    def head(self) -> pl.DataFrame:
        """The rows that show how values are written."""
        return (self.rows if self.whole else self.rows.head(HEAD_ROWS)).collect()

    def each(self, expression: pl.Expr) -> pl.Series:
        """The values of an expression over all rows."""
        return self.rows.select(expression).collect().to_series()

    def numbers(self, column: str) -> pl.Series:
        """The numbers among the first values of a column of any type."""
        return self.head[column].cast(pl.String, strict=False).cast(pl.Float64, strict=False)
