"""The nights that are asked about, and what was sealed in them, read without the service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from store.nights.nights import Nights as Sealed
from tests.contract.market import write_market
from tests.qa.agents.rules import rows_of
from tests.resealed import market_changes, reseal, write_changes
from tests.service import Service, copy_night, serving

Nights = Mapping[str, tuple[Service, Mapping[str, Any]]]
"""The live service of each night, and what was sealed in it."""

BODIES = {"families": "family", "patterns": "symbol", "ticker_records": "symbol"}


@contextmanager
def opened(sample: Path, folder: Path) -> Iterator[Nights]:
    """Serve the sample night of a data folder, and the market that is made from it."""
    copy_night(sample, folder / "sample")
    write_changed_market(sample, folder / "market")
    with ExitStack() as stack:
        yield {
            name: (stack.enter_context(serving(folder / name)), sealed(folder / name))
            for name in ("sample", "market")
        }


def write_changed_market(sample: Path, folder: Path) -> None:
    """Seal the market of 300 setups with what changed since the night before."""
    write_market(sample, folder)
    reseal(folder, lambda content: write_changes(content, market_changes()))


def sealed(folder: Path) -> dict[str, Any]:
    """What was sealed in the active night of a data folder, for comparing answers with."""
    nights = Sealed(folder)
    manifest = nights.check_active()
    address = f"file:{nights.folder / manifest.book.file}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as book:
        found: dict[str, Any] = {
            table: {key: orjson.loads(body) for key, body in _pairs(book, table, name)}
            for table, name in BODIES.items()
        }
        found["scan"] = [orjson.loads(body) for _, body in _pairs(book, "scan", "rank")]
        found["history"] = dict(_histories(book))
        meta = dict(_pairs(book, "meta", "name", "value"))
    found["changes"] = orjson.loads(meta.get("changes", b"null"))
    found["session"] = manifest.as_of_session.isoformat()
    found["next_session"] = manifest.next_session and manifest.next_session.isoformat()
    found["disclaimer"] = manifest.disclaimer
    found["summaries"] = {row["summary"] for row in rows_of(found) if "summary" in row}
    return found


def _pairs(
    book: sqlite3.Connection, table: str, name: str, body: str = "body"
) -> list[tuple[Any, bytes]]:
    return book.execute(f"SELECT {name}, {body} FROM {table} ORDER BY 1").fetchall()  # noqa: S608


def _histories(book: sqlite3.Connection) -> Iterator[tuple[str, list[Any]]]:
    """The past trades of each symbol, without their lines, which answers leave out."""
    for symbol, rows in _pairs(book, "history", "symbol", "rows"):
        trades = [orjson.loads(row) for row in rows.split(b"\n") if row]
        yield symbol, [{k: v for k, v in trade.items() if k != "lines"} for trade in trades]
