"""Placebo trades: resolves them bar by bar with the detector's rule, without a detector.

`nightly.placebo` draws the entries and says what the outcomes mean.
"""

from __future__ import annotations

import numpy as np

from nightly.events import Outcome, Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.trades import resolve_long, resolve_short

# The fields of a `PRICE` record that the rule reads; it needs no logs and no swings.
BAR = np.dtype([("open", "f8"), ("high", "f8"), ("low", "f8")])


@compiled
def resolve_draws(bars: Rows, trades: Rows) -> None:
    """Resolve open `TRADE` rows by the `BAR` rows after their entries; undecided ones stay open.

    A trade that enters at or past the last bar stays open too.
    """
    for trade in trades:
        for bar in range(trade.entry + 1, len(bars)):
            if trade.direction > 0:
                resolve_long(trade, bars[bar])
            else:
                resolve_short(trade, bars[bar])
            if trade.outcome != Outcome.OPEN:
                trade.exit = bar
                break
