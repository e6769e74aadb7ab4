"""The edge: what no surface sees, and how many requests are under way at once."""

from __future__ import annotations

from typing import Any

import anyio
import orjson
import pytest

from mcp_server.http.requests import Receive, Scope, Send
from mcp_server.http.responses import response
from tests.mcp_server.http.edges import DOCS, FIRST, Answer, ask, edge_of, scope_of, silent


class Slow:
    """An app that reads a body, and answers when it is told to."""

    def __init__(self) -> None:
        self.go = anyio.Event()
        self.read = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await receive()
            self.read += 1
        await self.go.wait()
        await response(200)(scope, receive, send)


HOSTS = (b"", b"a b", b"a/b", b"a@b", b"a:b", b"a:1:2", b"[::1", b"\xffa", b"a,b")
NO_HOST: tuple[dict[str, Any], ...] = (
    {"headers": [(b"host", b"a"), (b"host", b"a")]},
    {"http_version": "1.1"},
    *({"headers": [(b"host", host)]} for host in HOSTS),
)


@pytest.mark.parametrize(
    ("more", "status", "fix"),
    [
        *((more, 400, "Send one Host header.") for more in NO_HOST),
        ({"query_string": b"a" * 8193}, 414, "Send a shorter query."),
    ],
)
async def test_what_is_out_of_bounds_reaches_no_handler(
    more: dict[str, Any], status: int, fix: str
) -> None:
    page = await ask(edge_of(silent), scope_of(**more))
    call = await ask(edge_of(silent), scope_of("/api/v1/scan", **more))

    assert page.status == call.status == status
    assert page.field(b"content-type") == b"text/plain; charset=utf-8"
    body = orjson.loads(call.body)
    assert (body["error"], body["fix"], body["docs_url"]) == ("bad_request", fix, DOCS)


async def test_what_is_within_bounds_reaches_its_handler() -> None:
    whole: dict[str, Any] = {"query_string": b"a" * 8192, "http_version": "1.1"}
    for host in (b"a", b"a-b.example:8000", b"A_B", b"[::1]:1", b"10.0.0.1"):
        scope = scope_of(headers=[(b"host", host)], **whole)
        assert (await ask(edge_of(response(200)), scope)).status == 200


@pytest.mark.parametrize("is_https", [False, True])
async def test_every_response_forbids_sniffing_and_on_https_going_back(is_https: bool) -> None:
    edge = edge_of(response(200), is_https=is_https)

    for scope in (scope_of(), scope_of(query_string=b"a" * 9000)):
        answer = await ask(edge, scope)
        assert answer.field(b"x-content-type-options") == b"nosniff"
        assert bool(answer.field(b"strict-transport-security")) is is_https


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/api/v1/scan", b'"unavailable"'),
        ("/mcp", b'"unavailable"'),
        ("/oauth/token", b'{"error":"temporarily_unavailable"}'),
        ("/keys", b"busy"),
    ],
)
async def test_one_request_too_many_is_told_when_to_come_back(path: str, word: bytes) -> None:
    slow = Slow()
    edge = edge_of(slow, at_once=4)

    async with anyio.create_task_group() as group:
        for n in range(4):
            group.start_soon(ask, edge, scope_of(address=f"192.0.2.{n}"))
        await anyio.wait_all_tasks_blocked()
        refused = await ask(edge, scope_of(path, "192.0.2.9"))
        page = path == "/keys"
        if not page:  # a browser that asks first is answered, and its page may read the refusal
            asked = await ask(edge, scope_of(path, "192.0.2.9", method="OPTIONS", headers=FIRST))
            assert asked.status == 204
        slow.go.set()

    assert refused.status == 503
    assert refused.field(b"access-control-allow-origin") == (b"" if page else b"*")
    assert refused.field(b"retry-after") == b"1"
    assert refused.field(b"cache-control") == b"no-store"
    assert word in refused.body
    assert (await ask(edge, scope_of(path, "192.0.2.9"))).status == 200


@pytest.mark.parametrize(
    ("near", "far"),
    [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1"), ("nonsense", "192.0.2.1")],
)
async def test_one_network_has_a_quarter_of_the_requests(near: str, far: str) -> None:
    slow = Slow()
    edge = edge_of(slow)
    answers: dict[str, int] = {}

    async def note(address: str) -> None:
        answers[address] = (await ask(edge, scope_of(address=address))).status

    neighbour = near + "2" if ":" in near else near
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(ask, edge, scope_of(address=near))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(note, far)
        assert (await ask(edge, scope_of(address=neighbour))).status == 503
        slow.go.set()

    assert answers == {far: 200}


async def test_a_client_that_sends_its_body_slowly_takes_no_place_of_others() -> None:
    body, app = anyio.Event(), Slow()
    edge = edge_of(app, at_once=4)

    async def slowly() -> Scope:
        await body.wait()
        return {"type": "http.request"}

    async def at_once() -> Scope:
        return {"type": "http.request"}

    async def honest(n: int) -> None:
        answer = Answer()
        await edge(scope_of(address=f"192.0.2.{n}", method="POST"), at_once, answer.send)
        statuses.append(answer.status)

    statuses: list[int] = []
    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(
                edge, scope_of(address=f"198.51.100.{n}", method="POST"), slowly, Answer().send
            )
        await anyio.wait_all_tasks_blocked()
        for n in range(5):
            group.start_soon(honest, n)
        await anyio.wait_all_tasks_blocked()
        assert (app.read, statuses) == (4, [503])
        app.go.set()
        body.set()

    assert statuses == [503, 200, 200, 200, 200]


async def test_a_page_that_leads_back_to_another_takes_its_whole_address() -> None:
    edge = edge_of(response(200))

    assert (await ask(edge, scope_of("/sign-in", query_string=b"a" * 3 * 8192))).status == 200
    assert (await ask(edge, scope_of("/sign-in", query_string=b"a" * 3 * 8193))).status == 414
