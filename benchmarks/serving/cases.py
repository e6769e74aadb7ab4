"""Cases: the requests that are measured, in the form that each contender expects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

MARK = "135792468"
"""Digits of a threshold. They are replaced in every request, so that no cache has the answer."""

PREDICATES: tuple[dict[str, Any], ...] = (
    {"kind": "dist_to_entry", "op": "<=", "value": 26.5},
    {"kind": "dollar_volume", "op": ">", "value": 1000.5},
    {"kind": "rsi", "op": "<", "value": 92.5},
    {"kind": "sma_distance", "op": ">", "value": -40.5, "period": 200},
    {"kind": "performance", "op": ">", "value": -40.5, "period": 63},
)
"""The five predicates of the scan, in canonical order. They are loose enough to fill a page for any
size of the book, because rows are most of the cost of a page."""

REST = ("bare", "fastapi")
MCP = ("route", "stock", "fastmcp")


def column(predicate: Mapping[str, Any]) -> str:
    """The evidence column that a predicate tests."""
    period = predicate.get("period")
    return str(predicate["kind"]) if period is None else f"{predicate['kind']}_{period}"


@dataclass(frozen=True)
class Case:
    """One path of the service, as a request."""

    name: str
    path: str
    references: tuple[str, ...]
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    status: int = 200
    keyed: bool = True
    """Whether it is sent with valid keys, or with an unknown one."""

    def path_for(self, contender: str) -> str:
        """Its path at a contender; `bare` and `route` look up answers by the name of the case."""
        if contender in ("bare", "route"):
            query = self.path.partition("?")[2]
            return f"/{self.name}?{query}" if query else f"/{self.name}"
        return self.path

    def fields(self, key: str) -> dict[str, str]:
        """The header fields of a request, with the key or with an unknown one."""
        token = key if self.keyed else f"{key[:-1]}_"
        return {"Authorization": f"Bearer {token}", **(self.headers or {})}

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
    return [
        Case("rest-patterns", patterns, REST),
        Case("rest-history", f"{ticker}/history?limit=50", REST),
        Case("scan-uncached", _scan(MARK), REST),
        Case("scan-cached", _scan("5"), REST),
        Case("chart-cached", f"{ticker}/chart.png?setup_id={setup_id}", ("bare",)),
        Case("families", "/api/v1/families", REST),
        Case("revalidation", patterns, ("bare",), headers={"If-None-Match": tag}, status=304),
        Case("bad-key", patterns, ("bare",), status=401, keyed=False),
        _call("mcp-2025", symbol, "2025-06-18", {}, {}),
        _call(
            "mcp-2026",
            symbol,
            "2026-07-28",
            {"Mcp-Method": "tools/call", "Mcp-Name": "get_ticker_patterns"},
            _meta("2026-07-28"),
        ),
    ]


def _scan(digits: str) -> str:
    predicates = json.dumps(PREDICATES, separators=(",", ":")).replace("1000.5", f"1000.{digits}")
    return f"/api/v1/scan?status=all&limit=50&filters={quote(predicates)}"


def _call(
    name: str, symbol: str, version: str, routing: Mapping[str, str], meta: Mapping[str, Any]
) -> Case:
    params = {"name": "get_ticker_patterns", "arguments": {"symbol": symbol}, **meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        **routing,
    }
    body = json.dumps(message, separators=(",", ":")).encode()
    return Case(name, "/mcp", MCP, method="POST", headers=headers, body=body)


def _meta(version: str) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol"
    fields = {
        f"{prefix}/protocolVersion": version,
        f"{prefix}/clientInfo": {"name": "benchmark", "version": "1"},
        f"{prefix}/clientCapabilities": {},
    }
    return {"_meta": fields}


def payload(case: Case, body: bytes) -> Any:  # noqa: ANN401 - JSON values
    """The part of an answer that must be equal everywhere: the JSON, or a tool result's content."""
    if case.name.startswith("mcp"):
        result = json.loads(body)["result"]
        texts = [json.loads(block["text"]) for block in result["content"]]
        return {"text": texts, "structured": result["structuredContent"]}
    if body.startswith(b"{"):
        return json.loads(body)
    return body


def chosen(cases: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """The cases with the given names, or all if none are given.

    Raises:
        ValueError: a name is unknown.
    """
    unknown = set(only) - {case.name for case in cases}
    if unknown:
        names = ", ".join(case.name for case in cases)
        raise ValueError(f"There is no path {', '.join(sorted(unknown))}; there are {names}.")
    return [case for case in cases if not only or case.name in only]
