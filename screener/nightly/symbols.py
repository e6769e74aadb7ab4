"""Symbols: how a name in a source becomes the symbol that is served.

This module is one table and one rule. It knows nothing of files, listings or bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from screener.nightly.errors import RefusedInput
from store.wire.exchanges import Exchange, exchange_named
from store.wire.records import MAX_SYMBOL

COINS: Final = frozenset({"USDT", "USDC", "BUSD", "FDUSD", "TUSD", "DAI"})
"""Coins that stand for one dollar each, so that prices in them count as in US dollars."""

QUOTES: Final = COINS | {
    *("USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "BRL", "TRY", "KRW"),
    *("BTC", "ETH", "BNB"),
}
"""Currencies at the end of a pair: `BTC-USD` is a pair, but `BRK-B` is a class of shares."""

_SEPARATOR: Final = re.compile(r"[-/_ &]")
_SERIES: Final = re.compile(r"-(EQ|INDEX)$| EQUITY$")
"""Bloomberg's kind of security, and the series of shares behind Indian tickers."""
_HOME: Final = re.compile(r"(\.US)+$")
_SYMBOL: Final = re.compile(r"[A-Z0-9]+(\.[A-Z0-9]+)*")

PAIR_LENGTH: Final = 6
"""A pair without a separator has at least so many characters; no American ticker has."""

SHAPE: Final = f"letters, digits and dots, {MAX_SYMBOL} at most"
"""The form of a symbol, in words."""


def placed(raw: str) -> tuple[Exchange | None, str]:
    """The exchange that stands before a ticker, as in `NSE:INFY`, and the ticker."""
    before, colon, ticker = raw.partition(":")
    exchange = exchange_named(before) if colon else None
    return (exchange, ticker) if exchange else (None, raw)


def normalise(raw: str) -> str | None:
    """The served symbol of a raw name: upper-case letters, digits and dots. None if the name cannot
    be written so, or is longer than `MAX_SYMBOL`. An exchange before it is left out, as NSE of
    `NSE:INFY`.

    A separator before a quote currency is removed (`BTC/USD` becomes `BTCUSD`); any other becomes a
    dot (`BRK-B` becomes `BRK.B`). The mark of an index (`^NSEI`) or of MetaTrader (`#AAPL`), the
    country of American listings (`AAPL.US`, `AAPL US Equity`), and the series of shares behind
    Indian tickers (`INFY-EQ`) are left out.
    """
    named = _SERIES.sub("", placed(raw)[1].strip().upper().lstrip("^#"))
    first, *rest = _SEPARATOR.split(named)
    symbol = first
    for part in rest:
        symbol += part if part.split(".", 1)[0] in QUOTES else f".{part}"
    symbol = _HOME.sub("", symbol)
    return symbol if len(symbol) <= MAX_SYMBOL and _SYMBOL.fullmatch(symbol) else None


def quote_of(raw: str) -> str | None:
    """The quote currency that ends the raw name of a pair: `EUR` of `BTC-EUR`; else None."""
    first, *rest = _SEPARATOR.split(raw.strip().upper())
    last = rest[-1].split(".", 1)[0] if rest else ""
    if last in QUOTES:
        return last
    pair = first.removesuffix(".P")
    if len(pair) < PAIR_LENGTH:
        return None
    ends = [quote for quote in QUOTES if pair.endswith(quote)]
    return max(ends, key=len, default=None)


def _abroad(raw: str) -> str:
    """The MIC of an exchange abroad that a name states; else empty."""
    exchange = placed(raw)[0]
    return exchange.mic if exchange and exchange.abroad else ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The raw name of each symbol, and the refused raw names."""

    raw_of: Mapping[str, str]
    refused: Mapping[str, RefusedInput]


def resolve(
    names: Iterable[str], listed: Mapping[str, str | None] = MappingProxyType({})
) -> Resolved:
    """Assign each raw name its symbol. If two names give one symbol, the second is refused.

    If the names, or those `listed` with their MIC, have a ticker of two exchanges, that of an
    exchange abroad gets its suffix.
    """
    raws = list(names)
    places: dict[str | None, set[str]] = {}
    for raw in raws:
        places.setdefault(normalise(raw), set()).add(_abroad(raw))
    raw_of: dict[str, str] = {}
    refused: dict[str, RefusedInput] = {}
    for raw in raws:
        symbol, exchange = normalise(raw), placed(raw)[0]
        if symbol and exchange and exchange.abroad:
            elsewhere = listed.get(symbol) not in (None, exchange.mic)
            if elsewhere or len(places[symbol]) > 1:
                symbol = normalise(f"{symbol}.{exchange.suffixes[0]}")
        if symbol is None:
            refused[raw] = RefusedInput("bad_symbol", f"A symbol consists of {SHAPE}; rename it.")
        elif raw_of.setdefault(symbol, raw) != raw:
            refused[raw] = RefusedInput(
                "duplicate_symbol",
                f"{raw_of[symbol]} already stands for {symbol}; keep one of the two.",
            )
    return Resolved(raw_of, refused)
