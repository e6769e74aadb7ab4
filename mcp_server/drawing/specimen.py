"""Specimen: a chart of made-up prices, which a process draws to have loaded all it needs."""

from __future__ import annotations

import datetime as dt
import math

from mcp_server.drawing.view import ChartView, TrendLine

BARS = 60


def specimen() -> ChartView:
    """A forming triangle over sixty days, with all that a chart may say."""
    dates = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(BARS)]
    close = [100 * math.exp(0.03 * math.sin(day / 4)) for day in range(BARS)]
    upper, lower = (
        TrendLine((dates[20], at), (dates[-1], 100.0 + (at - 100) / 2), ((dates[20], at),))
        for at in (104.0, 96.0)
    )
    return ChartView(
        symbol="0123456789",
        pattern="Triangle",
        direction="bullish",
        status="forming",
        as_of=dates[-1],
        dates=dates,
        open=[close[0], *close[:-1]],
        high=[price * 1.01 for price in close],
        low=[price / 1.01 for price in close],
        close=close,
        upper=upper,
        lower=lower,
        trigger=102.0,
        stop=98.0,
        target=110.0,
        volume=[1000.0] * BARS,
    )
