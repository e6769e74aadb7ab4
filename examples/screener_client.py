"""The code that the examples share: a polite client, failures as one line, and setups in words.

The client identifies itself and slows down when `RateLimit` says that no calls remain. On a 429 it
waits as long as the service asks, tries once more, and then backs off.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

Json = dict[str, Any]
T = TypeVar("T")

CLIENT = "pattern-screener-examples"
DEFAULT_URL = "http://127.0.0.1:8000"
PATIENCE = 90
"""Seconds of one wait; a service that asks for more is not waited for."""
RETRIES = 3
SESSIONS = 3
"""How many times work is restarted because a new night became active."""

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
        self._patience = patience
        self._sleep = sleep
        self._nothing_left_for = 0
        self._one_session = False
        self._night: str | None = None

    def get(self, path: str, **query: object) -> Json:
        """The JSON of a GET; query values that are None are left out."""
        sent = {name: str(value) for name, value in query.items() if value is not None}
        return self._json(self._request("GET", path, params=sent))

    def patch(self, path: str, body: Json) -> Json:
        """The JSON of a PATCH."""
        return self._json(self._request("PATCH", path, json=body))

    def picture(self, path: str, **query: str) -> bytes:
        """The bytes of a PNG."""
        return self._request("GET", path, params=query).content

    def in_one_session(self, work: Callable[[], T]) -> T:
        """Do work whose answers must all be of one night; restart it when the night changes.

        Setups, their ids and the order of the scan are new every night: a second page of another
        night is not the second page of the first.
        """
        for _ in range(SESSIONS):
            self._one_session, self._night = True, None
            try:
                return work()
            except SessionChangedError as change:
                _notice(f"{change} Starting over.")
            finally:
                self._one_session = False
        raise SessionChangedError("The night changed again and again; try later.")

    def _json(self, response: httpx.Response) -> Json:
        body = _enveloped(response)
        night = f"{body['as_of_session']} ({body['data_version']})"
        if self._one_session and self._night not in (None, night):
            raise SessionChangedError(f"The night changed from {self._night} to {night}.")
        self._night = night
        return body

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401
        self._wait(self._nothing_left_for, "no calls are left until then")
        response = self._send(method, path, **options)
        for retry in range(RETRIES):
            # The first wait is what the service asks for; each later one is twice as long.
            if not self._wait(_asked_wait(response) * 2**retry, "the service asks for it"):
                break
            response = self._send(method, path, **options)
        if not response.is_success:
            raise RefusedError(_refusal(response))
        return response

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise UnreachableError(f"No answer from {self._http.base_url}: {error}.") from error
        windows = WINDOW.findall(response.headers.get("RateLimit", ""))
        spent = [int(reset) for remaining, reset in windows if remaining == "0"]
        self._nothing_left_for = max(spent, default=0)
        return response

    def _wait(self, seconds: float, reason: str) -> bool:
        """Wait, unless that takes longer than the patience allows; return whether it waited."""
        if not 0 < seconds <= self._patience:
            return False
        _notice(f"Waiting {seconds:g} s: {reason}.")
        self._sleep(seconds)
        return True


@contextmanager
def connected(url: str, key: str, patience: float = PATIENCE) -> Iterator[Screener]:
    """A client of the service at an address, closed when the block ends."""
    headers = {"X-Service-Client": CLIENT}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    base = f"{url.rstrip('/')}/api/v1"
    with httpx.Client(base_url=base, headers=headers, timeout=30) as http:
        yield Screener(http, patience=patience)


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


def money(price: float) -> str:
    """A price in dollars."""
    return f"${price:,.2f}" if price >= 1 else f"${price:.4g}"


def win_rate(record: Json | None) -> str:
    """A win rate with its sample size and average loss."""
    if record is None:
        return "no record yet"
    loss = record["avg_loss_pct"]
    losing = "no loss among them" if loss is None else f"average loss {loss:+.2f}%"
    trades = "1 trade" if record["sample_size"] == 1 else f"{record['sample_size']} trades"
    return f"{record['win_rate_pct']:.2f}% of {trades}, {losing}"


def line(points: Json) -> str:
    """A trend line, by its dated endpoints."""
    start, end = points["start"], points["end"]
    return (
        f"from {money(start['price'])} on {start['date']} to {money(end['price'])} on "
        f"{end['date']}, {points['touch_count']} touches (straight on a log price axis)"
    )


def plan(levels: Json) -> str:
    """A trade plan."""
    return (
        f"{levels['direction']}: trigger {money(levels['trigger_price'])}, "
        f"stop {money(levels['stop_price'])}, target {money(levels['target_price'])}"
    )


def title(setup: Json) -> str:
    """What a setup is, in one line."""
    status = setup["status"].replace("_", " ")
    return f"{setup['symbol']}: {setup['family_label']}, {setup['direction']}, {status}"


def facts(setup: Json) -> list[str]:
    """The facts of a setup, one per line."""
    lines = setup["lines"]
    return [
        f"Last close: {money(setup['last_close'])} on {setup['as_of_session']}",
        f"Trigger rule: {setup['trigger_rule']}",
        *(f"Plan, {plan(levels)}" for levels in setup["plans"]),
        f"Upper line: {line(lines['upper'])}",
        f"Lower line: {line(lines['lower'])}",
    ]


def records(setup: Json) -> list[Json]:
    """The track records of a setup: its family's and, if there is one, its ticker's."""
    both = (setup["track_record"]["family"], setup["track_record"]["ticker"])
    return [record for record in both if record is not None]


def summaries(setup: Json) -> list[str]:
    """The summary sentences of a setup's track records, whole."""
    return [record["summary"] for record in records(setup)]


def footing(body: Json) -> str:
    """Which session an answer describes, and the disclaimer."""
    return f"As of session {body['as_of_session']} ({body['source']}). {body['disclaimer']}"
