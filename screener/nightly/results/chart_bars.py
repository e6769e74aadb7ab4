"""Chart bars: which bars of a symbol a night keeps, so that its charts can be drawn."""

from __future__ import annotations

import numpy as np

from screener.nightly.bars import Bars
from store.nights.book import Prices

CHART_BARS = 1280
"""Bars stored of each covered symbol, the last ones: five years, with their past trades."""


def chart_bars(bars: Bars) -> Prices:
    """The bars for the charts of a symbol."""
    tail = bars.take(slice(-CHART_BARS, None))
    volume = np.minimum(tail.volume, np.finfo(np.float32).max)
    columns = (*tail.prices, volume)
    return Prices(tail.date, *(column.astype(np.float32) for column in columns))
