"""Chart data: what the chart page of a setup shows, as JSON.

A trend line is straight over the sessions on a log price axis. Its points therefore come with the
index of their session among the bars, which may lie before the first bar or between two. The page
needs no calendar of its own. The JSON has the texts of one setup and six numbers for each bar:
about 20 KB with the usual 320 bars, about 75 KB with all 1,280 that a night keeps.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from mcp_server.charts.charts import drawn_from, entry_of, pole_of, trigger_session
from mcp_server.charts.past import shown, trend_lines
from mcp_server.drawing.view import Point, TrendLine, session_index
from store.nights.book import Book, Prices, StoredSetup
from store.wire.scan_index import levels
from store.wire.view import PlanView

FACTS = (
    *("symbol", "family_label", "direction", "status", "as_of_session", "last_close"),
    *("trigger_rule", "attempt", "sessions_since_trigger", "last_close_side"),
)
"""Fields of a Setup that go in as they are; null where the night was sealed before they were."""

PRICES = ("open", "high", "low", "close")

OF_VIEW = ("pattern", "currency", "gain_pct", "gain_r", "distance_pct", "quality_pct")
"""Fields of a SetupView that go in as they are."""

OF_RECORD = (
    *("sample_size", "win_rate_pct", "avg_win_pct", "avg_loss_pct", "avg_r"),
    *("backtest_range", "summary", "placebo_win_rate_pct", "verdict"),
)
"""Fields of a TrackRecord that go in likewise."""


def chart_data(book: Book, setup: StoredSetup) -> bytes | None:
    """The JSON of a setup's chart; None without stored prices."""
    fields = setup.fields
    stored = book.kept_prices(fields["symbol"])
    if stored is None:
        return None
    prices = shown(stored, drawn_from(setup))
    dates, entry, pole = prices.days, entry_of(setup.view), pole_of(setup.evidence)
    upper, lower = trend_lines(fields["lines"])
    data = {
        **{name: fields.get(name) for name in FACTS},
        **{name: getattr(setup.view, name) for name in OF_VIEW},
        "plans": [_plan(plan) for plan in setup.view.plans],
        "next_session": book.next_session,
        "trigger_session": trigger_session(book, setup),
        "bars": _bars(prices),
        "lines": {"upper": _line(dates, upper), "lower": _line(dates, lower)},
        "pole": pole and [_point(dates, end) for end in pole],
        "entry": entry and _point(dates, entry),
        "records": {scope: _record(record) for scope, record in fields["track_record"].items()},
        "source": book.source,
        "disclaimer": book.disclaimer,
    }
    return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)


def _plan(plan: PlanView) -> dict[str, Any]:
    return {
        **levels(plan),
        "start_price": plan.start,
        "stop_pct": plan.stop_pct,
        "target_pct": plan.target_pct,
        "reward_to_risk": plan.reward_to_risk,
    }


def _bars(prices: Prices) -> dict[str, Any]:
    """Columns, oldest bar first; `day` is days since 1970-01-01, an unknown volume is null."""
    # The stored arrays are little-endian; the encoder takes those of this machine.
    day, volume = prices.date.astype(np.int32), prices.volume
    known = None if volume is None else volume.astype(np.float32)
    columns = {name: getattr(prices, name).astype(np.float32) for name in PRICES}
    return {"day": day, **columns, "volume": known}


def _line(dates: Sequence[dt.date], line: TrendLine) -> dict[str, Any]:
    start, end, *touches = (_point(dates, at) for at in (line.start, line.end, *line.touches))
    return {"start": start, "end": end, "touches": touches}


def _point(dates: Sequence[dt.date], point: Point) -> dict[str, Any]:
    day, price = point
    return {"index": round(session_index(dates, day), 4), "date": day, "price": price}


def _record(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {name: record.get(name) for name in OF_RECORD}
