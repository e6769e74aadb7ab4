"""How numbers are rounded: prices to significant digits, percentages and multiples to decimals."""

from __future__ import annotations

import math

PRICE_DIGITS = 7


def price(value: float) -> float:
    """A price rounded to seven significant digits, so that 0.00001 keeps as many as 600."""
    return float(f"{value:.{PRICE_DIGITS}g}")


def percent(value: float) -> float:
    """A percentage rounded to two decimals, never minus zero."""
    return round(float(value), 2) + 0.0


def multiple(value: float) -> float:
    """An R multiple or a ratio rounded to three decimals, never minus zero."""
    return round(float(value), 3) + 0.0


def evidence(value: float | None) -> float:
    """A number as filter evidence: NaN for None."""
    return math.nan if value is None else float(value)
