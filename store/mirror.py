"""Mirror: what a server keeps in its data folder of a shared store of nights.

A file is fetched as a draft, compared with what was sealed, and only then moved in place; the local
`manifest.json`, which says what is served, is replaced after all else. A mirror that was killed at any moment
leaves the old night, or the new one, and drafts that the next one removes.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from store import last_nights
from store.committed import Committed
from store.errors import BusyError, ManifestError, MirrorError
from store.files import DRAFT, private_file, private_folder, replace_file, sync_directory
from store.ledger import Ledger
from store.ledger_file import Newest
from store.lock import locked
from store.manifest import (
    Manifest,
    digest_file,
    known_book,
    read_manifest,
    stamp_path,
)
from store.objects import Objects
from store.published import Published, book_object, key_of, manifest_object, read_published

FOLLOWED: Final = "followed.json"
"""The file of a data folder that says which commit of the store it holds."""

MOST_OBJECTS: Final = 400
"""Objects of the ledger that are read at once; a market of 11,000 symbols has 2 MB a night."""

LARGEST_MANIFEST: Final = 256 * 1024

SPARE_BYTES: Final = 16_000_000
"""What a book must leave free on the disk, for accounts and logs."""

log = logging.getLogger(__name__)


class Mirror:
    """The nights of a shared store in a data folder, of which it keeps so many."""

    def __init__(self, data_dir: Path, objects: Objects, kept: int) -> None:
        self._data_dir = data_dir
        self._objects = objects
        self._kept = kept
        self._nights = data_dir / "nights"
        self._pointer = data_dir / "manifest.json"
        self._marker = data_dir / FOLLOWED
        self._ledger = Ledger(data_dir)

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

    def update(self, published: Published) -> bool:
        """Make the folder as a commit says; False while another process is writing in it.

        Raises:
            ObjectsError: the store does not answer, or lacks what the commit names.
            ManifestError: the book is not the one that was sealed.
            LedgerError: the ledger is not what was appended.
            MirrorError: the folder holds nights of another ledger, or the disk has no room.
            OSError: the folder cannot be written.
        """
        try:
            with locked(self._data_dir, dt.datetime.now(dt.UTC)):
                if not self.holds(published):
                    self._update(published)
        except BusyError:
            return False
        return True

    def _update(self, published: Published) -> None:
        self._sweep()
        shown = published.kept[: last_nights.NAMED]
        self._fetch_ledger(published.newest, {version_of(key) for key in shown})
        self._fetch_book(published.active)
        for key in shown:
            self._fetch_manifest(key)
        replace_file(self._pointer, published.active.encode())
        self._prune(published.active, [version_of(key) for key in shown])
        replace_file(self._marker, published.encode())

    def _sweep(self) -> None:
        """Make the folders, and remove the drafts of processes that were killed."""
        for folder in (self._nights, self._ledger.folder):
            private_folder(folder)
        for folder in (self._data_dir, self._nights, self._ledger.folder):
            for draft in folder.glob(f".*{DRAFT}"):
                draft.unlink(missing_ok=True)

    def _fetch_ledger(self, newest: Newest, shown: Collection[str]) -> None:
        """Fetch the withdrawals, and the objects of the nights that are shown.

        What was followed before is not read again, and of a long ledger only the newest objects.
        """
        committed = Committed(self._objects, self._ledger)
        for name, body in committed.since(self._followed(), newest, MOST_OBJECTS):
            path = self._ledger.folder / name.file
            if (name.withdrawal or name.version in shown) and not _has(path, body):
                replace_file(path, body)

    def _followed(self) -> Newest | None:
        """The newest object of the commit that was followed last."""
        try:
            known = read_published(self._marker.read_bytes(), str(self._data_dir))
        except (OSError, ManifestError):
            return None
        return known.newest if self._ledger.names() else None

    def _fetch_book(self, manifest: Manifest) -> None:
        """Fetch the book of the active night, and put its manifest beside it."""
        beside = self._nights / f"{manifest.data_version}.json"
        if _is_other(beside, manifest):
            beside.unlink(missing_ok=True)
        try:
            known_book(self._nights, manifest)
        except ManifestError:
            self._fetch_anew(manifest)
        if not beside.exists():
            replace_file(beside, manifest.encode())
        known_book(self._nights, manifest)  # so that no process that serves it has to hash it

    def _fetch_anew(self, manifest: Manifest) -> None:
        book = manifest.book
        self._check_room(book.bytes)
        draft = private_file(self._nights / f".{manifest.data_version}.{os.getpid()}{DRAFT}")
        try:
            self._objects.fetch(book_object(key_of(manifest)), draft, book.bytes)
            if draft.stat().st_size != book.bytes or digest_file(draft) != book.sha256:
                raise ManifestError(
                    f"The book {book.file} that came from {self._objects.place} is not the one "
                    "that was sealed."
                )
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.replace(self._nights / book.file)
            sync_directory(self._nights)
        finally:
            draft.unlink(missing_ok=True)

    def _check_room(self, wanted: int) -> None:
        free = shutil.disk_usage(self._nights).free
        if free < wanted + SPARE_BYTES:
            raise MirrorError(
                f"The disk of {self._data_dir} is full: {free:,} bytes are free, and the new book "
                f"takes {wanted:,}; make room there."
            )

    def _fetch_manifest(self, key: str) -> None:
        """Fetch the manifest of an earlier night, for the list of the last nights."""
        path = self._nights / f"{version_of(key)}.json"
        with suppress(ManifestError):
            if key_of(read_manifest(path)) == key:
                return
        found = self._objects.read(manifest_object(key), LARGEST_MANIFEST)
        if found is None:  # pruned since the commit
            return
        try:
            manifest = Manifest.model_validate_json(found.body)
        except ValidationError:
            manifest = None
        if manifest is None or key_of(manifest) != key:
            log.warning("The night %s is not listed: its manifest is damaged.", key)
        else:
            replace_file(path, manifest.encode())

    def _prune(self, active: Manifest, shown: Sequence[str]) -> None:
        """Remove the books of all nights but the newest, and the manifests that are not shown.

        A book that a call is reading can be read to its end.
        """
        books = sorted((path.stem for path in self._nights.glob("*.book")), reverse=True)
        earlier = [each for each in books if each in shown and each != active.data_version]
        staying = {active.data_version, *earlier[: self._kept - 1]}
        for version in {*books, *(path.stem for path in self._nights.glob("*.json"))} - staying:
            self._remove(version, listed=version in shown)

    def _remove(self, version: str, *, listed: bool) -> None:
        beside = self._nights / f"{version}.json"
        shutil.rmtree(self._data_dir / "charts" / version, ignore_errors=True)
        (self._nights / f"{version}.book").unlink(missing_ok=True)
        with suppress(ManifestError):
            stamp_path(self._nights, read_manifest(beside)).unlink(missing_ok=True)
        if not listed:
            beside.unlink(missing_ok=True)


def version_of(key: str) -> str:
    """The version of a night that a key names in the store."""
    return key.rpartition("-")[0]


def _has(path: Path, body: bytes) -> bool:
    """Whether a file has these bytes."""
    try:
        return path.read_bytes() == body
    except FileNotFoundError:
        return False


def _is_other(path: Path, manifest: Manifest) -> bool:
    """Whether a file is there and is not this manifest."""
    try:
        return read_manifest(path) != manifest
    except ManifestError:
        return path.exists()
