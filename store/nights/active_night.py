"""The active night: which sealed night is served, and pins that keep a book open for one call."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from store.errors import LedgerError, ManifestError, StoreError
from store.folder.layout import DataFolder
from store.folder.lock import restore_is_pending
from store.ledger.ledger import Ledger, Withdrawn
from store.ledger.manifest import Manifest, known_book, read_manifest, verify_book
from store.ledger.objects import Name, NightHead
from store.ledger.since import changes_since
from store.nights.book import Book

POLL_SECONDS = 1.0
"""Seconds between two looks at the manifest. A new night is served within about this time."""

MAX_WAIT = 30.0
"""The most seconds between two attempts to open a night that could not be opened."""

LISTED: Final = 14
"""Sealed nights that are listed, newest session first."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int, int]
"""Inode, times of modification and size of a file; one that is replaced or changed has another."""


@dataclass(frozen=True, slots=True)
class LastNight:
    """A sealed night in short."""

    data_version: str
    session: dt.date
    covered: int
    setups: int
    published: dt.datetime | None
    """In UTC; None if the ledger does not say."""
    withdrawn: bool


def read_last_nights(data_dir: Path, most: int = LISTED) -> Sequence[LastNight]:
    """The newest sealed nights, newest session first; a damaged one is left out.

    It raises nothing, because a night must be served whatever became of the others.
    """
    ledger, names, nights = Ledger(data_dir), list[Name](), list[LastNight]()
    with contextlib.suppress(LedgerError):
        names = ledger.names()
    recorded = {name.version: name for name in names if not name.withdrawal}
    withdrawn = {name.version for name in names if name.withdrawal}
    # The name of a night begins with its session.
    for file in sorted(DataFolder(data_dir).nights.glob("*.json"), reverse=True)[:most]:
        try:
            night = read_manifest(file)
        except ManifestError as error:
            log.warning("The night %s is not listed: %s", file.name, type(error).__name__)
            continue
        version, counts = night.data_version, night.counts
        published = _published(ledger, recorded.get(version))
        short = (version, night.as_of_session, counts.covered, counts.setups)
        nights.append(LastNight(*short, published, version in withdrawn))
    return tuple(nights)


def _published(ledger: Ledger, name: Name | None) -> dt.datetime | None:
    with contextlib.suppress(LedgerError):
        head = ledger.head(name) if name else None
        if isinstance(head, NightHead):
            at = head.published_at
            return (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    return None


def read_compared(data_dir: Path, version: str | None) -> Book | None:
    """The night with which another was compared, whose `Book.changes` names it. It is closed: the
    scan, its features and the changes, which are in memory, can be used, and nothing else.

    None without one, or if it is not in the data folder any more, or was withdrawn.
    """
    folder = DataFolder(data_dir).nights
    if version is None:
        return None
    try:
        if version in Ledger(data_dir).withdrawals():
            return None
        manifest = read_manifest(folder / f"{version}.json")
        before = Book.open(known_book(folder, manifest), manifest)
    except (StoreError, OSError) as error:
        log.info("The night %s is not compared with: %s", version, type(error).__name__)
        return None
    before.close()
    return before


@dataclass(frozen=True, slots=True)
class _Opened:
    """A night that was opened, and what stood beside it then."""

    manifest: Manifest
    stamp: Stamp | None
    book: Book
    withdrawn: Sequence[Withdrawn]
    last_nights: Sequence[LastNight]


class _Pinned:
    """A book and the number of calls that are reading it. Entering the context adds one."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.readers = 0
        self.retired = False

    def __enter__(self) -> Book:
        self.readers += 1
        return self.book

    def __exit__(self, *_: object) -> None:
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
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        """Serve the empty book until the first poll; `prepare` is called with each book in a
        thread, before the book is served. By the clock a book learns that it is old.
        """
        self._clock = clock
        self._data_dir = data_dir
        self._place = DataFolder(data_dir)
        self._prepare = prepare
        self._empty = partial(Book.empty, source, disclaimer)
        self.book = self._empty()
        """The book that is served now. A call that awaits anything must pin it first."""
        self.withdrawn: Sequence[Withdrawn] = ()
        """The nights withdrawn before this one was opened, newest first. Whoever withdraws one
        replaces the manifest afterwards.
        """
        self.last_nights: Sequence[LastNight] = ()
        """The newest sealed nights when this one was opened."""
        self._compared = WeakKeyDictionary[Book, Book | None]()
        self._comparing = anyio.Lock()
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

    async def compared(self, book: Book) -> Book | None:
        """The night that a pinned book was compared with, as `read_compared`; opened once."""
        async with self._comparing:
            if book not in self._compared:
                version = (book.changes() or {}).get("since_version")
                read = partial(read_compared, self._data_dir, version)
                self._compared[book] = await anyio.to_thread.run_sync(read)
            return self._compared[book]

    async def nights_before(self, book: Book, most: int) -> list[Book]:
        """The nights before a pinned book, the newest first: the one that it was compared with, the
        one that this was compared with, and so on, as far as they are here.
        """
        found = [book]
        while len(found) <= most and (before := await self.compared(found[-1])):
            found.append(before)
        return found[1:]

    async def changes_since(self, book: Book, since: dt.date) -> Mapping[str, Any]:
        """What changed in nights after a session, as `store.ledger.since` reads it; what the night
        itself found where the ledger does not tell more.
        """
        found, version = None, book.data_version or ""
        read = partial(changes_since, Ledger(self._data_dir), version, since)
        try:
            found = await anyio.to_thread.run_sync(read)
        except LedgerError as error:
            log.warning("Changes of earlier nights cannot be read: %s", error)
        return found or book.changes() or {}

    @property
    def restore_is_pending(self) -> bool:
        """Whether a restore into the data folder was killed, or is at work."""
        return restore_is_pending(self._data_dir)

    async def keep_polling(self) -> None:
        """Look for a new night every second, until cancelled; less often after a failure."""
        wait = POLL_SECONDS
        while True:
            await anyio.sleep(wait)
            wait = POLL_SECONDS if await self.poll() else min(2 * wait, MAX_WAIT)

    async def poll(self) -> bool:
        """Open the night that the manifest names, unless it is the one already served.

        Returns False if it cannot be opened: the old night stays, and the next call tries again. A
        manifest that is copied before its book is therefore served once the book arrives.
        """
        stamp = _stamp(self._place.manifest)
        self.book.tell_day(self._clock().date())
        if stamp is None or stamp == self._opened:
            return await self._keeps_book()
        try:
            opened = await anyio.to_thread.run_sync(self._open)
        except Exception as error:
            # Whatever is wrong with a new night, the old one must stay.
            self._report(error)
            return False
        self._opened, self.fault = stamp, ""
        self._manifest, self._book_stamp = opened.manifest, opened.stamp
        self.withdrawn, self.last_nights = opened.withdrawn, opened.last_nights
        self._serve(opened.book)
        return True

    async def _keeps_book(self) -> bool:
        """Whether the book stays, as the manifest names no other. Nothing is served in place of one
        whose file was changed: a wrong number is worse.
        """
        self.fault = ""  # what could not be opened is not named any more
        if self._manifest is None:
            return True
        stamp = _stamp(self._place.nights / self._manifest.book.file)
        if stamp is None or stamp == self._book_stamp:  # a removed file can still be read
            return True
        try:
            await anyio.to_thread.run_sync(verify_book, self._place.nights, self._manifest)
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

    def _open(self) -> _Opened:
        manifest = read_manifest(self._place.manifest)
        stamp = _stamp(self._place.nights / manifest.book.file)
        book = Book.open(known_book(self._place.nights, manifest), manifest)
        if self._prepare is not None:
            self._prepare(book)
        withdrawn = Ledger(self._data_dir).last_withdrawn()
        return _Opened(manifest, stamp, book, withdrawn, read_last_nights(self._data_dir))

    def _report(self, error: Exception) -> None:
        fault = str(error)
        if fault != self.fault:  # log a fault once, however often it recurs
            trace = None if isinstance(error, StoreError | OSError) else error
            message = "The new night cannot be opened; the old one stays active: %s"
            log.error(message, fault, exc_info=trace)
        self.fault = fault

    def _serve(self, book: Book) -> None:
        book.tell_day(self._clock().date())
        old, self._pinned, self.book = self._pinned, _Pinned(book), book
        old.retired = True
        old.close_if_done()


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
