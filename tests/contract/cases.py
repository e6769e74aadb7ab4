"""One table of cases for REST and both eras of MCP: a call, and what every surface answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.contract.market import MANY
from tests.service import TRACKED, Service

ROUTES = {
    "get_ticker_patterns": "GET /tickers/{symbol}/patterns",
    "get_pattern_history": "GET /tickers/{symbol}/history",
    "get_ticker_record": "GET /tickers/{symbol}/record",
    "get_pattern_chart": "GET /tickers/{symbol}/chart.png",
    "list_tracked_tickers": "GET /tickers",
    "set_tracked_tickers": "PUT /tickers symbols",
    "add_tickers": "PATCH /tickers add",
    "remove_tickers": "PATCH /tickers remove",
    "get_family_track_record": "GET /families",
    "demo": "GET /demo/{symbol}",
    "scan_setups": "GET /scan",
    "get_universe": "GET /universe",
    "get_changes": "GET /changes",
}
"""The route that answers what a tool answers, and the name of its list where it has a body."""


@dataclass(frozen=True)
class Case:
    """One call of a tool, which is also a request of a route."""

    tool: str = "list_tracked_tickers"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    """The code with which it is refused."""

    def __str__(self) -> str:
        return f"{self.tool} {dict(self.arguments)}"

    def request(
        self, service: Service, key: str, defaults: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        """What its route answers; with the defaults of a tool where it was given no argument."""
        given = {**(defaults or {}), **self.arguments}
        method, path, *body = ROUTES[self.tool].split()
        if self.tool == "get_family_track_record" and "family" in given:
            path = "/families/{family}/stats"
        if body:
            return service.request(method, path, key=key, json={body[0]: given["symbols"]})
        params = {name: value for name, value in given.items() if f"{{{name}}}" not in path}
        return service.request(method, path.format(**given), key=key, params=params)


def _cases(tool: str, *many: Mapping[str, Any]) -> list[Case]:
    return [Case(tool, arguments) for arguments in many]


ANSWERED = (
    *_cases("get_ticker_patterns", {"symbol": "aapl"}, {"symbol": "IBM"}, {"symbol": "GOOG"}),
    *_cases(
        "get_pattern_history",
        {"symbol": "MSFT"},
        {"symbol": "MSFT", "limit": 3, "outcome": "resolved"},
        {"symbol": "MSFT", "family": "triangle", "since": "2004-01-01", "until": "2012-01-01"},
    ),
    Case(),
    Case("set_tracked_tickers", {"symbols": list(TRACKED)}),
    *_cases("get_family_track_record", {}, {"family": "triangle"}),
    *_cases("demo", {"symbol": "GOOG"}, {"symbol": "msft"}),
    *_cases("get_ticker_record", {"symbol": "IBM"}, {"symbol": "IBM", "family": "Triangle"}),
    Case("add_tickers", {"symbols": ["AAPL"]}),
    Case("remove_tickers", {"symbols": ["NONE"]}),
    *_cases("get_universe", {"rows": "full", "limit": 5}, {"rows": "full", "search": "aap"}),
    *_cases("get_changes", {}, {"change": "new", "limit": 5}),
)
"""What the service over the sample night answers; edits leave its list as it is."""

UNTRACKED = {"symbol": "M9", "setup_id": "x"}

REFUSED = (
    *(
        Case(tool, {name: UNTRACKED[name] for name in names}, "ticker_not_tracked")
        for tool, names in (
            ("get_ticker_patterns", ["symbol"]),
            ("get_pattern_history", ["symbol"]),
            ("get_ticker_record", ["symbol"]),
            ("get_pattern_chart", ["symbol", "setup_id"]),
        )
    ),
    Case("set_tracked_tickers", {"symbols": ["M4", "A-B", "é", ""]}, "invalid_symbol"),
    Case("set_tracked_tickers", {"symbols": ["M4", "NOPE", "nada"]}, "unknown_symbol"),
    Case("set_tracked_tickers", {"symbols": MANY}, "ticker_cap_exceeded"),
    Case("add_tickers", {"symbols": ["M4", "A-B", "é", ""]}, "invalid_symbol"),
    Case("add_tickers", {"symbols": ["M4", "NOPE", "nada"]}, "unknown_symbol"),
    Case("add_tickers", {"symbols": MANY}, "ticker_cap_exceeded"),
    Case("get_family_track_record", {"family": "cup"}, "unknown_family"),
    Case("get_pattern_chart", {"symbol": "M1", "setup_id": "x"}, "setup_not_found"),
    Case("get_pattern_chart", {"symbol": "M1", "setup_id": "setup2"}, "setup_not_found"),
    Case("get_pattern_chart", {"symbol": "M1", "setup_id": "setup1"}, "chart_unavailable"),
    Case("get_pattern_chart", {"symbol": "M1"}, "bad_request"),
    Case("demo", {"symbol": "M1"}, "not_a_demo_symbol"),
)
"""What the service over the market refuses somebody who tracks M1."""

_NO_DATE = ("2024", "20240131", "2024-02-30", "2024-W05-3", "1706659200")
_NO_FAMILY = ("cup", "other", "x" * 65)
_M1 = {"symbol": "M1"}
MALFORMED = tuple(
    (Case(tool, {**others, name: value}, "bad_request"), name)
    for tool, others, name, values in (
        ("get_pattern_history", _M1, "limit", ("x", "2.5")),
        ("get_pattern_history", _M1, "outcome", ("win",)),
        ("get_pattern_history", _M1, "family", _NO_FAMILY),
        ("get_pattern_history", _M1, "since", _NO_DATE),
        ("get_pattern_history", {**_M1, "since": "2012-01-02"}, "until", ("2012-01-01",)),
        ("get_pattern_history", _M1, "until", _NO_DATE),
        ("get_ticker_record", _M1, "family", _NO_FAMILY),
        ("get_universe", {}, "search", ("x" * 65,)),
        ("get_universe", {}, "limit", ("many",)),
        ("get_universe", {}, "offset", ("1.5",)),
        ("get_changes", {}, "change", ("gone",)),
        ("get_changes", {}, "since", ("monday",)),
        ("get_changes", {}, "family", ("cup",)),
        ("get_changes", {}, "direction", ("up",)),
        ("get_changes", {}, "limit", ("many",)),
        ("get_changes", {}, "offset", ("1.5",)),
        ("scan_setups", {}, "family", ("cup",)),
        ("scan_setups", {}, "direction", ("up",)),
        ("scan_setups", {}, "status", ("armed", "win")),
        ("scan_setups", {}, "max_distance_pct", ("near", "-1", "nan", "inf", "1e999")),
        ("scan_setups", {}, "limit", ("many", "1.5")),
        ("scan_setups", {}, "offset", ("x", "0.5")),
    )
    for value in values
)
"""Calls with a value that an argument does not take, and the name of that argument."""


KEYED = (
    *(("PUT", "/tickers"), ("PATCH", "/tickers"), ("GET", "/tickers"), ("GET", "/me")),
    *(("GET", "/scan"), ("GET", "/changes"), ("GET", "/tickers/AAPL/chart.png")),
    *(("POST", "/tickers/import"), ("GET", "/tickers/export")),
    *(("GET", f"/tickers/AAPL/{name}") for name in ("patterns", "history", "record")),
)

KEYLESS = (
    *("/", "/llms.txt", "/skill.md", "/openapi.json", "/families", "/families/triangle/stats"),
    *("/universe", "/demo", "/demo/AAPL"),
)
