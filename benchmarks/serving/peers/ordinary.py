"""An ordinary service that does the same work: FastAPI, a pydantic response model, aiosqlite.

Each request looks the caller up by the hash of the key, checks the plan, counts the call in four
windows by `limits`, the library under slowapi (a moving minute and a day, of the key and of its
account, in memory), queries the watchlist and the record, and builds the answer from a model. The
synchronous storage of `limits` is the cheaper one: that for asyncio sends its cleaning of every key
to a thread. Unlike the service, it does not say what is left of the quotas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import aiosqlite
from fastapi import (  # type: ignore[import-not-found]
    Depends,
    FastAPI,
    Header,
    HTTPException,
    Request,
)
from limits import RateLimitItemPerDay, RateLimitItemPerMinute  # type: ignore[import-not-found]
from limits.storage import MemoryStorage  # type: ignore[import-not-found]
from limits.strategies import (  # type: ignore[import-not-found]
    FixedWindowRateLimiter,
    MovingWindowRateLimiter,
)

from benchmarks.serving.peers.run import read_envelope
from store.wire.records import Envelope, Patterns

PER_MINUTE, PER_DAY, KEYS = 5_000, 100_000_000, 50
"""The limits of a key; an account has those of 50 keys."""


class PatternsAnswer(Patterns, Envelope):
    """Patterns with the envelope."""


class Limits:
    """The calls of keys and accounts in a moving minute and a day."""

    def __init__(self) -> None:
        storage = MemoryStorage()
        minute, day = MovingWindowRateLimiter(storage), FixedWindowRateLimiter(storage)
        self._windows = [
            (limiter, item(quota * times), kind)
            for kind, times in (("key", 1), ("account", KEYS))
            for limiter, item, quota in (
                (minute, RateLimitItemPerMinute, PER_MINUTE),
                (day, RateLimitItemPerDay, PER_DAY),
            )
        ]

    def count(self, **who: str) -> None:
        """Count a call of a key and its account.

        Raises:
            HTTPException: 429 if a window is full.
        """
        for limiter, item, kind in self._windows:
            if not limiter.hit(item, kind, who[kind]):
                raise HTTPException(429, f"Too many calls of this {kind}")


async def account(request: Request, authorization: Annotated[str, Header()]) -> int:
    """The account of the key, whose call is counted.

    Raises:
        HTTPException: 401 for an unknown key, 403 for a plan without access, 429.
    """
    digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
    query = (
        "SELECT accounts.id, accounts.plan FROM keys JOIN accounts ON accounts.id = account_id "
        "WHERE secret_hash = ? AND revoked_at IS NULL AND active"
    )
    row = await _one(request, query, digest)
    if row is None:
        raise HTTPException(401, "Unknown key")
    request.app.state.limits.count(key=digest, account=str(row[0]))
    if row[1] != "premium_plus":
        raise HTTPException(403, "No access")
    return int(row[0])


async def patterns(request: Request, symbol: str, holder: Annotated[int, Depends(account)]) -> Any:  # noqa: ANN401
    """The current setups of a tracked symbol."""
    query = "SELECT 1 FROM watchlist WHERE account_id = ? AND symbol = ?"
    if await _one(request, query, holder, symbol) is None:
        raise HTTPException(403, "Not tracked")
    row = await _one(request, "SELECT body FROM patterns WHERE symbol = ?", symbol)
    assert row is not None
    return PatternsAnswer(**request.app.state.envelope, **json.loads(row[0]))


def application(database: Path) -> Any:  # noqa: ANN401 - a FastAPI app
    """The route, over one connection that stays open."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:  # noqa: ANN401
        async with aiosqlite.connect(database) as db:
            app.state.db, app.state.envelope = db, read_envelope(database)
            app.state.limits = Limits()
            yield

    app = FastAPI(lifespan=lifespan)
    path = "/api/v1/tickers/{symbol}/patterns"
    app.add_api_route(path, patterns, response_model=PatternsAnswer)
    return app


async def _one(request: Request, query: str, *values: object) -> Any:  # noqa: ANN401
    async with request.app.state.db.execute(query, values) as cursor:
        return await cursor.fetchone()
