"""The market as an ordinary service would store it: one SQLite file of plain, indexed tables.

The references read this file, so that none of them depends on the layout of a book.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from benchmarks.serving.book import Market
from store.nights.publish import encode

TABLES = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, plan TEXT NOT NULL, active INTEGER NOT NULL);
CREATE TABLE keys (secret_hash TEXT PRIMARY KEY, account_id INTEGER NOT NULL, revoked_at TEXT);
CREATE TABLE watchlist (account_id INTEGER, symbol TEXT, PRIMARY KEY (account_id, symbol));
CREATE TABLE patterns (symbol TEXT PRIMARY KEY, body BLOB NOT NULL);
"""


def write_plain(market: Market, path: Path, keys: Sequence[str], accounts: int) -> None:
    """Write the market, and accounts with the keys and the watchlists of the service."""
    with sqlite3.connect(path) as db:
        db.executescript(TABLES)
        for account in range(accounts):
            db.execute("INSERT INTO accounts VALUES (?, 'premium_plus', 1)", (account,))
            held = (hashlib.sha256(key.encode()).hexdigest() for key in keys[account::accounts])
            rows = ((digest, account, None) for digest in held)
            db.executemany("INSERT INTO keys VALUES (?, ?, ?)", rows)
            tracked = ((account, symbol) for symbol in market.tracked)
            db.executemany("INSERT INTO watchlist VALUES (?, ?)", tracked)
        bodies = ((listing.symbol, encode(listing.patterns)) for listing in market.listings)
        db.executemany("INSERT INTO patterns VALUES (?, ?)", bodies)
    db.close()
