"""Currency: prices as every page, picture, tool and command writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

DOLLARS: Final = "USD"
PENCE: Final = "GBX"
"""Hundredths of a pound, in which London quotes."""
SIGNS: Final[Mapping[str, str]] = {
    DOLLARS: "$",
    "EUR": "€",
    "GBP": "£",
    "INR": "₹",
    "JPY": "¥",
    "KRW": "₩",
    "AUD": "A$",
    "BRL": "R$",
    "CAD": "C$",
    "HKD": "HK$",
    "NZD": "NZ$",
    "SGD": "S$",
}
"""What stands before an amount; of another currency that is its code."""


def decimals(price: float) -> int:
    """Decimals of a price: hundredths from one unit up, five significant digits below."""
    return 2 if price >= 1 else 4 - math.floor(math.log10(price))


def money(price: float, currency: str) -> str:
    """A price in a currency."""
    amount = f"{price:,.{decimals(price)}f}"
    if currency == PENCE:
        return f"{amount}p"
    return f"{SIGNS.get(currency, f'{currency} ')}{amount}"


def currency_words(currency: str) -> str:
    """The currency of prices that stand without it, as on an axis; empty for dollars."""
    return "" if currency == DOLLARS else f"prices in {currency}"
