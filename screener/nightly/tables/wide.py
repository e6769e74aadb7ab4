"""The wide table: the bars of several tickers side by side, as yfinance downloads them.

Its columns have two names, a field and a ticker, in two header rows of a CSV file or as a pair in
one name of a Parquet file. It becomes a long table with a column of tickers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from screener.nightly.tables.columns import PRICES, squeeze

TICKER: Final = "Ticker"
FIELDS: Final = frozenset(
    {*PRICES, "volume", "adjclose", "dividends", "stocksplits", "capitalgains", "repaired"}
)
_PAIR: Final = re.compile(r"\((['\"])(?P<one>[^'\"]*)\1, ?(['\"])(?P<other>[^'\"]*)\3\)")
_WORD: Final = re.compile(r"[\^A-Za-z][\w.^=-]*|\d+\.[A-Z]+")


def joined_names(upper: Sequence[str], lower: Sequence[str]) -> list[str] | None:
    """The names of columns from two header rows, as pairs; None if the rows are no such header."""
    if len(upper) < 2 or len(upper) != len(lower) or lower[0][:1].isdigit():
        return None
    if not any(_are_fields(row[1:]) for row in (upper, lower)):
        return None
    if not all(_WORD.match(cell) for cell in (*upper[1:], *lower[1:])):
        return None
    pairs = zip(upper[1:], lower[1:], strict=True)
    return ["Date", *(f"('{one}', '{other}')" for one, other in pairs)]


def is_wide(names: Sequence[str]) -> bool:
    """Whether columns have two names, a field and a ticker."""
    return any(_parts(name) is not None for name in names)


def to_long(table: pl.LazyFrame) -> pl.LazyFrame:
    """A row for each ticker and date. A date on which a ticker has no price is left out."""
    names = table.collect_schema().names()
    date = next((name for name in names if _is_date(name)), names[0])
    tickers: dict[str, dict[str, str]] = {}
    for name in names:
        if parts := _parts(name):
            field, ticker = parts
            tickers.setdefault(ticker, {}).setdefault(field, name)
    wide = table.collect()
    return pl.concat(
        (_rows_of(wide, date, ticker, fields) for ticker, fields in tickers.items()),
        how="diagonal_relaxed",
    ).lazy()


def _rows_of(wide: pl.DataFrame, date: str, ticker: str, fields: dict[str, str]) -> pl.DataFrame:
    prices = (pl.col(name) for field, name in fields.items() if squeeze(field) in PRICES)
    priced = pl.any_horizontal(pl.lit(value=False), *(price.is_not_null() for price in prices))
    return wide.filter(priced).select(
        pl.col(date).alias("Date"),
        pl.lit(ticker).alias(TICKER),
        *(pl.col(name).alias(field) for field, name in fields.items()),
    )


def _are_fields(cells: Sequence[str]) -> bool:
    return all(squeeze(cell) in FIELDS for cell in cells)


def _is_date(name: str) -> bool:
    found = _PAIR.fullmatch(name)
    return squeeze(found["one"] + found["other"] if found else name) in ("date", "datetime")


def _parts(name: str) -> tuple[str, str] | None:
    """The field and the ticker in a column's name, whichever comes first."""
    found = _PAIR.fullmatch(name)
    if found is None:
        return None
    pair = found["one"], found["other"]
    for field, ticker in (pair, pair[::-1]):
        if squeeze(field) in FIELDS and ticker:
            return field, ticker
    return None
