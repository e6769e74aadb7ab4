"""Small nights in a shared store, as a nightly of another machine leaves them there."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from store.errors import ObjectsError
from store.ledger.ledger import NightEntry
from store.ledger.manifest import Manifest
from store.ledger.served import Tally
from store.ledger.verify import verify
from store.nights.nights import Nights
from store.remote.objects import Objects
from store.remote.pointer import MAX_BYTES, POINTER, Published, read_published
from store.remote.shared_nights import SharedNights
from tests.books import write

FIRST = dt.date(2026, 1, 5)


def make(nights: Nights, day: int = 0, symbols: int = 3, hour: int = 22) -> Manifest:
    """Make the night of the first session or of so many days later, at an hour of that day."""
    session = FIRST + dt.timedelta(days=day)
    entry = NightEntry(
        detector=1,
        method_version=1,
        published_at=dt.datetime.combine(session, dt.time(hour), dt.UTC),
        since=None,
        as_served=Tally.begun(session),
        lines=(),
    )
    return write(nights, session=session, symbols=symbols, entry=entry, accept_fall=True)


class Publisher:
    """A machine with a data folder of its own that publishes into a store."""

    def __init__(self, folder: Path, url: str, objects: Objects | None = None) -> None:
        self.folder = folder
        self.objects = objects or Objects(url)
        self.nights = SharedNights(folder, self.objects)

    def night(self, day: int = 0, symbols: int = 3) -> Manifest:
        """Make and publish the night of the first session or of so many days later."""
        self.nights.pull()
        return make(self.nights, day, symbols)

    def check(self) -> Manifest:
        """The night of this machine after it looked; its whole ledger is what was appended."""
        self.nights.pull()
        assert not verify(self.nights.ledger).faults
        return self.nights.check_active()

    def withdraw(self, night: Manifest, reason: str = "The bars were wrong.") -> None:
        """Withdraw a night, and publish what takes its place."""
        self.nights.pull()
        self.nights.withdraw(night.data_version, reason, dt.datetime.now(dt.UTC))

    def published(self) -> Published:
        """What the store says."""
        found = self.objects.read(POINTER, MAX_BYTES)
        assert found is not None
        return read_published(found.body, "test")

    def swap(self, body: bytes) -> None:
        """Replace the pointer by some bytes."""
        before = self.objects.read(POINTER, MAX_BYTES)
        self.objects.swap(POINTER, body, before.tag if before else None)


def spoil(objects: Objects, name: str) -> None:
    """Change one bit of an object."""
    found = objects.read(name, 2**26)
    if found is None:
        raise ObjectsError(name)
    middle = len(found.body) // 2
    changed = bytes([found.body[middle] ^ 1])
    objects.put(name, found.body[:middle] + changed + found.body[middle + 1 :])
