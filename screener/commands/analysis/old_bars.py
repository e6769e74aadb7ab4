"""Old bars: those around a past trade that are older than what a night keeps, read anew."""

from __future__ import annotations

import datetime as dt

from mcp_server.charts.past import Trade
from screener.commands.analysis.explain import load_symbol
from screener.commands.analysis.origin import as_the_night
from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import order_of, working
from screener.nightly.bars import to_day
from screener.nightly.errors import SourceError
from screener.nightly.results.chart_bars import chart_bars
from screener.settings.settings import Settings
from store.nights.book import Prices

LATER = 60
"""Calendar days after the exit that are read; the chart shows fewer."""


def bars_around(settings: Settings, bars: str | None, symbol: str, trade: Trade) -> Prices:
    """The cleaned bars before and after a past trade, of those that the active night was made from,
    or of some `bars` that are named instead.

    Raises:
        SourceError: they have no bar of the day of the entry.
    """
    entered = to_day(dt.date.fromisoformat(trade["entry_date"]))
    left = to_day(dt.date.fromisoformat(trade["exit_date"])) if trade["exit_date"] else None
    options = as_the_night(settings, BarsOptions(), bars)
    with working(settings) as (work, step):
        order = order_of(settings, options, work=work, step=step, only=symbol)
        task, loaded, listing = load_symbol(order, symbol)
        for series in task.clean(loaded, listing).series:
            if entered in series.bars.date:
                return chart_bars(series.bars if left is None else series.bars.until(left + LATER))
    raise SourceError(f"{order.name} has no bar of {symbol} on {trade['entry_date']}.")
