"""The scan: five predicates and a page of 50 over 20,000 setups, compared with SQL and Polars.

    python -m benchmarks.scan [ROWS]

Every figure is CPU time of one query in this process, the median over interleaved rounds.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import polars as pl

from mcp_server.calls.callers import NO_CONDITIONS, REST, Caller
from mcp_server.charts.charts import Charts
from mcp_server.limits.limits import Limiter, Quotas
from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.handlers.scan import scan
from mcp_server.operations.services import Call, Services
from mcp_server.presentation.offer import Offer
from nightly.features import COLUMNS
from screener.commands.nights.nightly import seal_sample
from screener.settings.settings import Settings
from store.accounts.keys import Keys
from store.accounts.principals import Principals
from store.accounts.tokens import Tokens
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.database.changes import feed_of
from store.database.database import Database
from store.ledger.manifest import Inputs
from store.nights.active_night import ActiveNight
from store.nights.book import Book
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.families import Family
from store.wire.records import FamilyEntry, ScanSetup

ROUNDS, BLOCK = 300, 20
"""Queries of each contender, and how many it runs before the next contender follows."""
LABELS = (("family", "triangle"), ("direction", "bullish"), ("status", "forming"))
PREDICATES = (
    ("rsi", "<", 62.0),
    ("sma_distance_200", ">", -20.0),
    ("dist_to_entry", "<=", 6.0),
    ("dollar_volume", ">", 1e6),
    ("performance_63", ">", -15.0),
)


def sample_row(folder: Path) -> ScanSetup:
    """A real scan row to repeat."""
    manifest = seal_sample(Settings(data_dir=folder))
    book = Book.open(folder / "nights" / manifest.book.file, manifest)
    return ScanSetup.model_validate_json(next(iter(book.evidence.bodies)))


def columns(rows: int) -> dict[str, np.ndarray]:
    """Seeded random evidence columns like those of a market, with gaps."""
    random = np.random.default_rng(7)
    found = {name: random.normal(0, 20, rows) for name in (*COLUMNS, "min_win_rate", "min_rr")}
    found["rsi"] = random.uniform(5, 95, rows)
    found["dollar_volume"] = random.lognormal(14, 2, rows)
    found["dist_to_entry"] = random.exponential(5, rows)
    for values in found.values():
        values[random.random(rows) < 0.02] = np.nan
    return found


def write_book(folder: Path, row: ScanSetup, rows: int, numbers: dict[str, np.ndarray]) -> Book:
    """A book of many setups."""
    inputs = Inputs(
        bars="bench", bars_sha256="", reference_sha256=None, parameters={}, code_version=""
    )
    nights = Nights(folder)
    session = dt.date(2026, 1, 2)
    writer = BookWriter(nights, session=session, source="", disclaimer="", inputs=inputs)
    with writer:
        writer.add_scan(row.model_copy(update={"rank": rank}) for rank in range(1, rows + 1))
        for name, values in numbers.items():
            writer.add_numbers(name, values)
        for name, value in (
            ("family", "triangle"),
            ("direction", "bullish"),
            ("status", "forming"),
        ):
            writer.add_labels(name, [value] * rows)
        for family in Family:
            writer.add_family(FamilyEntry(family=family, label=family.label, track_record=None))
        writer.add_universe([])
        manifest = writer.publish(0)
    return Book.open(nights.folder / manifest.book.file, manifest)


def services(folder: Path) -> Services:
    """Services as the app builds them."""
    database = Database(f"sqlite+aiosqlite:///{folder / 'accounts.sqlite'}")
    return Services(
        offer=Offer("http://127.0.0.1:8000", ()),
        active_night=ActiveNight(folder, source="", disclaimer=""),
        principals=Principals(
            Keys(database), Tokens(database), Watchlist(database), feed_of(database)
        ),
        watchlist=Watchlist(database),
        usage=UsageLog(database),
        limiter=Limiter(Quotas()),
        charts=Charts(folder / "charts"),
    )


def filters(jitter: float) -> str:
    """The five predicates as a client sends them; each `jitter` makes a query not yet cached."""
    predicates = []
    for name, op, value in PREDICATES:
        kind, _, period = name.rpartition("_")
        named = {"kind": kind, "period": int(period)} if period.isdigit() else {"kind": name}
        predicates.append({**named, "op": op, "value": value + jitter})
    return orjson.dumps(predicates).decode()


def contenders(
    book: Book, folder: Path, numbers: dict[str, np.ndarray]
) -> dict[str, Callable[[int], object]]:
    """The same query in four ways; each takes the number of the round."""
    built = services(folder)

    def ours(jitter: float) -> bytes | None:
        arguments = ScanArguments(filters=filters(jitter))
        call = Call(arguments, Caller("127.0.0.1"), book, built, REST, NO_CONDITIONS)
        coroutine = scan(call)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            body: bytes | None = stop.value.body
            return body
        raise AssertionError("the scan waited for something")

    database = sqlite3.connect(":memory:")
    names = list(numbers)
    database.execute(f"CREATE TABLE scan (rank INTEGER PRIMARY KEY, body BLOB, {', '.join(names)})")
    bodies = list(book.evidence.bodies)
    columns_of = [column.tolist() for column in numbers.values()]
    marks = ", ".join("?" * (len(names) + 2))
    database.executemany(
        f"INSERT INTO scan VALUES ({marks})",  # noqa: S608
        ((rank, *row) for rank, row in enumerate(zip(bodies, *columns_of, strict=True), 1)),
    )
    where = " AND ".join(f"{name} {op} ?" for name, op, _ in PREDICATES)
    count = f"SELECT count(*) FROM scan WHERE {where}"  # noqa: S608
    page = f"SELECT body FROM scan WHERE {where} ORDER BY rank LIMIT 50"  # noqa: S608

    def sql(jitter: float) -> object:
        given = [value + jitter for *_, value in PREDICATES]
        found = database.execute(count, given).fetchone()[0]
        return found, b",".join(row[0] for row in database.execute(page, given))

    frame = pl.DataFrame({**numbers, "body": bodies})

    def polars(jitter: float) -> object:
        kept = frame.filter(
            *(_condition(pl.col(name), op, value + jitter) for name, op, value in PREDICATES)
        )
        return len(kept), b",".join(kept["body"].head(50))

    return {
        "ours, uncached": lambda n: ours(n * 1e-7),
        "ours, cached": lambda _: ours(0.5),
        "SQLite": lambda n: sql(n * 1e-7),
        "Polars": lambda n: polars(n * 1e-7),
    }


def _condition(column: pl.Expr, op: str, value: float) -> pl.Expr:
    compare = {"<": column < value, "<=": column <= value, ">": column > value}[op]
    return compare & column.is_not_nan()


def timed(label: str, query: Callable[[int], object], number: int) -> float:
    """CPU microseconds of one query. Polars works in its own threads, the others in this one."""
    clock = time.process_time_ns if label == "Polars" else time.thread_time_ns
    start = clock()
    query(number)
    return (clock() - start) / 1000


def main() -> None:
    """Print the medians and their ratios to SQLite."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = columns(rows)
        book = write_book(folder / "big", sample_row(folder / "sample"), rows, numbers)
        queries = contenders(book, folder, numbers)
        times: dict[str, list[float]] = {label: [] for label in queries}
        for start in range(0, ROUNDS, BLOCK):
            for label, query in queries.items():
                times[label] += [timed(label, query, n) for n in range(start, start + BLOCK)]
        medians = {label: statistics.median(taken) for label, taken in times.items()}
        print(f"{rows} setups, five predicates, a page of 50; us of CPU, median of {ROUNDS}")
        for label, median in medians.items():
            print(f"{label:16} {median:9.1f} us   {median / medians['SQLite']:7.4f} x SQLite")


if __name__ == "__main__":
    main()
