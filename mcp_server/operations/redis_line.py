"""Redis line: one process's way to Redis. What is asked at the same time goes in one round trip.

Every wait for Redis is bounded. After a failure nobody waits for it again until a look has found
that it counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from importlib.resources import files
from typing import NamedTuple

from redis import exceptions as refusals
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from mcp_server.operations.counting import CountersAwayError

SCRIPT = files(__package__).joinpath("counting.lua").read_text("utf-8")

WAIT_SECONDS = 0.25
"""For which calls wait for an answer of Redis."""

GRACE_SECONDS = 0.05
"""After that, in which a process that was held up itself reads an answer that has come."""

MOST_AT_ONCE = 128
"""Calls of one round trip: Redis does nothing else meanwhile, for a millisecond or two."""

MOST_WAITING = 4096

COUNTS = "The Redis of the limits counts."
NOT_ASKED = "it has not been asked yet"

Value = str | bytes | int

log = logging.getLogger(__name__)


class Work(NamedTuple):
    """A call of the script."""

    what: str
    number: int
    keys: tuple[str, ...]
    """Two of each window."""
    bounds: tuple[int, ...]
    """Three of each window."""

    @property
    def answered(self) -> int:
        """How many integers the script returns of it."""
        return {"hit": 1 + 4 * (len(self.keys) // 2), "look": 1}.get(self.what, 0)


class RedisLine:
    """Runs the script in Redis, for all calls of a process, on one connection at a time."""

    def __init__(self, url: str, script: str = SCRIPT) -> None:
        # A call that failed may have counted: it is never sent again. The waits are bounded here,
        # and a connection of one's own costs half of what the client costs, which takes one a call.
        self._connection = ConnectionPool.from_url(
            url, socket_timeout=None, socket_connect_timeout=None, retry=Retry(NoBackoff(), 0)
        ).make_connection()  # type: ignore[no-untyped-call]
        self._script = script
        self._digest = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
        self._waiting: deque[tuple[Work, asyncio.Future[list[int]]]] = deque()
        self._sender: asyncio.Task[None] | None = None
        self.why: str | None = NOT_ASKED
        """Why Redis is away; None while it counts."""

    async def ask(self, work: Work) -> list[int]:
        """What the script returns of a call.

        Raises:
            CountersAwayError: Redis is away, or failed in the course of this call.
        """
        if self.why is not None:
            raise CountersAwayError(self.why)
        return await self._send(work)

    async def try_again(self, work: Work) -> list[int]:
        """The same, also while Redis is away; if it answers, it is no longer.

        Raises:
            CountersAwayError: as for `ask`.
        """
        return await self._send(work)

    async def close(self) -> None:
        """Leave Redis; nobody may wait for it any more."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait((self._sender,))
        if self._waiting:  # a sender that never began has told nobody
            self._leave([], "the service is stopping")
        await self._connection.disconnect()

    def _send(self, work: Work) -> asyncio.Future[list[int]]:
        if len(self._waiting) >= MOST_WAITING:
            raise CountersAwayError("too many calls are waiting for it")
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((work, answer))
        if self._sender is None or self._sender.done():
            # It starts once all have asked who run in this turn of the loop.
            self._sender = asyncio.create_task(self._send_all())
        return answer

    async def _send_all(self) -> None:
        while self._waiting:
            many = min(MOST_AT_ONCE, len(self._waiting))
            batch = [self._waiting.popleft() for _ in range(many)]
            try:
                answers = await self._run([work for work, _ in batch])
            except asyncio.CancelledError:
                self._leave(batch, "the service is stopping")
                raise
            except Exception as error:  # whatever it is, nobody may wait for ever
                self._leave(batch, _why(error))
                # The next look goes to the address anew: another server may have its part by now.
                await self._connection.disconnect(nowait=True)
                continue
            if self.why is not None:
                log.log(logging.INFO if self.why == NOT_ASKED else logging.WARNING, COUNTS)
                self.why = None
            for (_, answer), found in zip(batch, answers, strict=True):
                if not answer.done():  # else its caller has gone
                    answer.set_result(found)

    def _leave(self, batch: list[tuple[Work, asyncio.Future[list[int]]]], why: str) -> None:
        """Answer all who wait that Redis is away."""
        if self.why in (None, NOT_ASKED):
            log.warning("The Redis of the limits is away: %s; `screener doctor` says more.", why)
        self.why = why
        for _, answer in (*batch, *self._waiting):
            if not answer.done():
                answer.set_exception(CountersAwayError(why))
        self._waiting.clear()

    async def _run(self, works: list[Work]) -> list[list[int]]:
        keys: list[Value] = []
        arguments: list[Value] = []
        for work in works:
            keys += work.keys
            arguments += (work.what, work.number, len(work.keys) // 2, *work.bounds)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as bound:
            late = loop.call_later(
                WAIT_SECONDS, lambda: bound.reschedule(loop.time() + GRACE_SECONDS)
            )
            try:
                found = await self._evaluate(len(keys), *keys, *arguments)
                if not _is_answer(found, works):
                    raise refusals.InvalidResponse
                return found
            finally:
                late.cancel()

    async def _evaluate(self, number_of_keys: int, *rest: Value) -> list[list[int]]:
        connection = self._connection
        await connection.send_command("EVALSHA", self._digest, number_of_keys, *rest)
        try:
            return await connection.read_response()  # type: ignore[no-any-return]
        except refusals.NoScriptError:  # it has counted nothing
            await connection.send_command("EVAL", self._script, number_of_keys, *rest)
            return await connection.read_response()  # type: ignore[no-any-return]


def _is_answer(found: object, works: list[Work]) -> bool:
    """Whether something is what the script returns; a program between us and Redis may not be."""
    if not isinstance(found, list) or len(found) != len(works):
        return False
    return all(
        isinstance(each, list)
        and len(each) == work.answered
        and all(isinstance(number, int) for number in each)
        for each, work in zip(found, works, strict=True)
    )


def _why(error: Exception) -> str:
    """Why Redis is away, for anybody: without an address, and without words of the server."""
    reasons: tuple[tuple[type[Exception], str], ...] = (
        (refusals.BusyLoadingError, "it is loading its data"),
        (refusals.AuthenticationError, "it refuses the name or the password"),
        (refusals.AuthorizationError, "it refuses the name or the password"),
        (refusals.NoPermissionError, "its access list forbids a command"),
        (refusals.ReadOnlyError, "it is a replica, which cannot be written"),
        (refusals.OutOfMemoryError, "its memory is full"),
        (refusals.InvalidResponse, "its answer is not understood"),
        (refusals.TimeoutError, "it does not answer in time"),
        (TimeoutError, "it does not answer in time"),
        (refusals.ConnectionError, "it cannot be reached"),
        (OSError, "it cannot be reached"),
    )
    return next((why for kind, why in reasons if isinstance(error, kind)), "it refuses to count")
