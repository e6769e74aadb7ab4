"""Screen changes: which setups entered and left a screen since the night before.

One query selects from both nights. A setup is recognized by its lineage and attempt, because a
second attempt may begin while the trade of the first is open.
The page of a saved screen, its feed and the notifications of a nightly show the same.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from cachetools import LRUCache

from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.selection import page, select
from store.nights.book import Book, PerBook
from store.wire.labels import CHANGE_KINDS
from store.wire.view import SetupView
from store.wire.words import place_words, state_words, why_words

Key = tuple[str, int]
"""A lineage and an attempt."""

KEPT_BYTES: Final = 4 * 1024 * 1024
"""The size of what is kept of the screens of one night."""

SCREEN_BYTES: Final = 4096
"""An upper bound for a screen with its query, which has at most 50 conditions."""

SETUP_BYTES, LEFT_BYTES = 8, 256
"""Upper bounds for a setup in a screen, which the night holds anyway, and for one that left it."""


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

    def within(self, symbols: Container[str]) -> ScreenChanges:
        """The setups of some symbols."""
        lists = (self.stayed, self.entered, self.triggered)
        stayed, entered, triggered = (
            [view for view in views if view.symbol in symbols] for views in lists
        )
        left = [one for one in self.left if one.view.symbol in symbols]
        return replace(self, stayed=stayed, entered=entered, triggered=triggered, left=left)


class ComparedScreens:
    """What changed in screens, each worked out once a night and kept as long as the night."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._nights = PerBook(lambda _: LRUCache[Any, ScreenChanges](kept_bytes, _size))

    def of(
        self,
        query: ScanArguments,
        book: Book,
        before: Book | None,
        symbols: Container[str] | None = None,
    ) -> ScreenChanges:
        """What changed in a screen, or among some symbols of it."""
        screens, key = self._nights.of(book), (before and before.data_version, query)
        found = screens.get(key)
        if found is None:
            found = screen_changes(query, book, before)
            with suppress(ValueError):  # it is larger than all that is kept
                screens[key] = found
        return found if symbols is None else found.within(symbols)


def _size(changes: ScreenChanges) -> int:
    return SCREEN_BYTES + SETUP_BYTES * changes.size + LEFT_BYTES * len(changes.left)


def screen_changes(query: ScanArguments, book: Book, before: Book | None) -> ScreenChanges:
    """What a query finds tonight, and how that differs from the night before."""
    now = _matching(query, book)
    if before is None:
        return ScreenChanges("", list(now.values()))
    if book.detector_changed:
        return ScreenChanges(str(before.session), list(now.values()), detector_changed=True)
    earlier = _matching(query, before)
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


def _matching(query: ScanArguments, book: Book) -> dict[Key, SetupView]:
    """The setups that match, whatever page is asked for."""
    every = query.model_copy(update={"offset": 0, "limit": len(book.scan.rows)})
    _, rows = page(book.features, select(book, every), every)
    found: dict[Key, SetupView] = {}
    for view in (book.scan.rows[row] for row in rows):
        found.setdefault((view.lineage_id, view.attempt or 1), view)
    return found


def _reasons(book: Book, left: Set[Key]) -> dict[Key, str]:
    """What became of the setups that left: how those stand that the night still serves, and of the
    others the last of their changes.
    """
    changes = (book.changes() or {"changes": ()})["changes"] if left else ()
    return {
        key: f"{CHANGE_KINDS[row['change']]}: {why_words(row)}"
        for row in changes
        if (key := _key(row)) in left
    } | {
        key: f"No longer matches: now {state_words(view)}, {place_words(view)}"
        for key in left
        for view in book.scan.formations.get(key[0], ())
        if (view.attempt or 1) == key[1]
    }


def _key(change: Mapping[str, Any]) -> Key:
    return change["lineage_id"], change.get("attempt") or 1
