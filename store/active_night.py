"""The active night: which sealed night is served, and pins that keep a book open for one call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from store.book import Book
from store.errors import StoreError
from store.last_nights import LastNight, read_last_nights
from store.manifest import known_book, read_manifest
from store.withdrawals import Withdrawn, read_withdrawals

POLL_SECONDS = 1.0
"""Seconds between two looks at the manifest. A new night is served within about this time."""

LONGEST_WAIT = 30.0
"""The most seconds between two attempts to open a night that could not be opened."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int]
"""Inode, modification time and size of the manifest; a replaced manifest has another stamp."""


class _Pinned:
    """A book and the number of calls that are reading it. Entering the context adds one."""

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
        self.close_if_done()

    def close_if_done(self) -> None:
        if self.retired and self.readers == 0:
            self.book.close()


class ActiveNight:
    """Serves the active night of a data folder and notices when another night becomes active."""

    def __init__(
        self,
        data_dir: Path,
        *,
        source: str,
        disclaimer: str,
        prepare: Callable[[Book], object] | None = None,
    ) -> None:
        """Serve the empty book until the first poll; `prepare` is called with each book in a
        thread, before the book is served.
        """
        self._data_dir = data_dir
        self._prepare = prepare
        self._manifest_path = data_dir / "manifest.json"
        self.book = Book.empty(source, disclaimer)
        """The book that is served now. A call that awaits anything must pin it first."""
        self.withdrawn: Sequence[Withdrawn] = ()
        """The nights withdrawn before this one was opened, newest first. Whoever withdraws one
        replaces the manifest afterwards.
        """
        self.last_nights: Sequence[LastNight] = ()
        """The newest sealed nights when this one was opened."""
        self._pinned = _Pinned(self.book)
        self._opened: Stamp | None = None
        self.fault = ""
        """Why the newest night cannot be opened; empty if it is served."""

    def pin(self) -> AbstractContextManager[Book]:
        """Pin the current book: `with active_night.pin() as book`.

        The book stays open until the block ends, even if another night is published meanwhile.
        """
        return self._pinned

    async def keep_polling(self) -> None:
        """Look for a new night every second, until cancelled; less often after a failure."""
        wait = POLL_SECONDS
        while True:
            await anyio.sleep(wait)
            wait = POLL_SECONDS if await self.poll() else min(2 * wait, LONGEST_WAIT)

    async def poll(self) -> bool:
        """Open the night that the manifest names, unless it is the one already served.

        Returns False if it cannot be opened: the old night stays, and the next call tries again. A
        manifest that is copied before its book is therefore served once the book arrives.
        """
        stamp = self._stamp()
        if stamp is None or stamp == self._opened:
            return True
        try:
            book, withdrawn, last_nights = await anyio.to_thread.run_sync(self._open)
        except Exception as error:
            # Whatever is wrong with a new night, the old one must stay.
            self._report(error)
            return False
        self._opened, self.fault, self.withdrawn = stamp, "", withdrawn
        self.last_nights = last_nights
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

    def _open(self) -> tuple[Book, Sequence[Withdrawn], Sequence[LastNight]]:
        manifest = read_manifest(self._manifest_path)
        book = Book.open(known_book(self._data_dir / "nights", manifest), manifest)
        if self._prepare is not None:
            self._prepare(book)
        return book, read_withdrawals(self._data_dir), read_last_nights(self._data_dir)

    def _report(self, error: Exception) -> None:
        fault = str(error)
        if fault != self.fault:  # log a fault once, however often it recurs
            trace = None if isinstance(error, StoreError | OSError) else error
            message = "The new night cannot be opened; the old one stays active: %s"
            log.error(message, fault, exc_info=trace)
        self.fault = fault

    def _serve(self, book: Book) -> None:
        old, self._pinned, self.book = self._pinned, _Pinned(book), book
        old.retired = True
        old.close_if_done()
