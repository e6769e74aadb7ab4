"""The code that the examples share: a polite client, failures as one line, and setups in words.

The client does the calls of `screener_calls.py`, synchronously or asynchronously. It identifies
itself and slows down when `RateLimit` says that no calls remain. On a 429 it waits as long as the
service asks, tries once more, and then backs off. The module is long because a program that copies
it should need no other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
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

Json = dict[str, Any]
T = TypeVar("T")

CLIENT = "pattern-screener-examples"
DEFAULT_URL = "http://127.0.0.1:8000"
PATIENCE = 90
"""Seconds of one wait; a service that asks for more is not waited for."""
RETRIES = 3
SESSIONS = 3
"""How many times work is restarted because a new night became active."""
RESTLESS = "The night changed again and again; try later."

WINDOW = re.compile(r'"[^"]*";r=(\d+);t=(\d+)')
"""An item of the `RateLimit` field: how many calls remain, and the seconds until more do."""


class ScreenerError(Exception):
    """A failure that a person can correct; its message is one line."""

    exit_code = 1


class RefusedError(ScreenerError):
    """The service refused: branch on `code`, and show the message to a person."""

    def __init__(self, body: Json) -> None:
        self.code: str = body["error"]
        details = f" {body['details']}" if body.get("details") else ""
        super().__init__(f"{self.code}: {body['message']} {body['fix']}{details}")


class UnreachableError(ScreenerError):
    """No pattern screener answers at that address."""

    exit_code = 2


class SessionChangedError(ScreenerError):
    """A new night became active between two answers, so they do not belong together."""


@dataclass(frozen=True)
class Wait:
    """A step of a conversation: so many seconds in which nothing is sent."""

    seconds: float


Step = httpx.Request | Wait
Steps = Generator[Step, httpx.Response | None, T]
"""The steps of a call: what to send, which is answered by its response, and how long to wait. Both
clients take them, so that they are polite in the same way; the last value is the answer.
"""


class Conversation:
    """What is said between a client and one service, for one key; it does no I/O of its own."""

    def __init__(self, http: httpx.Client | httpx.AsyncClient, patience: float) -> None:
        self._build = http.build_request
        self._patience = patience
        self._nothing_left_for = 0
        self._one_session = False
        self._night: str | None = None

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
            raise RefusedError(_refusal(response))
        return call.read(response.content) if call.read else cast("T", self._json(response))

    @contextmanager
    def one_night(self) -> Iterator[None]:
        """While it lasts, an answer of another night than the one before is an error.

        Raises:
            SessionChangedError: a new night became active meanwhile.
        """
        self._one_session, self._night = True, None
        try:
            yield
        finally:
            self._one_session = False

    def _json(self, response: httpx.Response) -> Json:
        body = _enveloped(response)
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
        yield Wait(seconds)
        return True


class Screener:
    """The REST API of one service, for one key."""

    def __init__(
        self,
        http: httpx.Client,
        *,
        patience: float = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._conversation = Conversation(http, patience)

    def ask(self, call: Call[T]) -> T:
        """The answer of a call of `screener_calls`.

        Raises:
            RefusedError: the service refused.
            UnreachableError: no pattern screener answers there.
        """
        steps, said = self._conversation.steps(call), None
        while True:
            try:
                said = self._take(steps.send(said))
            except StopIteration as end:
                answer: T = end.value
                return answer

    def get(self, path: str, **query: object) -> Json:
        """The JSON of a GET; query values that are None are left out."""
        return self.ask(calls.get(path, **query))

    def in_one_session(self, work: Callable[[], T]) -> T:
        """Do work whose answers must all be of one night; restart it when the night changes.

        Setups, their ids and the order of the scan are new every night: a second page of another
        night is not the second page of the first.
        """
        for _ in range(SESSIONS):
            try:
                with self._conversation.one_night():
                    return work()
            except SessionChangedError as change:
                _notice(f"{change} Starting over.")
        raise SessionChangedError(RESTLESS)

    def _take(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Wait):
            self._sleep(step.seconds)
            return None
        try:
            return self._http.send(step)
        except httpx.HTTPError as error:
            raise _unreachable(self._http, error) from error


class AsyncScreener:
    """The same for asynchronous programs, which may ask many things side by side."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        patience: float = PATIENCE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._conversation = Conversation(http, patience)

    async def ask(self, call: Call[T]) -> T:
        """The answer of a call of `screener_calls`.

        Raises:
            RefusedError: the service refused.
            UnreachableError: no pattern screener answers there.
        """
        steps, said = self._conversation.steps(call), None
        while True:
            try:
                step = steps.send(said)
            except StopIteration as end:
                answer: T = end.value
                return answer
            said = await self._take(step)

    async def in_one_session(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work whose answers must all be of one night; restart it when the night changes."""
        for _ in range(SESSIONS):
            try:
                with self._conversation.one_night():
                    return await work()
            except SessionChangedError as change:
                _notice(f"{change} Starting over.")
        raise SessionChangedError(RESTLESS)

    async def _take(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Wait):
            await self._sleep(step.seconds)
            return None
        try:
            return await self._http.send(step)
        except httpx.HTTPError as error:
            raise _unreachable(self._http, error) from error


@contextmanager
def connected(url: str, key: str, patience: float = PATIENCE) -> Iterator[Screener]:
    """A client of the service at an address, closed when the block ends."""
    with httpx.Client(base_url=_base(url), headers=_headers(key), timeout=30) as http:
        yield Screener(http, patience=patience)


@asynccontextmanager
async def connected_async(
    url: str, key: str, patience: float = PATIENCE
) -> AsyncIterator[AsyncScreener]:
    """The asynchronous client of the service at an address, closed when the block ends."""
    async with httpx.AsyncClient(base_url=_base(url), headers=_headers(key), timeout=30) as http:
        yield AsyncScreener(http, patience=patience)


def _base(url: str) -> str:
    return f"{url.rstrip('/')}/api/v1"


def _headers(key: str) -> dict[str, str]:
    signed = {"Authorization": f"Bearer {key}"} if key else {}
    return {"X-Service-Client": CLIENT, **signed}


def _unreachable(
    http: httpx.Client | httpx.AsyncClient, error: httpx.HTTPError
) -> UnreachableError:
    return UnreachableError(f"No answer from {http.base_url}: {error}.")


def parser(description: str, epilog: str) -> argparse.ArgumentParser:
    """An argument parser with what every example is given: an address, and a key if any."""
    made = argparse.ArgumentParser(
        description=description,
        epilog=f"{epilog}\nThe API key is read from SCREENER_KEY, never from the command line.\n"
        "Exit codes: 0 done, 1 the service refused, 2 wrong usage or no service there.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--url",
        default=os.environ.get("SCREENER_URL", DEFAULT_URL),
        help="address of the service (SCREENER_URL; default %(default)s)",
    )
    made.set_defaults(key=os.environ.get("SCREENER_KEY", ""))
    return made


def finish(work: Callable[[], None]) -> None:
    """Do the work of a script; a failure ends it with one line and its exit code."""
    try:
        work()
    except ScreenerError as error:
        _notice(str(error))
        sys.exit(error.exit_code)


def refusal(content: bytes, where: str) -> Json:
    """The body of an error answer.

    Raises:
        UnreachableError: it is not one of this service.
    """
    return _read(content, {"error", "message", "fix"}, where)


def _enveloped(response: httpx.Response) -> Json:
    fields = {"as_of_session", "data_version", "disclaimer"}
    return _read(response.content, fields, _where(response))


def _refusal(response: httpx.Response) -> Json:
    return refusal(response.content, _where(response))


def _where(response: httpx.Response) -> str:
    return f"{response.url.copy_with(query=None)} ({response.status_code})"


def _read(content: bytes, fields: set[str], where: str) -> Json:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not fields <= set(body):
        raise UnreachableError(f"{where} does not answer like a pattern screener.")
    return body


def _asked_wait(response: httpx.Response) -> int:
    """The seconds that a 429 or 503 asks to wait; 0 for any other answer."""
    if response.is_success:
        return 0
    seconds: int = _refusal(response).get("details", {}).get("retry_after_seconds", 0)
    return seconds


def _notice(line: str) -> None:
    print(line, file=sys.stderr)


# Setups in words, by the five content rules: the only place where the examples phrase them.
#
# 1. Never a win rate without its sample size and the average loss: `win_rate` is one phrase.
# 2. Each `summary` is quoted whole: `summaries` hands it on untouched.
# 3. The `as_of_session` date and 5. the disclaimer stand together: `footing`.
# 4. Lines are given by their dated endpoints: `line`.


def money(price: float, setup: Json) -> str:
    """A price of a setup, in its currency."""
    currency = setup.get("currency", "USD")
    sign = "$" if currency == "USD" else f"{currency} "
    return f"{sign}{price:,.2f}" if price >= 1 else f"{sign}{price:.4g}"


def win_rate(record: Json | None) -> str:
    """A win rate with its sample size and average loss."""
    if record is None:
        return "no record yet"
    loss = record["avg_loss_pct"]
    losing = "no loss among them" if loss is None else f"average loss {loss:+.2f}%"
    trades = "1 trade" if record["sample_size"] == 1 else f"{record['sample_size']} trades"
    return f"{record['win_rate_pct']:.2f}% of {trades}, {losing}"


def line(points: Json, setup: Json) -> str:
    """A trend line, by its dated endpoints."""
    start, end = points["start"], points["end"]
    return (
        f"from {money(start['price'], setup)} on {start['date']} to "
        f"{money(end['price'], setup)} on {end['date']}, {points['touch_count']} touches "
        "(straight on a log price axis)"
    )


def plan(levels: Json, setup: Json) -> str:
    """A trade plan."""
    return (
        f"{levels['direction']}: trigger {money(levels['trigger_price'], setup)}, "
        f"stop {money(levels['stop_price'], setup)}, "
        f"target {money(levels['target_price'], setup)}"
    )


def title(setup: Json) -> str:
    """What a setup is, in one line."""
    status = setup["status"].replace("_", " ")
    return f"{setup['symbol']}: {setup['family_label']}, {setup['direction']}, {status}"


def facts(setup: Json) -> list[str]:
    """The facts of a setup, one per line."""
    lines = setup["lines"]
    return [
        f"Last close: {money(setup['last_close'], setup)} on {setup['as_of_session']}",
        f"Trigger rule: {setup['trigger_rule']}",
        *(f"Plan, {plan(levels, setup)}" for levels in setup["plans"]),
        f"Upper line: {line(lines['upper'], setup)}",
        f"Lower line: {line(lines['lower'], setup)}",
    ]


def records(setup: Json) -> list[Json]:
    """The track records of a setup: its family's and, if there is one, its ticker's."""
    both = (setup["track_record"]["family"], setup["track_record"]["ticker"])
    return [record for record in both if record is not None]


def side(record: Json | None, direction: str) -> Json | None:
    """A record, or its part of one direction in a family that is traded both ways."""
    sides = record and record.get("by_direction")
    found: Json | None = sides[direction] if sides else record
    return found


def summaries(setup: Json) -> list[str]:
    """The summary sentences of a setup's track records, whole; for a triangle, of its direction."""
    sides = (side(record, setup["direction"]) for record in records(setup))
    both = zip(records(setup), sides, strict=True)
    return [(one and one.get("summary")) or record["summary"] for record, one in both]


def footing(body: Json) -> str:
    """Which session an answer describes, whether it is old, and the disclaimer."""
    old = (
        "This night is old: a later session has ended. " if body.get("is_current") is False else ""
    )
    return f"As of session {body['as_of_session']} ({body['source']}). {old}{body['disclaimer']}"
