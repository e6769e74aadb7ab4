"""Working copy: what a data folder takes over from a shared store of nights, checked byte by byte.

Nothing is taken over that the digests of the pointer do not vouch for. A file is complete before it
has its name, so that a killed process leaves no half of one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from store.errors import LedgerError, ManifestError
from store.folder.files import DRAFT, private_file, private_folder, replace_file, sync_directory
from store.ledger.ledger import Ledger
from store.ledger.ledger_file import (
    LARGEST,
    NEWEST,
    NOTHING,
    Name,
    Newest,
    Withdrawal,
    first_line,
)
from store.ledger.manifest import Manifest, check_readable, known_book, stamp_path, verify_book
from store.remote.objects import Objects
from store.remote.published import (
    MOST_BYTES,
    POINTER,
    Published,
    book_object,
    key_of,
    ledger_object,
    manifest_object,
    read_published,
)

MOST_BOOK: Final = 64 * 2**30
"""A larger book is not one of ours."""


class WorkingCopy:
    """The nights and the ledger of a data folder, as copies of those of a store."""

    def __init__(self, data_dir: Path, objects: Objects) -> None:
        self.objects = objects
        self.nights = private_folder(data_dir / "nights")
        self.ledger = Ledger(data_dir)

    def look(self, known: str | None = None) -> tuple[Published, str] | None:
        """What the store publishes, and the tag of that; None if nothing or still `known`.

        Raises:
            ObjectsError: the store does not answer.
            ManifestError: it holds something else.
        """
        found = self.objects.read(POINTER, MOST_BYTES, known)
        if found is None or found.tag == known:
            return None
        return read_published(found.body, self.objects.place), found.tag

    def take_ledger(self, newest: Newest) -> bool:
        """Bring the ledger into line with the chain that an object ends; whether it has grown.

        Raises:
            LedgerError: the ledger of the folder is not the beginning of that chain, or an object
                of the store is not what was appended.
            ObjectsError: the store does not answer.
        """
        there = {name.number: name for name in self.ledger.names()}
        noted = self.ledger.newest() or NOTHING
        if max(there, default=0) > newest.number or noted.number > newest.number:
            raise self._forked(newest.number + 1)
        private_folder(self.ledger.folder)
        number, digest, found = newest.number, newest.sha256, []
        while number and digest is not None:
            if number in there:
                if _digest(self.ledger.bytes_of(there[number])) != digest:
                    raise self._forked(number)
                break
            name, draft, previous = self._take_object(number, digest)
            found.append((name, draft, digest))
            number, digest = number - 1, previous
        if number != max(there, default=0):
            raise LedgerError(f"The ledger at {self.objects.place} does not begin with object 1.")
        for name, draft, own in reversed(found):
            draft.replace(self.ledger.folder / name.file)
            self._note(Newest(number=name.number, sha256=own))
        self._note(newest)
        return bool(found)

    def take_manifest(self, key: str) -> Manifest:
        """The manifest of a night, fetched if the folder has none or that of another book.

        Raises:
            ManifestError: it is not what was put there.
            ObjectsError: the store does not answer, or has none.
        """
        path = self.nights / f"{key[:21]}.json"
        body = path.read_bytes() if path.exists() else None
        if body is not None:
            manifest = _manifest(body)
            if manifest is not None and key_of(manifest) == key:
                return manifest
        found = self.objects.read(manifest_object(key), MOST_BYTES)
        manifest = _manifest(found.body) if found else None
        if found is None or manifest is None or key_of(manifest) != key:
            raise ManifestError(
                f"{manifest_object(key)} of {self.objects.place} is not what was put there; make "
                "the night again with `screener nightly --full`, or prune it."
            )
        check_readable(manifest.schema_version, f"{manifest_object(key)} of {self.objects.place}")
        self.keep_manifest(manifest)
        return manifest

    def keep_manifest(self, manifest: Manifest) -> None:
        """Write a manifest beside its book; the book of another one with this version goes."""
        path = self.nights / f"{manifest.data_version}.json"
        if path.exists() and path.read_bytes() == manifest.encode():
            return
        stamp_path(self.nights, manifest).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        replace_file(path, manifest.encode())

    def take_book(self, manifest: Manifest) -> Path:
        """The path of a night's book, fetched if the folder has none or another; the manifest is
        written after it.

        Raises:
            ManifestError: it is not the one that was sealed; it is thrown away.
            ObjectsError: the store does not answer, or has none.
        """
        path = self.nights / manifest.book.file
        try:
            found = known_book(self.nights, manifest)
        except ManifestError:
            name = book_object(key_of(manifest))
            draft = private_file(self.nights / f".{manifest.data_version}.{os.getpid()}{DRAFT}")
            try:
                self.objects.fetch(name, draft, min(manifest.book.bytes, MOST_BOOK))
                self._check_book(name, draft, manifest)
                (self.nights / f"{manifest.data_version}.json").unlink(missing_ok=True)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
            sync_directory(self.nights)
            found = verify_book(self.nights, manifest)
        self.keep_manifest(manifest)
        return found

    def _check_book(self, name: str, draft: Path, manifest: Manifest) -> None:
        with draft.open("rb") as file:
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != manifest.book.sha256:
            raise ManifestError(
                f"{name} of {self.objects.place} is not the book that was sealed; activate another "
                "night with `screener night activate`, or run `screener nightly --full`."
            )

    def _take_object(self, number: int, digest: str) -> tuple[Name, Path, str | None]:
        """Fetch an object of the ledger into a draft; returns its name and what it follows."""
        stored = ledger_object(number, digest)
        found = self.objects.read(stored, LARGEST)
        if found is None or _digest(found.body) != digest:
            raise LedgerError(
                f"{stored} of {self.objects.place} is missing or not what was appended; put it "
                "back from a copy."
            )
        head = first_line(found.body)
        if head.number != number:
            raise LedgerError(f"{stored} of {self.objects.place} is object {head.number}.")
        draft = self.ledger.folder / f".{number:06}-{digest}{DRAFT}"
        replace_file(draft, found.body)
        name = Name(number, head.data_version, isinstance(head, Withdrawal))
        return name, draft, head.previous

    def _note(self, newest: Newest) -> None:
        if newest.number and self.ledger.newest() != newest:
            replace_file(self.ledger.folder / NEWEST, newest.encode())

    def _forked(self, number: int) -> LedgerError:
        return LedgerError(
            f"The ledger in {self.ledger.folder} differs from that of {self.objects.place} from "
            f"object {number} on. If SCREENER_NIGHTS_URL is right, move that folder away; the "
            "ledger is then fetched anew."
        )


def put_night(objects: Objects, manifest: Manifest, book: Path) -> None:
    """Store a sealed night, its book first.

    Raises:
        ObjectsError: the store does not answer.
    """
    key = key_of(manifest)
    objects.put(book_object(key), book)
    objects.put(manifest_object(key), manifest.encode())


def _manifest(body: bytes) -> Manifest | None:
    try:
        return Manifest.model_validate_json(body)
    except ValidationError:
        return None


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
