"""The active night as commands read it: opened without a server, and how old it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from screener.settings.console import NO_NIGHT, fail
from store.ledger.manifest import known_book, read_manifest
from store.nights.book import Book
from store.nights.companies import entries_of as universe_of

if TYPE_CHECKING:
    from screener.settings.settings import Settings


@contextmanager
def tonight(chosen: Settings) -> Iterator[Book]:
    """The book of the active night; without one, the command ends and says how to make it.

    Raises:
        ManifestError, BookError: the night is not what was sealed, or of another version.
    """
    pointer = chosen.data_dir / "manifest.json"
    if not pointer.exists():
        fail(
            f"there is no night in {chosen.data_dir} yet; make one with `screener nightly --bars "
            "PATH`, or one of the sample that comes with the program, with `screener nightly`.",
            NO_NIGHT,
        )
    manifest = read_manifest(pointer)
    path = known_book(chosen.data_dir / "nights", manifest)
    with closing(Book.open(path, manifest)) as book:
        yield book


def age_of(book: Book) -> str:
    """The session of a night, and how old it is today."""
    from mcp_server.operations.age import Age

    age = Age.of(book, dt.datetime.now(dt.UTC).date())
    return f"As of {book.session}. {age.words}"


def entries_of(book: Book) -> Mapping[str, Mapping[str, Any]]:
    """What a night's universe says of each symbol that it covers."""
    return {entry["symbol"]: entry for entry in universe_of(book)}
