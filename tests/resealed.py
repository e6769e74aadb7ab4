"""A sealed night with another content: written anew, and sealed again under its name."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from store.ledger.manifest import Manifest, stamp_path
from store.nights.nights import Nights
from store.wire.families import Family
from store.wire.records import Change, ChangeKind, ChangeReason
from tests.books import Content, Fields, content_of, write_content

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
    change: Callable[[Content], None] | None = None,
    change_manifest: Callable[[dict[str, Any]], None] = lambda _: None,
) -> None:
    """Change what the book and the manifest of a folder's active night say; seal and activate it
    under its name."""
    nights = Nights(folder)
    active = nights.check_active()
    fields = active.model_dump(mode="json")
    if change is not None:
        book = nights.folder / active.book.file
        with changed(book, active, change, active.as_of_session) as (made, draft):
            draft.replace(book)
        fields["counts"] = made.counts.model_dump(mode="json")
        fields["book"] |= {"sha256": made.book.sha256, "bytes": made.book.bytes}
    stamp_path(nights.folder, active).unlink(missing_ok=True)
    change_manifest(fields)
    (nights.folder / f"{active.data_version}.json").write_bytes(orjson.dumps(fields))
    nights.pointer.write_bytes(orjson.dumps(fields))


def reseal_next(
    folder: Path,
    change: Callable[[Content], None],
    session: dt.date,
    changes: Sequence[Fields] = (),
) -> None:
    """Put the night of a later session into a folder and activate it: with the content of the
    active one, changed."""
    nights = Nights(folder)
    before = nights.check_active()
    since = {"since_session": before.as_of_session, "since_version": before.data_version}

    def change_and_tell(content: Content) -> None:
        change(content)
        content.meta["changes"] = {**since, "changes": list(changes)}

    book = nights.folder / before.book.file
    with changed(book, before, change_and_tell, session) as (made, draft):
        draft.replace(nights.folder / made.book.file)
    (nights.folder / f"{made.data_version}.json").write_bytes(made.encode())
    nights.pointer.write_bytes(made.encode())


@contextmanager
def changed(
    book: Path, like: Manifest, change: Callable[[Content], None], session: dt.date
) -> Iterator[tuple[Manifest, Path]]:
    """A night with the changed content of a book, and where its own book is within the block."""
    content = content_of(book)
    change(content)
    with TemporaryDirectory(dir=book.parent.parent) as scratch:
        made = write_content(content, like, Path(scratch), session)
        yield made, Nights(Path(scratch)).folder / made.book.file


def rename_bars(manifest: dict[str, Any]) -> None:
    """Make a night of the sample one of bars of somebody's own."""
    manifest["inputs"]["bars"] = "market"


def write_changes(content: Content, changes: Sequence[Change]) -> None:
    """Replace what changed with a night."""
    rows = [change.model_dump(mode="json") for change in changes]
    since, version = SINCE
    content.meta["changes"] = {"since_session": since, "since_version": version, "changes": rows}


def leave_out(content: Content, symbol: str, code: str, sentence: str) -> None:
    """Make a symbol one that is not covered, by a rule and with its sentence in the report."""
    content.symbols[symbol] = code
    content.meta["report"]["refused"] = {code: {symbol: sentence}}


def name_all(content: Content, name: str) -> None:
    """Give every company a name."""
    for entry in content.universe:
        entry["name"] = name


def forget_lines(content: Content) -> None:
    """Make a night as they were sealed before history had lines."""
    for _, rows in content.histories.values():
        for row in rows:
            del row["lines"]


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
