"""The raw table: the rows of a file with its own columns, before anything is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

BROKEN: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises on a broken file."""
HEAD_ROWS: Final = 10_000
"""The rows of a large table that show how its texts are written. A small one shows all."""


@dataclass(frozen=True)
class Raw:
    """A table, lazily, and what the format of its file tells.

    `texts` are cells as people write them, in which titles and remarks stand between the rows.
    `whole` says that the rows are in memory, so that all of them show how they are written.
    """

    label: str
    rows: pl.LazyFrame
    form: str
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
    def head(self) -> pl.DataFrame:
        """The rows that show how values are written."""
        return (self.rows if self.whole else self.rows.head(HEAD_ROWS)).collect()

    def each(self, expression: pl.Expr) -> pl.Series:
        """The values of an expression over all rows."""
        return self.rows.select(expression).collect().to_series()

    def numbers(self, column: str) -> pl.Series:
        """The numbers among the first values of a column of any type."""
        return self.head[column].cast(pl.String, strict=False).cast(pl.Float64, strict=False)
