"""The market as an ordinary service would store it: one SQLite file of plain, indexed tables.

The references read this file, so that none of them depends on the layout of a book.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.serving.book import Market
from benchmarks.serving.cases import PREDICATES, column
from store.publish import encode

TABLES = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, plan TEXT NOT NULL, active INTEGER NOT NULL);
CREATE TABLE keys (secret_hash TEXT PRIMARY KEY, account_id INTEGER NOT NULL, revoked_at TEXT);
CREATE TABLE watchlist (account_id INTEGER, symbol TEXT, PRIMARY KEY (account_id, symbol));
CREATE TABLE patterns (symbol TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE history (symbol TEXT, position INTEGER, body BLOB, PRIMARY KEY (symbol, position));
CREATE TABLE families (position INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""


def write_plain(market: Market, path: Path, keys: Sequence[str]) -> None:
    """Write the market, and one account whose keys and watchlist are those of the service."""
    with sqlite3.connect(path) as db:
        db.executescript(TABLES)
        db.execute("INSERT INTO accounts VALUES (1, 'premium_plus', 1)")
        hashes = ((hashlib.sha256(key.encode()).hexdigest(), 1, None) for key in keys)
        db.executemany("INSERT INTO keys VALUES (?, ?, ?)", hashes)
        tracked = ((1, symbol) for symbol in market.tracked)
        db.executemany("INSERT INTO watchlist VALUES (?, ?)", tracked)
        for listing in market.listings:
            body = encode(listing.patterns)
            db.execute("INSERT INTO patterns VALUES (?, ?)", (listing.symbol, body))
            rows = ((listing.symbol, n, row) for n, row in enumerate(listing.history))
            db.executemany("INSERT INTO history VALUES (?, ?, ?)", rows)
        families = enumerate(map(encode, market.families))
        db.executemany("INSERT INTO families VALUES (?, ?)", families)
        _write_scan(db, market)
    db.close()


def _write_scan(db: sqlite3.Connection, market: Market) -> None:
    names = [column(predicate) for predicate in PREDICATES]
    db.execute(
        f"CREATE TABLE scan (rank INTEGER PRIMARY KEY, forming INTEGER, body BLOB, "
        f"{', '.join(f'{name} REAL' for name in names)})"
    )
    marks = ", ".join("?" * (3 + len(names)))
    db.executemany(f"INSERT INTO scan VALUES ({marks})", _scan_rows(market, names))  # noqa: S608


def _scan_rows(market: Market, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for at, row in enumerate(market.scan):
        values = (float(market.numbers[name][at]) for name in names)
        numbers = (None if math.isnan(value) else value for value in values)
        forming = market.labels["status"][at] == "forming"
        yield (row.rank, forming, encode(row), *numbers)
