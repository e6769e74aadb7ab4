"""An ordinary service: FastAPI, pydantic response models, aiosqlite queries for each request.

The caller is looked up by the hash of the key, the watchlist and the records are queried, and the
answer is built from models. It counts no limits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from fastapi import (  # type: ignore[import-not-found]
    FastAPI,
    Header,
    HTTPException,
    Query,
    Request,
)

from benchmarks.serving.peers.run import arguments, read_envelope, serve
from store.records import AppliedFilters, Envelope, Families, History, Patterns, Scan


class PatternsAnswer(Patterns, Envelope):
    """Patterns with the envelope."""


class HistoryAnswer(History, Envelope):
    """History with the envelope."""


class ScanAnswer(Scan, Envelope):
    """A scan page with the envelope."""


class FamiliesAnswer(Families, Envelope):
    """The families with the envelope."""


OPERATORS = {"<", "<=", ">", ">="}


async def account(request: Request, authorization: str = Header()) -> int:
    """The account of the key.

    Raises:
        HTTPException: 401 for an unknown key, 403 for a plan without access.
    """
    digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
    query = (
        "SELECT accounts.id, accounts.plan FROM keys JOIN accounts ON accounts.id = account_id "
        "WHERE secret_hash = ? AND revoked_at IS NULL AND active"
    )
    row = await _one(request, query, digest)
    if row is None:
        raise HTTPException(401, "Unknown key")
    if row[1] != "premium_plus":
        raise HTTPException(403, "No access")
    return int(row[0])


async def patterns(request: Request, symbol: str, authorization: str = Header()) -> Any:  # noqa: ANN401
    """The current setups of a tracked symbol."""
    await _check_tracked(request, symbol, authorization)
    row = await _one(request, "SELECT body FROM patterns WHERE symbol = ?", symbol)
    assert row is not None
    return PatternsAnswer(**request.app.state.envelope, **json.loads(row[0]))


async def history(
    request: Request, symbol: str, limit: int = Query(50), authorization: str = Header()
) -> Any:  # noqa: ANN401
    """The past occurrences of a tracked symbol."""
    await _check_tracked(request, symbol, authorization)
    query = "SELECT body FROM history WHERE symbol = ? ORDER BY position LIMIT ?"
    rows = [json.loads(row[0]) for row in await _all(request, query, symbol, limit)]
    total = await _one(request, "SELECT count(*) FROM history WHERE symbol = ?", symbol)
    assert total is not None
    return HistoryAnswer(
        **request.app.state.envelope,
        symbol=symbol,
        available=True,
        occurrences=rows,
        count=len(rows),
        total=total[0],
    )


async def scan(
    request: Request, filters: str, limit: int = Query(50), authorization: str = Header()
) -> Any:  # noqa: ANN401
    """One page of the scan: the filters become a WHERE clause."""
    await account(request, authorization)
    predicates = json.loads(filters)
    where = " AND ".join(f"{_column(p)} {_operator(p)} ?" for p in predicates)
    values = [predicate["value"] for predicate in predicates]
    query = f"SELECT body FROM scan WHERE {where} ORDER BY forming DESC, rank LIMIT ?"  # noqa: S608
    rows = [json.loads(row[0]) for row in await _all(request, query, *values, limit)]
    count = await _one(request, f"SELECT count(*) FROM scan WHERE {where}", *values)  # noqa: S608
    assert count is not None
    applied = AppliedFilters(
        family=None, direction=None, max_distance_pct=None, predicates=predicates
    )
    return ScanAnswer(
        **request.app.state.envelope,
        available=True,
        status="all",
        filters=applied,
        count=count[0],
        limit=limit,
        offset=0,
        setups=rows,
    )


async def families(request: Request, authorization: str = Header()) -> Any:  # noqa: ANN401
    """The five families."""
    await account(request, authorization)
    rows = await _all(request, "SELECT body FROM families ORDER BY position")
    entries = [json.loads(row[0]) for row in rows]
    return FamiliesAnswer(**request.app.state.envelope, families=entries)


def application(database: Path) -> Any:  # noqa: ANN401 - a FastAPI app
    """The routes, over one connection that stays open."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:  # noqa: ANN401
        async with aiosqlite.connect(database) as db:
            app.state.db, app.state.envelope = db, read_envelope(database)
            yield

    app = FastAPI(lifespan=lifespan)
    base = "/api/v1"
    app.add_api_route(
        f"{base}/tickers/{{symbol}}/patterns", patterns, response_model=PatternsAnswer
    )
    app.add_api_route(f"{base}/tickers/{{symbol}}/history", history, response_model=HistoryAnswer)
    app.add_api_route(f"{base}/scan", scan, response_model=ScanAnswer)
    app.add_api_route(f"{base}/families", families, response_model=FamiliesAnswer)
    return app


async def _check_tracked(request: Request, symbol: str, authorization: str) -> None:
    holder = await account(request, authorization)
    query = "SELECT 1 FROM watchlist WHERE account_id = ? AND symbol = ?"
    if await _one(request, query, holder, symbol) is None:
        raise HTTPException(403, "Not tracked")


def _column(predicate: dict[str, Any]) -> str:
    period = predicate.get("period")
    name = predicate["kind"] if period is None else f"{predicate['kind']}_{period}"
    return str(name)


def _operator(predicate: dict[str, Any]) -> str:
    if predicate["op"] not in OPERATORS or not _column(predicate).isidentifier():
        raise HTTPException(400, "Unknown filter")
    return str(predicate["op"])


async def _one(request: Request, query: str, *values: object) -> Any:  # noqa: ANN401
    async with request.app.state.db.execute(query, values) as cursor:
        return await cursor.fetchone()


async def _all(request: Request, query: str, *values: object) -> Any:  # noqa: ANN401
    async with request.app.state.db.execute(query, values) as cursor:
        return await cursor.fetchall()


if __name__ == "__main__":
    port, database = arguments()
    serve(application(database), port)
