"""Shared nights: nights that one machine publishes for several, in a store of objects.

The store is the truth and the data folder a working copy. What a commit needs is put first; one
swap of the pointer then commits all of it, and the working copy follows. A run that is killed at
any moment leaves the store as it was before or after its swap, and the next one, on any machine,
goes on from there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
from pathlib import Path
from typing import Final

from store.errors import (
    ConflictError,
    ManifestError,
    ObjectsError,
    OvertakenError,
    PublishError,
    StoreError,
)
from store.folder.trouble import trouble_of
from store.ledger.ledger import Appended
from store.ledger.manifest import Manifest
from store.ledger.objects import Newest
from store.ledger.verify import walk
from store.remote.objects import Objects
from store.remote.pointer import (
    MAX_BYTES,
    POINTER,
    Published,
    book_object,
    key_of,
    ledger_object,
    manifest_object,
    read_published,
)
from store.remote.pull import PulledNights

UNNAMED: Final = dt.timedelta(days=1)
"""What no pointer names is removed after this time: a run may be about to commit it until then."""

log = logging.getLogger(__name__)


class SharedNights(PulledNights):
    """The nights of a shared store, with a data folder as their working copy.

    Call `pull` or `sweep` under the lock of the folder before any change: a change is refused if
    another machine has published since then.
    """

    def __init__(self, data_dir: Path, objects: Objects) -> None:
        super().__init__(data_dir, objects)
        self._published: Published | None = None
        self._tag: str | None = None

    def pull(self) -> None:
        """Bring the ledger, the manifests of all nights, and the active night into line with the
        store. With an empty store the folder stays as it is, and the next commit shares all of it.

        Raises:
            ObjectsError: the store does not answer.
            LedgerError: the ledger of the folder is another one, or the store's is damaged.
            ManifestError: the store holds something else.
        """
        found = self._objects.read(POINTER, MAX_BYTES)
        published = read_published(found.body, self._objects.place) if found else None
        self._published, self._tag = published, found.tag if found else None
        if published is not None:
            self.pull_ledger(published.newest)
            # A night that cannot be had must not stop the next one.
            with contextlib.suppress(ManifestError, ObjectsError):
                self.pull_nights(published)

    def _end_killed_run(self) -> None:
        self.pull()

    def sealed(self) -> list[Manifest]:
        """The nights of the store, newest session first, without what a killed run left."""
        nights = super().sealed()
        if self._published is None:
            return nights
        return [night for night in nights if key_of(night) in self._published.kept]

    def active(self) -> Manifest | None:
        """The active night of the store; that of the folder if the store has none."""
        return self._published.active if self._published else super().active()

    def check_active(self) -> Manifest:
        """The active night, after fetching its book if the folder has none.

        Raises:
            ManifestError: the book is not the one that was sealed.
            ObjectsError: the store does not answer.
        """
        if self._published is None:
            return super().check_active()
        self.fetch_book(self._published.active)
        return self._published.active

    def _verified(self, manifest: Manifest) -> Path:
        try:
            return super()._verified(manifest)
        except ManifestError:
            if self._published is None or key_of(manifest) not in self._published.kept:
                raise
            return self.fetch_book(manifest)

    def _commit(self, active: Manifest | None, appended: Appended | None = None) -> None:
        """Put what the commit needs, swap the pointer, and let the folder follow.

        Raises:
            OvertakenError: another machine published since `pull`; nothing changed.
            ObjectsError: the store does not answer; whether it was committed is not known.
        """
        if active is None:
            raise PublishError("Nothing is published yet; run `screener nightly` first.")
        keys = set(self._published.kept) if self._published else self._share_all()
        keys.add(self._put_night(active))
        if appended is not None:
            self._objects.put(_stored(appended.newest), appended.body)
        newest = appended.newest if appended else self._newest()
        if not self._swap(active, newest, keys) and not self._is_on_record(appended):
            raise OvertakenError(
                f"Another machine published to {self._objects.place} in the meantime; nothing of "
                "this run was published. Run it again if it is still needed."
            )

    def _share_all(self) -> set[str]:
        """Put what the folder holds into an empty store, its ledger and its nights; returns the
        keys of these.
        """
        for name, body in walk(self.ledger):
            self._objects.put(_stored(Appended(name, body).newest), body)
        withdrawn, keys = self.ledger.withdrawals(), set[str]()
        for night in super().sealed():
            if night.data_version not in withdrawn and not self._off_record(night):
                with contextlib.suppress(ManifestError):
                    keys.add(self._put_night(night))
        return keys

    def _put_night(self, night: Manifest) -> str:
        """Put a sealed night, its book first; returns its key."""
        key = key_of(night)
        self._objects.put(book_object(key), self._verified(night))
        self._objects.put(manifest_object(key), night.encode())
        return key

    def _swap(self, active: Manifest, newest: Newest, keys: set[str]) -> bool:
        """Commit; whether nobody else has since `pull`. The folder then follows, and otherwise
        follows who has.
        """
        published = Published(
            active=active,
            newest=newest,
            kept=tuple(sorted(keys, reverse=True)),
            commit=self._published.commit + 1 if self._published else 1,
        )
        if len(published.encode()) > MAX_BYTES:
            raise PublishError(f"{POINTER} is too large to be read; run `screener night prune`.")
        try:
            self._tag = self._objects.swap(POINTER, published.encode(), self._tag)
        except ConflictError:
            self.pull()
            return False
        except ObjectsError as error:
            raise ObjectsError(
                f"{error} Whether this was published is not known; the next command finds out."
            ) from error
        self._published = published
        try:
            self.pull_commit(published)
        except (StoreError, OSError) as error:  # it has happened, which this must not deny
            log.warning(
                "It is published, but the copy in the data folder was not updated; the next "
                "command does that: %s",
                trouble_of(error) or error,
            )
        return True

    def _is_on_record(self, appended: Appended | None) -> bool:
        """Whether the ledger of the store has an object: its answer was lost, then others went on
        from there.
        """
        if appended is None or appended.name not in self.ledger.names():
            return False
        return self.ledger.bytes_of(appended.name) == appended.body

    def _newest(self) -> Newest:
        if self._published:
            return self._published.newest
        self.ledger.note()
        return self.ledger.newest().model_copy(update={"pending": False})

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest `keep` nights from the store and the folder, as `Nights.prune`.
        An object that no pointer names any more is removed from the store after a day.

        Raises:
            OvertakenError: another machine published since `pull`; nothing was removed.
        """
        surplus, published = self._surplus(keep), self._published
        if published is None:
            return super().prune(keep)
        keys = set(published.kept) - set(map(key_of, surplus))
        if not self._swap(published.active, published.newest, keys):
            raise OvertakenError("Another machine published in the meantime; nothing was removed.")
        named = self._named(keys)
        before = dt.datetime.now(dt.UTC) - UNNAMED
        for folder in ("nights", "ledger"):
            for name in set(self._objects.names(folder, before)) - named:
                self._objects.remove(name, before)  # who goes back to a night puts it again
        for manifest in super().sealed():
            if key_of(manifest) not in keys:
                self._remove(manifest)
        return [manifest.data_version for manifest in surplus]

    def _named(self, keys: set[str]) -> set[str]:
        """The names that servers need."""
        heads = [self.ledger.head(name) for name in self.ledger.names()]
        chain = {ledger_object(head.number - 1, head.previous) for head in heads if head.previous}
        nights = {name(key) for key in keys for name in (book_object, manifest_object)}
        return nights | chain | {_stored(self._newest())}


def _stored(newest: Newest) -> str:
    return ledger_object(newest.number, newest.sha256 or "none")
