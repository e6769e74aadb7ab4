"""Symbols: how a name in a source becomes the symbol that is served.

This module is one table and one rule. It knows nothing of files, listings or bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nightly.errors import Refusal
from store.wire.records import LONGEST_SYMBOL

QUOTES: Final = frozenset(
    {
        *("USD", "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "DAI"),
        *("EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "BRL", "TRY", "KRW"),
        *("BTC", "ETH", "BNB"),
    }
)
"""Currencies at the end of a pair: `BTC-USD` is a pair, but `BRK-B` is a class of shares."""

_SEPARATOR: Final = re.compile(r"[-/_ ]")
_SYMBOL: Final = re.compile(r"[A-Z0-9]+(\.[A-Z0-9]+)*")

DOLLARS: Final = frozenset({"USD", "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "DAI"})
"""Quote currencies that count as US dollars: the coins among them stand for one dollar each."""

PAIR_LENGTH: Final = 6
"""A pair without a separator has at least so many characters; no American ticker has."""

SHAPE: Final = f"letters, digits and dots, {LONGEST_SYMBOL} at most"
"""The form of a symbol, in words."""


def normalise(raw: str) -> str | None:
    """The served symbol of a raw name: upper-case letters, digits and dots. None if the name cannot
    be written so, or is longer than `LONGEST_SYMBOL`.

    A separator before a quote currency is removed (`BTC/USD` becomes `BTCUSD`); any other becomes a
    dot (`BRK-B` becomes `BRK.B`).
    """
    first, *rest = _SEPARATOR.split(raw.strip().upper())
    symbol = first
    for part in rest:
        symbol += part if part.split(".", 1)[0] in QUOTES else f".{part}"
    return symbol if len(symbol) <= LONGEST_SYMBOL and _SYMBOL.fullmatch(symbol) else None


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


@dataclass(frozen=True, slots=True)
class Resolved:
    """The raw name of each symbol, and the refused raw names."""

    raw_of: Mapping[str, str]
    refused: Mapping[str, Refusal]


def resolve(names: Iterable[str]) -> Resolved:
    """Assign each raw name its symbol. If two names give one symbol, the second is refused."""
    raw_of: dict[str, str] = {}
    refused: dict[str, Refusal] = {}
    for raw in names:
        symbol = normalise(raw)
        if symbol is None:
            refused[raw] = Refusal("bad_symbol", f"A symbol consists of {SHAPE}; rename it.")
        elif raw_of.setdefault(symbol, raw) != raw:
            refused[raw] = Refusal(
                "duplicate_symbol",
                f"{raw_of[symbol]} already stands for {symbol}; keep one of the two.",
            )
    return Resolved(raw_of, refused)
