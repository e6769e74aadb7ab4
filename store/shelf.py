"""Shelf: which sealed night is current, and the leases that pin one book for one call."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from store.book import Book
from store.errors import StoreError
from store.manifest import Manifest, known_book, read_manifest

LOOK_EVERY = 1.0
"""Seconds between two looks at the manifest: a new night is served within about this time."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int]


class _Copy:
    """A book and how many calls are reading it; entering it is one more."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.readers = 0
        self.retired = False

    def __enter__(self) -> Book:
        self.readers += 1
        return self.book

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.readers -= 1
        if self.retired:
            self.close_if_done()

    def close_if_done(self) -> None:
        if self.retired and self.readers == 0:
            self.book.close()


class Shelf:
    """Serves the active night of a data folder and notices, between calls, when it changes."""

    def __init__(
        self,
        data_dir: Path,
        *,
        source: str,
        disclaimer: str,
    ) -> None:
        self._manifest_path = data_dir / "manifest.json"
        self._nights = data_dir / "nights"
        self._copy = _Copy(Book.empty(source, disclaimer))
        self._stamp: Stamp | None = None
        self._opening = anyio.Lock()

    def lease(self) -> AbstractContextManager[Book]:
        """Pin the current book: `with shelf.lease() as book`.

        Whatever is published meanwhile, the call keeps reading this one to its end.
        """
        return self._copy

    @property
    def data_version(self) -> str | None:
        """The night that is served now."""
        return self._copy.book.data_version

    async def keep_looking(self) -> None:
        """Look for a new night every second, until cancelled."""
        while True:
            await anyio.sleep(LOOK_EVERY)
            await self.look()

    async def look(self) -> None:
        """Open the night the manifest names, if it is another one; a bad one leaves the old."""
        stamp = self._stamp_now()
        if stamp is None or stamp == self._stamp or self._opening.locked():
            return
        async with self._opening:
            self._stamp = stamp
            try:
                book = await anyio.to_thread.run_sync(self._open)
            except StoreError as error:
                log.error("The new night was not opened, the old one stays: %s", error)
                return
            self._swap(book)

    def close(self) -> None:
        """Close the current book once its last reader is done."""
        self._copy.retired = True
        self._copy.close_if_done()

    def _stamp_now(self) -> Stamp | None:
        try:
            status = self._manifest_path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _open(self) -> Book:
        manifest: Manifest = read_manifest(self._manifest_path)
        return Book.open(known_book(self._nights, manifest), manifest)

    def _swap(self, book: Book) -> None:
        old, self._copy = self._copy, _Copy(book)
        old.retired = True
        old.close_if_done()
