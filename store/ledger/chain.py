"""Chain: whether a whole ledger is what was appended, file by file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from store.errors import DamageError, LedgerError
from store.folder.files import DRAFT
from store.ledger.ledger import Ledger
from store.ledger.ledger_file import (
    NEWEST,
    NOTHING,
    Name,
    Newest,
    NightHead,
    Withdrawal,
    Written,
    decoded,
)
from store.ledger.served import ServedOutcome, Tally, line_of

OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file of the ledger."""

    file: str
    what: str


@dataclass(slots=True)
class Chain:
    """A walk over all objects: what was read so far, and what is wrong."""

    nights: dict[int, NightHead] = field(default_factory=dict)
    withdrawals: int = 0
    faults: list[Fault] = field(default_factory=list)
    unnoted: bool = False
    """Whether a run was killed between the newest object and `head.json`; the next one notes it."""
    _digests: dict[int, str] = field(default_factory=dict)
    _last: int = 0

    @classmethod
    def of(cls, ledger: Ledger) -> Chain:
        """Check every object of a ledger: digests, numbers, heads, lines, and the totals."""
        chain = cls()
        chain._strangers(ledger)
        noted, names = chain._snapshot(ledger)
        following = {name.number - 1: name for name in names}
        for name in names:
            try:
                expected = _expected(ledger, name, following, noted)
                chain._add(name, ledger.bytes_of(name), expected, ledger.simulated)
            except LedgerError as error:
                chain._fault(name.file, _what(error))
        if noted is not None:
            chain._end(noted)
        return chain

    def _snapshot(self, ledger: Ledger) -> tuple[Newest | None, list[Name]]:
        """What `head.json` says (None if it is damaged) and all names, as of one moment."""
        try:
            noted = ledger.newest()
            while True:
                names, before = ledger.names(), noted
                noted = ledger.newest()
                if noted == before:  # else an object was appended while the folder was listed
                    return noted or NOTHING, names
        except DamageError as error:
            self._fault(NEWEST, error.what)
            return None, ledger.names()

    def _fault(self, file: str, what: str) -> None:
        self.faults.append(Fault(file, what))

    def _strangers(self, ledger: Ledger) -> None:
        files = sorted(ledger.folder.iterdir()) if ledger.folder.is_dir() else []
        for path in files:
            draft = path.name.startswith(".") and path.name.endswith(DRAFT)
            if Name.read(path.name) is None and path.name != NEWEST and not draft:
                self._fault(path.name, "it is not a file of a ledger")

    def _add(self, name: Name, body: bytes, expected: str | None, simulated: bool) -> None:
        if name.number != self._last + 1:
            self._fault(name.file, f"the object before it is {self._last}, a number is missing")
        digest = hashlib.sha256(body).hexdigest()
        self._last, self._digests[name.number] = name.number, digest
        # Before decoding, because bytes that nobody appended may be made to take long.
        if expected is not None and digest != expected:
            raise LedgerError("it is not the one that was appended")
        written = decoded(body)
        for what in self._differences(name, written, simulated):
            self._fault(name.file, what)
        if isinstance(written.head, NightHead):
            self.nights[name.number] = written.head
        else:
            self.withdrawals += 1

    def _differences(self, name: Name, written: Written, simulated: bool) -> Iterator[str]:
        head = written.head
        if Name(head.number, head.data_version, isinstance(head, Withdrawal)) != name:
            yield "its first line is not that of its name"
        if head.simulated != simulated:
            yield "it is of a simulated night" if head.simulated else "its night was not simulated"
        if name.number == 1 and head.previous is not None:
            yield "an object before it is missing"
        if isinstance(head, NightHead):
            yield from self._totals(head, written)

    def _totals(self, head: NightHead, written: Written) -> Iterator[str]:
        outcomes = _outcomes(written)
        since = None if head.since is None else self.nights.get(head.since)
        if head.since is not None and since is None:
            yield f"it is compared with object {head.since}, which is not an earlier night"
            return
        if since is not None and since.as_of_session >= head.as_of_session:
            yield "it is compared with a night that is not earlier"
        begun = Tally.begun(head.as_of_session) if since is None else since.as_served
        if begun.plus(outcomes) != head.as_served:
            yield "its totals are not the earlier ones plus its outcomes"

    def _end(self, noted: Newest) -> None:
        before = self._digests.get(self._last - 1)
        self.unnoted = bool(self._last) and (noted.number, noted.sha256) == (self._last - 1, before)
        if noted.number > self._last:
            self._fault(NEWEST, f"object {noted.number} is missing")
        elif noted.number < self._last and not self.unnoted:
            self._fault(NEWEST, f"it names object {noted.number}, which is not the newest")


def _expected(
    ledger: Ledger, name: Name, following: Mapping[int, Name], noted: Newest | None
) -> str | None:
    """The digest that an object must have, as far as the next one or `head.json` can say it."""
    if name.number in following:
        try:
            return ledger.head(following[name.number]).previous
        except LedgerError:
            return None  # a fault of the next object, found when its turn comes
    return noted.sha256 if noted is not None and noted.number == name.number else None


def _what(error: LedgerError) -> str:
    return error.what if isinstance(error, DamageError) else str(error)


def _outcomes(written: Written) -> list[ServedOutcome]:
    """The outcomes among the lines, after checking that every line is one of the ledger."""
    kinds = {"setup", "followed", "settled", "change", OUTCOME}
    if any(not isinstance(row, dict) or row.get("record") not in kinds for row in written.rows):
        raise LedgerError("a line is not one of the ledger")
    try:
        found = [line_of(row) for row in written.rows if row["record"] == OUTCOME]
    except ValueError as error:
        raise LedgerError("an outcome cannot be read") from error
    return [line for line in found if isinstance(line, ServedOutcome)]
