"""Chart bars: which bars of a symbol a night keeps for its charts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np

from nightly.bars import Bars, to_date, to_day
from nightly.results.setups import Formation
from store.nights.book import Prices

CHART_BARS = 320
"""Fewest bars stored for charts, if a symbol has so many: the last ones."""

CHART_CONTEXT = 50
"""Bars stored before the first pattern, or its pole, of the setups that are served."""

MOST_CHART_BARS = 1280
"""Most bars stored for charts; the first ones are left out where trades may run for years."""


def chart_bars(bars: Bars, formations: Sequence[Formation]) -> Prices:
    """The bars for the charts of a symbol: the last ones, and the patterns of all its setups."""
    starts = (formation.drawn_from for formation in formations)
    return bars_since(bars, min(starts, default=to_date(bars.date[-1])))


def bars_since(bars: Bars, drawn_from: dt.date) -> Prices:
    """The bars for the charts of a symbol: the patterns that begin on a day, and some before."""
    first = int(np.searchsorted(bars.date, to_day(drawn_from))) - CHART_CONTEXT
    kept = min(max(CHART_BARS, len(bars) - first), MOST_CHART_BARS)
    tail = bars.take(slice(-kept, None))
    volume = np.minimum(tail.volume, np.finfo(np.float32).max)
    columns = (tail.open, tail.high, tail.low, tail.close, volume)
    return Prices(tail.date, *(column.astype(np.float32) for column in columns))
