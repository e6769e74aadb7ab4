"""Small nights in a shared store, as a nightly of another machine leaves them there."""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path

from store.errors import ObjectsError
from store.ledger import Entry
from store.ledger_file import NOTHING
from store.manifest import Manifest
from store.nights import Nights
from store.objects import Objects
from store.opening import open_objects
from store.published import (
    MOST_BYTES,
    POINTER,
    Published,
    book_object,
    key_of,
    ledger_object,
    manifest_object,
    read_published,
)
from store.served import Tally
from tests.store.test_nights import write

FIRST = dt.date(2026, 1, 5)


class Publisher:
    """A machine with a data folder of its own that publishes into a store."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.objects: Objects = open_objects(url)
        self.nights = Nights(folder)

    def night(self, day: int = 0, symbols: int = 3) -> Manifest:
        """Make and publish the night of the first session or of so many days later."""
        session = FIRST + dt.timedelta(days=day)
        entry = Entry(
            detector=1,
            method_version=1,
            published_at=dt.datetime.combine(session, dt.time(22), dt.UTC),
            since=None,
            as_served=Tally.begun(session),
            lines=(),
        )
        made = write(self.nights, session=session, symbols=symbols, entry=entry, accept_fall=True)
        self.push()
        return made

    def withdraw(self, night: Manifest, reason: str = "The bars were wrong.") -> None:
        """Withdraw a night, and publish what takes its place."""
        self.nights.withdraw(night.data_version, reason, dt.datetime.now(dt.UTC))
        self.push()

    def push(self) -> None:
        """Put everything into the store, and the pointer last."""
        for night in self.nights.sealed():
            book = self.nights.folder / night.book.file
            self._put(book_object(key_of(night)), book)
            self._put(manifest_object(key_of(night)), night.encode())
        ledger = self.nights.ledger
        for name in ledger.names():
            body = ledger.bytes_of(name)
            digest = hashlib.sha256(body).hexdigest()
            self._put(ledger_object(name.number, digest), body)
        self.point()

    def point(self, **changed: object) -> None:
        """Replace the pointer by what is active here, with other fields where they are given."""
        before = self.objects.read(POINTER, MOST_BYTES)
        commit = read_published(before.body, "test").commit + 1 if before else 1
        gone = self.nights.ledger.withdrawals()
        active = self.nights.active()
        assert active is not None
        published = Published(
            active=active,
            newest=self.nights.ledger.newest() or NOTHING,
            kept=tuple(key_of(n) for n in self.nights.sealed() if n.data_version not in gone),
            commit=commit,
        )
        self.swap(published.model_copy(update=changed).encode())

    def swap(self, body: bytes) -> None:
        """Replace the pointer by some bytes."""
        before = self.objects.read(POINTER, MOST_BYTES)
        self.objects.swap(POINTER, body, before.tag if before else None)

    def _put(self, name: str, body: bytes | Path) -> None:
        if not self.objects.has(name):
            self.objects.put(name, body)


def spoil(objects: Objects, name: str) -> None:
    """Change one bit of an object."""
    found = objects.read(name, 2**26)
    if found is None:
        raise ObjectsError(name)
    middle = len(found.body) // 2
    changed = bytes([found.body[middle] ^ 1])
    objects.put(name, found.body[:middle] + changed + found.body[middle + 1 :])
