"""Book: read-only look-ups on one sealed night.

A book is an SQLite file opened as immutable. Every look-up is one indexed read on a connection that
stays open (about 5 microseconds), so the event loop calls it directly. This module knows neither
callers nor access rules.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import orjson

from store.errors import BookError
from store.folder.files import open_unchanging
from store.ledger.manifest import Manifest
from store.nights.feature_table import FeatureTable
from store.nights.prices import SHOWN
from store.nights.prices import Prices as Prices
from store.wire.currency import DOLLARS
from store.wire.families import Family
from store.wire.method import Method
from store.wire.records import FamilyEntry
from store.wire.scan_index import ScanIndex
from store.wire.view import SetupView
from store.wire.words import sessions_ended, short

API_VERSION = "v1"

COMMON = " Common Stock"
"""What most names of reference tables end with, and which tells no company from another."""

MAX_NAME = 120
"""Characters of a name that people are shown."""

MARKETS: Final = ("asset_type", "exchange", "industry", "country")
"""Labels of a covered symbol."""

Made = TypeVar("Made")

Entry = Mapping[str, Any]
"""What the universe of a night says of one symbol."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether a night covers a symbol, and if not, why."""

    symbol: str
    covered: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """A symbol's occurrences, newest entry first: an outcome letter (w, l, o) and a body each."""

    outcomes: str
    rows: list[bytes]

    def having(
        self, letters: str, keeps: Callable[[bytes], bool] = lambda _: True
    ) -> StoredHistory:
        """The occurrences with one of some outcomes, and of these what else is kept."""
        pairs = zip(self.outcomes, self.rows, strict=True)
        kept = [(outcome, row) for outcome, row in pairs if outcome in letters and keeps(row)]
        return StoredHistory("".join(outcome for outcome, _ in kept), [row for _, row in kept])


@dataclass(frozen=True, slots=True)
class StoredSetup:
    """A current setup, parsed: the fields of its Setup record, and the evidence behind it."""

    view: SetupView
    fields: Mapping[str, Any]
    evidence: Mapping[str, Any]
    """The score and its parts; `entry_date` and `entry_price` of a running trade."""


def _without_result(trade: bytes) -> bytes:
    """An open PastTrade without its open result."""
    return orjson.dumps(orjson.loads(trade) | {"unrealized_r": None})


def schema() -> str:
    """The SQL that makes an empty book."""
    return resources.files("store.nights").joinpath("schema.sql").read_text(encoding="utf-8")


COVERED_HISTORY: Final = """
    SELECT outcomes, rows, covered FROM history JOIN symbols USING (symbol) WHERE symbol = ?
"""
HISTORY: Final = """
    SELECT outcomes, rows FROM history
    WHERE symbol = ? AND typeof(outcomes) = 'text' AND typeof(rows) = 'blob'
"""


def stored_histories(path: Path, symbols: Iterable[str]) -> Mapping[str, tuple[str, bytes]]:
    """The outcomes and rows of some symbols as the book at a path has them, which is not checked.

    Symbols without any are missing, and all from where it cannot be read.
    """
    found: dict[str, tuple[str, bytes]] = {}
    # What SQLite says of damage quotes it, and need not be UTF-8.
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(open_unchanging(path)) as book:
        for symbol in symbols:
            for row in book.execute(HISTORY, (symbol,)):
                found[symbol] = row
    return found


def envelope(book: Book) -> bytes:
    """The opening of every JSON success answer of a book, without its closing brace."""
    fields = {
        "api_version": API_VERSION,
        "as_of_session": book.session,
        "data_version": book.data_version,
        "source": book.source,
        "disclaimer": book.disclaimer,
        "next_session": book.next_session,
        "is_current": book.is_current,
    }
    return orjson.dumps(fields)[:-1]


class Book:
    """Look-ups on one sealed night, or on the empty book before the first night."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        source: str,
        disclaimer: str,
        manifest: Manifest | None = None,
    ) -> None:
        """The book that a manifest names; without one the empty one."""
        self._connection = connection
        self._changes: Mapping[str, Any] | None = orjson.loads(self._meta("changes") or b"null")
        sealed = FeatureTable.read(connection)
        self.scan = ScanIndex.of(map(self._view, sealed.bodies))
        numbers = {**sealed.numbers, **self.scan.columns, "new": self._new()}
        self.features = replace(sealed, numbers=numbers)
        self.source = source
        self.disclaimer = disclaimer
        self.session = manifest.as_of_session if manifest else None
        self.data_version = manifest.data_version if manifest else None
        self.next_session = manifest.next_session if manifest else None
        self.sample = manifest is not None and manifest.sample
        """Whether the night was made of the bars that come with the program."""
        self.counts = manifest.counts if manifest else None
        """How much the night holds; None before the first one."""
        self._tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        self.holds_ticker_records = "ticker_records" in self._tables
        """Whether tickers have records of their own; False in a night sealed before they had."""
        self.missed: int | None = None
        """Sessions that have ended since, as `ended_by` counts them, on the day that was told."""
        self.is_current: bool | None = None
        """Whether no session has ended since the night's; None before anybody told the day, and in
        a night that names no later session.
        """
        self.envelope = envelope(self)

    def tell_day(self, today: dt.date) -> None:
        """Learn the UTC day: the envelope changes once, on the day after the next session."""
        self.missed = self.ended_by(today)
        is_current = None if self.next_session is None else today <= self.next_session
        if is_current is not self.is_current:
            self.is_current = is_current
            self.envelope = envelope(self)

    def ended_by(self, today: dt.date) -> int | None:
        """How many of the `upcoming` sessions have ended by a UTC day; None if there are none."""
        return bisect_left(self.upcoming, today) if self.upcoming else None

    @property
    def warning(self) -> str:
        """What a reader of an old night must know; empty of a night that is current."""
        if self.is_current is not False:
            return ""
        ended = f"the session of {self.next_session} has ended since"
        if self.missed is None:
            ended = f"at least {ended}"
        elif self.missed > 1:
            counted = sessions_ended(self.missed, len(self.upcoming))
            ended = f"{counted} since, by the trading calendars of its symbols"
        return f"This night is old: it is of {self.session}, and {ended}. Say so when you use it."

    @classmethod
    def open(cls, path: Path, manifest: Manifest) -> Book:
        """Open the book that a manifest names. The caller verifies its digest.

        Raises:
            BookError: the file is not a book, or not one of the schema that the manifest names.
        """
        with ExitStack() as unless_opened:
            try:
                connection = open_unchanging(path)
                unless_opened.callback(connection.close)
                found = connection.execute("PRAGMA user_version").fetchone()[0]
            except sqlite3.Error as error:
                raise BookError(
                    f"{path} is not a book ({error}); run `screener nightly`."
                ) from error
            if found != manifest.schema_version:
                raise BookError(
                    f"{path} has schema {found}, not {manifest.schema_version} as its manifest "
                    "says; run `screener nightly`."
                )
            book = cls(connection, manifest.source, manifest.disclaimer, manifest)
            unless_opened.pop_all()
        return book

    @classmethod
    def empty(cls, source: str, disclaimer: str) -> Book:
        """The book before the first night: nothing is available, every family's record is null."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.executescript(schema())
        for family in Family:
            entry = FamilyEntry(family=family, label=family.label, track_record=None)
            connection.execute(
                "INSERT INTO families VALUES (?, ?)", (family, entry.model_dump_json().encode())
            )
        connection.execute("INSERT INTO meta VALUES ('universe', ?)", (b'"count":0,"symbols":[]',))
        return cls(connection, source, disclaimer)

    def close(self) -> None:
        """Close the file; look-ups fail from here on."""
        self._connection.close()

    def enveloped(self, fields: bytes, *rest: bytes) -> bytes:
        """A JSON object, in parts, with the envelope of the night in front of its fields."""
        return b"".join((self.envelope, b",", memoryview(fields)[1:], *rest))

    def coverage(self, symbol: str) -> Coverage | None:
        """Whether the night covers a symbol; None for an unknown symbol."""
        row = self._row("SELECT symbol, covered, reason FROM symbols WHERE symbol = ?", symbol)
        return Coverage(row[0], bool(row[1]), row[2]) if row else None

    def symbols(self) -> list[str]:
        """Every known symbol, by name."""
        rows = self._connection.execute("SELECT symbol FROM symbols ORDER BY 1")
        return [symbol for (symbol,) in rows]

    def patterns(self, symbol: str) -> bytes | None:
        """The stored Patterns body of a symbol; None if the symbol had no bars."""
        return self._body("patterns", symbol)

    def briefs(self, symbol: str) -> bytes:
        """The current setups of a symbol in short, as the items of a JSON list."""
        return self.scan.by_symbol.get(symbol, b"")

    def views(self, symbol: str) -> list[SetupView]:
        """The views of a symbol's current setups, in serving order."""
        setups = orjson.loads(self.patterns(symbol) or b'{"setups":[]}')["setups"]
        return [self.scan.by_id[setup["setup_id"]] for setup in setups]

    def _view(self, body: bytes) -> SetupView:
        row = orjson.loads(body)
        # Rows of nights sealed earlier lack the entry of a running trade.
        is_whole = row["status"] == "forming" or "entry_price" in row
        evidence = b"{}" if is_whole else self._evidence(row["setup_id"])
        return SetupView.of(row, orjson.loads(evidence))

    def setup(self, symbol: str, setup_id: str) -> StoredSetup | None:
        """A current setup of a symbol by its id."""
        row = self._row(
            "SELECT body, evidence FROM setups WHERE setup_id = ? AND symbol = ?", setup_id, symbol
        )
        if row is None:
            return None
        view = self.scan.by_id[setup_id]
        return StoredSetup(view, orjson.loads(row[0]), orjson.loads(row[1]))

    def _evidence(self, setup_id: str) -> bytes:
        return self._value("SELECT evidence FROM setups WHERE setup_id = ?", setup_id) or b"{}"

    def history(self, symbol: str) -> StoredHistory | None:
        """The stored occurrences of a symbol, or None when none are stored for it.

        An open trade of a symbol that the night does not cover has no open result: what is stored
        is that of its last bar, which may be years old.
        """
        found = self._row(COVERED_HISTORY, symbol)
        if found is None:
            return None
        outcomes, rows, covered = found
        bodies: list[bytes] = rows.split(b"\n") if rows else []
        if not covered:
            pairs = zip(outcomes, bodies, strict=True)
            bodies = [_without_result(body) if one == "o" else body for one, body in pairs]
        return StoredHistory(outcomes, bodies)

    def histories(self) -> Iterator[tuple[str, StoredHistory]]:
        """Every symbol with stored occurrences, and these."""
        for (symbol,) in self._connection.execute("SELECT symbol FROM history ORDER BY 1"):
            stored = self.history(symbol)
            if stored is not None:
                yield symbol, stored

    def ticker_record(self, symbol: str) -> bytes | None:
        """The stored TickerRecord body of a covered symbol; None if the night has none."""
        return self._body("ticker_records", symbol)

    def prices(self, symbol: str) -> Prices | None:
        """The newest of the bars stored for a symbol's charts, as many as most charts show; None
        when none are stored.
        """
        kept = self.kept_prices(symbol)
        return kept.part(slice(-SHOWN, None)) if kept else None

    def kept_prices(self, symbol: str) -> Prices | None:
        """All bars stored for a symbol's charts, or None when none are stored."""
        row = self._row("SELECT bars, body FROM prices WHERE symbol = ?", symbol)
        return Prices.decode(row[1], row[0]) if row else None

    def nearest(self, symbol: str) -> Any:  # noqa: ANN401 - JSON values
        """The NearestDrawing of a covered symbol without a setup; None if the night has none."""
        return orjson.loads(self._body("nearest", symbol) or b"null")

    def family(self, family: Family) -> bytes:
        """The stored FamilyEntry body of one family."""
        body = self._value("SELECT body FROM families WHERE family = ?", family)
        if body is None:
            raise BookError(f"The book lacks the family {family}; run `screener nightly` again.")
        return body

    def family_record(self, family: str) -> Any:  # noqa: ANN401 - JSON values
        """The TrackRecord of a family; None while none of its trades is resolved."""
        return orjson.loads(self.family(Family(family)))["track_record"]

    def universe(self) -> bytes:
        """The stored fields of the universe answer, without braces."""
        return self._meta("universe") or b""

    @cached_property
    def dividend_adjusted(self) -> int:
        """How many symbols have prices that are adjusted for dividends too."""
        return int((self.report() or {}).get("dividend_adjusted", 0))

    def report(self) -> Any:  # noqa: ANN401 - JSON values
        """The report of the run that made the night: what it found, kept and refused."""
        return orjson.loads(self._meta("report") or b"null")

    def changes(self) -> Mapping[str, Any] | None:
        """What changed since the night before: `since_session`, `since_version`, `detector_changed`
        and `changes`, each with the fields of `Change`; None if there was no night before.
        """
        return self._changes

    def _new(self) -> npt.NDArray[np.float64]:
        """Whether each row of the scan is new; unknown without a night before of this detector."""
        changes = self.changes()
        if changes is None or changes.get("detector_changed"):
            return np.full(len(self.scan.rows), np.nan)
        ids = {row["setup_id"] for row in changes["changes"] if row["change"] == "new"}
        return np.array([float(view.setup_id in ids) for view in self.scan.rows])

    @cached_property
    def detector_changed(self) -> bool:
        """Whether the night before is of another detector, so that what is new is not told."""
        return bool((self.changes() or {}).get("detector_changed"))

    @cached_property
    def upcoming(self) -> Sequence[dt.date]:
        """The sessions after the night's, about a year of them; none in a night sealed before."""
        return [dt.date.fromisoformat(day) for day in orjson.loads(self._meta("upcoming") or b"[]")]

    @cached_property
    def last_bars(self) -> Mapping[str, str]:
        """The day of the last bar that the history of each symbol counts which the night does not
        cover; empty in a night sealed before it had any.
        """
        days: Mapping[str, str] = orjson.loads(self._meta("last_bars") or b"{}")
        return days

    @cached_property
    def currencies(self) -> Mapping[str, str]:
        """The currency of each symbol whose prices are not in dollars."""
        currencies: Mapping[str, str] = orjson.loads(self._meta("currencies") or b"{}")
        return currencies

    def currency(self, symbol: str) -> str:
        """The currency of a symbol's prices."""
        return self.currencies.get(symbol, DOLLARS)

    @cached_property
    def markets(self) -> Mapping[str, Counter[str]]:
        """How many covered symbols have each label, by the kind of filter that asks for it."""
        entries = orjson.loads(b"{%b}" % self.universe())["symbols"]
        return {
            kind: Counter(label for entry in entries if (label := entry.get(kind)))
            for kind in MARKETS
        }

    def examples(self) -> Mapping[str, Any]:
        """By family `trades`, `wins` and those `shown` as examples; empty in a night sealed
        before it had any.
        """
        found: Mapping[str, Any] = orjson.loads(self._meta("examples") or b"{}")
        return found

    def method(self) -> Method | None:
        """The method record (trades beside their placebo); None if the book has none."""
        body = self._meta("method")
        return Method.model_validate_json(body) if body else None

    def _row(self, sql: str, *parameters: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(sql, parameters).fetchone()
        return row

    def _body(self, table: str, symbol: str) -> bytes | None:
        """What a table has of a symbol; None in a night that was sealed without the table."""
        sql = f"SELECT body FROM {table} WHERE symbol = ?"  # noqa: S608
        return self._value(sql, symbol) if table in self._tables else None

    def _meta(self, name: str) -> bytes | None:
        """What stands under a name beside the records; None in a night sealed without it."""
        return self._value("SELECT value FROM meta WHERE name = ?", name)

    def _value(self, sql: str, *parameters: str) -> bytes | None:
        row = self._row(sql, *parameters)
        return row[0] if row else None


class PerBook(Generic[Made]):
    """Makes something of each book when it is first asked for, and keeps it as long as the book."""

    def __init__(self, make: Callable[[Book], Made]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[Book, Made] = WeakKeyDictionary()

    def of(self, book: Book) -> Made:
        """What is made of a book."""
        if book not in self._made:
            self._made[book] = self._make(book)
        return self._made[book]


def entries_of(book: Book) -> list[Entry]:
    """What a night says of the symbols that it covers, in lines that people and agents may read:
    a night may have been sealed before names were cleaned.
    """
    entries: list[Entry] = orjson.loads(b"{%b}" % book.universe())["symbols"]
    return [{k: short(v, MAX_NAME) if v else v for k, v in e.items()} for e in entries]


def company_name(entry: Entry) -> str:
    """The name in an entry; empty where the reference table gives none."""
    return (entry.get("name") or "").removesuffix(COMMON)


def company_names(book: Book) -> dict[str, str]:
    """The name of each covered symbol that has one."""
    return {entry["symbol"]: name for entry in entries_of(book) if (name := company_name(entry))}
