"""Examples: past trades that are shown as small charts, picked by a rule and by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

OF_SYMBOL: Final = 6
OF_FAMILY: Final = 12

Trade = TypeVar("Trade")


def at_even_steps(trades: Sequence[Trade], number: int) -> list[Trade]:
    """So many of some trades, or all if there are no more, at even steps of their order: of wins
    before losses, each by date, it has both in their share.
    """
    count = min(number, len(trades))
    return [trades[(2 * place + 1) * len(trades) // (2 * count)] for place in range(count)]
