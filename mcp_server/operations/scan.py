"""The scan: the night's ranked setups, filtered by evidence columns; a page joins stored bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from mcp_server.operations.calls import Call
from mcp_server.operations.filters import Predicate, parse_filters
from store.briefs import compact
from store.evidence import Evidence

Mask = npt.NDArray[np.bool_]


async def scan(call: Call[ScanArguments]) -> Answer:
    """One page of the market-wide scan."""
    return _page(call, lambda body: body)


async def scan_setups(call: Call[ScanSetupsArguments]) -> Answer:
    """One page of the market-wide scan, each row in short unless the full rows are wanted."""
    if call.arguments.rows == "full":
        return _page(call, lambda body: body)
    return _page(call, lambda body: orjson.dumps(compact(orjson.loads(body))))


def _page(call: Call[Any], shown: Callable[[bytes], bytes]) -> Answer:
    arguments, book = call.arguments, call.book
    predicates = parse_filters(arguments.filters) if arguments.filters is not None else ()
    groups = select(book.evidence, arguments, predicates)
    count, rows = page(groups, arguments.offset, arguments.limit)
    bodies = [shown(body) for body in book.evidence.bodies.at(rows)]
    return call.answer(_body(arguments, predicates, book.session is not None, count, bodies))


def select(
    evidence: Evidence, arguments: ScanArguments, predicates: Sequence[Predicate]
) -> Sequence[Mask]:
    """The matching rows, in groups that are shown one after the other: forming setups first."""
    if not len(evidence.bodies):
        return ()
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
    first, then = kept & forming, kept & ~forming
    return {"forming": (first,), "in_progress": (then,), "all": (first, then)}[arguments.status]


def page(groups: Sequence[Mask], offset: int, limit: int) -> tuple[int, list[int]]:
    """The number of rows in all groups, and the rows of one page, best rank first in each group."""
    rows: list[int] = []
    count = 0
    for group in groups:
        skipped, size = max(0, offset - count), int(np.count_nonzero(group))
        if skipped < size and len(rows) < limit:
            rows += np.flatnonzero(group)[skipped : skipped + limit - len(rows)].tolist()
        count += size
    return count, rows


def _match(evidence: Evidence, predicate: Predicate) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].equal(str(predicate.value))
    return predicate.match(evidence.numbers[predicate.column])


def _body(
    arguments: ScanArguments,
    predicates: Sequence[Predicate],
    available: bool,
    count: int,
    bodies: Sequence[bytes],
) -> bytes:
    head: dict[str, Any] = {
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
    opening = b'%b,"setups":[' % orjson.dumps(head)[:-1]
    if not bodies:
        return opening + b"]}"
    # A page is large, so it is joined only once.
    parts = list(bodies)
    parts[0] = opening + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)
