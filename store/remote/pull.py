"""Pull: what a data folder takes over from a shared store of nights, checked byte by byte.

Nothing is taken over that the digests of the pointer do not vouch for. A file is complete before it
has its name, and the local `manifest.json`, which says what is served, is replaced when all that it
needs is there: a process that is killed at any moment leaves the old night or the new one.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from store.errors import LedgerError, ManifestError, StoreError
from store.folder.files import (
    DRAFT,
    digest_file,
    digest_of,
    private_file,
    private_folder,
    replace_file,
    sync_directory,
)
from store.folder.layout import DataFolder
from store.ledger.manifest import Manifest, check_readable, known_book, stamp_path
from store.ledger.objects import MAX_OBJECT, NEWEST, Name, Newest, Withdrawal, first_line
from store.nights.active_night import LISTED
from store.nights.nights import Nights
from store.remote.objects import Objects
from store.remote.pointer import (
    MAX_BYTES,
    Published,
    book_object,
    key_of,
    ledger_object,
    manifest_object,
    version_of,
)

SPARE_BYTES: Final = 16_000_000
"""What a book must leave free on the disk, for accounts and logs."""

log = logging.getLogger(__name__)


class PulledNights(Nights):
    """The nights of a data folder that follows a store. Pulling needs the lock of the folder."""

    def __init__(self, data_dir: Path, objects: Objects) -> None:
        super().__init__(data_dir)
        self._objects = objects
        self._marker = DataFolder(data_dir).followed

    def is_level(self, published: Published) -> bool:
        """Whether the folder is as a commit says, and its book still what was sealed."""
        if not self._is_noted(published):
            return False
        try:
            known_book(self.folder, published.active)
        except (OSError, ManifestError):
            return False
        return True

    def pull_commit(self, published: Published, keep: int | None = None) -> None:
        """Make the folder as a commit says: the whole ledger, and the books of so many nights;
        without a number the books that are here stay, and the manifests of all nights come.

        Raises:
            ObjectsError: the store does not answer, or lacks what the commit names.
            ManifestError: the book is not the one that was sealed.
            LedgerError: the ledger is not what was appended, or that of the folder is another one.
            StoreError: the disk has no room.
            OSError: the folder cannot be written.
        """
        self.pull_ledger(published.newest)
        self.pull_nights(published, keep)

    def pull_ledger(self, newest: Newest) -> None:
        """Bring the ledger into line with the chain that an object ends, as `pull_commit`."""
        present = {name.number: name for name in self.ledger.names()}
        noted = self.ledger.newest()
        last = max(present, default=0)
        if max(last, noted.number) > newest.number:
            raise self._forked(newest.number + 1)
        private_folder(self.ledger.folder)
        number, digest, drafts = newest.number, newest.sha256, dict[Path, Path]()
        while number > last and digest is not None:
            name, draft, previous = self._fetch_object(number, digest)
            drafts[draft] = self.ledger.folder / name.file
            number, digest = number - 1, previous
        if number != last or (number == 0) != (digest is None):
            raise LedgerError(f"The ledger at {self._objects.place} does not begin with object 1.")
        if number and digest_of(self.ledger.bytes_of(present[number])) != digest:
            raise self._forked(number)
        for draft in reversed(drafts):
            draft.replace(drafts[draft])
        if newest.number and noted != newest:
            replace_file(self.ledger.folder / NEWEST, newest.encode())

    def pull_nights(self, published: Published, keep: int | None = None) -> None:
        """Fetch manifests and the active night, and activate that, as `pull_commit`."""
        for key in published.kept[: None if keep is None else LISTED]:
            try:
                self._fetch_manifest(key)
            except ManifestError as error:  # only lists of nights need it
                log.warning("A night is not listed: %s", error)
        if keep is not None and not (self.folder / published.active.book.file).exists():
            self._make_room(published)
        self.fetch_book(published.active)
        if not self._is_noted(published):
            # Also where the night is the same: a running service then reads the withdrawals again.
            replace_file(self.pointer, published.active.encode())
        if keep is not None:
            self._prune_books(published, keep)
        replace_file(self._marker, published.encode())

    def fetch_book(self, manifest: Manifest) -> Path:
        """The path of a night's book, fetched if the folder has none or another; the manifest is
        written after it.

        Raises:
            ManifestError: it is not the one that was sealed; it is thrown away.
            ObjectsError: the store does not answer, or has none.
        """
        try:
            known_book(self.folder, manifest)
        except ManifestError:
            self._replace_book(manifest)
        self._write_manifest(manifest)
        return known_book(self.folder, manifest)

    def _replace_book(self, manifest: Manifest) -> None:
        name = book_object(key_of(manifest))
        draft = private_file(self.draft_path(manifest.data_version))
        try:
            self._objects.fetch(name, draft, manifest.book.bytes)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            if digest_file(draft) != manifest.book.sha256:
                raise ManifestError(
                    f"{name} of {self._objects.place} is not the file that was sealed; activate "
                    "another night with `screener night activate`, or run `screener nightly "
                    "--full`."
                )
            (self.folder / f"{manifest.data_version}.json").unlink(missing_ok=True)
            draft.replace(self.folder / manifest.book.file)
        finally:
            draft.unlink(missing_ok=True)
        sync_directory(self.folder)

    def _is_noted(self, published: Published) -> bool:
        """Whether the folder says that it holds a commit."""
        try:
            pointed, noted = self.pointer.read_bytes(), self._marker.read_bytes()
        except OSError:
            return False
        return (pointed, noted) == (published.active.encode(), published.encode())

    def _fetch_manifest(self, key: str) -> None:
        """Fetch a manifest if the folder has none or that of another book.

        Raises:
            ManifestError: it is not what was put there.
        """
        path = self.folder / f"{version_of(key)}.json"
        if path.exists() and _manifest(path.read_bytes(), key) is not None:
            return
        name = f"{manifest_object(key)} of {self._objects.place}"
        found = self._objects.read(manifest_object(key), MAX_BYTES)
        manifest = _manifest(found.body, key) if found else None
        if manifest is None:
            raise ManifestError(
                f"{name} is not what was put there; make the night again with `screener nightly "
                "--full`, or prune it."
            )
        check_readable(manifest.schema_version, name)
        self._write_manifest(manifest)

    def _write_manifest(self, manifest: Manifest) -> None:
        """Write a manifest beside its book; what was verified of another book is forgotten."""
        path = self.folder / f"{manifest.data_version}.json"
        if path.exists() and path.read_bytes() == manifest.encode():
            return
        stamp_path(self.folder, manifest).unlink(missing_ok=True)
        replace_file(path, manifest.encode())

    def _fetch_object(self, number: int, digest: str) -> tuple[Name, Path, str | None]:
        """Fetch an object of the ledger into a draft; returns its name and what it follows."""
        stored = ledger_object(number, digest)
        found = self._objects.read(stored, MAX_OBJECT)
        if found is None or digest_of(found.body) != digest:
            raise LedgerError(
                f"{stored} of {self._objects.place} is missing or not what was appended; put it "
                "back from a copy."
            )
        head = first_line(found.body)
        if head.number != number:
            raise LedgerError(f"{stored} of {self._objects.place} is object {head.number}.")
        draft = self.ledger.folder / f".{number:06}-{digest}{DRAFT}"
        replace_file(draft, found.body)
        name = Name(number, head.data_version, isinstance(head, Withdrawal))
        return name, draft, head.previous

    def _forked(self, number: int) -> LedgerError:
        return LedgerError(
            f"The ledger in {self.ledger.folder} differs from that of {self._objects.place}, "
            f"beginning with object {number}. If SCREENER_NIGHTS_URL is right, move that folder "
            "away; the ledger is then fetched anew."
        )

    def _make_room(self, published: Published) -> None:
        """See that a book fits on the disk; books that are not served give way to it.

        Raises:
            StoreError: the disk is full without them.
        """
        book = published.active.book
        needed = book.bytes + SPARE_BYTES
        if shutil.disk_usage(self.folder).free < needed:
            self._prune_books(published, keep=1)
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise StoreError(
                f"The disk of {self.folder} is full: {free:,} bytes are free, and the new book "
                f"takes {book.bytes:,}; make room there."
            )

    def _prune_books(self, published: Published, keep: int) -> None:
        """Remove the books of all nights but the one served and the newest, and the nights that the
        store has not.

        A book that a call is reading can be read to its end.
        """
        listed = set(map(version_of, published.kept))
        served = (self.active() or published.active).data_version
        books = sorted((path.stem for path in self.folder.glob("*.book")), reverse=True)
        earlier = [version for version in books if version in listed and version != served]
        staying = {served, *earlier[: keep - 1]}
        for night in self.sealed():
            if (version := night.data_version) not in staying:
                self._remove(night, listed=version in listed)


def _manifest(body: bytes, key: str) -> Manifest | None:
    """The manifest that some bytes are, if it is that of a key."""
    try:
        manifest = Manifest.model_validate_json(body)
    except ValidationError:
        return None
    return manifest if key_of(manifest) == key else None
