"""The scan: the night's ranked setups, filtered by evidence columns; a page joins stored bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from mcp_server.filters.filters import Predicate, parse_filters
from mcp_server.filters.scan_order import COLUMNS, RANK
from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from store.nights.book import Book
from store.nights.evidence import Evidence
from store.wire.briefs import compact
from store.wire.labels import ASSET_TYPES

if TYPE_CHECKING:
    from mcp_server.operations.answers import Answer
    from mcp_server.operations.calls import Call

Mask = npt.NDArray[np.bool_]


async def scan(call: Call[ScanArguments]) -> Answer:
    """One page of the market-wide scan."""
    return call.answer(scan_body(call.book, call.arguments))


def scan_body(book: Book, arguments: ScanArguments) -> bytes:
    """The fields of one page of the scan.

    Raises:
        ApiError: `bad_request` for filters that cannot be used.
    """
    found = _found(book, arguments)
    count, rows = page(book.evidence, found, arguments)
    head = _head(book, arguments, found, count, rows)
    return _body(head, book.evidence.bodies.at(rows))


async def scan_setups(call: Call[ScanSetupsArguments]) -> Answer:
    """One page of the market-wide scan, each row in short unless the full rows are wanted.

    It says how many setups match in each status, so that nobody takes no forming setup for none.
    """
    book, arguments = call.book, call.arguments
    found = _found(book, arguments)
    count, rows = page(book.evidence, found, arguments)
    head = _head(book, arguments, found, count, rows)
    kinds = (entry.get("asset_type") for entry in call.services.directory(book).entries)
    head["covered"] = {
        kind: count
        for kind, count in (dict.fromkeys(ASSET_TYPES, 0) | Counter(kinds)).items()
        if kind
    }
    head["counts"] = {"forming": _size(found.forming), "in_progress": _size(found.in_progress)}
    if arguments.rows == "full":
        return call.answer(_body(head, book.evidence.bodies.at(rows)))
    industries = book.evidence.labels["industry"].words() if rows else ()
    shown = [
        compact(view, book.scan.others(view)) | {"industry": industries[row]}
        for row in rows
        for view in (book.scan.rows[row],)
    ]
    return call.answer(_body(head, list(map(orjson.dumps, shown))))


class Found(NamedTuple):
    """The rows that match a scan, in each status."""

    predicates: Sequence[Predicate]
    forming: Mask
    in_progress: Mask
    without_evidence: Mapping[str, int]
    """By kind of filter: rows of the status, family and direction that have no number for it."""

    def groups(self, status: str) -> Sequence[Mask]:
        """The rows of a status, in groups that are shown one after the other."""
        both = (self.forming, self.in_progress)
        return {"forming": both[:1], "in_progress": both[1:]}.get(status, both)


def _found(book: Book, arguments: ScanArguments) -> Found:
    predicates = parse_filters(arguments.filters) if arguments.filters is not None else ()
    return select(book.evidence, arguments, predicates)


def select(evidence: Evidence, arguments: ScanArguments, predicates: Sequence[Predicate]) -> Found:
    """The matching rows."""
    if not len(evidence.bodies):
        return Found(predicates, np.zeros(0, bool), np.zeros(0, bool), {})
    kept = np.ones(len(evidence.bodies), bool)
    for name in ("family", "direction"):
        wanted = getattr(arguments, name)
        if wanted is not None:
            kept &= evidence.labels[name].equal(wanted)
    forming = evidence.labels["status"].equal("forming")
    if arguments.max_distance_pct is not None:
        kept &= ~forming | (evidence.numbers["dist_to_entry"] <= arguments.max_distance_pct)
    of_status = {"forming": forming, "in_progress": ~forming}.get(arguments.status, True)
    asked = kept & of_status
    missing = {p.kind.name: _size(asked & _lacks(evidence, p)) for p in predicates}
    for predicate in predicates:
        kept &= _match(evidence, predicate)
    without = {kind: count for kind, count in missing.items() if count}
    return Found(predicates, kept & forming, kept & ~forming, without)


def page(evidence: Evidence, found: Found, arguments: ScanArguments) -> tuple[int, list[int]]:
    """The number of matching rows, and the rows of one page.

    By rank the forming ones come first; by a column all are sorted together, and those that are
    equal in it stand in the order of rank.
    """
    rows = np.concatenate([np.flatnonzero(group) for group in found.groups(arguments.status)])
    if arguments.sort != RANK and len(rows):
        rows = np.sort(rows)
        numbers = evidence.numbers[COLUMNS[arguments.sort.lstrip("-")].name][rows]
        downward = arguments.sort.startswith("-")
        rows = rows[np.argsort(-numbers if downward else numbers, kind="stable")]
    return len(rows), rows[arguments.offset : arguments.offset + arguments.limit].tolist()


def _size(rows: Mask) -> int:
    return int(np.count_nonzero(rows))


def _match(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].equal(str(predicate.value))
    return predicate.match(evidence.numbers[predicate.column])


def _lacks(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].codes < 0
    return np.isnan(evidence.numbers[predicate.column])


def _head(
    book: Book, arguments: ScanArguments, found: Found, count: int, rows: Sequence[int]
) -> dict[str, Any]:
    return {
        "available": book.session is not None,
        "status": arguments.status,
        "filters": {
            "family": arguments.family,
            "direction": arguments.direction,
            "max_distance_pct": arguments.max_distance_pct,
            "predicates": [predicate.canonical for predicate in found.predicates],
        },
        "sort": arguments.sort,
        "without_evidence": found.without_evidence,
        "notes": list(dict.fromkeys(notes(book, arguments, found, rows))),
        "count": count,
        "limit": arguments.limit,
        "offset": arguments.offset,
    }


def notes(book: Book, arguments: ScanArguments, found: Found, rows: Sequence[int]) -> Iterator[str]:
    """What a reader of these rows could take for something else."""
    kinds = (predicate.kind for predicate in found.predicates)
    yield from (f"{kind.name}: {kind.meaning}" for kind in kinds if kind.apart)
    views = [book.scan.rows[row] for row in rows]
    if any((view.attempt or 1) > 1 for view in views):
        yield "Rows with an attempt above 1 are later attempts; records count first attempts only."
    if arguments.max_distance_pct is not None and any(v.gain_pct is not None for v in views):
        yield "max_distance_pct keeps forming setups only; running trades are not filtered by it."
    if arguments.sort != RANK and views:
        numbers = book.evidence.numbers[COLUMNS[arguments.sort.lstrip("-")].name]
        if np.isnan(numbers[rows]).all():
            yield "None of these rows has a number for this order, so they stand by rank."


def _body(head: Mapping[str, Any], bodies: Sequence[bytes]) -> bytes:
    opening = b'%b,"setups":[' % orjson.dumps(head)[:-1]
    if not bodies:
        return opening + b"]}"
    # A page is large, so it is joined only once.
    parts = list(bodies)
    parts[0] = opening + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)
