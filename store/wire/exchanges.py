"""Exchanges: whose trading days a symbol has, and in which currency its prices are by custom.

The table `exchanges.csv` has a row for each market identifier code (MIC) whose calendar
`exchange_calendars` keeps, with the suffixes and names by which vendors mean it, and TradingView's
prefix of its tickers. A suffix or a name that means two exchanges is in no row; a prefix may stand
in many. A class suffix names an exchange in lists alone: elsewhere it is a class of American
shares, such as V of `MKC.V`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final, Literal

NEW_YORK: Final = "XNYS"
"""The calendar of a symbol of which nothing else is known."""
UTC_DAYS: Final = "24/7"
"""The calendar of crypto: each UTC day is a session."""

_MINOR: Final = {"GBp": "GBX", "p": "GBX", "ZAc": "ZAC"}
"""How vendors write hundredths in which some exchanges quote."""

_CODE: Final = re.compile(r"[A-Z]{3,5}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange; its first suffix is the one that tells its tickers from those of others."""

    mic: str
    calendar: str
    """The name in `exchange_calendars` of its calendar."""
    currency: str
    suffixes: tuple[str, ...]
    class_suffixes: tuple[str, ...]
    names: tuple[str, ...]
    tradingview: str
    """The prefix of its tickers there; empty if it has none."""

    @property
    def abroad(self) -> bool:
        """Whether its tickers have a suffix: those of American exchanges have none."""
        return self.calendar != NEW_YORK


def exchange_named(text: str) -> Exchange | None:
    """The exchange of a MIC or of another name, in any case; None if there is none such."""
    return _by("names").get(_key(text))


def exchange_of(symbol: str) -> Exchange | None:
    """The exchange that the suffix of a symbol names, as NS of `INFY.NS`; None without one."""
    ticker, _, suffix = symbol.upper().rpartition(".")
    return _by("suffixes").get(suffix) if ticker else None


def currency_code(text: str) -> str | None:
    """The code of a currency as vendors write it: GBp, GBX and p. are pence. None if it is none."""
    code = text.strip().rstrip(".")
    code = _MINOR.get(code) or code.upper()
    return code if _CODE.fullmatch(code) else None


def exchanges_listing(text: str) -> tuple[Exchange, ...]:
    """The exchanges that a list means which puts a name or TradingView's prefix before a ticker, in
    any case: EURONEXT is that of six.
    """
    one = exchange_named(text)
    return _prefixes().get(text.strip().upper()) or ((one,) if one else ())


def exchange_with_suffix(suffix: str) -> Exchange | None:
    """The exchange that a suffix of a list names, as NS of `INFY.NS` or V of `ABC.V`."""
    return _by("suffixes").get(suffix) or _by("class_suffixes").get(suffix)


@cache
def customary_currency(calendar: str) -> str:
    """The currency in which the exchanges of a calendar quote; dollars for crypto."""
    return next((known.currency for known in exchanges() if known.calendar == calendar), "USD")


@cache
def exchanges() -> tuple[Exchange, ...]:
    """All exchanges of the table."""
    table = resources.files("store.wire").joinpath("exchanges.csv")
    return tuple(
        Exchange(
            row["mic"],
            row["calendar"],
            row["currency"],
            tuple(row["suffixes"].split()),
            tuple(row["class_suffixes"].split()),
            (_key(row["mic"]), *row["names"].split()),
            row["tradingview"],
        )
        for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    )


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


@cache
def _by(field: Literal["names", "suffixes", "class_suffixes"]) -> Mapping[str, Exchange]:
    """The exchange of each text that some exchange has in a field."""
    pairs = ((text, known) for known in exchanges() for text in getattr(known, field))
    return MappingProxyType(dict(pairs))


@cache
def _prefixes() -> Mapping[str, tuple[Exchange, ...]]:
    """The exchanges of each of TradingView's prefixes."""
    found = dict[str, tuple[Exchange, ...]]()
    for known in exchanges():
        if known.tradingview:
            found[known.tradingview] = (*found.get(known.tradingview, ()), known)
    return MappingProxyType(found)
