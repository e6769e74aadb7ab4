"""The endpoint beside the SDK's own stateless server: both give the same responses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from mcp_server.http.requests import MAX_BODY, Origins
from mcp_server.operations.callers import Caller
from mcp_server.surface.endpoint import McpEndpoint
from mcp_server.surface.server import build_server
from mcp_server.surface.toolsets import FULL
from screener.app import services_of
from screener.settings import Settings
from store.database import Database
from store.keys import Keys, Principal
from tests.service import new_key

Scope = MutableMapping[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]

CAPABILITIES: dict[str, Any] = {}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "probe", "version": "1"},
}
JSON_BODY = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

TOOL_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_ticker_patterns", {"symbol": "AAPL"}),
    ("get_ticker_patterns", {"symbol": " ibm "}),
    ("get_ticker_patterns", {"symbol": 7}),
    ("get_ticker_patterns", {"symbol": "NVDA"}),
    ("get_ticker_patterns", {}),
    ("get_pattern_history", {"symbol": "AAPL"}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": 3, "outcome": "resolved"}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": "3", "outcome": "RESOLVED"}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": True}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": [1]}),
    ("get_pattern_chart", {"symbol": "IBM", "setup_id": "none"}),
    ("list_tracked_tickers", {}),
    ("set_tracked_tickers", {"symbols": ["AAPL", "GOOG", "IBM", "MSFT"]}),
    ("set_tracked_tickers", {"symbols": ["no such"]}),
    ("get_family_track_record", {}),
    ("get_family_track_record", {"family": "triangle"}),
    ("get_family_track_record", {"family": "saucer"}),
    ("demo", {"symbol": "IBM"}),
    ("demo", {"symbol": "ZZZ"}),
    ("no_such_tool", {}),
]
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("ping", {}),
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("server/discover", {}),
    ("no/such/method", {}),
    ("tools/call", {}),
    ("tools/call", {"name": "demo", "arguments": ["IBM"]}),
    ("tools/call", {"name": 5, "arguments": {}}),
    ("tools/call", {"name": "demo", "arguments": {"symbol": "IBM"}, "extra": 1}),
]


@dataclass(frozen=True)
class Pair:
    """The endpoint and the SDK's own server, over the same services."""

    ours: httpx.AsyncClient
    stock: httpx.AsyncClient


def with_caller(app: App, caller: Caller) -> App:
    """An app that gets a given caller, as if from the bearer middleware."""

    async def wrapped(scope: Scope, receive: Any, send: Any) -> None:
        await app({**scope, "caller": caller}, receive, send)

    return wrapped


@asynccontextmanager
async def paired(data_dir: Path) -> AsyncIterator[Pair]:
    """Both servers over one data folder, for one caller."""
    settings = Settings(data_dir=data_dir)
    principal = await principal_of(settings, new_key(settings))
    async with AsyncExitStack() as stack:
        database = Database(settings.accounts_url)
        stack.push_async_callback(database.close)
        services = services_of(settings, database, None)
        await services.active_night.poll()
        stack.callback(services.active_night.close)
        server = build_server(services, FULL)
        ours = McpEndpoint(server, FULL, services, Origins(["testserver"], ["http://testserver"]))
        stock = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        await stack.enter_async_context(ours.running())
        await stack.enter_async_context(stock.run())
        caller = Caller("192.0.2.1", principal)
        yield Pair(
            await stack.enter_async_context(client(with_caller(ours, caller))),
            await stack.enter_async_context(client(with_caller(stock.handle_request, caller))),
        )


async def principal_of(settings: Settings, key: str) -> Principal:
    database = Database(settings.accounts_url)
    try:
        principal = await Keys(database).principal(key)
    finally:
        await database.close()
    assert principal is not None
    return principal


@asynccontextmanager
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as http:
        yield http


def request(era: str, method: str, params: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
    """A request as a client of an era sends it."""
    headers = dict(JSON_BODY)
    shown = dict(params)
    if era == "2026-07-28":
        shown["_meta"] = MODERN
        headers |= {"mcp-protocol-version": era, "mcp-method": method}
        if isinstance(params.get("name"), str):
            headers["mcp-name"] = params["name"]
    elif era:
        headers["mcp-protocol-version"] = era
    body = {"jsonrpc": "2.0", "id": "x-1", "method": method, "params": shown}
    return orjson.dumps(body), headers


def comparable(answer: httpx.Response) -> tuple[int, Any]:
    """The status and the JSON, without the quotas, which change with every call."""
    body = answer.json()
    body.get("result", {}).get("_meta", {}).pop("RateLimit", None)
    return answer.status_code, body


@pytest.mark.parametrize("era", ["", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_every_tool_answers_as_the_sdks_own_server_does(data_dir: Path, era: str) -> None:
    async with paired(data_dir) as pair:
        for name, arguments in TOOL_CALLS:
            body, headers = request(era, "tools/call", {"name": name, "arguments": arguments})

            ours = await pair.ours.post("/mcp", content=body, headers=headers)
            stock = await pair.stock.post("/mcp", content=body, headers=headers)

            assert comparable(ours) == comparable(stock), (name, arguments)


@pytest.mark.parametrize("era", ["", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_every_method_answers_as_the_sdks_own_server_does(data_dir: Path, era: str) -> None:
    async with paired(data_dir) as pair:
        for method, params in [*METHODS, ("initialize", INITIALIZE)]:
            body, headers = request(era, method, params)

            ours = await pair.ours.post("/mcp", content=body, headers=headers)
            stock = await pair.stock.post("/mcp", content=body, headers=headers)

            assert comparable(ours) == comparable(stock), (method, params)


@pytest.mark.parametrize("identity", [0, 7, -1, 2**53, "", 'a"b\\c', "é"])
async def test_an_answer_carries_the_id_of_its_request(data_dir: Path, identity: Any) -> None:
    async with paired(data_dir) as pair:
        call = {"name": "list_tracked_tickers"}
        body = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": call}

        answer = await pair.ours.post("/mcp", content=orjson.dumps(body), headers=JSON_BODY)

        assert answer.json()["id"] == identity


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-name": "demo"}, -32020),
        ({"mcp-protocol-version": "2099-01-01"}, -32020),
    ],
)
async def test_routing_headers_must_say_what_the_body_says(
    data_dir: Path, change: dict[str, str], code: int
) -> None:
    async with paired(data_dir) as pair:
        call = {"name": "list_tracked_tickers", "arguments": {}}
        body, headers = request("2026-07-28", "tools/call", call)

        ours = await pair.ours.post("/mcp", content=body, headers=headers | change)
        stock = await pair.stock.post("/mcp", content=body, headers=headers | change)

        assert comparable(ours) == comparable(stock)
        assert ours.status_code == 400


async def test_space_around_a_routing_header_is_not_part_of_it(data_dir: Path) -> None:
    async with paired(data_dir) as pair:
        call = {"name": "list_tracked_tickers", "arguments": {}}
        body, headers = request("2026-07-28", "tools/call", call)
        spaced = {
            name: f" {value} " if name.startswith("mcp-") else value
            for name, value in headers.items()
        }

        assert (await pair.ours.post("/mcp", content=body, headers=spaced)).status_code == 200


async def test_a_routing_header_sent_twice_is_refused(data_dir: Path) -> None:
    async with paired(data_dir) as pair:
        body, headers = request("2026-07-28", "tools/call", {"name": "list_tracked_tickers"})
        twice = [*headers.items(), ("mcp-name", "list_tracked_tickers")]

        ours = await pair.ours.post("/mcp", content=body, headers=twice)
        stock = await pair.stock.post("/mcp", content=body, headers=twice)

        assert comparable(ours) == comparable(stock)
        assert ours.status_code == 400


@pytest.mark.parametrize("era", ["", "2026-07-28"])
async def test_a_notification_is_acknowledged_without_an_answer(data_dir: Path, era: str) -> None:
    async with paired(data_dir) as pair:
        headers = dict(JSON_BODY) | ({"mcp-protocol-version": era} if era else {})
        body = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})

        answer = await pair.ours.post("/mcp", content=body, headers=headers)

        assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 20_000, -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b'"text"', -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"id":1,"method":"tools/call","params":{"name":"demo"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0"}', -32600),
        (b"{}", -32600),
    ],
)
async def test_what_is_no_request_is_a_json_rpc_error(
    data_dir: Path, body: bytes, code: int
) -> None:
    async with paired(data_dir) as pair:
        answer = await pair.ours.post("/mcp", content=body, headers=JSON_BODY)

        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == code
        assert answer.json()["id"] is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/jsonx"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"accept": "text/html"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "application/json;q=0.9, text/event-stream"}, 200),
        ({"accept": "*/*"}, 200),
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://testserver"}, 200),
        ({"origin": "null"}, 403),
    ],
)
async def test_http_is_checked_before_any_json_rpc(
    data_dir: Path, headers: dict[str, str], status: int
) -> None:
    async with paired(data_dir) as pair:
        body, usual = request("", "ping", {})

        answer = await pair.ours.post("/mcp", content=body, headers=usual | headers)

        assert answer.status_code == status


async def test_a_long_request_is_refused_as_too_large(data_dir: Path) -> None:
    async with paired(data_dir) as pair:

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(64):
                yield b" " * 4096

        declared = await pair.ours.post("/mcp", content=b" " * (MAX_BODY + 1), headers=JSON_BODY)
        streamed = await pair.ours.post("/mcp", content=endless(), headers=JSON_BODY)

        assert (declared.status_code, streamed.status_code) == (413, 413)


async def test_odd_envelopes_are_judged_by_the_sdk(data_dir: Path) -> None:
    async with paired(data_dir) as pair:
        metas: list[Any] = [
            {"progressToken": 5},
            {"progressToken": {"a": 1}},
            {"anything": ["else", 1]},
            [],
            None,
            "text",
        ]
        for meta in metas:
            params = {"name": "list_tracked_tickers", "arguments": {}, "_meta": meta}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

            ours = await pair.ours.post("/mcp", content=body, headers=JSON_BODY)
            stock = await pair.stock.post("/mcp", content=body, headers=JSON_BODY)

            assert comparable(ours) == comparable(stock), meta


@pytest.mark.parametrize("meta", ["text", 5, ["list"]])
async def test_an_envelope_that_is_no_object_is_no_fault_of_the_server(
    data_dir: Path, meta: Any
) -> None:
    async with paired(data_dir) as pair:
        body, headers = request("", "initialize", {**INITIALIZE, "_meta": meta})

        answer = await pair.ours.post("/mcp", content=body, headers=headers)

        assert answer.json().get("error", {}).get("code") != -32603
