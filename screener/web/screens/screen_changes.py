"""Screen changes: which setups entered and left a screen since the night before.

One query selects from both nights. A setup is recognized by its lineage and attempt, because a
second attempt may begin while the trade of the first is open.
The page of a saved screen, its feed and the notifications of a nightly show the same.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from mcp_server.operations.handlers.scan import page, select
from screener.web.market.scan_query import Query
from store.nights.book import Book
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from store.wire.view import SetupView
from store.wire.words import state_words

Key = tuple[str, int]
"""A lineage and an attempt."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A setup that left a screen."""

    view: SetupView
    """As the night before had it."""
    reason: str
    """What became of it, in words."""


@dataclass(frozen=True, slots=True)
class ScreenChanges:
    """The setups of a screen, in its order, and those that left it."""

    since: str
    """The session of the night before; empty without one, or if it is not here any more: then it is
    not known what entered and left.
    """
    stayed: Sequence[SetupView]
    entered: Sequence[SetupView] = ()
    triggered: Sequence[SetupView] = ()
    """Those that were forming in it the night before, and whose trade is in progress now."""
    left: Sequence[Departure] = ()
    detector_changed: bool = False
    """Whether the night before is of another detector: what entered and left is not told then."""

    @property
    def size(self) -> int:
        """How many setups are in the screen."""
        return len(self.stayed) + len(self.triggered) + len(self.entered)


def screen_changes(
    query: Query, book: Book, before: Book | None, symbols: Container[str] | None = None
) -> ScreenChanges:
    """What a query that can be applied finds tonight, and how that differs from the night before;
    of some symbols alone if they are given.
    """
    now = _matching(query, book, symbols)
    if before is None:
        return ScreenChanges("", list(now.values()))
    if book.detector_changed:
        return ScreenChanges(str(before.session), list(now.values()), detector_changed=True)
    earlier = _matching(query, before, symbols)
    left = earlier.keys() - now.keys()
    triggered = {
        key
        for key in earlier.keys() & now.keys()
        if (earlier[key].status, now[key].status) == ("forming", "in_progress")
    }
    reasons = _reasons(book, left)
    return ScreenChanges(
        since=str(before.session),
        stayed=[view for key, view in now.items() if key in earlier and key not in triggered],
        triggered=[view for key, view in now.items() if key in triggered],
        entered=[view for key, view in now.items() if key not in earlier],
        left=[
            Departure(view, reasons.get(key, CHANGE_KINDS["expired"]))
            for key, view in earlier.items()
            if key in left
        ],
    )


def _matching(query: Query, book: Book, symbols: Container[str] | None) -> dict[Key, SetupView]:
    """The setups that match, whatever page is asked for."""
    every = query.arguments.model_copy(update={"offset": 0, "limit": len(book.scan.rows)})
    _, rows = page(book.evidence, select(book, every, query.predicates), every)
    found: dict[Key, SetupView] = {}
    for view in (book.scan.rows[row] for row in rows):
        if symbols is None or view.symbol in symbols:
            found.setdefault((view.lineage_id, view.attempt or 1), view)
    return found


def _reasons(book: Book, left: Set[Key]) -> dict[Key, str]:
    """What became of the setups that left: how those stand that the night still serves, and of the
    others the last of their changes.
    """
    changes = (book.changes() or {"changes": ()})["changes"] if left else ()
    return {
        key: f"{CHANGE_KINDS[row['change']]}: {CHANGE_REASONS[row['reason']]}"
        for row in changes
        if (key := _key(row)) in left
    } | {
        key: f"No longer matches: {state_words(view)}"
        for key in left
        for view in book.scan.formations.get(key[0], ())
        if (view.attempt or 1) == key[1]
    }


def _key(change: Mapping[str, Any]) -> Key:
    return change["lineage_id"], change.get("attempt") or 1
