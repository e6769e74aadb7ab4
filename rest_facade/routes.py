"""The routes: the operation of each method and path, and the query parameters that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One route: a method, a path and the operation that serves it."""

    method: Literal["GET", "PUT", "PATCH", "POST"]
    path: str
    operation: str
    query: tuple[str, ...] = ()
    """The query parameters it takes; others are ignored."""
    text: str = ""
    """The argument that a body is which is no JSON but text."""


SCAN_QUERY = (
    *("family", "direction", "status", "max_distance_pct", "filters", "sort", "limit", "offset"),
    *("symbols", "tracked", "min_sample"),
)
CHANGES_QUERY = ("change", "family", "direction", "limit", "offset", "symbols", "tracked", "since")
HISTORY_QUERY = ("limit", "outcome", "family", "since", "until")

ROUTES = (
    RestRoute("GET", "/me", "me"),
    RestRoute("GET", "/scan", "scan", SCAN_QUERY),
    RestRoute("GET", "/changes", "changes", CHANGES_QUERY),
    RestRoute("GET", "/tickers", "list_tracked_tickers"),
    RestRoute("PUT", "/tickers", "set_tracked_tickers"),
    RestRoute("PATCH", "/tickers", "edit_tracked_tickers"),
    RestRoute("POST", "/tickers/import", "import_tickers", text="text"),
    RestRoute("GET", "/tickers/export", "export_tickers", ("format",)),
    RestRoute("GET", "/tickers/{symbol}/patterns", "get_ticker_patterns"),
    RestRoute("GET", "/tickers/{symbol}/history", "get_pattern_history", HISTORY_QUERY),
    RestRoute("GET", "/tickers/{symbol}/record", "get_ticker_record", ("family",)),
    RestRoute("GET", "/tickers/{symbol}/chart.png", "get_pattern_chart", ("setup_id",)),
    RestRoute("GET", "/families", "get_family_track_record"),
    RestRoute("GET", "/families/{family}/stats", "get_family_track_record"),
    RestRoute("GET", "/universe", "universe", ("search", "limit", "offset")),
    RestRoute("GET", "/demo", "demo_symbols"),
    RestRoute("GET", "/demo/{symbol}", "demo"),
    RestRoute("GET", "/demo/{symbol}/chart.png", "demo_chart", ("setup_id",)),
)
