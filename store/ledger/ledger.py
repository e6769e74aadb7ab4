"""Ledger: what every published night served, as a chain of files that stay when nights are pruned.

Each object names the digest of the one before it, and `head.json` names the newest one, so that a
changed, missing or swapped file is found. Whoever can write in the folder can still write a whole
new chain; who wants to rule that out keeps a copy of `head.json` elsewhere.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from store.errors import DamageError, LedgerError, WithdrawnError
from store.folder.files import DRAFT, digest_of, private_folder, replace_file
from store.folder.layout import DataFolder
from store.ledger.manifest import Manifest
from store.ledger.objects import (
    MAX_HEAD,
    MAX_OBJECT,
    NEWEST,
    NOTHING,
    AnyHead,
    Name,
    Newest,
    NightHead,
    Withdrawal,
    Written,
    decoded,
    encoded,
    ended,
    head_of,
    read_newest,
)
from store.ledger.served import Line, Tally

MAX_NAMED: Final = 20
"""Withdrawals that clients are told of, newest first."""


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NightEntry:
    """What a night adds to the ledger, except for what its manifest says."""

    detector: int
    method_version: int
    published_at: dt.datetime
    since: int | None
    as_served: Tally
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A night that is not to be used any more, as clients are told."""

    data_version: str
    as_of_session: dt.date
    reason: str
    withdrawn_at: dt.datetime
    """In UTC."""

    @property
    def words(self) -> str:
        """What happened, in one sentence."""
        return (
            f"The night of {self.as_of_session} was withdrawn on {self.withdrawn_at:%Y-%m-%d}: "
            f"{ended(self.reason)}"
        )


@dataclass(frozen=True, slots=True)
class Appended:
    """An object that is to follow the newest one: its name, and its bytes."""

    name: Name
    body: bytes

    @classmethod
    def of(cls, head: AnyHead, lines: Sequence[BaseModel] = ()) -> Appended:
        """The object with a head and lines."""
        return cls(Name.of(head), encoded(head, lines))

    @property
    def newest(self) -> Newest:
        """What names it when it is the newest."""
        return Newest(number=self.name.number, sha256=digest_of(self.body))


class Ledger:
    """The ledger of a data folder. Appending needs the lock of the folder."""

    def __init__(self, data_dir: Path, *, simulated: bool = False) -> None:
        self.folder = DataFolder(data_dir).ledger
        self.simulated = simulated

    def names(self) -> list[Name]:
        """The names of all objects, in the order of their numbers.

        Raises:
            LedgerError: the folder cannot be read, or is none.
        """
        try:
            files = os.listdir(self.folder)  # noqa: PTH208 - says at once that it is no folder
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.folder} cannot be read ({error.strerror}); it must be a folder "
                "of this user. Restore it from a copy, or move it away to begin a new one."
            ) from error
        return sorted(filter(None, map(Name.read, files)))

    def strangers(self) -> list[str]:
        """The files in the folder that are not of a ledger."""
        files = sorted(os.listdir(self.folder)) if self.folder.is_dir() else []  # noqa: PTH208
        return [
            file
            for file in files
            if Name.read(file) is None
            and file != NEWEST
            and not (file.startswith(".") and file.endswith(DRAFT))
        ]

    def snapshot(self) -> tuple[list[Name], Newest]:
        """The names of all objects and what `head.json` says, as of one moment.

        Raises:
            LedgerError: one of them cannot be read.
        """
        noted = self.newest()
        while True:
            names, before = self.names(), noted
            noted = self.newest()
            if noted == before:  # else an object was appended while the folder was listed
                return names, noted

    def sources(self, names: Iterable[Name]) -> Iterator[tuple[Name, Callable[[], bytes]]]:
        """Objects by their names, each with what reads its bytes."""
        return ((name, partial(self.bytes_of, name)) for name in names)

    def bytes_of(self, name: Name, most: int = MAX_OBJECT + 1) -> bytes:
        """The bytes of an object's file, or the first of them.

        Raises:
            DamageError: it cannot be read, or is too large for one.
        """
        try:
            with (self.folder / name.file).open("rb") as file:
                body = file.read(most)
        except OSError as error:
            raise DamageError(name.file, f"it cannot be read ({error.strerror})") from error
        if len(body) > MAX_OBJECT:
            raise DamageError(name.file, "it is too large")
        return body

    def read(self, name: Name) -> Written:
        """An object, after checking that it is the one that was appended.

        Raises:
            DamageError: it is damaged, or is not the one that the next object or `head.json` names.
        """
        body = self.bytes_of(name)
        if self._digest_of(name) not in (None, digest_of(body)):
            raise DamageError(name.file, "it is not the one that was appended")
        return decoded(name, body)

    def head(self, name: Name) -> AnyHead:
        """The head of an object; its file is read only as far as that.

        Raises:
            DamageError: it has none, or that of another object.
        """
        return head_of(name, self.bytes_of(name, MAX_HEAD))

    def before(self, session: dt.date, *, sample: bool) -> tuple[NightHead, list[Line]] | None:
        """The head and the lines of the night to compare one of a session with: the last one of an
        earlier session that is not withdrawn; of the sample if the night is, else of other bars.
        None if there is none.

        Raises:
            LedgerError: the object of that night is damaged.
        """
        gone = self.withdrawals().keys()
        day = f"{session:%Y%m%d}"
        earlier = [n for n in self.names() if n.day < day and not n.withdrawal]
        for name in sorted(earlier, key=lambda n: (n.day, n.number), reverse=True):
            if name.version in gone:
                continue
            head = self.head(name)
            if isinstance(head, NightHead) and head.sample == sample:
                return head, self.read(name).lines()
        return None

    def withdrawals(self) -> Mapping[str, Withdrawal]:
        """The withdrawal of each withdrawn night, by its version; reads their files alone."""
        heads = (self.head(name) for name in self.names() if name.withdrawal)
        return {head.data_version: head for head in heads if isinstance(head, Withdrawal)}

    def last_withdrawn(self) -> Sequence[Withdrawn]:
        """The newest withdrawals, newest first; a damaged one is logged and left out.

        It raises nothing, because a night must be served whatever became of the ledger.
        """
        withdrawn: list[Withdrawn] = []
        with contextlib.suppress(LedgerError):
            for name in reversed(self.names()):
                if name.withdrawal and len(withdrawn) < MAX_NAMED:
                    withdrawn += self._withdrawn(name)
        return tuple(withdrawn)

    def check_kept(self, version: str) -> None:
        """Check that a night was not withdrawn.

        Raises:
            WithdrawnError: it was; the message says when and why.
        """
        if withdrawal := self.withdrawals().get(version):
            raise WithdrawnError(
                f"Night {version} was withdrawn on {withdrawal.at:%Y-%m-%d}: "
                f"{ended(withdrawal.reason)} It is never served again; correct what it was made "
                "from and run `screener nightly`."
            )

    def recorded(self) -> Mapping[str, int]:
        """The number of the newest object of each night that has one, by its version."""
        return {name.version: name.number for name in self.names() if not name.withdrawal}

    def night(self, manifest: Manifest, entry: NightEntry) -> Appended | None:
        """The object that a night is to be recorded by; None if it has one.

        Raises:
            LedgerError: the newest object is not what was appended.
        """
        newest = self.checked_newest()
        if self._has(manifest):
            return None
        head = NightHead(
            **self._following(newest, manifest),
            bars=manifest.inputs.bars,
            book_sha256=manifest.book.sha256,
            detector=entry.detector,
            method_version=entry.method_version,
            published_at=entry.published_at,
            since=entry.since,
            as_served=entry.as_served,
        )
        return Appended.of(head, entry.lines)

    def withdrawal(self, manifest: Manifest, reason: str, at: dt.datetime) -> Appended | None:
        """The object that withdraws a night, which must not be served again; None if it is
        withdrawn.

        Raises:
            LedgerError: the reason is no text of 1 to 500 printable characters, or the newest
                object is not what was appended.
        """
        newest = self.checked_newest()
        try:
            head = Withdrawal(**self._following(newest, manifest), reason=reason, at=at)
        except ValidationError:
            head = None
        if head is None or not reason.strip() or not reason.isprintable():
            raise LedgerError("Give a --reason of 1 to 500 printable characters.")
        return None if manifest.data_version in self.withdrawals() else Appended.of(head)

    def add(self, appended: Appended) -> None:
        """Write an object that follows the newest one, durably, and note it in `head.json`.

        Raises:
            LedgerError: it cannot be written.
        """
        private_folder(self.folder)
        try:
            replace_file(self.folder / appended.name.file, appended.body)
        except OSError as error:
            raise LedgerError(
                f"The ledger in {self.folder} cannot be written ({error.strerror}); make room "
                "there, and run this as its owner."
            ) from error
        self._note(appended.newest.model_copy(update={"pending": not appended.name.withdrawal}))

    def note(self) -> None:
        """Name the newest object in `head.json`, if a run was killed before it did that.

        Raises:
            LedgerError: the newest object is not what was appended.
        """
        self._note(self.checked_newest())

    def settle(self) -> None:
        """Note that the night of the newest object need not be activated any more.

        Raises:
            LedgerError: the newest object is not what was appended.
        """
        self._note(self.checked_newest().model_copy(update={"pending": False}))

    def checked_newest(self) -> Newest:
        """The newest object, even if a run was killed before noting it in `head.json`.

        Raises:
            LedgerError: it is not what was appended, or it is missing.
        """
        names = self.names()
        noted = self.newest()
        if not names:
            if noted.number:
                raise DamageError(NEWEST, f"object {noted.number} is missing")
            return NOTHING
        last, digest = names[-1], digest_of(self.bytes_of(names[-1]))
        self.read(last)
        if last.number != noted.number + 1:
            return Newest(number=last.number, sha256=digest, pending=noted.pending)
        if self.head(last).previous != noted.sha256:
            raise DamageError(last.file, "it does not follow the object that head.json names")
        return Newest(number=last.number, sha256=digest, pending=not last.withdrawal)

    def newest(self) -> Newest:
        """What `head.json` says; `NOTHING` without it.

        Raises:
            LedgerError: it cannot be read.
        """
        try:
            return read_newest((self.folder / NEWEST).read_bytes())
        except FileNotFoundError:
            return NOTHING
        except OSError as error:
            raise DamageError(NEWEST, "it cannot be read") from error

    def _has(self, manifest: Manifest) -> bool:
        mine = [n for n in self.names() if n.version == manifest.data_version and not n.withdrawal]
        heads = (self.head(name) for name in mine)
        return any(
            isinstance(head, NightHead) and head.book_sha256 == manifest.book.sha256
            for head in heads
        )

    def _withdrawn(self, name: Name) -> Iterator[Withdrawn]:
        try:
            head = self.head(name)
            assert isinstance(head, Withdrawal)  # noqa: S101 - as its name says
            at = head.at.astimezone(dt.UTC)
        except (LedgerError, OverflowError) as error:
            log.warning("The withdrawal %s is left out: %s", name.file, type(error).__name__)
            return
        reason = " ".join(head.reason.split())
        yield Withdrawn(head.data_version, head.as_of_session, reason, at)

    def _following(self, newest: Newest, manifest: Manifest) -> dict[str, Any]:
        return {
            "number": newest.number + 1,
            "data_version": manifest.data_version,
            "as_of_session": manifest.as_of_session,
            "previous": newest.sha256,
            "simulated": self.simulated,
        }

    def _digest_of(self, name: Name) -> str | None:
        """The digest that an object must have; None if a run was killed before it was noted."""
        later = [other for other in self.names() if other.number == name.number + 1]
        if later:
            return self.head(later[0]).previous
        newest = self.newest()
        if newest.number == name.number:
            return newest.sha256
        if newest.number == name.number - 1:
            return None
        raise DamageError(NEWEST, f"it names object {newest.number}, which is not the newest")

    def _note(self, newest: Newest) -> None:
        if newest.number and self.newest() != newest:
            try:
                replace_file(self.folder / NEWEST, newest.encode())
            except OSError as error:
                raise DamageError(NEWEST, f"it cannot be written ({error.strerror})") from error
