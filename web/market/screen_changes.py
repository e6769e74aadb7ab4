"""Screen changes: which setups entered and left a screen since the night before.

The same query selects from both nights, and a setup is known from night to night by its lineage.
The page of a saved screen, its feed and the notifications of a nightly show the same.
"""

from __future__ import annotations

from collections.abc import Container, Sequence, Set
from dataclasses import dataclass

from mcp_server.operations.handlers.scan import page, select
from store.nights.book import Book
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from store.wire.view import SetupView
from store.wire.words import state_words
from web.market.scan_query import Query


@dataclass(frozen=True, slots=True)
class Departure:
    """A setup that left a screen."""

    view: SetupView
    """As the night before had it."""
    reason: str
    """What became of it, in words."""


@dataclass(frozen=True, slots=True)
class ScreenChanges:
    """The setups of a screen, one of each formation, in its order, and those that left it."""

    since: str
    """The session of the night before; empty without one, or if it is not here any more: then it is
    not known what entered and left.
    """
    stayed: Sequence[SetupView]
    entered: Sequence[SetupView] = ()
    left: Sequence[Departure] = ()

    @property
    def size(self) -> int:
        """How many setups are in the screen."""
        return len(self.stayed) + len(self.entered)


def screen_changes(
    query: Query, book: Book, before: Book | None, symbols: Container[str] | None = None
) -> ScreenChanges:
    """What a query that can be applied finds tonight, and how that differs from the night before;
    of some symbols alone if they are given.
    """
    now = _matching(query, book, symbols)
    if before is None:
        return ScreenChanges("", list(now.values()))
    earlier = _matching(query, before, symbols)
    left = earlier.keys() - now.keys()
    reasons = _reasons(book, left)
    return ScreenChanges(
        since=str(before.session),
        stayed=[view for lineage, view in now.items() if lineage in earlier],
        entered=[view for lineage, view in now.items() if lineage not in earlier],
        left=[
            Departure(view, reasons.get(lineage, CHANGE_KINDS["expired"]))
            for lineage, view in earlier.items()
            if lineage in left
        ],
    )


def _matching(query: Query, book: Book, symbols: Container[str] | None) -> dict[str, SetupView]:
    """The first setup of each formation that matches, by lineage, whatever page is asked for."""
    every = query.arguments.model_copy(update={"offset": 0, "limit": len(book.scan.rows)})
    _, rows = page(book.evidence, select(book.evidence, every, query.predicates), every)
    found: dict[str, SetupView] = {}
    for view in (book.scan.rows[row] for row in rows):
        if symbols is None or view.symbol in symbols:
            found.setdefault(view.lineage_id, view)
    return found


def _reasons(book: Book, left: Set[str]) -> dict[str, str]:
    """What became of the formations that left, by lineage: how those stand that the night still
    serves, and of the others the last of their changes.
    """
    changes = (book.changes() or {"changes": ()})["changes"] if left else ()
    return {
        row["lineage_id"]: f"{CHANGE_KINDS[row['change']]}: {CHANGE_REASONS[row['reason']]}"
        for row in changes
        if row["lineage_id"] in left
    } | {
        lineage: f"No longer matches: {state_words(book.scan.formations[lineage][0])}"
        for lineage in left & book.scan.formations.keys()
    }
