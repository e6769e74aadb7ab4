"""The scan: the night's ranked setups, filtered by evidence columns; a page joins stored bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from mcp_server.operations.filters import Predicate, parse_filters
from store.book import Book
from store.briefs import compact
from store.evidence import Evidence

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
    return _page(book, arguments, _found(book, arguments), _whole)


async def scan_setups(call: Call[ScanSetupsArguments]) -> Answer:
    """One page of the market-wide scan, each row in short unless the full rows are wanted.

    It says how many setups match in each status, so that nobody takes no forming setup for none.
    """
    book, arguments = call.book, call.arguments
    found = _found(book, arguments)
    counts = {"forming": _size(found.forming), "in_progress": _size(found.in_progress)}
    shown = _whole if arguments.rows == "full" else _compact
    return call.answer(_page(book, arguments, found, shown, counts=counts))


class Found(NamedTuple):
    """The rows that match a scan, in each status."""

    predicates: Sequence[Predicate]
    forming: Mask
    in_progress: Mask

    def groups(self, status: str) -> Sequence[Mask]:
        """The rows of a status, in groups that are shown one after the other."""
        both = (self.forming, self.in_progress)
        return {"forming": both[:1], "in_progress": both[1:]}.get(status, both)


def _found(book: Book, arguments: ScanArguments) -> Found:
    predicates = parse_filters(arguments.filters) if arguments.filters is not None else ()
    return select(book.evidence, arguments, predicates)


def _page(
    book: Book,
    arguments: ScanArguments,
    found: Found,
    shown: Callable[[bytes], bytes],
    **told: object,
) -> bytes:
    count, rows = page(found.groups(arguments.status), arguments.offset, arguments.limit)
    bodies = [shown(body) for body in book.evidence.bodies.at(rows)]
    head = _head(arguments, found.predicates, book.session is not None, count)
    return _body({**head, **told}, bodies)


def _whole(body: bytes) -> bytes:
    return body


def _compact(body: bytes) -> bytes:
    return orjson.dumps(compact(orjson.loads(body)))


def select(evidence: Evidence, arguments: ScanArguments, predicates: Sequence[Predicate]) -> Found:
    """The matching rows."""
    if not len(evidence.bodies):
        return Found(predicates, np.zeros(0, bool), np.zeros(0, bool))
    kept = np.ones(len(evidence.bodies), bool)
    for name in ("family", "direction"):
        wanted = getattr(arguments, name)
        if wanted is not None:
            kept &= evidence.labels[name].equal(wanted)
    forming = evidence.labels["status"].equal("forming")
    if arguments.max_distance_pct is not None:
        kept &= ~forming | (evidence.numbers["dist_to_entry"] <= arguments.max_distance_pct)
    for predicate in predicates:
        kept &= _match(evidence, predicate)
    return Found(predicates, kept & forming, kept & ~forming)


def page(groups: Sequence[Mask], offset: int, limit: int) -> tuple[int, list[int]]:
    """The number of rows in all groups, and the rows of one page, best rank first in each group."""
    rows: list[int] = []
    count = 0
    for group in groups:
        skipped, size = max(0, offset - count), _size(group)
        if skipped < size and len(rows) < limit:
            rows += np.flatnonzero(group)[skipped : skipped + limit - len(rows)].tolist()
        count += size
    return count, rows


def _size(rows: Mask) -> int:
    return int(np.count_nonzero(rows))


def _match(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].equal(str(predicate.value))
    return predicate.match(evidence.numbers[predicate.column])


def _head(
    arguments: ScanArguments, predicates: Sequence[Predicate], available: bool, count: int
) -> dict[str, Any]:
    return {
        "available": available,
        "status": arguments.status,
        "filters": {
            "family": arguments.family,
            "direction": arguments.direction,
            "max_distance_pct": arguments.max_distance_pct,
            "predicates": [predicate.canonical for predicate in predicates],
        },
        "count": count,
        "limit": arguments.limit,
        "offset": arguments.offset,
    }


def _body(head: Mapping[str, Any], bodies: Sequence[bytes]) -> bytes:
    opening = b'%b,"setups":[' % orjson.dumps(head)[:-1]
    if not bodies:
        return opening + b"]}"
    # A page is large, so it is joined only once.
    parts = list(bodies)
    parts[0] = opening + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)
