"""Cases: the requests that are measured, in the form that each contender expects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

MARK = "135792468"
"""Digits of a threshold or a key, replaced in every request, so that no cache has the answer."""
GUESS = f"ps_live_{MARK:0>48}"
"""A key that nobody has."""

PREDICATES: tuple[dict[str, Any], ...] = (
    {"kind": "dist_to_entry", "op": "<=", "value": 26.5},
    {"kind": "dollar_volume", "op": ">", "value": 1000.5},
    {"kind": "rsi", "op": "<", "value": 92.5},
    {"kind": "sma_distance", "op": ">", "value": -40.5, "period": 200},
    {"kind": "performance", "op": ">", "value": -40.5, "period": 63},
)
"""The five predicates of the scan, in canonical order. They are loose enough to fill a page for any
size of the book, because rows are most of the cost of a page."""

OURS, TWO, SMALL, POSTGRES, REDIS = "ours", "two workers", "small book", "PostgreSQL", "Redis"
"""The services: others have two workers, a book of few symbols, accounts on PostgreSQL, and counts
in Redis."""
BARE = ("bare",)
CALLED = ("route", TWO, "stock", "fastmcp")
OWN_BYTES = ("bare", "route")
"""The floors, which send what the service answered, under the name of the case."""


@dataclass(frozen=True, eq=False)
class Case:
    """One path of the service, as a request."""

    name: str
    path: str
    references: tuple[str, ...]
    """Whom the service is compared with; the first is the floor."""
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    status: int = 200
    credential: Literal["key", "unknown", "new", "none"] = "key"
    """Whether it is sent with valid keys, with one that nobody has, each time with another one that
    nobody has, or without."""

    def path_for(self, contender: str) -> str:
        """Its path at a contender."""
        if contender in OWN_BYTES:
            query = self.path.partition("?")[2]
            return f"/{self.name}?{query}" if query else f"/{self.name}"
        return self.path

    def fields(self, key: str) -> dict[str, str]:
        """The header fields of a request by the holder of a key."""
        token = {"key": key, "unknown": f"{key[:-1]}_", "new": GUESS, "none": ""}[self.credential]
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        return {**shown, **(self.headers or {})}

    def raw(self, contender: str, key: str, port: int) -> bytes:
        """The bytes of the whole request."""
        fields = {"Host": f"127.0.0.1:{port}", **self.fields(key)}
        if self.body:
            fields["Content-Length"] = str(len(self.body))
        lines = [f"{self.method} {self.path_for(contender)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


def make_cases(symbol: str, setup_id: str, tag: str) -> list[Case]:
    """Every case about one tracked symbol, one of its setups, and the ETag of its patterns."""
    ticker = f"/api/v1/tickers/{symbol}"
    patterns = f"{ticker}/patterns"
    call = {"name": "get_ticker_patterns", "arguments": {"symbol": symbol}}
    return [
        Case("rest-patterns", patterns, ("bare", TWO, SMALL, POSTGRES, REDIS, "fastapi")),
        Case("rest-history", f"{ticker}/history?limit=50", BARE),
        Case("scan-uncached", _scan(MARK), ("bare", SMALL)),
        Case("scan-cached", _scan("5"), BARE),
        Case("chart-cached", f"{ticker}/chart.png?setup_id={setup_id}", BARE),
        Case("families", "/api/v1/families", BARE),
        Case("revalidation", patterns, BARE, headers={"If-None-Match": tag}, status=304),
        Case("bad-key", patterns, BARE, status=401, credential="unknown"),
        Case("guessed-key", patterns, ("bare", POSTGRES), status=401, credential="new"),
        _message("mcp-2025", (*CALLED, POSTGRES), "2025-06-18", "tools/call", call),
        _message("mcp-2026", CALLED, "2026-07-28", "tools/call", call),
        _message("mcp-list-2025", ("route",), "2025-06-18", "tools/list", {}),
        _message("mcp-list-2026", ("route",), "2026-07-28", "tools/list", {}),
        _page("page-home", "/"),
        _page("page-family", "/families/triangle"),
        _page("page-symbol", f"/symbols/{symbol}"),
    ]


def _scan(digits: str) -> str:
    predicates = json.dumps(PREDICATES, separators=(",", ":")).replace("1000.5", f"1000.{digits}")
    return f"/api/v1/scan?status=all&limit=50&filters={quote(predicates)}"


def _page(name: str, path: str) -> Case:
    return Case(name, path, BARE, headers={"Accept": "text/html"}, credential="none")


def _message(
    name: str, references: tuple[str, ...], version: str, method: str, params: Mapping[str, Any]
) -> Case:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
    }
    if version >= "2026":
        named = {"Mcp-Name": params["name"]} if "name" in params else {}
        headers |= {"Mcp-Method": method, **named}
        params = {**params, "_meta": _meta(version)}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = json.dumps(message, separators=(",", ":")).encode()
    return Case(name, "/mcp", references, method="POST", headers=headers, body=body)


def _meta(version: str) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol"
    return {
        f"{prefix}/protocolVersion": version,
        f"{prefix}/clientInfo": {"name": "benchmark", "version": "1"},
        f"{prefix}/clientCapabilities": {},
    }


def payload(body: bytes) -> Any:  # noqa: ANN401 - JSON values
    """The part of an answer that must be equal everywhere: the JSON, or a tool result's content."""
    if not body.startswith(b"{"):
        return body
    answer = json.loads(body)
    answer.pop("docs_url", None)  # a refusal names the address of its service
    if "content" not in (result := answer.get("result", {})):
        return answer
    texts = [json.loads(block["text"]) for block in result["content"]]
    return {"text": texts, "structured": result["structuredContent"]}
