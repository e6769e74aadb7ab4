"""The endpoint beside the SDK's own stateless server: both give the same responses."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import orjson
import pytest
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from mcp_server.calls.callers import Caller
from mcp_server.http.application import Application
from mcp_server.http.requests import MAX_BODY, Origins
from mcp_server.mcp.endpoint import McpEndpoint
from mcp_server.mcp.revisions import ASSUMED, fitting
from mcp_server.mcp.server import build_server
from mcp_server.mcp.tool_calls import ToolCall, call_tool
from mcp_server.mcp.toolsets import FULL
from mcp_server.operations.services import Services
from screener.settings.settings import Settings
from store.accounts.keys import Keys
from tests.agent import INITIALIZE, envelope
from tests.contract.cases import ANSWERED, REFUSED
from tests.service import new_key, services_over

Scope = MutableMapping[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]
Headers = dict[str, str] | list[tuple[str, str]]

JSON_BODY = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

TOOL_CALLS: list[tuple[str, dict[str, Any]]] = [
    *((case.tool, dict(case.arguments)) for case in (*ANSWERED, *REFUSED)),
    ("get_ticker_patterns", {"symbol": 7}),
    ("get_ticker_patterns", {}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": "3", "outcome": "RESOLVED"}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": True}),
    ("get_pattern_history", {"symbol": "AAPL", "limit": [1]}),
    ("get_pattern_chart", {"symbol": "IBM", "setup_id": "none"}),
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

    async def ask(self, body: Any, headers: Headers | None = None) -> httpx.Response:
        """What our endpoint answers."""
        return await self.ours.post("/mcp", content=body, headers=headers or JSON_BODY)

    async def both(self, body: bytes, headers: Headers) -> int:
        """The status with which both answer, and answer the same, but for what began after the
        revision: ours also from memory.
        """
        stock = await self.stock.post("/mcp", content=body, headers=headers)
        status, wanted = comparable(stock)
        if "result" in wanted:
            revision = dict(headers).get("mcp-protocol-version", ASSUMED)
            revision = wanted["result"].get("protocolVersion", revision)
            method = orjson.loads(body)["method"]
            wanted["result"] = fitting(method, revision, wanted["result"])
        for _ in range(2):
            ours = await self.ask(body, headers)
            assert comparable(ours) == (status, wanted)
        return ours.status_code


@dataclass(frozen=True)
class SignedIn:
    """Somebody who is known without a credential."""

    caller: Caller

    async def identify(self, _scope: Scope) -> Caller:
        return self.caller

    async def refuse(self, *_: object) -> None:
        raise AssertionError("Nobody is refused.")


async def no_page(*_: object) -> None:
    raise AssertionError("No page is asked for.")


@asynccontextmanager
async def paired(data_dir: Path) -> AsyncIterator[Pair]:
    """Both servers over one data folder, for one caller."""
    key = new_key(Settings(data_dir=data_dir))
    async with AsyncExitStack() as stack:
        opened = services_over(data_dir, key_per_minute=1_000)  # so that none is refused
        services, database = await stack.enter_async_context(opened)
        principal = await Keys(database).principal(key)
        await services.active_night.poll()
        server = build_server(services, FULL)
        caller = Caller("192.0.2.1", principal)
        origins = Origins(["testserver"], ["http://testserver"])
        ours = McpEndpoint(server, FULL, services, origins, SignedIn(caller))
        agents = {"/mcp": ours.respond}
        edge = Application(no_page, None, agents, at_once=64, is_https=False, docs_url="https://x")
        stock = StreamableHTTPSessionManager(
            _with_tools(services), json_response=True, stateless=True
        )

        async def with_caller(scope: Scope, receive: Any, send: Any) -> None:
            await stock.handle_request({**scope, "caller": caller}, receive, send)

        await stack.enter_async_context(ours.running())
        await stack.enter_async_context(stock.run())
        yield Pair(
            await stack.enter_async_context(client(edge)),
            await stack.enter_async_context(client(with_caller)),
        )


def _with_tools(services: Services) -> Server[Any]:
    """The SDK's server, which answers calls of tools itself."""
    server = build_server(services, FULL)
    unknown = server.get_request_handler("tools/call")
    assert unknown is not None

    async def answer(context: Any, params: types.CallToolRequestParams) -> Any:
        tool = FULL.tools.get(params.name)
        if tool is None:
            return await unknown.handler(context, params)
        call = ToolCall.of(tool, FULL, context.params or {}, context.protocol_version)
        result, _ = await call_tool(call, context.request["caller"], services)
        if orjson.loads(result).get("resultType") == "input_required":
            return types.InputRequiredResult.model_validate_json(result)
        return types.CallToolResult.model_validate_json(result)

    server.add_request_handler("tools/call", types.CallToolRequestParams, answer)
    return server


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
        shown["_meta"] = envelope({})
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
async def test_every_call_is_answered_as_the_sdks_own_server_does(
    data_dir: Path, era: str, subtests: pytest.Subtests
) -> None:
    calls = [("tools/call", {"name": name, "arguments": given}) for name, given in TOOL_CALLS]
    async with paired(data_dir) as pair:
        for method, params in [*calls, *METHODS, ("initialize", INITIALIZE)]:
            with subtests.test(method=method, params=params):
                await pair.both(*request(era, method, params))


async def test_an_answer_carries_the_id_of_its_request(
    data_dir: Path, subtests: pytest.Subtests
) -> None:
    async with paired(data_dir) as pair:
        for identity in (0, 7, -1, 2**53, "", 'a"b\\c', "é"):
            with subtests.test(identity=identity):
                call = {"name": "list_tracked_tickers"}
                body = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": call}

                answer = await pair.ask(orjson.dumps(body))

                assert answer.json()["id"] == identity


async def test_routing_headers_say_once_what_the_body_says(
    data_dir: Path, subtests: pytest.Subtests
) -> None:
    body, usual = request("2026-07-28", "tools/call", {"name": "list_tracked_tickers"})
    spaced = {n: f" {value} " if n.startswith("mcp-") else value for n, value in usual.items()}
    cases: tuple[tuple[Headers, int], ...] = (
        (usual | {"mcp-method": "tools/list"}, 400),
        (usual | {"mcp-name": "demo"}, 400),
        (usual | {"mcp-protocol-version": "2099-01-01"}, 400),
        ([*usual.items(), ("mcp-name", "list_tracked_tickers")], 400),
    )
    async with paired(data_dir) as pair:
        for headers, status in cases:
            with subtests.test(headers=headers):
                assert await pair.both(body, headers) == status
        assert (await pair.ask(body, spaced)).status_code == 200


@pytest.mark.parametrize("era", ["", "2026-07-28"])
async def test_a_notification_is_acknowledged_without_an_answer(data_dir: Path, era: str) -> None:
    async with paired(data_dir) as pair:
        headers = dict(JSON_BODY) | ({"mcp-protocol-version": era} if era else {})
        body = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})

        answer = await pair.ask(body, headers)

        assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("era", ["2025-06-18", "2026-07-28"])
async def test_an_empty_array_of_php_is_an_empty_object(data_dir: Path, era: str) -> None:
    called, as_call = request(era, "tools/call", {"name": "list_tracked_tickers", "arguments": {}})
    listed, as_list = request(era, "tools/list", {})
    odd = called.replace(b'"arguments":{}', b'"arguments":[]')
    async with paired(data_dir) as pair:
        assert b'"arguments":[]' in odd
        answer = await pair.ask(odd, as_call)
        assert comparable(answer) == comparable(await pair.ask(called, as_call))
        if era == "2025-06-18":
            empty = await pair.ask(listed.replace(b'"params":{}', b'"params":[]'), as_list)
            assert empty.json()["result"]["tools"]


async def test_what_is_no_request_is_a_json_rpc_error(
    data_dir: Path, subtests: pytest.Subtests
) -> None:
    unread = (b"", b"{", b"\xff", b"[" * 20_000)
    odd = (
        b"[]",
        b"null",
        b'"text"',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"id":1,"method":"tools/call","params":{"name":"demo"}}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0"}',
        b"{}",
    )
    async with paired(data_dir) as pair:
        for body in unread + odd:
            with subtests.test(body=body[:80]):
                answer = await pair.ask(body)

                assert answer.status_code == 400
                assert answer.json()["error"]["code"] == (-32700 if body in unread else -32600)
                assert answer.json()["id"] is None


ODD: tuple[dict[str, Any], ...] = (
    {"id": True}, {"id": 1.0}, {"id": None}, {"id": {}}, {"id": [1]}, {"id": 2**63}, {"id": "b"},
    {"jsonrpc": "1.0"}, {"jsonrpc": 2}, {"method": "tools/Call"}, {"method": 5},
    {"extra": 1}, {"result": {}}, {"params": None}, {"params": []},
    {"params": {"name": "demo", "arguments": {"symbol": 7}}},
    {"params": {"name": "list_tracked_tickers", "_meta": {"progressToken": 1.5}}},
)  # fmt: skip


@pytest.mark.parametrize("era", ["2025-06-18", "2026-07-28"])
async def test_a_remembered_call_changes_no_answer_to_one_that_differs(
    data_dir: Path, era: str
) -> None:
    body, headers = request(era, "tools/call", {"name": "list_tracked_tickers", "arguments": {}})
    odd = [orjson.dumps(orjson.loads(body) | change) for change in ODD]

    async def answers(bodies: list[bytes]) -> list[tuple[int, Any]]:
        sent = [await pair.ask(each, headers) for each in bodies]
        return [comparable(each) if each.content else (each.status_code, None) for each in sent]

    async with paired(data_dir) as pair:
        before = await answers(odd)
        assert {status for status, _ in await answers([body] * 2)} == {200}

        assert await answers(odd) == before


async def test_an_empty_version_is_not_taken_for_none_once_a_call_is_remembered(
    data_dir: Path,
) -> None:
    body, headers = request("", "tools/call", {"name": "list_tracked_tickers", "arguments": {}})
    async with paired(data_dir) as pair:
        assert await pair.both(body, headers) == 200

        assert await pair.both(body, headers | {"mcp-protocol-version": ""}) == 400


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/read"])
async def test_what_a_caller_adds_to_a_request_is_not_kept(data_dir: Path, method: str) -> None:
    async def ask(pair: Pair, numbers: range) -> None:
        for number in numbers:
            body, headers = request("2025-06-18", method, {"uri": f"x:{number}" + "x" * 30_000})
            await pair.ask(body, headers)

    async with paired(data_dir) as pair:
        tracemalloc.start()
        try:
            await ask(pair, range(5))
            before, _ = tracemalloc.get_traced_memory()
            await ask(pair, range(5, 35))
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert after - before < 20 * 30_000


async def test_http_is_checked_before_any_json_rpc(
    data_dir: Path, subtests: pytest.Subtests
) -> None:
    cases = (
        ("content-type", "text/plain", 415),
        ("content-type", "application/jsonx", 415),
        ("content-type", "application/json; charset=utf-8", 200),
        ("accept", "text/html", 406),
        ("accept", "text/event-stream", 406),
        ("accept", "application/json;q=0.9, text/event-stream", 200),
        ("accept", "*/*", 200),
        ("host", "evil.example", 421),
        ("origin", "http://evil.example", 403),
        ("origin", "http://testserver", 200),
        ("origin", "null", 403),
    )
    body, usual = request("", "ping", {})
    async with paired(data_dir) as pair:
        for name, value, status in cases:
            with subtests.test(name=name, value=value):
                answer = await pair.ask(body, usual | {name: value})

                assert answer.status_code == status


async def test_a_long_request_is_refused_as_too_large(data_dir: Path) -> None:
    async with paired(data_dir) as pair:

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(64):
                yield b" " * 4096

        declared = await pair.ask(b" " * (MAX_BODY + 1))
        streamed = await pair.ask(endless())

        assert (declared.status_code, streamed.status_code) == (413, 413)


async def test_odd_envelopes_are_judged_by_the_sdk(
    data_dir: Path, subtests: pytest.Subtests
) -> None:
    metas: list[Any] = [
        *({"progressToken": 5}, {"progressToken": {"a": 1}}, {"anything": ["else", 1]}),
        *([], None, "text", 5, ["list"]),
    ]
    async with paired(data_dir) as pair:
        for meta in metas:
            with subtests.test(meta=meta):
                params = {"name": "list_tracked_tickers", "arguments": {}, "_meta": meta}
                await pair.both(*request("", "tools/call", params))
        for meta in ("text", 5, ["list"]):
            with subtests.test(
                "An envelope that is no object is no fault of the server.", meta=meta
            ):
                body, headers = request("", "initialize", {**INITIALIZE, "_meta": meta})

                answer = await pair.ask(body, headers)

                assert answer.json().get("error", {}).get("code") != -32603
