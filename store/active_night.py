"""The active night: which sealed night is served, and the pins that hold one book for one call."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from store.book import Book
from store.errors import StoreError
from store.manifest import known_book, read_manifest

POLL_SECONDS = 1.0
"""Between two looks at the manifest: a new night is served within about this time."""

LONGEST_WAIT = 30.0
"""Seconds between two attempts to open a night that cannot be opened, once they have grown."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int]
"""Inode, time of change and size of the manifest, which differ for another one."""


class _Pinned:
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


class ActiveNight:
    """Serves the active night of a data folder and notices, between calls, when it changes."""

    def __init__(self, data_dir: Path, *, source: str, disclaimer: str) -> None:
        self._manifest_path = data_dir / "manifest.json"
        self._nights = data_dir / "nights"
        self._pinned = _Pinned(Book.empty(source, disclaimer))
        self._opened: Stamp | None = None
        self._fault = ""
        self._opening = anyio.Lock()

    def pin(self) -> AbstractContextManager[Book]:
        """Pin the current book: `with active_night.pin() as book`.

        Whatever is published meanwhile, the call reads this one to its end.
        """
        return self._pinned

    @property
    def data_version(self) -> str | None:
        """The night that is served now."""
        return self._pinned.book.data_version

    async def keep_polling(self) -> None:
        """Look for a new night every second, until cancelled; less often for one that is bad."""
        wait = POLL_SECONDS
        while True:
            await anyio.sleep(wait)
            wait = POLL_SECONDS if await self.poll() else min(2 * wait, LONGEST_WAIT)

    async def poll(self) -> bool:
        """Open the night that the manifest names, if it is another one.

        False if it cannot be opened: the old night stays, and the next call tries again. So a
        manifest that was copied before its book is served once the book is there.
        """
        stamp = self._stamp()
        if stamp is None or stamp == self._opened or self._opening.locked():
            return True
        async with self._opening:
            try:
                book = await anyio.to_thread.run_sync(self._open)
            except (StoreError, OSError, sqlite3.Error) as error:
                self._report(str(error))
                return False
            self._opened, self._fault = stamp, ""
            self._serve(book)
        return True

    def close(self) -> None:
        """Close the current book once its last reader is done."""
        self._pinned.retired = True
        self._pinned.close_if_done()

    def _stamp(self) -> Stamp | None:
        try:
            status = self._manifest_path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _open(self) -> Book:
        manifest = read_manifest(self._manifest_path)
        return Book.open(known_book(self._nights, manifest), manifest)

    def _report(self, fault: str) -> None:
        if fault != self._fault:  # once, however often it is tried
            log.error("The new night was not opened, the old one stays: %s", fault)
        self._fault = fault

    def _serve(self, book: Book) -> None:
        old, self._pinned = self._pinned, _Pinned(book)
        old.retired = True
        old.close_if_done()
