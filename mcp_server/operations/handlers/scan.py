"""The market-wide scan: the night's ranked setups, filtered by evidence columns, of which a page
joins stored bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from mcp_server.filters.doubts import FRACTION, doubt, in_percent
from mcp_server.filters.filters import Predicate
from mcp_server.filters.scan_order import COLUMNS, PRICES, RANK
from mcp_server.operations.arguments import ScanArguments, ScanSetupsArguments
from store.nights.book import Book
from store.nights.feature_table import FeatureTable
from store.wire.labels import ASSET_TYPES
from store.wire.scan_index import compact
from store.wire.words import NO_QUALITY

if TYPE_CHECKING:
    from mcp_server.operations.answers import Answer
    from mcp_server.operations.services import Call

Mask = npt.NDArray[np.bool_]

FULL_ROWS = 20
"""Most whole rows of a page for agents: each is some 700 tokens."""

EITHER_WAY: Final = "May break either way"
"""How a note on rows begins that match by their second plan, which a table shows anyway."""

MAX_NAMED = 10
"""Most setups or symbols that a note names."""


async def scan(call: Call[ScanArguments]) -> Answer:
    """One page of the market-wide scan."""
    return call.answer(scan_body(call.book, call.arguments))


def scan_body(book: Book, arguments: ScanArguments) -> bytes:
    """The fields of one page of the scan."""
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

    forming: Mask
    in_progress: Mask
    without_evidence: Mapping[str, int]
    """By kind of filter: rows of the status, family and direction that have no number for it."""
    alone: Sequence[tuple[str, int]] = ()
    """How many rows of the status each condition keeps by itself, if nothing matches."""

    def groups(self, status: str) -> Sequence[Mask]:
        """The rows of a status, in groups that are listed one after the other."""
        both = (self.forming, self.in_progress)
        return {"forming": both[:1], "in_progress": both[1:]}.get(status, both)


def _scanned(book: Book, arguments: ScanArguments) -> tuple[Matches, list[int], dict[str, Any]]:
    """The matches of a scan, the rows of its page, and the fields in front of them."""
    matches = select(book, arguments)
    count, rows = page(book.evidence, matches, arguments)
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
        "notes": list(dict.fromkeys(all_notes(book, arguments, matches, rows))),
        "count": count,
        "limit": arguments.limit,
        "offset": arguments.offset,
    }
    return matches, rows, head


def select(book: Book, arguments: ScanArguments) -> Matches:
    """The matching rows. A forming triangle that may break either way matches by either plan or, if
    a direction is asked for, by what is known of its plan of this direction.
    """
    evidence = book.evidence
    if not len(evidence.bodies):
        return Matches(np.zeros(0, bool), np.zeros(0, bool), {})
    wanted, forming = wanted_of(arguments), evidence.labels["status"].equal("forming")
    every = np.ones(len(forming), bool)
    of_status = {"forming": forming, "in_progress": ~forming}.get(arguments.status, every)
    plain = list(_plain_conditions(book, arguments, wanted))
    predicates = [(p.words, _match(evidence, p, wanted)) for p in arguments.filters]
    asked = reduce(and_, (mask for _, mask in plain), of_status)
    missing = {p.kind.name: _size(asked & _lacks(evidence, p, wanted)) for p in arguments.filters}
    without = {kind: count for kind, count in missing.items() if count}
    matching = reduce(and_, (mask for _, mask in (*plain, *predicates)), every)
    emptied = not (matching & of_status).any()
    each = [(words, _size(of_status & mask)) for words, mask in (*plain, *predicates)]
    return Matches(matching & forming, matching & ~forming, without, each if emptied else ())


def wanted_of(arguments: ScanArguments) -> str | None:
    """The direction that a scan asks for; None for both."""
    named = (str(p.value) for p in arguments.filters if p.kind.name == "direction")
    return arguments.direction or next(named, None)


def _plain_conditions(
    book: Book, arguments: ScanArguments, wanted: str | None
) -> Iterator[tuple[str, Mask]]:
    """The conditions that are arguments of their own, in words, with the rows that each keeps."""
    evidence = book.evidence
    if arguments.family is not None:
        yield f"family {arguments.family}", evidence.labels["family"].equal(arguments.family)
    if arguments.direction is not None:
        yield f"direction {arguments.direction}", _directed(evidence, arguments.direction)
    if arguments.symbols is not None:
        asked_for = frozenset(arguments.symbols)
        listed = np.array([view.symbol in asked_for for view in book.scan.rows])
        yield "the list of symbols", listed
    if arguments.min_sample is not None:
        enough = _numbers(evidence, "sample", wanted) >= arguments.min_sample
        yield f"min_sample {arguments.min_sample}", enough
    if (most := arguments.max_distance_pct) is not None:
        near = _numbers(evidence, "dist_to_entry", wanted) <= most
        yield f"max_distance_pct {most:g}", near | ~evidence.labels["status"].equal("forming")


def page(
    evidence: FeatureTable, matches: Matches, arguments: ScanArguments
) -> tuple[int, list[int]]:
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


def _sort_column(evidence: FeatureTable, arguments: ScanArguments) -> npt.NDArray[np.float64]:
    name = COLUMNS[arguments.sort.lstrip("-")].name
    return _numbers(evidence, name, wanted_of(arguments))


def _sorted_by(arguments: ScanArguments) -> set[str]:
    """The column of the order; none for the rank."""
    return {COLUMNS[arguments.sort.lstrip("-")].name} if arguments.sort != RANK else set()


def _size(rows: Mask) -> int:
    return int(np.count_nonzero(rows))


DISTANCES: Final = frozenset({"distance", "dist_to_entry"})
OF_A_PLAN: Final = DISTANCES | {
    *("min_win_rate", "min_avg_r", "min_expected_r", "typical_return", "win_rate", "sample"),
    *("min_rr", "reward_to_risk", "target_move", "start", "stop_way", "target_way"),
}
"""The columns that count a plan of one direction, or its record."""


def _numbers(evidence: FeatureTable, name: str, wanted: str | None) -> npt.NDArray[np.float64]:
    """A column, of the plans of a direction if one is wanted: a row has no number that counts its
    plan of the other direction, but for the distance, which is known of both.
    """
    values = evidence.numbers[name]
    if wanted is None or name not in OF_A_PLAN:
        return values
    own = evidence.labels["direction"].equal(wanted)
    if name in DISTANCES:
        first, other = (evidence.numbers[each] for each in ("distance", "opposite_distance"))
        return np.where(_has_opposite(evidence), np.where(own, first, other), values)
    return np.where(own, values, np.nan)


def _match(evidence: FeatureTable, predicate: Predicate, wanted: str | None) -> Mask:
    if predicate.kind.name == "direction":
        return _directed(evidence, str(predicate.value))
    if predicate.kind.name == "phase":
        return _phased(evidence, str(predicate.value), wanted)
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].equal(str(predicate.value))
    return predicate.match(_numbers(evidence, predicate.column, wanted))


def _directed(evidence: FeatureTable, direction: str) -> Mask:
    found: Mask = evidence.labels["direction"].equal(direction) | _has_opposite(evidence)
    return found


def _has_opposite(evidence: FeatureTable) -> Mask:
    """The forming setups that have a plan of each direction."""
    found: Mask = ~np.isnan(evidence.numbers["opposite_distance"])
    return found


def _phased(evidence: FeatureTable, phase: str, wanted: str | None) -> Mask:
    """The setups of a phase; one with two plans is armed if the trigger of a wanted one is near."""
    distance = _numbers(evidence, "dist_to_entry", wanted)
    near = distance <= np.fmax(evidence.numbers["atr"], 1.0)
    by_plan = {"armed": near, "forming": ~near}.get(phase, np.False_)
    return np.where(_has_opposite(evidence), by_plan, evidence.labels["phase"].equal(phase))


def _lacks(evidence: FeatureTable, predicate: Predicate, wanted: str | None) -> Mask:
    if predicate.kind.takes == "choice":
        return evidence.labels[predicate.column].codes < 0
    return np.isnan(_numbers(evidence, predicate.column, wanted))


def all_notes(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """The notes, after what pages show beside the conditions and in the rows themselves."""
    kinds = (predicate.kind for predicate in arguments.filters)
    yield from (f"{kind.name}: {kind.meaning}" for kind in kinds if kind.apart)
    yield from _opposites(book, arguments, rows)
    yield from notes(book, arguments, matches, rows)


def notes(
    book: Book, arguments: ScanArguments, matches: Matches, rows: Sequence[int]
) -> Iterator[str]:
    """What a reader of these rows could take for something else."""
    if book.currencies and any(one.kind.unit == "$" for one in arguments.filters):
        yield "Filters in $ count US dollars; setups in another currency never match them."
    asks = {predicate.column for predicate in arguments.filters} | _sorted_by(arguments)
    known = book.evidence.numbers.get("quality")
    if "quality" in asks and known is not None and len(known) and np.isnan(known).all():
        yield NO_QUALITY
    yield from (words for one in arguments.filters if (words := doubt(one)))
    if arguments.max_distance_pct and arguments.max_distance_pct < FRACTION:
        yield in_percent("max_distance_pct", arguments.max_distance_pct)
    views = [book.scan.rows[row] for row in rows]
    yield from _emptied(matches)
    if uncovered := [s for s in arguments.symbols or () if not is_covered(book, s)]:
        yield f"The night does not cover {', '.join(uncovered[:MAX_NAMED])}."
    if any((view.attempt or 1) > 1 for view in views):
        yield "Rows with an attempt above 1 are later attempts; records count first attempts only."
    if any(view.gain_pct is not None for view in views):
        yield from _of_running(arguments)
    if _sorted_by(arguments) & set(PRICES) and len({view.currency for view in views}) > 1:
        yield "This order compares prices of several currencies as bare numbers."
    if (
        arguments.sort != RANK
        and views
        and np.isnan(_sort_column(book.evidence, arguments)[rows]).all()
    ):
        yield "None of these rows has a number for this order, so they stand by rank."


def _of_running(arguments: ScanArguments) -> Iterator[str]:
    """What a reader of running trades could take for something else."""
    if arguments.status == "in_progress":
        yield (
            "Only trades still open: those that hit their stop or target are left out, so these "
            "gains are no success rate."
        )
    if arguments.max_distance_pct is not None:
        yield "max_distance_pct filters forming setups only, not open trades."
    if "reward_to_risk" in _sorted_by(arguments):
        yield "reward_to_risk_left counts from the last close: it is large where the stop is near."


def _opposites(book: Book, arguments: ScanArguments, rows: Sequence[int]) -> Iterator[str]:
    """Which rows match by the plan that they do not show first."""
    wanted = wanted_of(arguments)
    near = arguments.max_distance_pct is not None or any(
        p.kind.name in ("dist_to_entry", "phase") for p in arguments.filters
    )
    if not (rows and (wanted or near)):
        return
    first, other = (book.evidence.numbers[name] for name in ("distance", "opposite_distance"))
    found = [
        f"{view.symbol} ({view.plans[1].direction}, {other[row]:.2f}%)"
        for row, view in ((row, book.scan.rows[row]) for row in rows)
        if len(view.plans) > 1
        and view.status == "forming"
        and (view.direction != wanted if wanted else other[row] < first[row])
    ]
    if found:
        why = f"is the {wanted} one" if wanted else "has the nearer trigger"
        more = " and others" if len(found) > MAX_NAMED else ""
        yield (
            f"{EITHER_WAY}, and the opposite_plan {why} (its distance to the trigger): "
            f"{', '.join(found[:MAX_NAMED])}{more}. Other numbers of these rows count their first "
            "plan."
        )


def _emptied(matches: Matches) -> Iterator[str]:
    """Which conditions left nothing."""
    kept = [f"{words} keeps {count}" for words, count in matches.alone]
    if kept:
        yield (
            "Nothing matches. Each condition by itself, of all setups with this status: "
            f"{'; '.join(kept[:MAX_NAMED])}."
        )


def is_covered(book: Book, symbol: str) -> bool:
    """Whether a night covers a symbol."""
    coverage = book.coverage(symbol)
    return coverage is not None and coverage.covered


def _body(head: Mapping[str, Any], bodies: Sequence[bytes]) -> bytes:
    return b'%b,"setups":[%b]}' % (orjson.dumps(head)[:-1], b",".join(bodies))
