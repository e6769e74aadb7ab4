"""The keyless handlers: family track records, the universe and the demo."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from mcp_server.calls.errors import ApiError
from mcp_server.operations.access import check_demo
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.arguments import (
    Arguments,
    ChartArguments,
    FamilyArguments,
    SymbolArguments,
    UniverseArguments,
)
from mcp_server.operations.handlers.patterns import find_setup, patterns_body
from mcp_server.operations.handlers.scan import is_covered
from mcp_server.operations.services import Call
from mcp_server.presentation.absence import absence
from store.nights.book import Entry, company_name
from store.wire.families import Family
from store.wire.words import NO_NIGHT

UNIVERSE_PAGE = 50
"""Rows of a page of the universe, unless it is asked for another number."""

SHORT_NAMES = "The night may cover it under a shortened name: try its ticker."

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
    """The setups of one demo symbol, with the first one's chart beside it over MCP."""
    check_demo(call.arguments.symbol, call.services.offer)
    book, symbol, mcp_url = call.book, call.arguments.symbol, call.services.offer.mcp_url
    body = patterns_body(book, symbol)
    sign_in = (
        "To read every ticker you track, ask for an API key and send it as "
        f"`Authorization: Bearer <API_KEY>`, or connect {mcp_url} and sign in."
    )
    more = {"demo": True, "next": SIGNED_IN if call.caller.principal else sign_in}
    if book.session and book.patterns(symbol) is None:  # a symbol of the night says so itself
        more["reason"] = "not_covered"
    setups = book.views(symbol)
    if setups:  # some hosts show their model no picture beside JSON
        chart = f"/demo/{symbol}/chart.png?setup_id={setups[0].setup_id}"
        more["chart_url"] = call.services.offer.base_url + chart
    fields = book.enveloped(b"%b,%b" % (body[:-1], orjson.dumps(more)[1:]))
    if not setups or call.surface.name != "mcp":
        return Answer(fields, warning=book.warning)
    setup = find_setup(book, symbol, setups[0].setup_id)
    app, warning = call.chart_data(setup), book.warning
    try:
        png = await call.services.charts.png(book, setup)
    except ApiError as error:
        lasting = error.code == "chart_unavailable"
        return Answer(fields, app=app, lasting=lasting, warning=warning)
    return Answer(fields, picture=png, app=app, warning=warning)


async def universe(call: Call[UniverseArguments]) -> Answer:
    """The symbols that the night covers: all of them, or one page of what is meant."""
    search, limit, offset = call.arguments.search, call.arguments.limit, call.arguments.offset
    directory = call.services.directory(call.book)
    entries = directory.entries if search is None else directory.search(search)
    told = {"notes": notes} if (notes := list(_notes(call, len(entries)))) else {}
    if search is None and limit is None and offset is None:
        return call.answer(orjson.dumps({"count": len(entries), "symbols": entries, **told}))
    limit, offset = UNIVERSE_PAGE if limit is None else limit, offset or 0
    rows = entries[offset : offset + limit]
    if call.arguments.rows == "compact":
        rows = [_compact(entry) for entry in rows]
    page = {"count": len(entries), "limit": limit, "offset": offset, "symbols": rows, **told}
    return call.answer(orjson.dumps(page))


def _notes(call: Call[UniverseArguments], count: int) -> Iterator[str]:
    """Why a page of the universe lacks what was looked for."""
    book, search, offset = call.book, call.arguments.search or "", call.arguments.offset or 0
    symbol = search.strip().upper()
    if book.session is None:
        yield NO_NIGHT
    elif count <= offset and count:
        yield f"There are {count:,} rows, and offset is past the last of them."
    elif book.coverage(symbol) and not is_covered(book, symbol):
        yield absence(book, symbol)
    elif not count:
        entries = call.services.directory(book).entries
        known = any(entry.get("name") for entry in entries)
        names = SHORT_NAMES if known else "This night knows no names and industries."
        coin = next((e["symbol"] for e in entries if e.get("asset_type") == "crypto"), None)
        tickers = f"Coins have no names here: try a ticker such as {coin}."
        coins = tickers if coin else "This night covers no crypto."
        yield (
            "No symbol, name or industry that the night covers is spelt like the search. "
            f"{names} {coins}"
        )


def _compact(entry: Entry) -> Entry:
    """What tells a symbol from others, in half the tokens; its kind where it has no name."""
    name = company_name(entry)
    kind = {} if name else {"asset_type": entry.get("asset_type")}
    told = {"symbol": entry["symbol"], "name": name, "industry": entry.get("industry"), **kind}
    return {k: v for k, v in told.items() if v}


async def demo_symbols(call: Call[Arguments]) -> Answer:
    """The fixed demo symbols, whether the night covers each, and how many setups each has."""
    counts, entries = call.book.scan.counts, []
    for symbol in call.services.offer.demo_symbols:
        coverage = call.book.coverage(symbol)
        covered = coverage is not None and coverage.covered
        entries.append({"symbol": symbol, "covered": covered, "setups": counts.get(symbol, 0)})
    return call.answer(orjson.dumps({"symbols": entries, "count": len(entries)}))


async def demo_chart(call: Call[ChartArguments]) -> Answer:
    """The chart of a demo symbol's setup."""
    check_demo(call.arguments.symbol, call.services.offer)
    setup = find_setup(call.book, call.arguments.symbol, call.arguments.setup_id)
    return Answer(await call.services.charts.png(call.book, setup), PNG)
