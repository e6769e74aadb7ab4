"""Truth: the bytes of every answer of every night, known beforehand, and what else may be said."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import NamedTuple

import httpx

from tests.agent import message
from tests.service import TRACKED

NAMED = re.compile(rb'data_version\\*":\s*\\*"([^"\\]+)')
"""The night that an answer names, as JSON or within a text of JSON."""
QUOTA = re.compile(rb'"RateLimit(?:-Policy)?":"(?:\\.|[^"\\])*"')
"""The caller's own quota, which a tool tells beside its answer."""
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
TOOL_ERRORS = ("unavailable", "rate_limited")
STATES = (429, 502, 503, 504)
"""What a call may be refused with while a part is away; each with Retry-After."""
SCAN = "/api/v1/scan?status=all&limit=200"


class Question(NamedTuple):
    """A request whose answer is of a night."""

    path: str
    body: bytes = b""
    keyed: bool = True
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
    body = json.dumps(message("tools/call", name=tool, arguments=arguments))
    return Question(path, body.encode(), keyed=path == "/mcp")


PLAIN = ("/api/v1/families", "/api/v1/universe", "/api/v1/demo")
DEMOS = tuple(f"/api/v1/demo/{symbol}" for symbol in TRACKED)
OF_TICKERS = tuple(
    f"/api/v1/tickers/{symbol}/{part}"
    for symbol in TRACKED
    for part in ("patterns", "history", "record")
)
FAMILIES, DEMO = (Question(path, keyed=False) for path in (PLAIN[0], DEMOS[-1]))
RECORD = call("get_family_track_record", "/mcp/demo")
PATTERNS, FIRST_ROW = (
    Question(path) for path in ("/api/v1/tickers/MSFT/patterns", "/api/v1/scan?limit=1")
)
KEYLESS_REST = [Question(path, keyed=False) for path in (*PLAIN, *DEMOS)]
KEYLESS_TOOLS = [*(call("demo", "/mcp/demo", symbol=symbol) for symbol in TRACKED), RECORD]
KEYED_REST = [
    *(Question(path) for path in (*PLAIN, *DEMOS, *OF_TICKERS, "/api/v1/changes", SCAN)),
    FIRST_ROW,
]
KEYED_TOOLS = [
    call(tool, symbol=symbol)
    for tool in ("get_ticker_patterns", "get_pattern_history")
    for symbol in TRACKED
]
PAGES = [Question(f"/api/v1/scan?status=all&limit=2&offset={at}") for at in range(0, 10, 2)]
"""A walk over the scan: more pages than a night has."""


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
        version = served_by(keyless)
        for question in (*KEYLESS_REST, *KEYLESS_TOOLS, *KEYED_REST, *KEYED_TOOLS, *PAGES):
            answer = question.ask(keyed if question.keyed else keyless).raise_for_status()
            self.note(version, question, answer)
        for question in charts(keyed):
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

    def judge(self, question: Question, answer: httpx.Response, sent: float = 0.0) -> list[Wrong]:
        """What is wrong with an answer."""
        if answer.status_code >= 400:
            return _of_refusal(question, answer)
        if answer.status_code == 304 or said_by_tool(answer.content):
            return []
        named = {"chart"} if question.is_chart else versions(answer.content)
        if len(named) != 1:
            return [Wrong("mixed nights", f"{question.path} names {sorted(named)}")]
        (version,) = named
        known = self._right.get((version, question))
        if known is None:
            return [Wrong("wrong answers", f"{question.path} is of no known night: {version}")]
        if self._gone.get(version, sent) < sent:
            return [Wrong("wrong answers", f"{question.path} is of a night that was withdrawn")]
        tag, body = known
        if _night(answer) != body:
            words = f"{question.path}: other bytes than those of {version}, {_apart(body, answer)}"
            return [Wrong("wrong answers", words)]
        if answer.headers.get("etag", "") != tag:
            return [Wrong("mixed nights", f"{question.path}: the ETag is not that of {version}")]
        return []


def charts(client: httpx.Client) -> Iterator[Question]:
    """The charts of the night that is served."""
    for setup in client.get(SCAN).raise_for_status().json()["setups"]:
        if setup["symbol"] in TRACKED:
            chosen = f"{setup['symbol']}/chart.png?setup_id={setup['setup_id']}"
            yield Question(f"/api/v1/demo/{chosen}")
            yield Question(f"/api/v1/tickers/{chosen}")


def _of_refusal(question: Question, answer: httpx.Response) -> list[Wrong]:
    status = answer.status_code
    if status in STATES and "retry-after" in answer.headers:
        return []
    if status == 404 and question.is_chart:
        return []
    return [Wrong("wrong refusals", f"{question.path}: {ending(answer)}")]


def ending(answer: httpx.Response) -> str:
    """How a request ended, in words."""
    if answer.status_code < 400:
        return "answered"
    after = " with Retry-After" if "retry-after" in answer.headers else ""
    try:
        return f"{answer.status_code} {answer.json()['error']}{after}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} page{after}"


def outcome(answer: httpx.Response) -> str:
    """How a request ended, in words, which may be those of a tool."""
    code = said_by_tool(answer.content) if answer.status_code == 200 else None
    return f"tool error {code}" if code else ending(answer)


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


def served_by(client: httpx.Client) -> str:
    """The version of the night that a service serves now; empty if it serves none."""
    return next(iter(versions(FAMILIES.ask(client).content)), "")


def _night(answer: httpx.Response) -> bytes:
    """What an answer says, but for the quota of whoever asked."""
    return QUOTA.sub(b"", answer.content)


def _apart(right: bytes, answer: httpx.Response) -> str:
    """Where an answer first differs from the right one."""
    body = _night(answer)
    at = next((n for n, (a, b) in enumerate(zip(right, body, strict=False)) if a != b), len(right))
    return f"from byte {at} on: {body[at - 20 : at + 40]!r} for {right[at - 20 : at + 40]!r}"
