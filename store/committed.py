"""Committed: the objects of a shared ledger, from the newest one of a commit backwards.

Each object is named by its number and digest, and names those of the one before it. What a run left
that did not commit is named by nothing, and so is never read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from store.errors import LedgerError, MirrorError
from store.ledger import Ledger
from store.ledger_file import LARGEST, NOTHING, Name, Newest, Withdrawal, first_line
from store.objects import Objects
from store.published import ledger_object


class Appended(NamedTuple):
    """An object of the ledger: its name in a data folder, and its bytes."""

    name: Name
    body: bytes


class Committed:
    """The ledger of a shared store, read through the copy of it in a data folder."""

    def __init__(self, objects: Objects, mine: Ledger) -> None:
        self._objects = objects
        self._mine = {name.number: name for name in mine.names()}
        self._ledger = mine

    def since(self, known: Newest | None, newest: Newest, most: int) -> Iterator[Appended]:
        """The objects after a known one up to the newest, newest first; at most so many.

        Raises:
            ObjectsError: the store does not answer.
            LedgerError: an object is missing, or is not the one that the next one names.
            MirrorError: the known object, or one of the data folder, is none of this ledger.
        """
        known = known or NOTHING
        number, digest = newest.number, newest.sha256
        while number > max(known.number, newest.number - most):
            name, body, digest = self._read(number, digest)
            yield Appended(name, body)
            number -= 1
        if number < known.number or (number == known.number and digest != known.sha256):
            raise self._other(f"object {known.number}")

    def _read(self, number: int, digest: str | None) -> tuple[Name, bytes, str | None]:
        """An object, and the digest of the one before it."""
        body = self._kept(number, digest)
        if body is None:
            found = self._objects.read(ledger_object(number, digest or ""), LARGEST)
            if found is None or hashlib.sha256(found.body).hexdigest() != digest:
                raise LedgerError(
                    f"Object {number} of the ledger at {self._objects.place} is missing, or is not "
                    "the one that was appended; restore it from a copy."
                )
            body = found.body
        head = first_line(body)
        name = Name(head.number, head.data_version, isinstance(head, Withdrawal))
        if name.number != number:
            raise LedgerError(
                f"Object {number} of the ledger at {self._objects.place} has another number."
            )
        if self._mine.get(number, name) != name:
            raise self._other(self._mine[number].file)
        return name, body, head.previous

    def _kept(self, number: int, digest: str | None) -> bytes | None:
        """The bytes of an object that the data folder has already."""
        name = self._mine.get(number)
        if name is None:
            return None
        try:
            body = self._ledger.bytes_of(name)
        except LedgerError:
            return None
        return body if hashlib.sha256(body).hexdigest() == digest else None

    def _other(self, what: str) -> MirrorError:
        return MirrorError(
            f"The ledger of this data folder is not that of {self._objects.place} ({what} is not "
            "in it); let SCREENER_DATA_DIR be a folder of its own, or SCREENER_NIGHTS_URL name "
            "the store that this folder followed."
        )
