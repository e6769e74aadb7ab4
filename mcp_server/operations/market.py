"""The keyless handlers: family track records, the universe and the demo."""

from __future__ import annotations

import orjson

from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import (
    Arguments,
    ChartArguments,
    FamilyArguments,
    SymbolArguments,
    UniverseArguments,
)
from mcp_server.operations.calls import Call
from mcp_server.operations.errors import ApiError
from mcp_server.operations.patterns import find_setup, patterns_body
from store.nights.book import Book, Entry, StoredSetup, company_name
from store.wire.families import Family

UNIVERSE_PAGE = 50
"""Rows of a page of the universe, unless it is asked for another number."""

SIGNED_IN = "You are signed in: read every ticker you track in the same way."


async def get_family_track_record(call: Call[FamilyArguments]) -> Answer:
    """One family's track record, or all five in their fixed order."""
    if call.arguments.family is None:
        entries = b",".join(call.book.family(family) for family in Family)
        return call.answer(b'{"families":[%b]}' % entries)
    try:
        family = Family(call.arguments.family.strip().lower())
    except ValueError as error:
        raise ApiError("unknown_family", details={"allowed": [f.value for f in Family]}) from error
    return call.answer(call.book.family(family))


async def demo(call: Call[SymbolArguments]) -> Answer:
    """The setups of one demo symbol, with the first one's chart where pictures can be shown."""
    offer = call.services.offer
    symbol = call.arguments.symbol
    _check_demo(offer.demo_symbols, symbol)
    body = patterns_body(call.book, symbol)
    step = (
        SIGNED_IN
        if call.caller.principal
        else (
            "To read every ticker you track, ask for an API key and send it as "
            f"`Authorization: Bearer <API_KEY>`, or connect {offer.mcp_url} and sign in."
        )
    )
    fields = b"%b,%b" % (body[:-1], orjson.dumps({"demo": True, "next": step})[1:])
    setup = _first_setup(call.book, symbol, body) if call.surface.pictures else None
    if setup is None:
        return call.answer(fields)
    app = call.chart_data(setup)
    try:
        png = await call.services.charts.png(call.book, setup)
    except ApiError as error:
        return call.answer(fields, app=app, lasting=error.code == "chart_unavailable")
    return call.answer(fields, picture=png, app=app)


async def universe(call: Call[UniverseArguments]) -> Answer:
    """The symbols that the night covers: all of them, or one page of what is meant."""
    search, limit, offset = call.arguments.search, call.arguments.limit, call.arguments.offset
    directory = call.services.directory(call.book)
    found = directory.entries if search is None else directory.search(search)
    if search is None and limit is None and offset is None:
        return call.answer(orjson.dumps({"count": len(found), "symbols": found}))
    limit, offset = UNIVERSE_PAGE if limit is None else limit, offset or 0
    rows = found[offset : offset + limit]
    if call.arguments.rows == "compact":
        rows = [_compact(entry) for entry in rows]
    page = {
        "count": len(found),
        "limit": limit,
        "offset": offset,
        "symbols": rows,
    }
    return call.answer(orjson.dumps(page))


def _compact(entry: Entry) -> Entry:
    """What tells a symbol from others, in half the tokens."""
    names = {"symbol": entry["symbol"], "name": company_name(entry)}
    return {k: v for k, v in {**names, "industry": entry.get("industry")}.items() if v}


async def demo_symbols(call: Call[Arguments]) -> Answer:
    """The fixed demo symbols, whether the night covers each, and how many setups each has."""
    symbols, counts = call.services.offer.demo_symbols, call.book.scan.counts
    found = ((symbol, call.book.coverage(symbol)) for symbol in symbols)
    entries = [
        {"symbol": s, "covered": known is not None and known.covered, "setups": counts.get(s, 0)}
        for s, known in found
    ]
    return call.answer(orjson.dumps({"symbols": entries, "count": len(entries)}))


async def demo_chart(call: Call[ChartArguments]) -> Answer:
    """The chart of a demo symbol's setup."""
    _check_demo(call.services.offer.demo_symbols, call.arguments.symbol)
    setup = find_setup(call.book, call.arguments.symbol, call.arguments.setup_id)
    return call.picture(await call.services.charts.png(call.book, setup))


def _check_demo(demo_symbols: tuple[str, ...], symbol: str) -> None:
    if symbol not in demo_symbols:
        raise ApiError("not_a_demo_symbol", details={"demo_symbols": list(demo_symbols)})


def _first_setup(book: Book, symbol: str, body: bytes) -> StoredSetup | None:
    setups = orjson.loads(body)["setups"]
    return find_setup(book, symbol, setups[0]["setup_id"]) if setups else None
