"""The keyless handlers: family track records and the demo."""

from __future__ import annotations

import orjson

from mcp_server.arguments import Arguments, ChartArguments, FamilyArguments, SymbolArguments
from mcp_server.calls import Answer, Call
from mcp_server.errors import ApiError
from mcp_server.pages import Page
from mcp_server.patterns import find_setup, patterns_body
from store.families import Family


async def get_family_track_record(call: Call[FamilyArguments]) -> Answer:
    """One family's track record, or all five in their fixed order."""
    if call.arguments.family is None:
        entries = b",".join(call.book.family(family) for family in Family)
        return Answer(b'{"families":[%b]}' % entries)
    try:
        family = Family(call.arguments.family.strip().lower())
    except ValueError as error:
        raise ApiError("unknown_family", details={"allowed": [f.value for f in Family]}) from error
    return Answer(call.book.family(family))


async def demo(call: Call[SymbolArguments]) -> Answer:
    """The setups of one demo symbol, with the first one's chart where pictures can be shown."""
    offer = call.services.offer
    symbol = call.arguments.symbol
    _check_demo(offer.demo_symbols, symbol)
    body = patterns_body(call.book, symbol)
    step = (
        "To read every ticker you track, ask for an API key and send it as "
        f"`Authorization: Bearer <API_KEY>`, or connect {offer.mcp_url} and sign in."
    )
    return Answer(
        b"%b,%b" % (body[:-1], orjson.dumps({"demo": True, "next": step})[1:]),
        png=await _first_chart(call, body) if call.pictures else None,
    )


async def universe(call: Call[Arguments]) -> Answer:
    """The symbols that the night covers."""
    return Answer(b"{%b}" % call.book.universe())


async def demo_symbols(call: Call[Arguments]) -> Answer:
    """The fixed demo symbols, each with whether the night covers it."""
    symbols = call.services.offer.demo_symbols
    found = ((symbol, call.book.coverage(symbol)) for symbol in symbols)
    entries = [{"symbol": s, "covered": known is not None and known.covered} for s, known in found]
    return Answer(orjson.dumps({"symbols": entries, "count": len(entries)}))


async def demo_chart(call: Call[ChartArguments]) -> Answer:
    """The chart of a demo symbol's setup."""
    _check_demo(call.services.offer.demo_symbols, call.arguments.symbol)
    setup = find_setup(call.book, call.arguments.symbol, call.arguments.setup_id)
    return Answer(png=await call.services.charts.png(call.book, setup))


def _check_demo(demo_symbols: tuple[str, ...], symbol: str) -> None:
    if symbol not in demo_symbols:
        raise ApiError("not_a_demo_symbol", details={"demo_symbols": list(demo_symbols)})


async def _first_chart(call: Call[SymbolArguments], body: bytes) -> Page | None:
    setups = orjson.loads(body)["setups"]
    if not setups:
        return None
    try:
        setup = find_setup(call.book, call.arguments.symbol, setups[0]["setup_id"])
        return await call.services.charts.png(call.book, setup)
    except ApiError:
        return None
