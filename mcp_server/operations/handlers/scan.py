"""The market-wide scan: the night's ranked setups, filtered by columns of features, of which a page
joins stored bytes.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from mcp_server.filters.doubts import FRACTION, doubt, in_percent
from mcp_server.filters.filters import Predicate
from mcp_server.filters.kinds import KINDS
from mcp_server.filters.scan_order import NEARNESS, PRICES, RANK
from mcp_server.filters.symbol_search import nearest_of
from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from mcp_server.operations.selection import (
    Matches,
    is_about_distance,
    page,
    select,
    size,
    sort_column,
    sorted_by,
)
from store.nights.book import Book
from store.wire.labels import ASSET_TYPES
from store.wire.scan_index import OF_A_PLAN, compact
from store.wire.view import EVIDENCE_SAMPLE, NEAR_STOP, SetupView
from store.wire.words import NEAREST_FIRST, NO_NIGHT, NO_QUALITY, adjusted_words, named, plural

if TYPE_CHECKING:
    from mcp_server.operations.answers import Answer
    from mcp_server.operations.services import Call

FULL_ROWS = 20
"""Most whole rows of a page for agents: each is some 700 tokens."""

MAX_NAMED = 10
"""Most setups or symbols that a note names."""

OF_TICKER: Final = frozenset({"min_win_rate", "min_avg_r"})
"""Columns, by which rows are filtered or sorted, of the ticker's own record."""

TO_LEVELS: Final = frozenset({"stop_way", "target_way"})
"""Columns of distances to stop and target."""

WHERE_OWN: Final = {
    "compact": "in ticker_win_rate_pct, ticker_avg_r and ticker_trades",
    "full": "in track_record.ticker, of a triangle in its by_direction",
}
"""Where rows have this record."""

TYPE_WORDS: Final = {"stock": "stocks", "etf": "ETFs", "crypto": "crypto"}


NONE_TRACKED: Final = "No symbol is left: `tracked` keeps only tickers of the watchlist."
NOT_KNOWN_AS_NEW: Final = (
    "It is not known which setups are new: there is no earlier night of these rules."
)
TOO_OLD: Final = (
    "Trades that have been open for over 120 sessions, unless the operator changed that, are not "
    "listed here; the history of a ticker has them."
)


async def scan(call: Call[ScanArguments]) -> Answer:
    """One page of the market-wide scan."""
    _, rows, head = _scanned(call.book, call.arguments)
    head["notes"] += await nearest_words(call)
    return call.answer(*_parts(head, call.book.features.bodies.at(rows)))


def scan_body(book: Book, arguments: ScanArguments) -> bytes:
    """The fields of one page of the scan."""
    _, rows, head = _scanned(book, arguments)
    return b"".join(_parts(head, book.features.bodies.at(rows)))


async def scan_setups(call: Call[ScanSetupsArguments]) -> Answer:
    """One page of the market-wide scan, each row in short unless the full rows are wanted.

    It counts the matches of each status: an empty page is then not taken for an empty night.
    """
    book = call.book
    matches, rows, head = _scanned(book, call.arguments)
    head["notes"] += await nearest_words(call)
    kinds = (entry.get("asset_type") for entry in call.services.directory(book).entries)
    covered = dict.fromkeys(ASSET_TYPES, 0) | Counter(kinds)
    head["covered"] = {kind: count for kind, count in covered.items() if kind}
    head["next_offset"] = next_offset(head, len(rows))
    head["counts"] = {"forming": size(matches.forming), "in_progress": size(matches.in_progress)}
    if call.arguments.rows == "full":
        return call.answer(_full(head, book.features.bodies.at(rows)))
    industries = book.features.labels["industry"].words() if rows else ()
    bodies, of_ticker = [], _asks_of_ticker(call.arguments)
    for row in rows:
        view = book.scan.rows[row]
        brief = compact(view, book.scan.others(view), with_own=of_ticker)
        bodies.append(orjson.dumps(brief | {"industry": industries[row]}))
    return call.answer(*_parts(head, bodies))


def _full(head: dict[str, Any], bodies: Sequence[bytes]) -> bytes:
    """Whole rows, each without the record of its family, which stands once in front of them."""
    head["limit"] = min(head["limit"], FULL_ROWS)
    head["next_offset"] = next_offset(head, len(bodies))
    setups, families = [orjson.loads(body) for body in bodies], {}
    for setup in setups:
        families[setup["family"]] = setup["track_record"].pop("family")
    return orjson.dumps({**head, "family_records": families, "setups": setups})


def next_offset(head: Mapping[str, Any], shown: int) -> int | None:
    """Where the next page begins; None after the last row."""
    after: int = head["offset"] + shown
    return after if shown and after < head["count"] else None


def _scanned(book: Book, arguments: ScanArguments) -> tuple[Matches, list[int], dict[str, Any]]:
    """The matches of a scan, the rows of its page, and the fields in front of them."""
    matches = select(book, arguments)
    count, rows = page(book.features, matches, arguments)
    if isinstance(arguments, ScanSetupsArguments) and arguments.rows == "full":
        rows = rows[:FULL_ROWS]
    told = [write(book, arguments, matches, rows) for write in (notes, row_notes)]
    head = {
        "available": book.session is not None,
        "status": arguments.status,
        "filters": {
            "family": arguments.family,
            "direction": arguments.direction,
            "max_distance_pct": arguments.max_distance_pct,
            "predicates": [predicate.canonical for predicate in arguments.filters],
        },
        "sort": arguments.sort,
        "without_evidence": matches.without_evidence,
        "notes": list(dict.fromkeys(chain(*told))),
        "count": count,
        "limit": arguments.limit,
        "offset": arguments.offset,
    }
    return matches, rows, head


def notes(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """What a reader of this selection could take for something else."""
    if book.currencies and any(one.kind.unit == "$" for one in arguments.filters):
        yield "Filters in $ count US dollars; setups in another currency never match them."
    yield from _unknown(book, arguments, matches)
    yield from (words for one in arguments.filters if (words := doubt(one)))
    if arguments.max_distance_pct and arguments.max_distance_pct < FRACTION:
        yield in_percent("max_distance_pct", arguments.max_distance_pct)
    if arguments.min_sample:
        yield (
            "min_sample counts win_rate_trades: the ticker's where win_rate_scope is ticker (20 or "
            "more), otherwise its family's."
        )
    yield from _missing(book, arguments, matches)
    views = [book.scan.rows[row] for row in rows]
    if any((view.attempt or 1) > 1 for view in views):
        yield (
            "Rows with an attempt above 1 are later attempts; records count first attempts only. "
            "The first may have had another direction or family: the ticker's history has it."
        )
    if book.dividend_adjusted and any(view.entry_date for view in views):
        yield adjusted_words(book.dividend_adjusted)
    yield from _of_running(arguments, views)
    if sorted_by(arguments) & set(PRICES) and len({view.currency for view in views}) > 1:
        yield "This order compares prices of several currencies as bare numbers."
    if arguments.sort != RANK and views:
        yield from _unordered(book, arguments, matches)


def _unordered(book: Book, arguments: ScanArguments, matches: Matches) -> Iterator[str]:
    """How many matches an order has no number for."""
    found = reduce(or_, matches.groups(arguments.status))
    missing = size(np.isnan(sort_column(book.features, matches, arguments)) & found)
    if missing == size(found):
        yield "This order has no number for any of these rows, so they stand by rank."
    elif missing:
        yield f"This order has no number for {missing} of {size(found)} matches; they stand last."


def _unknown(book: Book, arguments: ScanArguments, matches: Matches) -> Iterator[str]:
    """What a night does not know of any setup that a scan asks for."""
    asks = _columns(arguments)
    known = book.features.numbers.get("quality")
    if "quality" in asks and known is not None and len(known) and np.isnan(known).all():
        yield NO_QUALITY
    if "new" in matches.without_evidence:
        yield NOT_KNOWN_AS_NEW
    elif "new" in asks and (changes := book.changes()):
        yield (
            f"new: not in the night of {changes['since_session']}; it may have come on any session "
            "since."
        )


def _of_running(arguments: ScanArguments, views: Sequence[SetupView]) -> Iterator[str]:
    """What a reader of running trades could take for something else."""
    if arguments.status != "forming":
        yield TOO_OLD
    if all(view.gain_pct is None for view in views):
        return
    if NEARNESS in sorted_by(arguments):
        yield NEAREST_FIRST
    if "start" in sorted_by(arguments):
        yield "Open trades are ordered by entry_price, forming setups by trigger_price."
    if sorted_by(arguments) & TO_LEVELS:
        yield (
            "Open trades are ordered by the planned distance from their entry; what is left is "
            "from last_close to target_price or stop_price."
        )
    if arguments.status == "in_progress":
        yield (
            "Only trades still open: those that hit their stop or target are left out, so these "
            "gains are no success rate."
        )
    if arguments.max_distance_pct is not None:
        yield "max_distance_pct filters forming setups only, not open trades."
    if "reward_to_risk" in sorted_by(arguments):
        yield (
            "Open trades are ordered by reward_to_risk_left, which counts from the last close, not "
            f"by reward_to_risk; those within {NEAR_STOP:g} R of their stop have none and stand "
            "last."
        )


def row_notes(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """What conditions and rows do not tell by themselves, and pages show beside them."""
    kinds = (predicate.kind for predicate in arguments.filters)
    yield from (f"{kind.name}: {kind.meaning}" for kind in kinds if kind.apart)
    if "market_cap" in sorted_by(arguments):
        yield f"market_cap: {KINDS['market_cap'].meaning}"
    if book.session is None:
        yield NO_NIGHT
    elif not book.scan.rows:
        symbols = plural(book.counts.covered if book.counts else 0, "symbol")
        yield f"This night covers {symbols} and found no setup."
    yield from _of_second_plans(book, arguments, matches, rows)
    if sorted_by(arguments) & OF_TICKER:
        yield (
            f"Tickers with fewer than {EVIDENCE_SAMPLE} resolved trades in the setup's direction "
            "have no number for this order and stand last."
        )
    if rows and _asks_of_ticker(arguments):
        where = WHERE_OWN[getattr(arguments, "rows", "full")]
        yield f"The ticker's own record stands {where}; win_rate_pct may be its family's."
        if "win_rate" in sorted_by(arguments):
            yield "Sorted by win_rate_pct; for the ticker's own win rate sort by ticker_win_rate."
    yield from of_crypto(book, [book.scan.rows[row] for row in rows])
    running = sum(book.scan.rows[row].status != "forming" for row in rows)
    if running and (arguments.status == "all" or is_about_distance(arguments)):
        yield (
            f"Open trades (in_progress): {running} of these {plural(len(rows), 'row')}. Their "
            "trigger has fired: distance_to_trigger_pct is how far the close is from it, and "
            "gain_pct counts from the entry."
        )


def of_crypto(book: Book, views: Iterable[SetupView]) -> Iterator[str]:
    """The day whose triggers forming crypto has, where that is before the next session."""
    if book.session is None or book.next_session is None:
        return
    day = book.session + dt.timedelta(days=1)
    forming = [view for view in views if view.status == "forming"]
    if day >= book.next_session or not forming:
        return
    crypto = book.features.labels["asset_type"].equal("crypto")
    if found := dict.fromkeys(view.symbol for view in forming if crypto[view.rank - 1]):
        yield (
            f"Crypto trades every day: the trigger of {named([*found], MAX_NAMED)} is the level of "
            f"{day}, not of {book.next_session}."
        )


def _of_second_plans(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """How many of all matches count by their second plan, and which rows of the page."""
    if not matches.by_second.any():
        return
    groups = matches.groups(arguments.status)
    count = sum(size(group & matches.by_second) for group in groups)
    opposites = (book.scan.rows[row].opposite for row in rows if matches.by_second[row])
    found = [f"{v.symbol} ({v.direction}, {abs(v.distance_pct or 0):.2f}%)" for v in opposites if v]
    if count:
        order = (
            "The order counts that plan too, other numbers of these rows their first one."
            if sorted_by(arguments) & {*OF_A_PLAN, NEARNESS}
            else "The order and the numbers of these rows count their first one."
        )
        here = f"; on this page, with the distance to its trigger: {named(found, MAX_NAMED)}"
        yield (
            f"May break either way and count here by their second plan (opposite_plan): {count} of "
            f"{sum(map(size, groups))} matches{here * bool(found)}. {order}"
        )


def _asks_of_ticker(arguments: ScanArguments) -> bool:
    """Whether a filter or the order looks at the ticker's own record."""
    return bool(_columns(arguments) & OF_TICKER)


def _columns(arguments: ScanArguments) -> set[str]:
    """The columns by which a scan is filtered or sorted."""
    return {predicate.column for predicate in arguments.filters} | sorted_by(arguments)


def _missing(book: Book, arguments: ScanArguments, matches: Matches) -> Iterator[str]:
    """The symbols that the night does not cover and, where nothing is left, why: the markets that
    it does not cover, and how many setups each condition keeps.
    """
    if arguments.symbols == []:
        yield NONE_TRACKED
    if absent := uncovered(book, arguments.symbols or ()):
        yield f"The night does not cover {named(absent, MAX_NAMED)}."
    if book.session is None or any(mask.any() for mask in matches.groups(arguments.status)):
        return
    for predicate in arguments.filters:
        known = book.markets.get(predicate.kind.name)
        if known is not None and not known[str(predicate.value)]:
            yield _uncovered_words(predicate, bool(known))
    if absent:
        numbers = book.markets["asset_type"]
        stocks, etfs, crypto = (
            f"{numbers[name]:,} {words}" if numbers[name] else f"no {words}"
            for name, words in TYPE_WORDS.items()
        )
        yield f"This night covers {stocks}, {etfs} and {crypto}."
    kept = [f"{words} keeps {count}" for words, count in matches.alone]
    if kept:
        yield (
            "Nothing matches. Each condition by itself, of all setups with this status: "
            f"{'; '.join(kept[:MAX_NAMED])}."
        )
    for kind, count in matches.unvalued:
        setups = plural(count, "setup")
        yield f"Without the condition {kind} {setups} would match; none has a value for it."


def _uncovered_words(predicate: Predicate, is_known: bool) -> str:
    """That a night has no symbol with a label, or no such label: `This night covers no crypto.`"""
    name, value = predicate.kind.name, str(predicate.value)
    if not is_known:
        return f"This night knows the {name} of no symbol."
    what = TYPE_WORDS[value] if name == "asset_type" else f"symbol whose {name} is {value}"
    return f"This night covers no {what}."


def is_covered(book: Book, symbol: str) -> bool:
    """Whether a night covers a symbol."""
    coverage = book.coverage(symbol)
    return coverage is not None and coverage.covered


def uncovered(book: Book, symbols: Iterable[str]) -> list[str]:
    """Those of some symbols that a night does not cover, in their order."""
    return [symbol for symbol in symbols if not is_covered(book, symbol)]


async def nearest_words(call: Call[Any]) -> list[str]:
    """The symbols that may be meant by those that a night does not cover; empty if none may."""
    if not (absent := uncovered(call.book, call.arguments.symbols or ())):
        return []
    nearest = await nearest_of(call.services.directory(call.book), absent)
    found = [f"{known[0]} for {symbol}" for symbol, known in nearest.items()]
    words = f"Symbols of the night that may be meant: {named(found, MAX_NAMED)}."
    return [words] if found else []


def _parts(head: Mapping[str, Any], bodies: Sequence[bytes]) -> list[bytes]:
    """A page in parts, which are joined once: each copy of 200 kB would take some 25 us."""
    parts = [part for body in bodies for part in (body, b",")][:-1]
    return [orjson.dumps(head)[:-1], b',"setups":[', *parts, b"]}"]
