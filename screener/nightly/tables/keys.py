"""Keys: which column tells rows of one date apart, where a date alone does not.

Several symbols may stand under a column that no spelling knows, and one symbol may have a row of
each series, board or publisher on a date. Rows of one date that differ are never taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from screener.nightly.errors import SourceError
from screener.nightly.symbols import normalise
from screener.nightly.tables.columns import PRICES, squeeze
from screener.nightly.tables.raw import RawTable

VARIANTS: Final = frozenset(
    {
        *("series", "sctysrs", "board", "boardid", "publisherid", "publisher", "venue", "exchange"),
        *("market", "source", "feed", "provider", "session", "tradingsession", "segment", "sgmt"),
        *("type", "instrumenttype", "fininstrmtp", "pricetype", "interval", "timeframe", "period"),
    }
)
"""Columns that hold kinds of rows of one symbol and no symbols, as they are squeezed."""
MAIN: Final = ("EQ", "BE", "BZ", "SM", "ST", "TQBR", "TQTF", "1d", "D")
"""Values that are plainly the main ones: shares at India's and Moscow's exchanges, and days."""
DEBT: Final = frozenset({"series", "sctysrs"})
"""Columns of India's day files; rows of other series than `SHARES` are bonds and the like."""
SHARES: Final = (*MAIN[:5], "SZ", "IV", "RR", "MF", "E1", "BL", "IL")
MAIN_SHARE: Final = 0.9
"""The least share of the volume on repeated dates that makes a value the main one."""
ROWS_A_VALUE: Final = 5
"""A column of symbols repeats each so often; one of numbers does not."""
SHOWN: Final = 4


def told_apart(
    raw: RawTable, used: Mapping[str, str], date: pl.Expr
) -> tuple[str | None, pl.Expr | None]:
    """The column of symbols that nothing else knows, and a filter that leaves the main rows.

    Raises:
        SourceError: a column tells the rows of one date apart, and none of its values is the main.
    """
    symbol = used.get("symbol")
    prices = [used[name] for name in PRICES]
    kinds = [name for name in raw.names if squeeze(name) in VARIANTS and name not in prices]
    if not (raw.whole or kinds):
        return None, None
    if not kinds if symbol else _all_differ(raw, used["date"]):
        return None, None
    head = raw.head.with_columns(date.alias("a day"))
    if not symbol and head["a day"].is_unique().all():
        return None, None
    key = ["a day", *([symbol] if symbol else [])]
    debt = next((name for name in kinds if squeeze(name) in DEBT), None)
    shares = None
    if debt and symbol and head[debt].dtype == pl.String and head[debt].str.contains("EQ").any():
        shares = pl.col(debt).str.strip_chars().is_in(SHARES)
        head = head.filter(shares)
    repeated = head.filter(pl.struct(key).is_duplicated() & pl.col("a day").is_not_null())
    differ = pl.struct(prices).n_unique().over(key) > 1
    repeated = repeated.filter(differ) if len(repeated) else repeated
    if not len(repeated):
        return None, shares
    others = [name for name in raw.names if name not in (*used.values(), *kinds)]
    if not symbol and (found := next(_symbols(head, repeated, others), None)):
        return found, shares
    for name in kinds:
        if not repeated.select(pl.struct(*key, name).is_duplicated().any()).item():
            main = _main(raw, repeated, name, used.get("volume"))
            beside = [text for text in repeated[name].unique() if text != main]
            keep = ~pl.col(name).is_in(beside)
            return None, keep if shares is None else keep & shares
    return None, shares


def _all_differ(raw: RawTable, column: str) -> bool:
    """Whether no date is written twice: texts so short have no time."""
    dates = raw.head[column]
    short = dates.dtype == pl.String and (dates.str.len_bytes() <= len("2024-01-02")).all()
    return bool(short and dates.is_unique().all())


def _symbols(head: pl.DataFrame, repeated: pl.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """The columns of texts whose values can be symbols and tell the rows of one date apart."""
    for name in names:
        if head.schema[name] not in (pl.String, pl.Categorical, pl.Enum):
            continue
        values = head[name].cast(pl.String).drop_nulls().unique()
        if len(values) < 2 or len(values) * ROWS_A_VALUE > len(head):
            continue
        apart = not repeated.select(pl.struct("a day", name).is_duplicated().any()).item()
        named = values.str.contains(r"\p{L}").any() or values.str.contains(r"^\d{4,6}$").all()
        if apart and named and all(map(normalise, values)):
            yield name


def _main(raw: RawTable, repeated: pl.DataFrame, name: str, volume: str | None) -> object:
    values = repeated[name].unique(maintain_order=True).to_list()
    known = next((main for main in MAIN for text in values if str(text).strip() == main), None)
    if known is not None:
        return next(text for text in values if str(text).strip() == known)
    if volume:
        number = pl.col(volume).cast(pl.String).str.replace_all(r"[\s,]", "")
        sums = repeated.group_by(name).agg(number.cast(pl.Float64, strict=False).sum().alias("sum"))
        best, total = sums.sort("sum", descending=True), float(sums["sum"].sum())
        if float(best["sum"][0] or 0) >= MAIN_SHARE * total > 0:
            return best[name][0]
    shown = ", ".join(str(text) for text in values[:SHOWN])
    more = ", ..." if len(values) > SHOWN else ""
    raise SourceError(
        f"{raw.label} has several rows of one symbol and date, which the column {name} tells apart "
        f"({shown}{more}); keep the rows of one of them."
    )
