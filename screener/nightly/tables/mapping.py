"""The column mapping: which column of a raw table is which of the bars, and how each is used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from screener.nightly.bars import Adjustment
from screener.nightly.errors import SourceError
from screener.nightly.tables.columns import (
    BARS,
    IGNORED,
    NAMES,
    NEEDED,
    SCALED,
    UNNAMED,
    adjusted_columns,
    bar_columns,
    squeeze,
)
from screener.nightly.tables.raw import RawTable

MAX_LISTED: Final = 20
"""The most columns that a refusal lists."""
TAKEN: Final[Mapping[str, str]] = {
    "date": "date, time or timestamp",
    "close": "close, last or price",
}
RAW_PRICE: Final = "ignored: prices come from the adjusted columns"
SCALES: Final = "scales the prices of its row, to adjust them for splits and dividends"
TICKS: Final = "tickvol"
"""MetaTrader's count of price changes, beside a volume that is 0 where it knows none."""

_TICKER: Final = r"^\^?[A-Z]{1,6}\d?([.-][A-Z]{1,3})?$"
_EARLIEST: Final = 10_000_000
"""An unnamed column of smaller numbers counts the rows. As an epoch this is April of 1970."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The columns of a table by role; `raw` are those that adjusted ones replace."""

    used: Mapping[str, str]
    raw: frozenset[str] = frozenset()
    scale: str | None = None
    """The column with an adjusted close beside raw prices."""
    adjustment: Adjustment | None = None
    """For what the prices are adjusted, if the columns tell."""

    @property
    def numbers(self) -> dict[str, str]:
        """The columns of prices and of the volume."""
        return {name: self.used[name] for name in BARS[1:] if name in self.used}

    def told(self, names: Sequence[str]) -> dict[str, str]:
        """How each column with an unusual name is used: its role, or that it is ignored and why."""
        role = {column: name for name, column in self.used.items()}
        role |= dict.fromkeys(self.raw, RAW_PRICE)
        role |= {self.scale: SCALES} if self.scale else {}
        told = {name: role.get(name) or IGNORED.get(squeeze(name), "ignored") for name in names}
        return {name: said for name, said in told.items() if squeeze(name) != said and name}


def map_columns(raw: RawTable) -> ColumnMapping:
    """Which column of a table is which of the bars.

    Raises:
        SourceError: a column of bars is missing.
    """
    found = _found(raw)
    missing = [column for column in NEEDED if column not in found]
    if missing:
        said = ", ".join(missing)
        name = f"name it {TAKEN.get(said, said)}" if len(missing) == 1 else f"name them {said}"
        raise SourceError(
            f"{raw.label} has no column for {said} (found: {listed(raw.names)}); {name}."
        )
    adjusted = adjusted_columns(raw.names)
    replaced = frozenset(found[name] for name in adjusted) - set(adjusted.values())
    scales = (name for name in raw.names if squeeze(name) == SCALED)
    scale = None if adjusted else next(scales, None)
    adjustment: Adjustment | None = "split+div" if adjusted or scale else None
    return ColumnMapping(found | adjusted, replaced, scale, adjustment)


def listed(names: Sequence[str]) -> str:
    """The first names of a table, for people."""
    plain = (re.sub(r"[^\x20-\x7E\xA0-\uFFFC]", "?", name)[:40] for name in names[:MAX_LISTED])
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(name or "one without a name" for name in plain) + more


def _found(raw: RawTable) -> dict[str, str]:
    adjusted = adjusted_columns(raw.names)
    found = adjusted | bar_columns(raw.names)
    if "date" in found and squeeze(found["date"]) in UNNAMED and _counts(raw, found["date"]):
        del found["date"]
    if "symbol" not in found and (named := _tickers(raw)):
        found["symbol"] = named
    ticks = next((name for name in raw.names if squeeze(name) == TICKS), None)
    if ticks and "volume" in found and not (raw.numbers(found["volume"]).fill_null(0) > 0).any():
        found["volume"] = ticks
    return found


def _counts(raw: RawTable, column: str) -> bool:
    """Whether a column without a name counts the rows, instead of dating them."""
    if raw.schema[column].is_temporal():
        return False
    return bool((raw.numbers(column).drop_nulls().abs() < _EARLIEST).any())


def _tickers(raw: RawTable) -> str | None:
    """A column such as `Name`, if its values look like tickers and not like names or numbers."""
    for name, dtype in raw.schema.items():
        if squeeze(name) in NAMES and dtype == pl.String:
            values = raw.head[name].drop_nulls()
            if len(values) and values.str.contains(_TICKER).all():
                return name
    return None
