"""What `screener night changes` prints: an evening, under the headings of the page /changes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from mcp_server.operations.handlers.changes import (
    ChangeEvent,
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
from store.wire.words import NEW_DETECTOR, change, change_words, place_words, tenths


def print_changes(book: Book) -> None:
    """Print what changed with a night and what is near its trigger, a table for each heading."""
    out.print(f"Night {book.data_version}, session {book.session}.")
    record = book.changes()
    if record is None:
        out.print("It was not compared with an earlier night, so no change is known.")
    else:
        since = f"{record['since_version']}, session {record['since_session']}"
        out.print(f"Changes since night {since}:")
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
    sides = ((one, view) for one in events for view in (one.view.sides if one.view else (None,)))
    for event, view in sides:
        first = event.rows[0] if event.rows else {}
        if view:
            plan = view.plan
            levels = (plan.start, plan.stop, plan.target)
            prices = [money(price, view.currency) for price in levels]
            who, how = (view.family, view.direction), place_words(view)
        else:
            start, currency = (
                first.get("entry_price") or first.get("trigger_price"),
                first.get("currency") or DOLLARS,
            )
            known = (start, first.get("stop_price"), first.get("target_price"))
            prices = [or_dash(price, partial(money, currency=currency)) for price in known]
            who, how = (first["family"], first["direction"]), or_dash(first.get("gain_pct"), change)
        quality = or_dash(view.quality_pct if view else first.get("quality_pct"), tenths)
        why = "; ".join(change_words(row) for row in event.rows if row["reason"] != "found")
        shown.add_row(event.symbol, *who, *prices, quality, how, why)
    return shown
