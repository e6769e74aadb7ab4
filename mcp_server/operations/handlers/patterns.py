"""The per-ticker handlers: current patterns, past occurrences, own records, a setup's chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from mcp_server.calls.errors import ApiError
from mcp_server.charts.past import trades_of
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.arguments import (
    ChartArguments,
    HistoryArguments,
    RecordArguments,
    SymbolArguments,
)
from mcp_server.operations.handlers.scan import is_covered
from mcp_server.presentation.absence import absence
from store.nights.book import Book, StoredHistory, StoredSetup
from store.wire.words import NO_NIGHT, STOPPED, adjusted_words, caption

if TYPE_CHECKING:
    from mcp_server.operations.services import Call

LETTERS = {"all": "wlo", "resolved": "wl", "open": "o"}
"""The outcome letters that each value of `outcome` keeps."""

COUNTED = {"wins": "w", "losses": "l", "open": "o"}
"""The outcome letters that a history counts."""


def patterns_body(book: Book, symbol: str) -> bytes:
    """The stored Patterns body of a symbol; without bars, one that says it is not available."""
    stored = book.patterns(symbol)
    if stored is not None:
        return stored
    return orjson.dumps({"symbol": symbol, "available": False, "setups": []})


async def get_ticker_patterns(call: Call[SymbolArguments]) -> Answer:
    """The current setups of one tracked ticker."""
    return call.answer(patterns_body(call.book, call.arguments.symbol))


async def get_pattern_history(call: Call[HistoryArguments]) -> Answer:
    """The past occurrences of one tracked ticker."""
    return call.answer(history_body(call.book, call.arguments))


def history_body(book: Book, arguments: HistoryArguments) -> bytes:
    """The History body of a symbol: its matching occurrences, newest entry first."""
    symbol, stored = arguments.symbol, book.history(arguments.symbol)
    known = stored or StoredHistory("", [])
    asked = known.having(LETTERS["all"], lambda row: _is_asked_for(row, arguments))
    matches = asked.having(LETTERS[arguments.outcome])
    page = matches.rows[: arguments.limit]
    head = {
        "symbol": symbol,
        "available": stored is not None,
        "covered": is_covered(book, symbol),
        "last_bar_date": book.last_bars.get(symbol),
        "notes": [*_notes(book, symbol, stored), *_before_bars(book, arguments)],
    }
    tail = {
        "count": len(page),
        "total": len(matches.rows),
        **{name: asked.outcomes.count(letter) for name, letter in COUNTED.items()},
        "currency": book.currency(symbol),
    }
    return b'%b,"occurrences":[%b],%b' % (
        orjson.dumps(head)[:-1],
        b",".join(map(without_lines, page)),
        orjson.dumps(tail)[1:],
    )


def _notes(book: Book, symbol: str, stored: StoredHistory | None) -> Iterator[str]:
    """What a reader of a history could take for something else."""
    if stored and book.dividend_adjusted:
        yield adjusted_words(book.dividend_adjusted)
    if book.session is None:
        yield NO_NIGHT
    elif not is_covered(book, symbol):
        yield absence(book, symbol)
        if stored and "o" in stored.outcomes:
            yield STOPPED
    views = book.views(symbol) if book.session else []
    if later := sum((view.attempt or 1) > 1 and view.status != "forming" for view in views):
        yield (
            f"Later attempts are not listed here; {later} of them {'is' if later == 1 else 'are'} "
            "open now, among the current setups of the ticker."
        )


def _before_bars(book: Book, arguments: HistoryArguments) -> Iterator[str]:
    """From when on a symbol is measured, where a history asks for earlier days."""
    asked = arguments.since or arguments.until
    stored = book.ticker_record(arguments.symbol) if asked else None
    records = orjson.loads(stored)["records"] if stored else []
    first = min((record["backtest_range"][0] for record in records), default=None)
    if asked and first and str(asked) < first:
        yield (
            f"{arguments.symbol} is measured from {first} on: nothing is known of earlier days, so "
            "no trade then does not mean no pattern."
        )


def without_lines(trade: bytes) -> bytes:
    """The HistoryRow of a stored PastTrade, whose last field are its lines."""
    row, lines, _ = trade.partition(b',"lines":')
    return row + b"}" if lines else row


def _is_asked_for(trade: bytes, arguments: HistoryArguments) -> bool:
    """Whether an occurrence is of the family and between the dates; one without a date is not."""
    family, first, last = arguments.family, arguments.since, arguments.until
    if not (family or first or last):
        return True
    row = orjson.loads(trade)
    entered = row["entry_date"] or ""
    return (
        family in (None, row["family"])
        and (first is None or entered >= str(first))
        and (last is None or "" < entered <= str(last))
    )


async def get_ticker_record(call: Call[RecordArguments]) -> Answer:
    """The own records of one tracked ticker, of all families or of one."""
    return call.answer(record_body(call.book, call.arguments))


def record_body(book: Book, arguments: RecordArguments) -> bytes:
    """The TickerRecord body of a symbol, of all families or of one."""
    symbol, family = arguments.symbol, arguments.family
    stored = book.ticker_record(symbol)
    if stored is None:
        reason = "not_covered" if book.holds_ticker_records else "not_sealed"
        fields = {"symbol": symbol, "available": False, "reason": reason, "records": []}
        return orjson.dumps(fields)
    if family is None:
        return stored
    fields = orjson.loads(stored)
    fields["records"] = [record for record in fields["records"] if record["family"] == family]
    return orjson.dumps(fields)


async def get_pattern_chart(call: Call[ChartArguments]) -> Answer:
    """The chart of one current setup, and its caption in words."""
    arguments = call.arguments
    try:
        setup = find_setup(call.book, arguments.symbol, arguments.setup_id)
    except ApiError as error:
        for trade in trades_of(call.book, arguments.symbol):
            if arguments.setup_id in (trade["setup_id"], trade["lineage_id"]):
                page = f"{call.services.offer.public_url}/symbols/{arguments.symbol}/trades/"
                error.message = "This id is of a past trade, which is no current setup."
                error.fix = f"Its chart is the page {page}{trade['lineage_id']}"
                error.tool_fix = f"Show the user its chart: {page}{trade['lineage_id']}"
        raise
    png = await call.services.charts.png(call.book, setup)
    words = caption(setup.view, call.book.disclaimer)
    app, warning = call.chart_data(setup), call.book.warning
    return Answer(png, PNG, caption=words, app=app, warning=warning)


def find_setup(book: Book, symbol: str, setup_id: str) -> StoredSetup:
    """A current setup of a symbol.

    Raises:
        ApiError: `setup_not_found`.
    """
    setup = book.setup(symbol, setup_id)
    if setup is None:
        raise ApiError("setup_not_found")
    return setup
