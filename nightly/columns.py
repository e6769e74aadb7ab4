"""Columns: find the columns of a table by name, and convert dates of any kind to day numbers.

This module knows the usual spellings and builds polars expressions. It opens no file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from nightly.bars import to_day
from nightly.errors import SourceError

PRICES: Final = ("open", "high", "low", "close")
BARS: Final = ("date", *PRICES, "volume")
SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "symbol": ("symbol", "ticker", "code"),
    "date": ("date", "datetime", "timestamp", "time", "opentime", "windowstart", "day"),
    "open": ("open",),
    "high": ("high",),
    "low": ("low",),
    "close": ("close",),
    "volume": ("volume", "vol"),
}

NEW_YORK: Final = "America/New_York"
CRYPTO_TICKER: Final = "X:"
"""Massive's prefix for crypto pairs in its day files."""
IGNORED: Final[Mapping[str, str]] = {
    "adjclose": "ignored: prices come from Close, adjusted for splits and not for dividends",
}

# An epoch below the bound is in seconds, milliseconds or microseconds; the factor gives
# microseconds. Each bound is the year 5138 in its unit.
_EPOCHS: Final = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))
_MICROSECONDS_A_DAY: Final = 86_400_000_000
_CALENDAR: Final = (to_day(dt.date.min), to_day(dt.date.max))


def squeeze(name: str) -> str:
    """A column name without case, spaces and punctuation."""
    return re.sub(r"[^a-z0-9]+", "", name.casefold())


def find_columns(
    names: Iterable[str],
    wanted: Sequence[str],
    spellings: Mapping[str, tuple[str, ...]] = SPELLINGS,
) -> dict[str, str]:
    """The actual name of each wanted column that the table has, in any case and order."""
    actual: dict[str, str] = {}
    for name in names:
        actual.setdefault(squeeze(name), name)
    found: dict[str, str] = {}
    for column in wanted:
        spelling = next((word for word in spellings[column] if word in actual), None)
        if spelling is not None:
            found[column] = actual[spelling]
    return found


def bar_columns(names: Iterable[str]) -> dict[str, str]:
    """The actual names of the bars' columns, and of `symbol` if the table has one.

    Raises:
        SourceError: a column of the bars is missing.
    """
    found = find_columns(names, ("symbol", *BARS))
    missing = [column for column in BARS if column not in found]
    if missing:
        raise SourceError(
            f"The bars have no column {', '.join(missing)}; name the columns in a header row."
        )
    return found


def echo(names: Iterable[str]) -> dict[str, str]:
    """How each column with an unusual name is used: its role, or that it is ignored and why."""
    names = list(names)
    role = {name: column for column, name in find_columns(names, ("symbol", *BARS)).items()}
    told = {name: role.get(name) or IGNORED.get(squeeze(name), "ignored") for name in names}
    return {name: said for name, said in told.items() if squeeze(name) != said and name}


def bar_expressions(schema: pl.Schema) -> Iterator[pl.Expr]:
    """The canonical columns of a table of bars: `date` in days, numbers, `symbol` if it has one.

    Raises:
        SourceError: a column of the bars is missing or cannot be read.
    """
    columns = bar_columns(schema.names())
    symbol, date = columns.get("symbol"), columns["date"]
    if symbol is not None and squeeze(date) == "windowstart":
        yield _dated(_session(date, symbol)).alias("date")
        yield pl.col(symbol).cast(pl.String).str.strip_prefix(CRYPTO_TICKER).alias("symbol")
    else:
        yield _dated(day_of(date, schema[date])).alias("date")
        if symbol is not None:
            yield _as(pl.String, symbol, schema).alias("symbol")
    for name in BARS[1:]:
        yield _as(pl.Float64, columns[name], schema).alias(name)


def _as(kind: type[pl.DataType], column: str, schema: pl.Schema) -> pl.Expr:
    # A needless cast would stop polars from using the row groups' statistics of the column.
    values = pl.col(column)
    return values if schema[column] == kind else values.cast(kind, strict=False)


def _dated(days: pl.Expr) -> pl.Expr:
    """Days within the years 1 to 9999; any other day, as from a garbled epoch, becomes null."""
    return pl.when(days.is_between(*_CALENDAR)).then(days)


def _session(window: str, ticker: str) -> pl.Expr:
    """The day of a window that opens at midnight, in New York or, for crypto, in UTC."""
    opened = pl.from_epoch(pl.col(window).cast(pl.Int64, strict=False), "ns").dt
    there = opened.replace_time_zone("UTC").dt.convert_time_zone(NEW_YORK)
    crypto = pl.col(ticker).cast(pl.String).str.starts_with(CRYPTO_TICKER)
    return pl.when(crypto).then(opened.date()).otherwise(there.dt.date()).cast(pl.Int32)


def day_of(column: str, dtype: pl.DataType) -> pl.Expr:
    """Days since 1970-01-01 for a date column of any kind; null where a value is not a date.

    Reads dates, datetimes (in their own zone), ISO strings, `YYYYMMDD`, and epochs in seconds,
    milliseconds, microseconds or nanoseconds. The form is recognised value by value.

    Raises:
        SourceError: the column has another type.
    """
    values = pl.col(column)
    if dtype == pl.Date:
        return values.cast(pl.Int32)
    if dtype == pl.Datetime:
        return values.dt.date().cast(pl.Int32)
    if dtype.is_numeric():
        return _numeric_day(values)
    if dtype == pl.String:
        return pl.coalesce(
            values.str.strip_chars().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False),
            _numeric_day(values.cast(pl.Float64, strict=False)).cast(pl.Date),
        ).cast(pl.Int32)
    raise SourceError(f"The column {column} holds no dates; write them as YYYY-MM-DD.")


def _numeric_day(values: pl.Expr) -> pl.Expr:
    numbers = values.cast(pl.Float64)
    written = (numbers >= 1900_01_01) & (numbers <= 2199_12_31)
    digits = numbers.cast(pl.Int64, strict=False).cast(pl.String)
    epoch = numbers / 1_000
    for bound, factor in reversed(_EPOCHS):
        epoch = pl.when(numbers.abs() < bound).then(numbers * factor).otherwise(epoch)
    day = (epoch / _MICROSECONDS_A_DAY).floor().cast(pl.Int32, strict=False)
    calendar = digits.str.to_date("%Y%m%d", strict=False).cast(pl.Int32)
    return pl.when(written).then(calendar).otherwise(day)
