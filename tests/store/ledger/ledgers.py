"""Small ledgers: objects of nights and withdrawals without books."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from store.errors import LedgerError
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.manifest import BookFile, Counts, Inputs, Manifest, derive_version
from store.ledger.served import Line, ServedOutcome, Tally, Terms
from store.nights.nights import Nights
from store.wire.families import Family
from store.wire.records import ExitReason
from tests.books import SESSION, write

NOW = dt.datetime(2026, 1, 9, 22, tzinfo=dt.UTC)

DAY = dt.timedelta(days=1)


def manifest_of(number: int, bars: str = "bars") -> Manifest:
    """The manifest of a night of a session that follows the one of the number before."""
    session = SESSION + number * DAY
    inputs = Inputs(
        bars=bars, bars_sha256=f"{number}", reference_sha256=None, parameters={}, code_version="1"
    )
    version = derive_version(session, "test", "", inputs)
    return Manifest(
        data_version=version,
        as_of_session=session,
        source="test",
        disclaimer="",
        schema_version=1,
        book=BookFile(file=f"{version}.book", sha256=f"{number:064x}", bytes=1),
        counts=Counts(known=1, covered=1, setups=0, history=0, resolved=0),
        inputs=inputs,
    )


def outcome(
    reason: ExitReason,
    r: float,
    move: float,
    attempt: int = 1,
    entered: dt.date = SESSION + dt.timedelta(days=1),
) -> ServedOutcome:
    terms = Terms(entry_date=entered, entry_price=10, stop_price=9, target_price=12)
    return ServedOutcome(
        symbol="ABC",
        lineage_id="a",
        attempt=attempt,
        family=Family.TRIANGLE,
        pattern_type="symmetrical_triangle",
        direction="bullish",
        terms=terms,
        exit_reason=reason,
        exit_date=SESSION,
        exit_price=9,
        move_pct=move,
        r_multiple=r,
    )


def put(ledger: Ledger, manifest: Manifest, entry: NightEntry) -> None:
    """Put a night on record, once."""
    appended = ledger.night(manifest, entry)
    if appended is None:
        ledger.note()
    else:
        ledger.add(appended)


def withdraw(ledger: Ledger, manifest: Manifest, reason: str) -> None:
    appended = ledger.withdrawal(manifest, reason, NOW)
    assert appended is not None
    ledger.add(appended)


def append(ledger: Ledger, number: int, *lines: Line, bars: str = "bars") -> Manifest:
    """Add a night that is compared with the last one before it."""
    manifest = manifest_of(number, bars)
    last = ledger.before(manifest.as_of_session, sample=manifest.sample)
    begun = last[0].as_served if last else Tally.begun(manifest.as_of_session)
    outcomes = [line for line in lines if isinstance(line, ServedOutcome)]
    entry = NightEntry(
        detector=2,
        method_version=3,
        published_at=NOW,
        since=last[0].number if last else None,
        as_served=begun.plus(outcomes),
        lines=lines,
    )
    put(ledger, manifest, entry)
    return manifest


@cache
def four() -> Path:
    """A folder with a ledger of three nights and a withdrawal, each with all that it needs."""
    folder = Path(mkdtemp())
    ledger = Ledger(folder)
    append(ledger, 0)
    append(ledger, 1, outcome("target", 2.0, 20.0))
    second = append(ledger, 2, outcome("stop", -1.0, -10.0), outcome("stop", -1.0, -9.0, attempt=2))
    withdraw(ledger, second, "The bars of one exchange were those of the day before.")
    return folder


def files(folder: Path) -> list[Path]:
    return sorted((folder / "ledger").glob("[!.]*.jsonl.gz"))


def recorded(nights: Nights, number: int, **options: Any) -> Manifest:
    """A night that is sealed, on record and active."""
    session = SESSION + number * DAY
    entry = NightEntry(2, 3, NOW, None, Tally.begun(session), [])
    return write(nights, session=session, entry=entry, **options)


def sealed_alone(nights: Nights, number: int, since: str) -> Manifest:
    """A night of a run that was killed before it recorded the night."""
    with pytest.raises(LedgerError), in_the_way(nights.ledger.folder):
        recorded(nights, number, since=since)
    (found,) = (night for night in nights.sealed() if night.inputs.since == since)
    return found


@contextmanager
def in_the_way(folder: Path) -> Iterator[None]:
    """A file instead of the ledger."""
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    try:
        yield
    finally:
        folder.unlink()
        aside.rename(folder)
