"""What `screener night changes` prints: an evening, under the headings of the page /changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from mcp_server.operations.handlers.changes import (
    ChangeEvent,
    Row,
    evening,
    headings_of,
    near,
    near_words,
    told,
)
from screener.settings.console import Table, or_dash, out
from store.nights.book import Book
from store.wire.currency import DOLLARS, money
from store.wire.labels import CHANGE_KINDS
from store.wire.scan_index import near_trigger
from store.wire.view import SetupView
from store.wire.words import (
    NEW_DETECTOR,
    attempt_words,
    change,
    change_words,
    changed_words,
    place_words,
    tenths,
)


def print_changes(book: Book) -> None:
    """Print what changed with a night and what is near its trigger, a table for each heading."""
    out.print(f"Night {book.data_version}, session {book.session}.")
    record = book.changes()
    if record is None:
        out.print("It was not compared with an earlier night, so no change is known.")
    else:
        since = f"{record['since_version']}, session {record['since_session']}"
        out.print(f"{changed_words(record['changes'])} since night {since}:")
    if book.detector_changed:
        out.print_text(NEW_DETECTOR)
    groups = evening(book)
    if groups:
        out.print_text(near_words(groups))
    for heading, events in groups.items():
        out.print()
        out.print(f"{heading}: {len(events):,}")
        out.print(_table(events))
    if record is not None and not groups:
        out.print("None.")


def changes_as_dict(book: Book) -> dict[str, Any]:
    """The changes as JSON values, with the number of each kind."""
    record = book.changes()
    rows = record["changes"] if record else []
    counts, headings = Counter(row["change"] for row in rows), headings_of(rows)
    return {
        "data_version": book.data_version,
        "as_of_session": str(book.session),
        "available": record is not None,
        "since_session": record and record["since_session"],
        "since_version": record and record["since_version"],
        "detector_changed": book.detector_changed,
        "counts": {kind: counts[kind] for kind in CHANGE_KINDS},
        "near": [near_trigger(view) for view in near(book, {})],
        "changes": told(book, rows, headings),
    }


def _table(events: list[ChangeEvent]) -> Table:
    shown = Table(
        "symbol", "family", "direction", "start", "stop", "target", "quality", "how", "why"
    )
    for event, view, rows in chain.from_iterable(map(_entries, events)):
        first = rows[0] if rows else {}
        if view:
            plan, currency = view.plan, view.currency
            levels: Sequence[float | None] = (plan.start, plan.stop, plan.target)
            who, how = (view.family, view.direction), place_words(view)
        else:
            start = first.get("entry_price") or first.get("trigger_price")
            levels = (start, first.get("stop_price"), first.get("target_price"))
            currency = first.get("currency") or DOLLARS
            who, how = (first["family"], first["direction"]), or_dash(first.get("gain_pct"), change)
        prices = [or_dash(level, partial(money, currency=currency)) for level in levels]
        quality = or_dash(view.quality_pct if view else first.get("quality_pct"), tenths)
        attempt = (view.attempt if view else first["attempt"]) or 1
        number = [attempt_words(attempt, None)] if attempt > 1 else []
        why = "; ".join([*number, *(change_words(row) for row in rows if row["reason"] != "found")])
        shown.add_row(event.symbol, *who, *prices, quality, how, why)
    return shown


def _entries(event: ChangeEvent) -> Iterator[tuple[ChangeEvent, SetupView | None, Sequence[Row]]]:
    """Each attempt of a formation with its changes; one that is served with each of its plans."""
    attempts = {(event.view.attempt or 1): list[Row]()} if event.view else {}
    for row in event.rows:
        attempts.setdefault(row["attempt"], []).append(row)
    for number, rows in attempts.items():
        is_served = event.view and (event.view.attempt or 1) == number
        for view in event.view.sides if event.view and is_served else (None,):
            yield event, view, rows
