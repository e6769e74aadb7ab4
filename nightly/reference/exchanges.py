"""Exchanges: whose trading days a symbol has, and in which currency its prices are by custom.

The table `shipped/exchanges.csv` has a row for each market identifier code (MIC) whose calendar
`exchange_calendars` keeps, with the suffixes and names by which vendors mean it. A suffix or a name
that means two exchanges is in no row.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

from nightly.tables.columns import squeeze

NEW_YORK: Final = "XNYS"
"""The calendar of a symbol of which nothing else is known."""
UTC_DAYS: Final = "24/7"
"""The calendar of crypto: each UTC day is a session."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange; its first suffix is the one that tells its tickers from those of others."""

    mic: str
    calendar: str
    """The name in `exchange_calendars` of its calendar."""
    currency: str
    suffixes: tuple[str, ...]

    @property
    def abroad(self) -> bool:
        """Whether it is none of the American ones, whose tickers have no suffix."""
        return self.calendar != NEW_YORK


def exchange_named(text: str) -> Exchange | None:
    """The exchange of a MIC or of another name, in any case; None if there is none such."""
    return _named().get(squeeze(text))


def exchange_of(symbol: str) -> Exchange | None:
    """The exchange that the suffix of a symbol names, as NS of `INFY.NS`; None without one."""
    ticker, _, suffix = symbol.upper().rpartition(".")
    return _suffixes().get(suffix) if ticker else None


def exchanges() -> tuple[Exchange, ...]:
    """All exchanges of the table."""
    return tuple(exchange for exchange, _ in _rows())


@cache
def _named() -> Mapping[str, Exchange]:
    pairs = ((name, exchange) for exchange, names in _rows() for name in names)
    return MappingProxyType(dict(pairs))


@cache
def _suffixes() -> Mapping[str, Exchange]:
    pairs = ((suffix, exchange) for exchange in exchanges() for suffix in exchange.suffixes)
    return MappingProxyType(dict(pairs))


@cache
def _rows() -> tuple[tuple[Exchange, tuple[str, ...]], ...]:
    table = resources.files("nightly") / "shipped" / "exchanges.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return tuple(
        (
            Exchange(row["mic"], row["calendar"], row["currency"], tuple(row["suffixes"].split())),
            (squeeze(row["mic"]), *row["names"].split()),
        )
        for row in rows
    )
