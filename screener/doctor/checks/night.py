"""Night: whether the active night can be served, how old it is, and what it knows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from screener.doctor.checks.finding import Finding, fault, ok, warning
from screener.doctor.checks.machine import clock_behind

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.nights.book import Book

NAMED = 8
"""Symbols that are named at most."""


def digest(chosen: Settings) -> Iterator[Finding]:
    """Whether the active night is what was sealed."""
    from store.errors import StoreError
    from store.ledger.manifest import read_manifest, verify_book

    pointer = chosen.data_dir / "manifest.json"
    if not pointer.exists():
        how = "`screener serve` fetches it" if chosen.nights_url else "run `screener nightly`"
        yield warning("night", f"there is none in {chosen.data_dir} yet; {how}.")
        return
    try:
        manifest = read_manifest(pointer)
        verify_book(chosen.data_dir / "nights", manifest)
    except StoreError as error:
        yield fault("night", str(error))
        return
    yield ok("night", f"{manifest.data_version}, unchanged since it was sealed")


def _open(chosen: Settings) -> Book | None:
    """The book of the active night; None without one that can be read, which `digest` tells."""
    from store.errors import StoreError
    from store.ledger.manifest import known_book, read_manifest
    from store.nights.book import Book

    try:
        manifest = read_manifest(chosen.data_dir / "manifest.json")
        return Book.open(known_book(chosen.data_dir / "nights", manifest), manifest)
    except StoreError:
        return None


def age(chosen: Settings) -> Iterator[Finding]:
    """How old the active night is."""
    from mcp_server.operations.age import Age

    book = _open(chosen)
    if book is None:
        return
    with closing(book):
        found = Age.of(book, dt.datetime.now(dt.UTC).date())
    if found.missed and not found.sample:
        words = f"{found.words} Run `screener nightly`, and look at its timer."
        yield warning("age of the night", words)
    else:
        yield ok("age of the night", found.words)


def demo(chosen: Settings) -> Iterator[Finding]:
    """Whether the active night knows the symbols that anybody may read: all that were named, or
    one of the default.
    """
    book = _open(chosen)
    if book is None:
        return
    with closing(book):
        covered = [symbol for symbol in chosen.demo_symbols if _covers(book, symbol)]
    missing = [symbol for symbol in chosen.demo_symbols if symbol not in covered]
    if missing and ("demo_symbols" in chosen.model_fields_set or not covered):
        named = ", ".join(missing[:NAMED]) + (" and others" if len(missing) > NAMED else "")
        yield warning(
            "demo symbols",
            f"the active night does not know {named}; name symbols that it covers in "
            "SCREENER_DEMO_SYMBOLS.",
        )
    else:
        yield ok("demo symbols", ", ".join(covered[:NAMED]) or "none")


def _covers(book: Book, symbol: str) -> bool:
    coverage = book.coverage(symbol)
    return coverage is not None and coverage.covered


def sealed(chosen: Settings) -> Iterator[Finding]:
    """Whether the newest night went on record before now."""
    from store.errors import LedgerError
    from store.ledger.ledger import Ledger
    from store.ledger.ledger_file import NightHead

    now, ledger = dt.datetime.now(dt.UTC), Ledger(chosen.data_dir)
    try:
        names = ledger.names()
        head = ledger.head(max(names)) if names else None
    except LedgerError:
        return  # told by the check of the ledger
    at = None if head is None else head.published_at if isinstance(head, NightHead) else head.at
    if at is not None and now < at:
        yield clock_behind(now, at, "the newest night was sealed")
