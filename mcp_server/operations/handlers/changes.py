"""Changes: what became of every formation since the night before, or since an earlier one.

Answers, the page of an evening and the command list them under the same headings: one formation
stands under one of them, whatever happened to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from mcp_server.filters.filters import read_filters
from mcp_server.operations.arguments import ChangesArguments, ScanArguments
from mcp_server.operations.handlers.scan import (
    MAX_NAMED,
    NONE_TRACKED,
    nearest_words,
    next_offset,
    of_crypto,
    uncovered,
)
from mcp_server.operations.selection import select
from store.nights.book import Book
from store.wire.labels import CHANGE_HEADINGS
from store.wire.records import Change, ChangeHeading, DrawnChange
from store.wire.scan_index import CLOSE, is_near, near_trigger, opposite
from store.wire.view import SetupView
from store.wire.words import named, why_words

if TYPE_CHECKING:
    from mcp_server.operations.answers import Answer
    from mcp_server.operations.services import Call

FIRST: Sequence[ChangeHeading] = ("ended", "triggered", "new", "near", "gone")
"""The headings in order of precedence: a formation is listed under the first that fits."""

NEAR = read_filters([{"kind": "phase", "value": "armed"}])
MAX_NEAR = 10
"""Setups near their trigger in an answer."""

DRAWN = DrawnChange.model_fields.keys() - Change.model_fields.keys()
"""What a night keeps of a change that answers leave out."""

LATE_ENDS = (
    "Ends of trades that had been open for over 120 sessions, unless the operator changed that, "
    "are not listed here; the history of a ticker has them."
)
OF_THEIR_NIGHT = (
    "Prices, distances and open results of a row are those of its `night`, not of today."
)

Row = Mapping[str, Any]
"""A sealed Change, with the session of its `night` if it is of an earlier one."""
Formation = tuple[str, str]
"""A symbol and a lineage."""


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """What became of one formation."""

    rows: Sequence[Row]
    """Its changes, first the one that it stands under; none if it is only near its trigger."""
    view: SetupView | None
    """As the night serves it; None if it does not any more."""

    @property
    def symbol(self) -> str:
        """The symbol of the formation."""
        return self.view.symbol if self.view else self.rows[0]["symbol"]


def evening(book: Book) -> dict[str, list[ChangeEvent]]:
    """The formations that changed or are near their trigger, by their headings in order."""
    rows: Sequence[Row] = (book.changes() or {}).get("changes", ())
    headings = headings_of(rows)
    of_formation: dict[Formation, list[Row]] = {}
    for row in rows:
        of_formation.setdefault(_formation(row), []).append(row)
    events: dict[ChangeHeading, list[ChangeEvent]] = {heading: [] for heading in CHANGE_HEADINGS}
    for formation, mine in of_formation.items():
        heading = headings[formation]
        mine.sort(key=lambda row: _heading(row) != heading)
        events[heading].append(ChangeEvent(mine, _served(book, mine[0])))
    close = sorted(filter(is_near, book.scan.rows), key=_distance)
    still = [view for view in close if (view.symbol, view.lineage_id) not in headings]
    events["near"] = [ChangeEvent((), view) for view in still]
    return {_heading_words(book, name, found): found for name, found in events.items() if found}


def ended(book: Book, symbol: str) -> list[list[Row]]:
    """The changes of a symbol's setups that the night does not list any more, by formation."""
    found: dict[str, list[Row]] = {}
    for row in (book.changes() or {}).get("changes", ()):
        if row["symbol"] == symbol and _served(book, row) is None:
            found.setdefault(row["lineage_id"], []).append(row)
    return list(found.values())


def near_words(groups: Mapping[str, Sequence[ChangeEvent]]) -> str:
    """What near means under these headings, and which are near that stand under another one."""
    events = (event for found in groups.values() for event in found if event.rows)
    also = dict.fromkeys(one.symbol for one in events if one.view and is_near(one.view))
    names = named(list(also), most=len(also))
    under = f" These are near too, but listed under another heading: {names}." if also else ""
    return f"Near the trigger means within {CLOSE:g}% of it.{under}"


def _distance(view: SetupView) -> float:
    return view.nearest.distance_pct(view.last_close)


def _heading_words(book: Book, heading: ChangeHeading, events: Sequence[ChangeEvent]) -> str:
    """A heading in words, which do not say today of what was before the night's session."""
    words, days = CHANGE_HEADINGS[heading], {one.rows[0]["session"] for one in events if one.rows}
    if not words.endswith("today") or days == {str(book.session)}:
        return words
    return words.replace("today", f"since {(book.changes() or {})['since_session']}")


def headings_of(rows: Sequence[Row]) -> dict[Formation, ChangeHeading]:
    """The heading of each formation: by the newest night that tells of an attempt, whose rows come
    first, and among attempts by what is told first.
    """
    newest: dict[tuple[str, str, int], Any] = {}
    found: dict[Formation, ChangeHeading] = {}
    for row in rows:
        night = row.get("night")
        if newest.setdefault((*_formation(row), row["attempt"]), night) == night:
            heading = _heading(row)
            known = found.get(_formation(row), heading)
            found[_formation(row)] = min(known, heading, key=FIRST.index)
    return found


def near(
    book: Book, changed: Mapping[Formation, ChangeHeading], asked: ScanArguments | None = None
) -> list[SetupView]:
    """The forming setups of the phase `armed` that did not change, the nearest first."""
    query = (asked or ScanArguments()).model_copy(update={"filters": NEAR})
    rows = np.flatnonzero(select(book, query).forming).tolist()
    views = [book.scan.rows[row] for row in rows]
    still = [view for view in views if (view.symbol, view.lineage_id) not in changed]
    return sorted(
        still, key=lambda view: view.toward(query.direction).distance_pct(view.last_close)
    )


async def changes(call: Call[ChangesArguments]) -> Answer:
    """One page of what changed, in the order in which it was sealed, the newest night first."""
    arguments, book = call.arguments, call.book
    stored: Row = book.changes() or {"since_session": None, "since_version": None, "changes": []}
    if arguments.since is not None and stored["since_session"]:
        stored = _with_details(
            book, await call.services.active_night.changes_since(book, arguments.since)
        )
    headings, keeps = headings_of(stored["changes"]), _filter(book, arguments)
    matches = [row for row in stored["changes"] if keeps(row)]
    rows = matches[arguments.offset : arguments.offset + arguments.limit]
    direction = arguments.direction
    asked = arguments.model_dump(include={"family", "direction", "symbols"})
    close = None if arguments.change else near(book, {}, ScanArguments(**asked))
    near_rows = [] if arguments.offset else (close or [])[:MAX_NEAR]
    shown = [*near_rows, *served_tonight(book, rows)]
    page_of = {"count": len(matches), "offset": arguments.offset}
    body = {
        "available": stored["since_session"] is not None,
        "since_session": stored["since_session"],
        "since_version": stored["since_version"],
        "detector_changed": stored.get("detector_changed", False),
        "change": arguments.change,
        "count": len(matches),
        "limit": arguments.limit,
        "offset": arguments.offset,
        "next_offset": next_offset(page_of, len(rows)),
        "near_count": None if close is None else len(close),
        "near": [near_trigger(view, direction) for view in near_rows],
        "not_covered": uncovered(book, arguments.symbols or ()),
        "notes": [*_notes(book, arguments, stored["since_session"], rows), *of_crypto(book, shown)]
        + await nearest_words(call),
        "changes": told(book, rows, headings),
    }
    return call.answer(orjson.dumps(body))


def _notes(
    book: Book, arguments: ChangesArguments, earliest: str | None, rows: Sequence[Row]
) -> Iterator[str]:
    """What an answer cannot tell, and what a reader of its rows could take for something else."""
    since, wanted = arguments.since, arguments.direction
    if since and earliest and since >= dt.date.fromisoformat(str(book.session)):
        yield f"No night is newer than that of {book.session}: nothing is known of later days."
    elif since and earliest and since < dt.date.fromisoformat(earliest):
        yield (
            f"You asked for changes since {since}, but the earliest night kept is that of "
            f"{earliest}: changes before it are not in this answer."
        )
    if arguments.symbols == []:
        yield NONE_TRACKED
    if not all(_is_of_tonight(book, row) for row in rows):
        yield OF_THEIR_NIGHT
    if absent := uncovered(book, arguments.symbols or ()):
        yield f"The night does not cover {named(absent, MAX_NAMED)}, so it has no setup of these."
    other = [row for row in rows if wanted and row["direction"] != wanted]
    if other:
        names = named([*dict.fromkeys(row["symbol"] for row in other)], MAX_NAMED)
        gone = any(_heading(row) == "gone" for row in other)
        yield (
            f"May break either way, and the opposite_plan is the {wanted} one: {names}. Other "
            "numbers of these rows count their first plan."
            f"{' Those gone have no opposite_plan.' * gone}"
        )
    if earliest and arguments.change in (None, "stopped", "reached"):
        yield LATE_ENDS


def _filter(book: Book, arguments: ChangesArguments) -> Callable[[Row], bool]:
    """Whether a change is one that is asked for; either plan of a forming triangle counts."""
    asked = arguments.model_dump(include={"change", "family"}, exclude_none=True)
    symbols = None if arguments.symbols is None else frozenset(arguments.symbols)
    return lambda row: (
        asked.items() <= row.items()
        and (symbols is None or row["symbol"] in symbols)
        and (arguments.direction in (None, row["direction"]) or _breaks_either_way(book, row))
    )


def _breaks_either_way(book: Book, row: Row) -> bool:
    """Whether a change is of a setup that had two plans; a night without levels tells it only of
    those that are still served.
    """
    if row.get("trigger_price") is None:
        view = _served(book, row)
        return view is not None and len(view.plans) > 1
    return bool(row["pattern_type"] == "symmetrical_triangle")


def told(
    book: Book, rows: Sequence[Row], headings: Mapping[Formation, ChangeHeading]
) -> list[dict[str, Any]]:
    """Changes as answers tell them, with the fields of ToldChange."""
    answer = []
    for row in rows:
        one = {"night": str(book.session), **row, "heading": headings[_formation(row)]}
        view = _served(book, row)
        if "night" in row:  # ids of setups change every night
            one["setup_id"] = view and view.setup_id
        if view and one["night"] == str(book.session):
            one |= opposite(view)
        fields = {name: value for name, value in one.items() if name not in DRAWN}
        answer.append(fields | {"why": why_words(row)})
    return answer


def served_tonight(book: Book, rows: Sequence[Row]) -> list[SetupView]:
    """The setups of rows of the night itself: what other rows tell is of their own night."""
    served = (_served(book, row) for row in rows if _is_of_tonight(book, row))
    return [view for view in served if view]


def _is_of_tonight(book: Book, row: Row) -> bool:
    session = str(book.session)
    return bool(row.get("night", session) == session)


def _with_details(book: Book, stored: Row) -> Row:
    """The changes of several nights, those of the night itself as it keeps them: the ledger has no
    lines, without which nobody knows where a close crossed one.
    """
    rows: Sequence[Row] = stored.get("changes", ())
    earlier = [row for row in rows if not _is_of_tonight(book, row)]
    if len(earlier) == len(rows):
        return stored
    night = {"night": str(book.session)}
    own = [{**row, **night} for row in (book.changes() or {}).get("changes", ())]
    return {**stored, "changes": [*own, *earlier]}


def _served(book: Book, row: Row) -> SetupView | None:
    """The setup of a change as the night serves it; None of one that ended or is gone."""
    if _heading(row) in ("ended", "gone"):
        return None
    attempts = book.scan.formations.get(row["lineage_id"], ())
    return next((view for view in attempts if (view.attempt or 1) == row["attempt"]), None)


def _formation(row: Row) -> Formation:
    return row["symbol"], row["lineage_id"]


def _heading(row: Row) -> ChangeHeading:
    """Where a change stands: a trade of a delisted symbol ended too."""
    if row["change"] in ("stopped", "reached") or row["r_multiple"] is not None:
        return "ended"
    return "gone" if row["change"] == "expired" else row["change"]
