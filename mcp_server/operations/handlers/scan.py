"""The market-wide scan: the night's ranked setups, filtered by evidence columns, of which a page
joins stored bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from mcp_server.filters.doubts import FRACTION, doubt
from mcp_server.filters.filters import Predicate, parse_filters
from mcp_server.filters.scan_order import COLUMNS, PRICES, RANK
from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from store.nights.book import Book
from store.nights.evidence import Evidence
from store.wire.briefs import compact
from store.wire.labels import ASSET_TYPES
from store.wire.view import SetupView
from store.wire.words import NO_QUALITY

if TYPE_CHECKING:
    from mcp_server.operations.answers import Answer
    from mcp_server.operations.services import Call

Mask = npt.NDArray[np.bool_]

FULL_ROWS = 20
"""Most whole rows of a page for agents: each is some 700 tokens."""

NAMED = 10
"""Most setups or symbols that a note names."""


async def scan(call: Call[ScanArguments]) -> Answer:
    """One page of the market-wide scan."""
    return call.answer(scan_body(call.book, call.arguments))


def scan_body(book: Book, arguments: ScanArguments) -> bytes:
    """The fields of one page of the scan.

    Raises:
        ApiError: `bad_request` for filters that cannot be used.
    """
    _, rows, head = _scanned(book, arguments)
    return _body(head, book.evidence.bodies.at(rows))


async def scan_setups(call: Call[ScanSetupsArguments]) -> Answer:
    """One page of the market-wide scan, each row in short unless the full rows are wanted.

    It counts the matches of each status: an empty page is then not taken for an empty night.
    """
    book = call.book
    matches, rows, head = _scanned(book, call.arguments)
    kinds = (entry.get("asset_type") for entry in call.services.directory(book).entries)
    covered = dict.fromkeys(ASSET_TYPES, 0) | Counter(kinds)
    head["covered"] = {kind: count for kind, count in covered.items() if kind}
    head["next_offset"] = next_offset(head, len(rows))
    head["counts"] = {"forming": _size(matches.forming), "in_progress": _size(matches.in_progress)}
    if call.arguments.rows == "full":
        return call.answer(_full(head, book.evidence.bodies.at(rows[:FULL_ROWS])))
    industries = book.evidence.labels["industry"].words() if rows else ()
    bodies = []
    for row in rows:
        view = book.scan.rows[row]
        brief = compact(view, book.scan.others(view)) | {"industry": industries[row]}
        bodies.append(orjson.dumps(brief))
    return call.answer(_body(head, bodies))


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


class Matches(NamedTuple):
    """The rows that match a scan, in each status."""

    predicates: Sequence[Predicate]
    forming: Mask
    in_progress: Mask
    without_evidence: Mapping[str, int]
    """By kind of filter: rows of the status, family and direction that have no number for it."""
    alone: Sequence[int] = ()
    """How many rows of them each predicate keeps by itself, if nothing matches."""

    def groups(self, status: str) -> Sequence[Mask]:
        """The rows of a status, in groups that are listed one after the other."""
        both = (self.forming, self.in_progress)
        return {"forming": both[:1], "in_progress": both[1:]}.get(status, both)


def _scanned(book: Book, arguments: ScanArguments) -> tuple[Matches, list[int], dict[str, Any]]:
    """The matches of a scan, the rows of its page, and the fields in front of them."""
    predicates = parse_filters(arguments.filters) if arguments.filters is not None else ()
    matches = select(book, arguments, predicates)
    count, rows = page(book.evidence, matches, arguments)
    head = {
        "available": book.session is not None,
        "status": arguments.status,
        "filters": {
            "family": arguments.family,
            "direction": arguments.direction,
            "max_distance_pct": arguments.max_distance_pct,
            "predicates": [predicate.canonical for predicate in predicates],
        },
        "sort": arguments.sort,
        "without_evidence": matches.without_evidence,
        "notes": list(dict.fromkeys(notes(book, arguments, matches, rows))),
        "count": count,
        "limit": arguments.limit,
        "offset": arguments.offset,
    }
    return matches, rows, head


def select(book: Book, arguments: ScanArguments, predicates: Sequence[Predicate]) -> Matches:
    """The matching rows; a forming triangle that may break either way matches by either plan."""
    evidence = book.evidence
    if not len(evidence.bodies):
        return Matches(predicates, np.zeros(0, bool), np.zeros(0, bool), {})
    matching = np.ones(len(evidence.bodies), bool)
    if arguments.family is not None:
        matching &= evidence.labels["family"].equal(arguments.family)
    if arguments.direction is not None:
        matching &= _directed(evidence, arguments.direction)
    if arguments.symbols is not None:
        asked_for = frozenset(arguments.symbols)
        matching &= np.array([view.symbol in asked_for for view in book.scan.rows])
    if arguments.min_sample is not None:
        matching &= evidence.numbers["sample"] >= arguments.min_sample
    forming = evidence.labels["status"].equal("forming")
    if arguments.max_distance_pct is not None:
        matching &= ~forming | (evidence.numbers["dist_to_entry"] <= arguments.max_distance_pct)
    of_status = {"forming": forming, "in_progress": ~forming}.get(arguments.status, True)
    asked = matching & of_status
    missing = {p.kind.name: _size(asked & _lacks(evidence, p)) for p in predicates}
    masks = [_match(evidence, predicate) for predicate in predicates]
    for mask in masks:
        matching &= mask
    without = {kind: count for kind, count in missing.items() if count}
    emptied = not (matching & of_status).any()
    alone = [_size(asked & mask) for mask in masks] if emptied else ()
    return Matches(predicates, matching & forming, matching & ~forming, without, alone)


def page(evidence: Evidence, matches: Matches, arguments: ScanArguments) -> tuple[int, list[int]]:
    """The number of matching rows, and the rows of one page.

    By rank the forming ones come first; by a column all are sorted together, and those that are
    equal in it stand in the order of rank.
    """
    rows = np.concatenate([np.flatnonzero(group) for group in matches.groups(arguments.status)])
    if arguments.sort != RANK and len(rows):
        rows = np.sort(rows)
        numbers = _sort_column(evidence, arguments)[rows]
        downward = arguments.sort.startswith("-")
        rows = rows[np.argsort(-numbers if downward else numbers, kind="stable")]
    return len(rows), rows[arguments.offset : arguments.offset + arguments.limit].tolist()


def _sort_column(evidence: Evidence, arguments: ScanArguments) -> npt.NDArray[np.float64]:
    return evidence.numbers[COLUMNS[arguments.sort.lstrip("-")].name]


def _sorted_by(arguments: ScanArguments) -> set[str]:
    """The column of the order; none for the rank."""
    return {COLUMNS[arguments.sort.lstrip("-")].name} if arguments.sort != RANK else set()


def _size(rows: Mask) -> int:
    return int(np.count_nonzero(rows))


def _match(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.name == "direction":
        return _directed(evidence, str(predicate.value))
    if predicate.kind.name == "phase":
        return _phased(evidence, str(predicate.value))
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].equal(str(predicate.value))
    return predicate.match(evidence.numbers[predicate.column])


def _directed(evidence: Evidence, direction: str) -> Mask:
    found: Mask = evidence.labels["direction"].equal(direction) | _has_opposite(evidence)
    return found


def _has_opposite(evidence: Evidence) -> Mask:
    """The forming setups that have a plan of each direction."""
    found: Mask = ~np.isnan(evidence.numbers["opposite_distance"])
    return found


def _phased(evidence: Evidence, phase: str) -> Mask:
    """The setups of a phase; one is armed if the trigger of either plan is near."""
    found = evidence.labels["phase"].equal(phase)
    near = evidence.numbers["opposite_distance"] <= np.fmax(evidence.numbers["atr"], 1.0)
    return found | near if phase == "armed" else found & ~near


def _lacks(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].codes < 0
    return np.isnan(evidence.numbers[predicate.column])


def notes(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """What a reader of these rows could take for something else."""
    kinds = (predicate.kind for predicate in matches.predicates)
    yield from (f"{kind.name}: {kind.meaning}" for kind in kinds if kind.apart)
    if book.currencies and any(one.kind.unit == "$" for one in matches.predicates):
        yield "Filters in $ count US dollars; setups in another currency never match them."
    asks = {predicate.column for predicate in matches.predicates} | _sorted_by(arguments)
    known = book.evidence.numbers.get("quality")
    if "quality" in asks and known is not None and len(known) and np.isnan(known).all():
        yield NO_QUALITY
    yield from (words for one in matches.predicates if (words := doubt(one)))
    if arguments.max_distance_pct and arguments.max_distance_pct < FRACTION:
        yield f"max_distance_pct is percent: {arguments.max_distance_pct:g} counts as so many %."
    views = [book.scan.rows[row] for row in rows]
    yield from _opposites(book, arguments, matches, rows, views)
    yield from _emptied(matches)
    if uncovered := [s for s in arguments.symbols or () if not is_covered(book, s)]:
        yield f"The night does not cover {', '.join(uncovered[:NAMED])}."
    if any((view.attempt or 1) > 1 for view in views):
        yield "Rows with an attempt above 1 are later attempts; records count first attempts only."
    if arguments.max_distance_pct is not None and any(v.gain_pct is not None for v in views):
        yield "max_distance_pct filters forming setups only, not open trades."
    if "reward_to_risk" in _sorted_by(arguments) and any(v.gain_pct is not None for v in views):
        yield "reward_to_risk_left counts from the last close: it is large where the stop is near."
    if _sorted_by(arguments) & set(PRICES) and len({view.currency for view in views}) > 1:
        yield "This order compares prices of several currencies as bare numbers."
    if (
        arguments.sort != RANK
        and views
        and np.isnan(_sort_column(book.evidence, arguments)[rows]).all()
    ):
        yield "None of these rows has a number for this order, so they stand by rank."


def _opposites(
    book: Book,
    arguments: ScanArguments,
    matches: Matches,
    rows: Sequence[int],
    views: Sequence[SetupView],
) -> Iterator[str]:
    """Which rows match by the plan that they do not show first."""
    by = {p.kind.name: p.value for p in matches.predicates}
    wanted = arguments.direction or by.get("direction")
    near = arguments.max_distance_pct is not None or {"dist_to_entry", "phase"} & by.keys()
    if not (rows and (wanted or near)):
        return
    first, other = (book.evidence.numbers[name] for name in ("distance", "opposite_distance"))
    found = [
        f"{view.symbol} ({view.plans[1].direction}, {other[row]:.2f}%)"
        for row, view in zip(rows, views, strict=True)
        if len(view.plans) > 1
        and view.status == "forming"
        and ((wanted and view.direction != wanted) or (near and other[row] < first[row]))
    ]
    if found:
        more = " and others" if len(found) > NAMED else ""
        yield (
            "May break either way, and the opposite_plan matches or is nearer (its distance to the "
            f"trigger): {', '.join(found[:NAMED])}{more}."
        )


def _emptied(matches: Matches) -> Iterator[str]:
    """Which predicates left nothing."""
    kept = [
        f"{predicate.words} keeps {count}"
        for predicate, count in zip(matches.predicates, matches.alone, strict=False)
    ]
    if kept:
        yield f"Nothing matches. By itself, of this status: {'; '.join(kept[:NAMED])}."


def is_covered(book: Book, symbol: str) -> bool:
    """Whether a night covers a symbol."""
    coverage = book.coverage(symbol)
    return coverage is not None and coverage.covered


def _body(head: Mapping[str, Any], bodies: Sequence[bytes]) -> bytes:
    return b'%b,"setups":[%b]}' % (orjson.dumps(head)[:-1], b",".join(bodies))
