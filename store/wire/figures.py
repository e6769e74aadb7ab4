"""Figures: numbers as pages, pictures and the command line write them, in the decimals they have.

A number is written like the number that is served, so that no surface rounds it once more.
"""

from __future__ import annotations

import math


def dollars(price: float) -> str:
    """A price: with cents from one dollar up, five significant digits below."""
    if price >= 1:
        return f"${price:,.2f}"
    digits = 4 - math.floor(math.log10(price))
    return f"${price:.{digits}f}"


def percent(value: float) -> str:
    """A percentage without a plus sign."""
    return f"{value:,.2f}%"


def change(value: float) -> str:
    """A change in percent, with its sign; whole from a thousand up."""
    return f"{value:+,.{2 if abs(value) < 999.5 else 0}f}%"


def multiple(value: float, decimals: int = 2) -> str:
    """A multiple of the risk, with its sign."""
    return f"{value:+,.{decimals}f}"


def signed(value: float) -> str:
    """An average multiple of the risk, with its sign."""
    return multiple(value, 3)


def ratio(value: float | None) -> str:
    """A reward as a multiple of its risk."""
    return "none" if value is None else f"{value:,.2f}"


def half_units(value: float) -> str:
    """A number of half units, as an axis writes it."""
    return f"{value:g}"
