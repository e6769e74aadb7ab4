"""The bars table: a raw table with the canonical columns of bars.

Every road, from one small file to one large table, comes here. The rows stay lazy: a large table
stays on disk until somebody asks for some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import polars as pl

from screener.nightly.bars import Adjustment
from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.tables.columns import BARS, PRICES, squeeze
from screener.nightly.tables.dates import (
    CRYPTO_TICKER,
    day_of,
    evening_of,
    is_timed,
    session_of,
    time_of,
)
from screener.nightly.tables.decimals import number_columns
from screener.nightly.tables.keys import told_apart
from screener.nightly.tables.mapping import ColumnMapping, map_columns
from screener.nightly.tables.raw import DATABENTO, MASSIVE, TUSHARE, RawTable
from screener.nightly.tables.spacing import stated_interval
from screener.nightly.tables.wide import is_wide, to_long
from store.wire.exchanges import currency_code

TIME: Final = "time"
"""The canonical column with the time of the day, in tables whose rows differ in it."""
LOT: Final = 100
LOT_TOLERANCE: Final = 0.05
TURNOVER: Final = ("成交额", "成交額")
"""Turnovers in money of Chinese files, which are what the volume in shares costs."""
FIXED_POINT: Final = 1e-9
"""Databento writes prices as whole numbers of this unit."""


@dataclass(frozen=True, eq=False)
class BarsTable:
    """The canonical rows of a table, lazily, and how its columns were used.

    The columns are `date` in days, the prices, `volume` (NaN if the table has none), `symbol` if
    there is one, and `time` if the time of the day differs between the rows.
    """

    label: str
    rows: pl.LazyFrame
    form: str
    columns: Mapping[str, str]
    adjustment: Adjustment | None
    """What the prices are adjusted for, where the columns tell; else None."""
    currency: str | None
    """The currency of the prices, where a column tells; else None."""
    has_symbol: bool
    refusal: RefusedInput | None
    """Why the bars are not served, where a column says that they are not daily."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows in memory."""
        return self.rows.collect()

    def loaded(self) -> BarsTable:
        """Itself, once its rows are in memory."""
        _ = self.frame
        return self

    @property
    def symbol(self) -> str | None:
        """The one symbol in the table's own column; None without one, or if there are several."""
        if not self.has_symbol:
            return None
        named = self.frame["symbol"].drop_nulls().unique()
        return str(named[0]) if len(named) == 1 else None


def lay_out(raw: RawTable) -> BarsTable:
    """Find the columns of bars in a table, and how their values are written.

    Raises:
        SourceError: a column is missing, cannot be read, or can be read in two ways.
    """
    if is_wide(raw.names):
        raw = replace(raw, rows=to_long(raw.rows), whole=True)
    roles = map_columns(raw)
    day = day_of(raw, roles.used["date"])
    symbol, main = told_apart(raw, roles.used, day)
    if symbol is not None:
        roles = replace(roles, used={**roles.used, "symbol": symbol})
    kept = raw.rows if main is None else raw.rows.filter(main)
    rows = kept.select(*_keys(raw, roles, day), *_numbers(raw, roles))
    if raw.texts:
        empty = (pl.col(name).is_null() for name in ("date", *PRICES))
        rows = rows.filter(~pl.all_horizontal(*empty))
    return BarsTable(
        raw.label,
        rows,
        raw.form,
        roles.told(raw.names),
        roles.adjustment,
        _currency(raw, roles),
        "symbol" in roles.used,
        stated_interval(raw),
    )


def _keys(raw: RawTable, roles: ColumnMapping, day: pl.Expr) -> Iterator[pl.Expr]:
    """The date, the time of the day if it differs, and the symbol if there is one."""
    date, symbol = roles.used["date"], roles.used.get("symbol")
    if symbol is not None and raw.form == MASSIVE:
        yield session_of(date, symbol).alias("date")
        yield pl.col(symbol).cast(pl.String).str.strip_prefix(CRYPTO_TICKER).alias("symbol")
        return
    clock = roles.used.get("clock", date)
    timed = is_timed(raw, clock)
    evening = evening_of(raw, day, clock, symbol) if timed else None
    yield (day if evening is None else day + evening.cast(pl.Int32)).alias("date")
    time = time_of(raw, clock) if timed else None
    if time is not None:
        yield time.alias(TIME)
    if symbol is not None:
        yield _symbol(raw, symbol).alias("symbol")


def _symbol(raw: RawTable, column: str) -> pl.Expr:
    dtype = raw.schema[column]
    if dtype == pl.String:
        return pl.col(column).str.strip_chars() if raw.texts else pl.col(column)
    if dtype.is_integer() or dtype in (pl.Categorical, pl.Enum):
        return pl.col(column).cast(pl.String)
    raise SourceError(
        f"{raw.label}: the column {column} holds no symbols but {dtype.base_type()}; write text."
    )


def _numbers(raw: RawTable, roles: ColumnMapping) -> Iterator[pl.Expr]:
    """The prices, scaled if the table has an adjusted close beside raw ones, and the volume."""
    columns = roles.numbers
    read = number_columns(raw, [*columns.values(), *filter(None, [roles.scale])], columns)
    factor = read[roles.scale] / read[columns["close"]] if roles.scale else None
    for name in BARS[1:]:
        if name not in columns:
            yield pl.lit(float("nan")).alias(name)
            continue
        value = read[columns[name]]
        if name in PRICES and factor is not None:
            value = value * factor
        if name in PRICES and raw.form == DATABENTO and _is_whole(raw, columns[name]):
            value = value * FIXED_POINT
        if name == "volume" and _in_lots(raw, columns):
            value = value * LOT
        yield value.alias(name)


def _in_lots(raw: RawTable, columns: Mapping[str, str]) -> bool:
    """Whether a volume counts lots of 100 shares: Tushare's, and AKShare's by the turnover."""
    if raw.form == TUSHARE:
        return True
    turnover = next((name for name in raw.names if squeeze(name) in TURNOVER), None)
    if turnover is None:
        return False
    sums, volume, price = (
        raw.numbers(name) for name in (turnover, columns["volume"], columns["close"])
    )
    share = (sums / (volume * price)).filter((volume > 0) & (price > 0)).median()
    return isinstance(share, float) and abs(share / LOT - 1) < LOT_TOLERANCE


def _is_whole(raw: RawTable, column: str) -> bool:
    """Whether the numbers of a column are written without a fraction."""
    return not raw.head[column].cast(pl.String).str.contains(".", literal=True).any()


def _currency(raw: RawTable, roles: ColumnMapping) -> str | None:
    """The currency of a table whose column of currencies names one alone."""
    column = roles.used.get("currency")
    if column is None or raw.schema[column] != pl.String:
        return None
    named = {currency_code(text) for text in raw.head[column].drop_nulls().unique()}
    return named.pop() if len(named) == 1 else None
