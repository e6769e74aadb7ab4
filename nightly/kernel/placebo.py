"""The walk of placebo trades: the detector's resolution rule, bar by bar, without a detector.

Drawing the entries, and what the outcomes mean, is `nightly.placebo`'s.
"""

from __future__ import annotations

import numpy as np

from nightly.events import Outcome, Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.trades import resolve_long, resolve_short

# What the rule reads of a `PRICE` record; the logs and swings of one would be filled for nothing.
BAR = np.dtype([("open", "f8"), ("high", "f8"), ("low", "f8")])


@compiled
def resolve_draws(bars: Rows, trades: Rows) -> None:
    """Let the `BAR` rows after each entry decide open `TRADE` rows, which else stay open.

    An entry at or past the last bar stays open too.
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
