"""Publishing: the only place where a book is built, checked and sealed; `Nights` activates it."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from store.errors import HeldBackError, PublishError
from store.folder.files import digest_file, private_file
from store.ledger.ledger import NightEntry
from store.ledger.manifest import (
    SCHEMA_VERSION,
    BookFile,
    Counts,
    Inputs,
    Manifest,
    derive_version,
)
from store.nights.book import Prices, schema
from store.nights.nights import Nights
from store.wire.examples import OF_FAMILY, drawable, examples
from store.wire.families import Family
from store.wire.method import Method
from store.wire.records import (
    Change,
    FamilyEntry,
    NearestDrawing,
    PastTrade,
    Patterns,
    ScanSetup,
    Setup,
    TickerRecord,
)

FALL_LIMIT = 0.5
"""A night that covers or keeps history of less than this share of the last one is held back."""

COMPARABLE_DAYS = 10
"""Two nights are compared only if they name the same bars and are at most this many days apart."""

PAST_TRADES: TypeAdapter[list[PastTrade]] = TypeAdapter(list[PastTrade])


def encode(record: BaseModel) -> bytes:
    """A record as the compact JSON that is stored and served."""
    return orjson.dumps(record.model_dump(mode="json"))


class BookWriter:
    """Writes one book beside the sealed nights; readers see nothing of it before `publish`.

    Use it as a context manager: leaving the block without publishing removes the draft.
    """

    def __init__(
        self,
        nights: Nights,
        *,
        session: dt.date,
        source: str,
        disclaimer: str,
        inputs: Inputs,
        upcoming: Sequence[dt.date] = (),
        accept_fall: bool = False,
    ) -> None:
        """Begin the book of a night; `upcoming` are the sessions after it, the next one first."""
        self._nights = nights
        self._session = session
        self._source = source
        self._disclaimer = disclaimer
        self._inputs = inputs
        self._upcoming = upcoming
        self._accept_fall = accept_fall
        self.data_version = derive_version(session, source, disclaimer, inputs)
        self._path = nights.draft_path(self.data_version)
        self._new: dict[str, Sequence[bytes]] = {}
        """By symbol, where an earlier night checked some of its history rows: the others."""
        self._db = _create(self._path)
        self.add_meta("upcoming", list(upcoming))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._db.close()
        self._path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise _unwritable(self._path, error) from error

    def add_symbol(self, symbol: str, *, covered: bool, reason: str | None) -> None:
        """Add a symbol: covered tonight, or not covered for a reason."""
        self._db.execute("INSERT INTO symbols VALUES (?, ?, ?)", (symbol, int(covered), reason))

    def add_patterns(self, patterns: Patterns) -> None:
        """Store the patterns answer of a symbol that has bars."""
        self._db.execute("INSERT INTO patterns VALUES (?, ?)", (patterns.symbol, encode(patterns)))

    def add_setup(self, setup: Setup, evidence: Mapping[str, float | int | str | None]) -> None:
        """Store a setup by its id, with its evidence: the score and its parts."""
        self._db.execute(
            "INSERT INTO setups VALUES (?, ?, ?, ?)",
            (setup.setup_id, setup.symbol, encode(setup), orjson.dumps(dict(evidence))),
        )

    def add_history(
        self,
        symbol: str,
        outcomes: str,
        rows: Sequence[bytes],
        new: Sequence[bytes] | None = None,
    ) -> None:
        """Store a symbol's occurrences, newest first: PastTrade bodies and outcome letters.

        If only some rows are `new`, the others are those that an earlier night checked.
        """
        if new is not None:
            self._new[symbol] = new
        self._db.execute(
            "INSERT INTO history VALUES (?, ?, ?)", (symbol, outcomes, b"\n".join(rows))
        )

    def add_ticker_record(self, record: TickerRecord) -> None:
        """Store the own records of a covered symbol."""
        self._db.execute(
            "INSERT INTO ticker_records VALUES (?, ?)", (record.symbol, encode(record))
        )

    def add_prices(self, symbol: str, prices: Prices) -> None:
        """Store the bars that a symbol's charts are drawn from."""
        self._db.execute(
            "INSERT INTO prices VALUES (?, ?, ?)", (symbol, len(prices.date), prices.encode())
        )

    def add_nearest(self, symbol: str, drawing: NearestDrawing) -> None:
        """Store the drawing that came furthest on a symbol without a setup."""
        self._db.execute("INSERT INTO nearest VALUES (?, ?)", (symbol, encode(drawing)))

    def add_scan(self, rows: Iterable[ScanSetup]) -> None:
        """Store the scan, best rank first."""
        self._db.executemany(
            "INSERT INTO scan VALUES (?, ?, ?)",
            ((row.rank, row.status, encode(row)) for row in rows),
        )

    def add_numbers(self, name: str, values: npt.NDArray[np.float64]) -> None:
        """Store a numeric evidence column in rank order; NaN means no evidence."""
        self._db.execute(
            "INSERT INTO evidence VALUES (?, NULL, ?)", (name, values.astype("<f8").tobytes())
        )

    def add_labels(self, name: str, values: Sequence[str | None]) -> None:
        """Store a choice column in rank order; None means no evidence."""
        labels = sorted({value for value in values if value is not None})
        codes = np.array([-1 if v is None else labels.index(v) for v in values], "<i2")
        self._db.execute(
            "INSERT INTO evidence VALUES (?, ?, ?)", (name, json.dumps(labels), codes.tobytes())
        )

    def add_family(self, entry: FamilyEntry) -> None:
        """Store a family's entry."""
        self._db.execute("INSERT INTO families VALUES (?, ?)", (entry.family, encode(entry)))

    def add_universe(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Store the universe answer: one entry for each covered symbol."""
        body = orjson.dumps({"count": len(entries), "symbols": list(entries)})[1:-1]
        self._db.execute("INSERT INTO meta VALUES ('universe', ?)", (body,))

    def add_meta(self, name: str, value: object) -> None:
        """Store a JSON value beside the records, such as the run's report."""
        self._db.execute("INSERT INTO meta VALUES (?, ?)", (name, orjson.dumps(value)))

    def add_changes(
        self,
        since: tuple[dt.date, str] | None,
        changes: Sequence[Change] = (),
        *,
        detector_changed: bool = False,
    ) -> None:
        """Store what changed since a night, given by its session and version; None if none was."""
        if since is not None:
            rows = [change.model_dump(mode="json") for change in changes]
            value = {
                "since_session": since[0],
                "since_version": since[1],
                "detector_changed": detector_changed,
                "changes": rows,
            }
            self.add_meta("changes", value)

    def add_examples(self) -> None:
        """Store examples of each family, of the trades whose bars are stored by now."""
        found: dict[str, list[Mapping[str, Any]]] = {family.value: [] for family in Family}
        stored = "SELECT symbol, bars, body, rows FROM prices JOIN history USING (symbol)"
        for symbol, bars, body, rows in self._db.execute(stored):
            trades = [orjson.loads(row) for row in rows.split(b"\n") if row]
            for trade in drawable(symbol, trades, Prices.decode(body, bars).first_day):
                found[trade["family"]].append(trade)
        shown = {family: examples(trades, OF_FAMILY) for family, trades in found.items()}
        self.add_meta("examples", shown)

    def add_method(self, method: Method) -> None:
        """Store the method record, which compares trades with their placebo on the method page."""
        self._db.execute("INSERT INTO meta VALUES ('method', ?)", (encode(method),))

    def publish(
        self,
        resolved: int,
        step: Callable[[str], None] = lambda _: None,
        entry: NightEntry | None = None,
    ) -> Manifest:
        """Check every record, seal the book, add its entry to the ledger and make it the active
        night. If the run is killed in between, the next run of the night goes on from there.

        Raises:
            PublishError: a record is invalid or the file is damaged. The active night stays.
            HeldBackError: the night covers or holds far less than the active one, which stays.
            LedgerError: the entry cannot be added. The active night stays.
        """
        step("checking")
        self._db.commit()
        counts = self._check(resolved)
        self._db.close()
        step("sealing")
        manifest = self._manifest(counts)
        self._gate(manifest)
        self._nights.add(manifest, self._path)
        self._nights.publish(manifest, entry)
        return manifest

    def _check(self, resolved: int) -> Counts:
        problem = self._db.execute("PRAGMA integrity_check").fetchone()[0]
        dangling = self._db.execute("PRAGMA foreign_key_check").fetchone()
        if problem != "ok" or dangling is not None:
            raise PublishError(
                f"The new book is damaged ({problem}, {dangling}); run `screener nightly` again."
            )
        tables: tuple[tuple[str, type[BaseModel]], ...] = (
            ("patterns", Patterns),
            ("setups", Setup),
            ("scan", ScanSetup),
            ("ticker_records", TickerRecord),
            ("families", FamilyEntry),
            ("nearest", NearestDrawing),
        )
        for table, model in tables:
            self._validate(table, model.model_validate_json)
        self._validate_history()
        if self._count("families") != len(Family):
            raise PublishError("The new book lacks a family; run `screener nightly` again.")
        return Counts(
            known=self._count("symbols"),
            covered=self._count("symbols WHERE covered"),
            setups=self._count("setups"),
            history=self._db.execute("SELECT total(length(outcomes)) FROM history").fetchone()[0],
            resolved=resolved,
        )

    def _validate(self, table: str, validate: Callable[[bytes], object]) -> None:
        for name, body in self._db.execute(f"SELECT rowid, body FROM {table}"):  # noqa: S608
            _validated(validate, body, f"Record {name} of {table}")

    def _validate_history(self) -> None:
        for symbol, rows in self._db.execute("SELECT symbol, rows FROM history"):
            new = self._new.get(symbol, rows.split(b"\n") if rows else ())
            if new:
                body = b"[%b]" % b",".join(new)
                _validated(PAST_TRADES.validate_json, body, f"A record of {symbol} in history")

    def _count(self, table: str) -> int:
        count: int = self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        return count

    def _manifest(self, counts: Counts) -> Manifest:
        file = BookFile(
            file=f"{self.data_version}.book",
            sha256=digest_file(self._path),
            bytes=self._path.stat().st_size,
        )
        return Manifest(
            data_version=self.data_version,
            as_of_session=self._session,
            source=self._source,
            disclaimer=self._disclaimer,
            schema_version=SCHEMA_VERSION,
            book=file,
            counts=counts,
            inputs=self._inputs,
            next_session=self._upcoming[0] if self._upcoming else None,
        )

    def _gate(self, new: Manifest) -> None:
        old = self._nights.active()
        fall = None if self._accept_fall or old is None else fall_behind(old, new)
        if fall:
            raise HeldBackError(
                f"{fall}; it was not published. Check the bars, or publish it anyway with "
                "--accept-fall."
            )


def fall_behind(old: Manifest, new: Manifest) -> str | None:
    """What a night has too little of, compared with the active one, as a sentence; None if fine."""
    days = (new.as_of_session - old.as_of_session).days
    if old.inputs.bars != new.inputs.bars or not 0 <= days <= COMPARABLE_DAYS:
        return None
    # A detector that is other, or less strict, finds another number of patterns in the same bars.
    same = all(
        old.inputs.parameters.get(name) == new.inputs.parameters.get(name)
        for name in ("detector", "quality_min")
    )
    counts = ("covered", "history") if same else ("covered",)
    for name in counts:
        before, now = getattr(old.counts, name), getattr(new.counts, name)
        if now < FALL_LIMIT * before:
            return f"The new night has {name} {now}, the last one had {before}"
    return None


def _create(path: Path) -> sqlite3.Connection:
    path.unlink(missing_ok=True)
    with ExitStack() as unless_created:
        unless_created.callback(path.unlink, missing_ok=True)
        try:
            db = sqlite3.connect(private_file(path))
            unless_created.callback(db.close)
            # A failure discards the draft, so it needs no journal; publishing syncs the file once.
            db.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;"
                f"PRAGMA user_version = {SCHEMA_VERSION};"
            )
            db.executescript(schema())
        except (sqlite3.Error, OSError) as error:
            raise _unwritable(path, error) from error
        unless_created.pop_all()
    return db


def _unwritable(path: Path, error: Exception) -> PublishError:
    return PublishError(f"The new book cannot be written ({error}); make room in {path.parent}.")


def _validated(validate: Callable[[bytes], object], body: bytes, record: str) -> None:
    try:
        validate(body)
    except ValidationError as error:
        raise PublishError(f"{record} is invalid: {error}") from error
