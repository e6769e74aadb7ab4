"""A sealed night with another content: its book is changed and sealed again under its name."""

from __future__ import annotations

import datetime as dt
import gzip
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from store.folder.files import digest_file
from store.ledger.manifest import stamp_path
from store.nights.nights import Nights
from store.wire.families import Family
from store.wire.records import Change, ChangeKind, ChangeReason

SINCE = (dt.date(2012, 10, 2), "20121002-0123456789ab")
"""The session and the version of the night before."""

CHANGES = 450
"""So many changes a market has; over 200 of them are new."""

OF_KIND: Mapping[ChangeKind, tuple[ChangeReason, ...]] = {
    "new": ("found", "revised"),
    "triggered": ("breakout",),
    "stopped": ("stop",),
    "reached": ("target",),
    "expired": (
        *("too_old", "missed", "invalidated", "superseded", "apex", "stale", "too_long"),
        *("data_gap", "faded", "left_out", "revised", "delisted"),
    ),
}


def reseal(
    folder: Path,
    change_book: Callable[[sqlite3.Connection], None] = lambda _: None,
    change_manifest: Callable[[dict[str, Any]], None] = lambda _: None,
) -> None:
    """Change the book and the manifest of a folder's active night, and seal and activate it."""
    nights = Nights(folder)
    active = nights.check_active()
    book = nights.folder / active.book.file
    with closing(sqlite3.connect(book)) as connection, connection:
        change_book(connection)
    stamp_path(nights.folder, active).unlink(missing_ok=True)
    fields = active.model_dump(mode="json")
    fields["book"] |= {"sha256": digest_file(book), "bytes": book.stat().st_size}
    change_manifest(fields)
    (nights.folder / f"{active.data_version}.json").write_bytes(orjson.dumps(fields))
    nights.pointer.write_bytes(orjson.dumps(fields))


def rename_bars(manifest: dict[str, Any]) -> None:
    """Make a night of the sample one of bars of somebody's own."""
    manifest["inputs"]["bars"] = "market"


def set_meta(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Replace a value beside the records of a book."""
    connection.execute("REPLACE INTO meta VALUES (?, ?)", (name, orjson.dumps(value)))


def write_changes(connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Replace what changed with a night."""
    rows = [change.model_dump(mode="json") for change in changes]
    since, version = SINCE
    value = {"since_session": since, "since_version": version, "changes": rows}
    set_meta(connection, "changes", value)


def market_changes() -> list[Change]:
    """The changes of a market: of all kinds, for every reason, in families and both directions."""
    kinds: list[ChangeKind] = ["new", "new", "triggered", "stopped", "new", "reached", "expired"]
    return [_change(number, kinds[number % len(kinds)]) for number in range(CHANGES)]


def _change(number: int, kind: ChangeKind) -> Change:
    family = list(Family)[number % 5]
    reasons, ended = OF_KIND[kind], kind in ("stopped", "reached")
    return Change(
        change=kind,
        reason=reasons[number // 7 % len(reasons)],
        symbol="MSFT" if number == 441 else f"M{number}",
        family=family,
        family_label=family.label,
        pattern_type="symmetrical_triangle" if family is Family.TRIANGLE else "rising_wedge",
        direction="bullish" if number % 3 else "bearish",
        lineage_id=f"lineage{number}",
        setup_id=f"setup{number}" if kind in ("new", "triggered") else None,
        attempt=1 + number % 2,
        session=dt.date(2012, 10, 3) if ended or kind == "triggered" else None,
        price=12.5 if ended or kind == "triggered" else None,
        r_multiple={"stopped": -1.0, "reached": 2.25}.get(kind),
    )


def withdraw(folder: Path, number: int, **fields: Any) -> None:
    """Write the record of a withdrawn night."""
    (folder / "ledger").mkdir(exist_ok=True)
    line = {
        "ledger": 1,
        "number": number,
        "kind": "withdrawal",
        "data_version": "20121004-0123456789ab",
        "as_of_session": "2012-10-04",
        "reason": "The bars of <one> provider were wrong.",
        "at": "2012-10-05T03:04:05+00:00",
        "previous": None,
        **fields,
    }
    name = f"{number:06}-{line['data_version']}.withdrawal.jsonl.gz"
    (folder / "ledger" / name).write_bytes(gzip.compress(orjson.dumps(line) + b"\n"))
