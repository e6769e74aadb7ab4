"""Mirror: what a server keeps in its data folder of a shared store of nights.

A file is fetched as a draft, compared with what was sealed, and only then moved in place. The local
`manifest.json`, which says what is served, is replaced when all that it needs is there: a mirror
that is killed at any moment leaves the old night or the new one.
"""

from __future__ import annotations

import datetime as dt
import logging
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from store.errors import ManifestError, MirrorError
from store.folder.files import DRAFT, private_folder, replace_file
from store.folder.lock import locked
from store.ledger.ledger import Ledger
from store.ledger.manifest import Manifest, known_book, read_manifest, stamp_path
from store.nights.last_nights import NAMED
from store.remote.objects import Objects
from store.remote.published import Published
from store.remote.working_copy import WorkingCopy

FOLLOWED: Final = "followed.json"
"""The file of a data folder that says which commit of the store it holds."""

SPARE_BYTES: Final = 16_000_000
"""What a book must leave free on the disk, for accounts and logs."""

log = logging.getLogger(__name__)


class Mirror:
    """The newest nights of a shared store in a data folder, and its whole ledger."""

    def __init__(self, data_dir: Path, objects: Objects, kept: int) -> None:
        """Keep the books of so many nights."""
        self._data_dir = data_dir
        self._objects = objects
        self._kept = kept
        self._nights = data_dir / "nights"
        self._pointer = data_dir / "manifest.json"
        self._marker = data_dir / FOLLOWED

    def holds(self, published: Published) -> bool:
        """Whether the folder is as a commit says, and its book still what was sealed."""
        try:
            same = self._marker.read_bytes() == published.encode()
            same = same and self._pointer.read_bytes() == published.active.encode()
            if same:
                known_book(self._nights, published.active)
        except (OSError, ManifestError):
            return False
        return same

    def update(self, published: Published) -> None:
        """Make the folder as a commit says.

        Raises:
            BusyError: another process is writing in it.
            ObjectsError: the store does not answer, or lacks what the commit names.
            ManifestError: the book is not the one that was sealed.
            LedgerError: the ledger is not what was appended, or that of the folder is another one.
            MirrorError: the disk has no room.
            OSError: the folder cannot be written.
        """
        with locked(self._data_dir, dt.datetime.now(dt.UTC)):
            if not self.holds(published):
                self._update(published)

    def _update(self, published: Published) -> None:
        self._sweep()
        active = published.active
        copy = WorkingCopy(self._data_dir, self._objects)
        copy.take_ledger(published.newest)
        self._make_room(active)
        copy.take_book(active)
        for key in published.kept[:NAMED]:
            self._take_manifest(copy, key)
        # Also where the night is the same: a running service then reads the withdrawals again.
        replace_file(self._pointer, active.encode())
        self._prune(active, {*map(_version_of, published.kept)})
        replace_file(self._marker, published.encode())

    def _sweep(self) -> None:
        """Remove the drafts of processes that were killed."""
        private_folder(self._nights)
        for folder in (self._data_dir, self._nights, Ledger(self._data_dir).folder):
            for draft in folder.glob(f".*{DRAFT}"):
                draft.unlink(missing_ok=True)

    def _take_manifest(self, copy: WorkingCopy, key: str) -> None:
        """Fetch the manifest of an earlier night, for the list of the last nights."""
        try:
            copy.take_manifest(key)
        except ManifestError as error:
            log.warning("A night is not listed: %s", error)

    def _make_room(self, manifest: Manifest) -> None:
        """See that a book fits on the disk; books that are not served give way to it.

        Raises:
            MirrorError: the disk is full without them.
        """
        if (self._nights / manifest.book.file).exists():
            return
        needed = manifest.book.bytes + SPARE_BYTES
        if shutil.disk_usage(self._nights).free < needed:
            self._remove_earlier()
        free = shutil.disk_usage(self._nights).free
        if free < needed:
            raise MirrorError(
                f"The disk of {self._data_dir} is full: {free:,} bytes are free, and the new book "
                f"takes {manifest.book.bytes:,}; make room there."
            )

    def _remove_earlier(self) -> None:
        served = ""
        with suppress(ManifestError):
            served = read_manifest(self._pointer).book.file
        for path in self._nights.glob("*.book"):
            if path.name != served:
                self._remove(path.stem, listed=True)

    def _prune(self, active: Manifest, there: Collection[str]) -> None:
        """Remove the books of all nights but the newest, and the nights that the store has not.

        A book that a call is reading can be read to its end.
        """
        books = sorted((path.stem for path in self._nights.glob("*.book")), reverse=True)
        earlier = [each for each in books if each in there and each != active.data_version]
        staying = {active.data_version, *earlier[: self._kept - 1]}
        for version in {*books, *(path.stem for path in self._nights.glob("*.json"))} - staying:
            self._remove(version, listed=version in there)

    def _remove(self, version: str, *, listed: bool) -> None:
        beside = self._nights / f"{version}.json"
        shutil.rmtree(self._data_dir / "charts" / version, ignore_errors=True)
        (self._nights / f"{version}.book").unlink(missing_ok=True)
        with suppress(ManifestError):
            stamp_path(self._nights, read_manifest(beside)).unlink(missing_ok=True)
        if not listed:
            beside.unlink(missing_ok=True)


def _version_of(key: str) -> str:
    """The version of a night that a key names in the store."""
    return key.rpartition("-")[0]
