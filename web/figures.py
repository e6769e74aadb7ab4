"""Figures: numbers as pages write them."""

from __future__ import annotations

MINUS = "\N{MINUS SIGN}"


def dollars(price: float) -> str:
    """A price: with cents from one dollar up, five significant digits below."""
    return f"${price:,.2f}" if price >= 1 else f"${price:.5g}"


def percent(value: float) -> str:
    """A percentage without a plus sign."""
    return f"{value:.1f}%".replace("-", MINUS)


def change(value: float) -> str:
    """A change in percent, with its sign."""
    return f"{value:+.1f}%".replace("-", MINUS)


def multiple(value: float, decimals: int = 2) -> str:
    """A multiple of the risk, with its sign."""
    return f"{value:+.{decimals}f}".replace("-", MINUS)


def signed(value: float) -> str:
    """An average multiple of the risk, with its sign."""
    return multiple(value, 3)


def ratio(value: float) -> str:
    """A number of half units, as an axis writes it."""
    return f"{value:g}".replace("-", MINUS)
