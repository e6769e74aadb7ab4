"""The active night: which sealed night is served, and pins that keep a book open for one call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from store.errors import StoreError
from store.folder.lock import restore_is_pending
from store.ledger.manifest import Manifest, known_book, read_manifest, verify_book
from store.ledger.withdrawals import Withdrawn, read_withdrawals
from store.nights.book import Book
from store.nights.last_nights import LastNight, read_last_nights

POLL_SECONDS = 1.0
"""Seconds between two looks at the manifest. A new night is served within about this time."""

LONGEST_WAIT = 30.0
"""The most seconds between two attempts to open a night that could not be opened."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int, int]
"""Inode, times of modification and size of a file; one that is replaced or changed has another."""


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
        self._empty = partial(Book.empty, source, disclaimer)
        self._manifest_path = data_dir / "manifest.json"
        self.book = self._empty()
        """The book that is served now. A call that awaits anything must pin it first."""
        self.withdrawn: Sequence[Withdrawn] = ()
        """The nights withdrawn before this one was opened, newest first. Whoever withdraws one
        replaces the manifest afterwards.
        """
        self.last_nights: Sequence[LastNight] = ()
        """The newest sealed nights when this one was opened."""
        self._pinned = _Pinned(self.book)
        self._opened: Stamp | None = None
        self._manifest: Manifest | None = None
        self._book_stamp: Stamp | None = None
        self.fault = ""
        """Why the newest night cannot be opened; empty if it is served."""

    def pin(self) -> AbstractContextManager[Book]:
        """Pin the current book: `with active_night.pin() as book`.

        The book stays open until the block ends, even if another night is published meanwhile.
        """
        return self._pinned

    @property
    def restore_is_pending(self) -> bool:
        """Whether a restore into the data folder was killed, or is at work."""
        return restore_is_pending(self._data_dir)

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
        stamp = _stamp(self._manifest_path)
        if stamp is None or stamp == self._opened:
            return await self._keeps_book()
        try:
            opened = await anyio.to_thread.run_sync(self._open)
        except Exception as error:
            # Whatever is wrong with a new night, the old one must stay.
            self._report(error)
            return False
        self._opened, self.fault = stamp, ""
        self._manifest, self._book_stamp, book, self.withdrawn, self.last_nights = opened
        self._serve(book)
        return True

    async def _keeps_book(self) -> bool:
        """Whether the book stays, as the manifest names no other. Nothing is served in place of one
        whose file was changed: a wrong number is worse.
        """
        self.fault = ""  # what could not be opened is not named any more
        if self._manifest is None:
            return True
        stamp = _stamp(self._folder / self._manifest.book.file)
        if stamp is None or stamp == self._book_stamp:  # a removed file can still be read
            return True
        try:
            await anyio.to_thread.run_sync(verify_book, self._folder, self._manifest)
        except StoreError as error:
            self.fault = str(error)
            log.critical("The night that was served is damaged; nothing is served: %s", error)
            self._opened = self._manifest = None  # look again whether it can be opened
            self._serve(self._empty())
            return False
        self._book_stamp = stamp
        return True

    def close(self) -> None:
        """Close the current book once its last reader is done."""
        self._pinned.retired = True
        self._pinned.close_if_done()

    @property
    def _folder(self) -> Path:
        return self._data_dir / "nights"

    def _open(
        self,
    ) -> tuple[Manifest, Stamp | None, Book, Sequence[Withdrawn], Sequence[LastNight]]:
        manifest = read_manifest(self._manifest_path)
        stamp = _stamp(self._folder / manifest.book.file)
        book = Book.open(known_book(self._folder, manifest), manifest)
        if self._prepare is not None:
            self._prepare(book)
        withdrawn = read_withdrawals(self._data_dir)
        return manifest, stamp, book, withdrawn, read_last_nights(self._data_dir)

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


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
