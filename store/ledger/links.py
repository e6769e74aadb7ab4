"""Links: whether the objects of a ledger follow each other, read once and in their order."""

from __future__ import annotations

import hashlib

from store.errors import LedgerError
from store.ledger.ledger_file import (
    LONGEST_HEAD,
    NEWEST,
    NOTHING,
    Name,
    Newest,
    Withdrawal,
    first_line,
    wrong,
)


class Links:
    """A walk from the first object to the newest one."""

    def __init__(self) -> None:
        self.number = 0
        """Of the object that was read last; how many were read."""
        self._file = NEWEST
        self._digest = NOTHING.sha256

    def add(self, name: Name, body: bytes) -> None:
        """Read the next object.

        Raises:
            LedgerError: it is not the next one, or the one before is not the one that it names.
        """
        if name.number != self.number + 1:
            raise wrong(name.file, "an object before it is missing")
        try:
            head = first_line(body[:LONGEST_HEAD])
        except LedgerError as error:
            raise wrong(name.file, str(error)) from error
        if Name(head.number, head.data_version, isinstance(head, Withdrawal)) != name:
            raise wrong(name.file, "its first line is that of another object")
        self._follow(head.previous)
        self.number, self._file = name.number, name.file
        self._digest = hashlib.sha256(body).hexdigest()

    def end(self, newest: Newest | None) -> None:
        """Compare the last object with what `head.json` says.

        Raises:
            LedgerError: it is not the newest one, or not the one that was appended.
        """
        newest = newest or NOTHING
        if newest.number != self.number:
            raise wrong(NEWEST, f"it names object {newest.number}, which is not the newest")
        self._follow(newest.sha256)

    def _follow(self, previous: str | None) -> None:
        if previous != self._digest:
            raise wrong(self._file, "it is not the one that was appended")
