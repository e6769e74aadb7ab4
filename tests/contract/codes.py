"""The error codes: the status and the fix of each, and the shape of what is answered."""

from __future__ import annotations

from typing import Any

import httpx

from mcp_server.calls.errors import CATALOGUE

CODES = {
    "missing_api_key": (401, "Send the header", "connect again and sign in"),
    "invalid_api_key": (401, "Create a new key", "new key in the client's settings"),
    "forbidden": (403, "the same key then works", "the same connection then works"),
    "ticker_not_tracked": (403, "199 of 200 slots are free", "199 of 200 slots are free"),
    "rate_limited": (429, "retry once, then back off", "retry once, then back off"),
    "bad_request": (400, "Correct the named parameter", "Correct the named parameter"),
    "invalid_symbol": (400, "upper-case exchange symbols", "24 letters, digits and dots"),
    "unknown_symbol": (400, "/universe", "replace each unknown one"),
    "ticker_cap_exceeded": (400, "remove some first", "Ask the user which tickers to remove"),
    "unknown_family": (404, "details.allowed", "Use one of those"),
    "setup_not_found": (404, "patterns again", "Call get_ticker_patterns"),
    "chart_unavailable": (404, "from the JSON", "draw the lines from their endpoints"),
    "not_a_demo_symbol": (404, "details.demo_symbols", "Use one of those"),
}
"""The status of each code, and words of its fix over REST and for agents."""


def check_error(answer: httpx.Response, code: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert set(body) - {"details"} == {"error", "message", "fix", "docs_url"}
    assert all(isinstance(body[name], str) and body[name] for name in set(body) - {"details"})
    assert "details" not in body or (isinstance(body["details"], dict) and body["details"])
    assert body["docs_url"].startswith("http")
    assert (answer.status_code, body["error"]) == (CATALOGUE[code].status, code)
    return body
