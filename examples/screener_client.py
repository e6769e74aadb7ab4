"""A polite client of the service, synchronous or asynchronous, whose failures are one line each.

It does the calls of `screener_calls.py`. It identifies itself and slows down when `RateLimit` says
that no calls remain. On a 429 it waits as long as the service asks, tries once more, and then backs
off.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import httpx
import screener_calls as calls
from screener_calls import Call
from screener_errors import RefusedError, SessionChangedError, UnreachableError, read, refusal

Json = dict[str, Any]
T = TypeVar("T")

CLIENT = "pattern-screener-examples"
PATIENCE = 90
"""Seconds of one wait; a service that asks for more is not waited for."""
RETRIES = 3
SESSIONS = 3
"""How many times work is restarted because a new night became active."""

WINDOW = re.compile(r'"[^"]*";r=(\d+);t=(\d+)')
"""An item of the `RateLimit` field: how many calls remain, and the seconds until more do."""


Step = httpx.Request | float
Steps = Generator[Step, httpx.Response | None, T]
"""The steps of a call: what to send, which is answered by its response, or seconds in which nothing
is sent. Both clients take them, so that they are polite in the same way; the last value is the
answer.
"""


class Conversation:
    """What is said between a client and one service, for one key; it does no I/O of its own."""

    _nothing_left_for = 0
    _one_session = False
    _night: str | None = None

    def __init__(self, http: httpx.Client | httpx.AsyncClient, patience: float) -> None:
        self._build, self._patience = http.build_request, patience

    def steps(self, call: Call[T]) -> Steps[T]:
        """The steps of a call; its last value is the answer."""
        yield from self._wait(self._nothing_left_for, "no calls are left until then")
        response = yield from self._send(call)
        for retry in range(RETRIES):
            # The first wait is what the service asks for; each later one is twice as long.
            asked = _asked_wait(response) * 2**retry
            if not (yield from self._wait(asked, "the service asks for it")):
                break
            response = yield from self._send(call)
        if not response.is_success:
            raise RefusedError(refusal(response.content, _where(response)))
        return call.read(response.content) if call.read else cast("T", self._json(response))

    @contextmanager
    def one_night(self) -> Iterator[None]:
        """Ends where an answer is of another night than the one before: setups, their ids and their
        order are new every night, so a second page of another night is not that of the first.
        """
        self._one_session, self._night = True, None
        try:
            yield
        except SessionChangedError as change:
            _notice(f"{change} Starting over.")
        finally:
            self._one_session = False

    def _json(self, response: httpx.Response) -> Json:
        fields = {"as_of_session", "data_version", "disclaimer"}
        body = read(response.content, fields, _where(response))
        night = f"{body['as_of_session']} ({body['data_version']})"
        if self._one_session and self._night not in (None, night):
            raise SessionChangedError(f"The night changed from {self._night} to {night}.")
        self._night = night
        return body

    def _send(self, call: Call[Any]) -> Steps[httpx.Response]:
        sent = {name: str(value) for name, value in call.query.items() if value is not None}
        response = yield self._build(call.method, call.path, params=sent, json=call.body)
        if response is None:
            raise TypeError("a request is answered by a response")
        windows = WINDOW.findall(response.headers.get("RateLimit", ""))
        spent = [int(reset) for remaining, reset in windows if remaining == "0"]
        self._nothing_left_for = max(spent, default=0)
        return response

    def _wait(self, seconds: float, reason: str) -> Steps[bool]:
        """Wait, unless that takes longer than the patience allows; return whether it waited."""
        if not 0 < seconds <= self._patience:
            return False
        _notice(f"Waiting {seconds:g} s: {reason}.")
        yield seconds
        return True


@dataclass
class Screener:
    """The REST API of one service, for one key."""

    http: httpx.Client
    patience: float = PATIENCE
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self._said = Conversation(self.http, self.patience)

    def ask(self, call: Call[T]) -> T:
        """The answer of a call of `screener_calls`.

        Raises:
            RefusedError: the service refused.
            UnreachableError: no pattern screener answers there.
        """
        steps, said = self._said.steps(call), None
        with _reaching(self.http):
            while True:
                try:
                    step = steps.send(said)
                except StopIteration as end:
                    return cast("T", end.value)
                if isinstance(step, httpx.Request):
                    said = self.http.send(step)
                else:
                    said = None
                    self.sleep(step)

    def get(self, path: str, **query: object) -> Json:
        """The JSON of a GET; query values that are None are left out."""
        return self.ask(calls.get(path, **query))

    def in_one_session(self, work: Callable[[], T]) -> T:
        """Do work whose answers must all be of one night; restart it when the night changes."""
        for _ in range(SESSIONS):
            with self._said.one_night():
                return work()
        raise SessionChangedError("The night changed again and again; try later.")


@dataclass
class AsyncScreener:
    """The same for asynchronous programs, which may ask many things side by side."""

    http: httpx.AsyncClient
    patience: float = PATIENCE
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        self._said = Conversation(self.http, self.patience)

    async def ask(self, call: Call[T]) -> T:
        """As `Screener.ask`."""
        steps, said = self._said.steps(call), None
        with _reaching(self.http):
            while True:
                try:
                    step = steps.send(said)
                except StopIteration as end:
                    return cast("T", end.value)
                if isinstance(step, httpx.Request):
                    said = await self.http.send(step)
                else:
                    said = None
                    await self.sleep(step)

    async def in_one_session(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `Screener.in_one_session`."""
        for _ in range(SESSIONS):
            with self._said.one_night():
                return await work()
        raise SessionChangedError("The night changed again and again; try later.")


@contextmanager
def connected(url: str, key: str, patience: float = PATIENCE) -> Iterator[Screener]:
    """A client of the service at an address, closed when the block ends."""
    with httpx.Client(**_options(url, key)) as http:
        yield Screener(http, patience)


@asynccontextmanager
async def connected_async(
    url: str, key: str, patience: float = PATIENCE
) -> AsyncIterator[AsyncScreener]:
    """The asynchronous client of the service at an address, closed when the block ends."""
    async with httpx.AsyncClient(**_options(url, key)) as http:
        yield AsyncScreener(http, patience)


def _options(url: str, key: str) -> Json:
    signed = {"Authorization": f"Bearer {key}"} if key else {}
    headers = {"X-Service-Client": CLIENT, **signed}
    return {"base_url": f"{url.rstrip('/')}/api/v1", "headers": headers, "timeout": 30}


@contextmanager
def _reaching(http: httpx.Client | httpx.AsyncClient) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise UnreachableError(f"No answer from {http.base_url}: {error}.") from error


def _where(response: httpx.Response) -> str:
    return f"{response.url.copy_with(query=None)} ({response.status_code})"


def _asked_wait(response: httpx.Response) -> int:
    """The seconds that a 429 or 503 asks to wait; 0 for any other answer."""
    body = {} if response.is_success else refusal(response.content, _where(response))
    return int(body.get("details", {}).get("retry_after_seconds", 0))


def _notice(line: str) -> None:
    print(line, file=sys.stderr)
