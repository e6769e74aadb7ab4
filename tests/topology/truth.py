"""Truth: the bytes of every answer of every night, known beforehand, and what else may be said."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import NamedTuple

import httpx

from tests.faults.truth import paths
from tests.faults.writers import ending
from tests.service import TRACKED

NAMED = re.compile(rb'data_version\\*":\s*\\*"([^"\\]+)')
"""The night that an answer names, as JSON or within a text of JSON."""
QUOTA = re.compile(rb'"RateLimit(?:-Policy)?":"(?:\\.|[^"\\])*"')
"""The caller's own quota, which a tool tells beside its answer."""
KEYLESS = ("/api/v1/families", "/api/v1/universe", "/api/v1/demo")
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
TOOL_ERRORS = ("unavailable", "rate_limited")
STATES = (429, 502, 503, 504)
"""What a call may be refused with while a part is away; each with Retry-After."""


class Question(NamedTuple):
    """A request whose answer is of a night."""

    path: str
    body: bytes = b""
    keyed: bool = False
    """Whether the caller has a key; some answers tell who has none how to get one."""

    @property
    def is_chart(self) -> bool:
        """Whether the answer is a picture, which names no night."""
        return "chart.png" in self.path

    def ask(self, client: httpx.Client) -> httpx.Response:
        """Send it."""
        if self.body:
            return client.post(self.path, content=self.body, headers=ACCEPT)
        return client.get(self.path)


def call(tool: str, path: str = "/mcp", **arguments: str) -> Question:
    """A call of a tool."""
    given = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}
    return Question(path, json.dumps(message).encode(), keyed=path == "/mcp")


def keyless_rest() -> list[Question]:
    """What anybody asks."""
    demos = [f"/api/v1/demo/{symbol}" for symbol in TRACKED]
    return [Question(path) for path in (*KEYLESS, *demos)]


def keyless_tools() -> list[Question]:
    """What anybody's agent asks."""
    demos = [call("demo", "/mcp/demo", symbol=symbol) for symbol in TRACKED]
    return [*demos, call("get_family_track_record", "/mcp/demo")]


def keyed_rest() -> list[Question]:
    """What programs ask."""
    return [Question(path, keyed=True) for path in paths()]


def keyed_tools() -> list[Question]:
    """What agents ask."""
    tools = ("get_ticker_patterns", "get_pattern_history")
    return [call(tool, symbol=symbol) for tool in tools for symbol in TRACKED]


def pages(rows: int) -> list[Question]:
    """A walk over the scan, a row or two a page."""
    path = "/api/v1/scan?status=all&limit=2&offset="
    return [Question(f"{path}{at}", keyed=True) for at in range(0, rows, 2)]


MOST_ROWS = 8
"""More than a night has."""


def questions() -> Iterator[Question]:
    """All of them, but for charts."""
    yield from (*keyless_rest(), *keyless_tools(), *keyed_rest(), *keyed_tools())
    yield from pages(MOST_ROWS)


class Wrong(NamedTuple):
    """A broken promise: which one, and how."""

    promise: str
    how: str


class Truth:
    """The right answers, by night and question."""

    def __init__(self) -> None:
        self._right: dict[tuple[str, Question], tuple[str, bytes]] = {}
        self._gone: dict[str, float] = {}
        self.charts: list[Question] = []
        """The charts of all nights."""
        self._lock = threading.Lock()

    def learn(self, keyless: httpx.Client, keyed: httpx.Client) -> str:
        """Note every answer of the night that a service serves; returns its version."""
        version = next(iter(versions(keyless.get(KEYLESS[0]).content)))
        for question in questions():
            answer = question.ask(keyed if question.keyed else keyless).raise_for_status()
            self.note(version, question, answer)
        for question in _charts(keyed):
            self.note("chart", question, question.ask(keyed).raise_for_status())
            self.charts.append(question)
        return version

    def note(self, version: str, question: Question, answer: httpx.Response) -> None:
        """Take an answer for the right one."""
        self._right[version, question] = answer.headers.get("etag", ""), _night(answer)

    def is_gone(self, version: str, since: float) -> None:
        """From some moment on, no server may serve this night."""
        with self._lock:
            self._gone[version] = since

    def judge(self, question: Question, answer: httpx.Response, sent: float) -> list[Wrong]:
        """What is wrong with an answer."""
        if answer.status_code >= 400:
            return refusal(question, answer)
        if answer.status_code == 304 or said_by_tool(answer.content):
            return []
        named = {"chart"} if question.is_chart else versions(answer.content)
        if len(named) != 1:
            return [Wrong("mixed nights", f"{question.path} names {sorted(named)}")]
        (version,) = named
        found = self._right.get((version, question))
        if found is None:
            return [Wrong("wrong answers", f"{question.path} is of no known night: {version}")]
        if self._gone.get(version, sent) < sent:
            return [Wrong("wrong answers", f"{question.path} is of a night that was withdrawn")]
        tag, body = found
        if _night(answer) != body:
            words = f"{question.path}: other bytes than those of {version}, {_apart(body, answer)}"
            return [Wrong("wrong answers", words)]
        if answer.headers.get("etag", "") != tag:
            return [Wrong("mixed nights", f"{question.path}: the ETag is not that of {version}")]
        return []


def refusal(question: Question, answer: httpx.Response) -> list[Wrong]:
    """What is wrong with a refusal."""
    status = answer.status_code
    if status in STATES and "retry-after" in answer.headers:
        return []
    if status == 404 and question.is_chart:
        return []
    return [Wrong("wrong refusals", f"{question.path}: {ending(answer)}")]


def said_by_tool(body: bytes) -> str | None:
    """The code with which a tool refused, of those that it may refuse with at any time."""
    if b'"isError":true' not in body:
        return None
    said = re.search(rb'"text":"(\w+)', body)
    code = said[1].decode() if said else "unknown"
    return code if code in TOOL_ERRORS else None


def versions(body: bytes) -> set[str]:
    """The nights that an answer names, also within its texts."""
    return {name.decode() for name in NAMED.findall(body)}


def outcome(answer: httpx.Response) -> str:
    """How a request ended, in words."""
    code = said_by_tool(answer.content) if answer.status_code == 200 else None
    return f"tool error {code}" if code else ending(answer)


def _charts(client: httpx.Client) -> Iterator[Question]:
    answer = client.get("/api/v1/scan?status=all&limit=200").raise_for_status()
    for setup in answer.json()["setups"]:
        if setup["symbol"] in TRACKED:
            chosen = f"{setup['symbol']}/chart.png?setup_id={setup['setup_id']}"
            yield Question(f"/api/v1/demo/{chosen}", keyed=True)
            yield Question(f"/api/v1/tickers/{chosen}", keyed=True)


def _night(answer: httpx.Response) -> bytes:
    """What an answer says, but for the quota of whoever asked."""
    return QUOTA.sub(b"", answer.content)


def _apart(right: bytes, answer: httpx.Response) -> str:
    """Where an answer first differs from the right one."""
    found = _night(answer)
    at = next((n for n, (a, b) in enumerate(zip(right, found, strict=False)) if a != b), len(right))
    return f"from byte {at} on: {found[at - 20 : at + 40]!r} for {right[at - 20 : at + 40]!r}"
