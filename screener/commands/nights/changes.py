"""What changed with a night since the one before it, told in lines of text or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from screener.settings.console import Table
from store.ledger.manifest import Manifest
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS

Rows = Sequence[Mapping[str, Any]]


def told(manifest: Manifest, found: Mapping[str, Any] | None) -> Iterator[str | Table]:
    """The changes as lines and tables, a table for each kind; kinds without any are left out."""
    yield f"Night {manifest.data_version}, session {manifest.as_of_session}."
    if found is None:
        yield "It was not compared with an earlier night, so no change is known."
        return
    yield f"Changes since night {found['since_version']}, session {found['since_session']}:"
    groups = _by_kind(found["changes"])
    for kind, heading in CHANGE_KINDS.items():
        if groups[kind]:
            yield ""
            yield f"{heading}: {len(groups[kind]):,}"
            yield _table(groups[kind])
    if not found["changes"]:
        yield "None."


def as_dict(manifest: Manifest, found: Mapping[str, Any] | None) -> dict[str, Any]:
    """The changes as JSON values, with the number of each kind."""
    groups = _by_kind(found["changes"] if found else ())
    return {
        "data_version": manifest.data_version,
        "as_of_session": str(manifest.as_of_session),
        "available": found is not None,
        "since_session": found and found["since_session"],
        "since_version": found and found["since_version"],
        "counts": {kind: len(rows) for kind, rows in groups.items()},
        "changes": found["changes"] if found else [],
    }


def _by_kind(rows: Rows) -> dict[str, Rows]:
    return {kind: [row for row in rows if row["change"] == kind] for kind in CHANGE_KINDS}


def _table(rows: Rows) -> Table:
    shown = Table("symbol", "family", "direction", "attempt", "session", "price", "R", "why")
    for row in rows:
        r = row["r_multiple"]
        shown.add_row(
            row["symbol"],
            row["family"],
            row["direction"],
            str(row["attempt"]),
            row["session"] or "-",
            "-" if row["price"] is None else str(row["price"]),
            "-" if r is None else f"{r:+.2f}",
            CHANGE_REASONS[row["reason"]],
        )
    return shown
