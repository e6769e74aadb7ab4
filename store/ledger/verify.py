"""Verify: whether a ledger is what was appended, in one walk from its first object to the newest.

Each object is read once and compared with the digest that the next one, or `head.json`, has of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from store.errors import DamageError
from store.folder.files import digest_of
from store.ledger.ledger import Ledger
from store.ledger.objects import (
    NEWEST,
    AnyHead,
    Name,
    Newest,
    NightHead,
    Written,
    decoded,
    head_of,
)
from store.ledger.served import ServedOutcome, Tally

Report = Callable[[DamageError], None]
Object = tuple[Name, bytes]

KINDS: Final = {"setup", "followed", "settled", "change", "outcome"}
"""Kinds of the lines of a night."""


def _raise(error: DamageError) -> None:
    raise error


def walk(ledger: Ledger) -> Iterator[Object]:
    """The objects of a ledger, oldest first: name and bytes of each, after they were checked.

    Raises:
        LedgerError: an object is missing or is not what was appended.
    """
    names, newest = ledger.snapshot()
    return walk_objects(ledger.sources(names), lambda: newest)


def walk_objects(
    sources: Iterable[tuple[Name, Callable[[], bytes]]],
    newest: Callable[[], Newest | None],
    report: Report = _raise,
) -> Iterator[Object]:
    """Verify objects that are read from anywhere, each before the next source is taken.

    An object is given after the next one was read. `newest` is what `head.json` says, asked for
    when all are read; None if nobody knows. An object that is reported is not given.
    """
    before: tuple[int, str | None] = (0, None)
    last = before
    objects = map(_Read.of, sources)
    this = next(objects, None)
    while this is not None:
        following = next(objects, None)
        before, last = last, (this.name.number, this.digest)
        if last[0] != before[0] + 1 or this.follows_nothing:
            report(DamageError(this.name.file, "an object before it is missing"))
        # Before anybody decodes it: bytes that nobody appended may be made to take long.
        if not (this.is_named_by(following) if following else this.is_noted_by(newest())):
            report(DamageError(this.name.file, "it is not the one that was appended"))
        elif this.fault:
            report(DamageError(this.name.file, this.fault))
        else:
            yield this.name, this.body
        this = following
    noted = newest()
    if noted is not None and noted.number > last[0]:
        report(DamageError(NEWEST, f"object {noted.number} is missing"))
    elif noted is not None and noted.number < last[0] and (noted.number, noted.sha256) != before:
        # Else a run was killed before it noted its object.
        report(DamageError(NEWEST, f"it names object {noted.number}, which is not the newest"))


@dataclass(frozen=True, slots=True)
class _Read:
    """An object that was read but not compared with others."""

    name: Name
    body: bytes
    digest: str
    head: AnyHead | None
    fault: str
    """Why it has no head; empty if it has one."""

    @classmethod
    def of(cls, source: tuple[Name, Callable[[], bytes]]) -> Self:
        name, read = source
        body, head, fault = b"", None, ""
        try:
            body = read()
            head = head_of(name, body)
        except DamageError as error:
            fault = error.what
        return cls(name, body, digest_of(body), head, fault)

    @property
    def follows_nothing(self) -> bool:
        first = self.name.number == 1
        return first and self.head is not None and self.head.previous is not None

    def is_named_by(self, following: _Read) -> bool:
        """Whether the next object names this one, or is damaged or missing and cannot say."""
        if following.head is None or following.name.number != self.name.number + 1:
            return True
        return following.head.previous == self.digest

    def is_noted_by(self, noted: Newest | None) -> bool:
        """Whether `head.json` names this one, or cannot say."""
        return noted is None or noted.number != self.name.number or noted.sha256 == self.digest


@dataclass(slots=True)
class Verified:
    """What a ledger holds, and all that is wrong with it."""

    nights: dict[int, NightHead] = field(default_factory=dict)
    withdrawals: int = 0
    faults: list[DamageError] = field(default_factory=list)
    unnoted: bool = False
    """Whether a run was killed between the newest object and `head.json`; the next one notes it."""


def verify(ledger: Ledger) -> Verified:
    """Check every object of a ledger: digests, numbers, heads, lines, and the totals."""
    verified = Verified()
    newest: Newest | None = None
    for file in ledger.strangers():
        verified.faults.append(DamageError(file, "it is not a file of a ledger"))
    try:
        names, newest = ledger.snapshot()
    except DamageError as error:
        verified.faults.append(error)
        names = ledger.names()
    for name, body in walk_objects(ledger.sources(names), lambda: newest, verified.faults.append):
        try:
            _add(verified, decoded(name, body), ledger.simulated)
        except DamageError as error:
            verified.faults.append(error)
    last = max(names, default=None)
    verified.unnoted = newest is not None and last is not None and newest.number < last.number
    return verified


def _add(verified: Verified, written: Written, simulated: bool) -> None:
    head, file = written.head, written.name.file
    if head.simulated != simulated:
        what = "it is of a simulated night" if head.simulated else "its night was not simulated"
        verified.faults.append(DamageError(file, what))
    if not isinstance(head, NightHead):
        verified.withdrawals += 1
        return
    difference = _difference(verified.nights, head, _outcomes(written))
    if difference is not None:
        verified.faults.append(DamageError(file, difference))
    verified.nights[head.number] = head


def _difference(
    nights: Mapping[int, NightHead], head: NightHead, outcomes: Sequence[ServedOutcome]
) -> str | None:
    """How the totals of a night differ from the earlier ones plus its outcomes."""
    since = None if head.since is None else nights.get(head.since)
    if head.since is not None and since is None:
        return f"it is compared with object {head.since}, which is not an earlier night"
    if since is not None and since.as_of_session >= head.as_of_session:
        return "it is compared with a night that is not earlier"
    begun = Tally.begun(head.as_of_session) if since is None else since.as_served
    if begun.plus(outcomes) != head.as_served:
        return "its totals are not the earlier ones plus its outcomes"
    return None


def _outcomes(written: Written) -> list[ServedOutcome]:
    """The outcomes among the lines, after checking that every line is one of the ledger."""
    if any(not isinstance(row, dict) or row.get("record") not in KINDS for row in written.rows):
        raise DamageError(written.name.file, "a line is not one of the ledger")
    outcomes = [row for row in written.rows if row["record"] == "outcome"]
    try:
        return [ServedOutcome.model_validate(row) for row in outcomes]
    except ValueError as error:
        raise DamageError(written.name.file, "an outcome cannot be read") from error
