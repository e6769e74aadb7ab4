"""Backfill: past sessions replayed one after the other, kept apart from the published nights.

A replayed night reads the bars as they are now, up to its session. It shows what the rules would
have served, and not what a reader saw: a bar may have been revised since.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from nightly.errors import SourceError
from nightly.night import make_night
from nightly.plan import Order, Step, inputs_of, plan
from nightly.reference import AssetType
from nightly.sessions import last_session, next_session
from store.errors import LedgerError
from store.folder.checkpoints import Checkpoints
from store.folder.files import private_folder
from store.folder.lock import locked
from store.nights.nights import Nights

REPLAYING = "replaying nights"

SHAPING = {
    "bars_sha256": "bars",
    "reference_sha256": "reference data",
    "parameters": "parameters",
}
"""What all nights of a replay share, and its name."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many nights were made, and how many of the range were there before."""

    new: int
    known: int


def replay(
    folder: Path, order: Order, days: tuple[dt.date | None, dt.date | None], step: Step
) -> Replayed:
    """Make a night of each session from a day to another, and keep the book of the last one.

    Sessions up to that of the newest object are passed over, so that a run goes on where another
    one stopped.

    Raises:
        NightlyError, StoreError: a night cannot be made, or the folder holds nights of other bars,
            of other parameters, or of later sessions alone.
    """
    now = dt.datetime.now(dt.UTC)
    sessions = list(_sessions(order, days, now))
    nights = Nights(private_folder(folder), simulated=True)
    with locked(folder, now):
        nights.sweep()
        done = _sessions_of(nights)
        if done:
            _check_goes_on(nights, order, now)
            _check_begins(nights, sessions, done[0])
        left = [day for day in sessions if not done or day > done[-1]]
        for number, day in enumerate(left):
            step(REPLAYING, number, len(left))
            dated = replace(order, session=day, accept_fall=True)
            make_night(dated, nights, now=now, checkpoints=Checkpoints(folder))
            nights.prune(keep=1)
        step(REPLAYING, len(left), len(left))
    return Replayed(len(left), len(set(sessions) & set(done)))


def _sessions_of(nights: Nights) -> list[dt.date]:
    """The sessions of the nights on record, in the order in which they were replayed."""
    names = (name for name in nights.ledger.names() if not name.withdrawal)
    return [dt.datetime.strptime(name.day, "%Y%m%d").date() for name in names]  # noqa: DTZ007


def _check_begins(nights: Nights, sessions: Sequence[dt.date], first: dt.date) -> None:
    # Each night is compared with the one before it, so none can be put in front.
    if sessions and sessions[0] < first:
        raise LedgerError(
            f"The replayed nights in {nights.ledger.folder.parent} begin with {first}; choose "
            f"--from {first} or later, or remove that folder to replay from {sessions[0]}."
        )


def _check_goes_on(nights: Nights, order: Order, now: dt.datetime) -> None:
    """Check that the newest night was made of the bars, the table and the parameters of an order.

    Raises:
        LedgerError: it was not.
        ManifestError: its manifest is gone.
    """
    name = max(name for name in nights.ledger.names() if not name.withdrawal)
    made = nights.get(name.version)
    dated = replace(order, session=made.as_of_session)
    asked = inputs_of(dated, plan(dated, now))
    if made.inputs.bars != asked.bars:
        raise _others(nights, f"of {made.inputs.bars}", f"of {asked.bars}")
    for field, what in SHAPING.items():
        if getattr(made.inputs, field) != getattr(asked, field):
            raise _others(nights, f"made from other {what}", f"from these {what}")


def _others(nights: Nights, these: str, those: str) -> LedgerError:
    return LedgerError(
        f"{nights.ledger.folder.parent} holds replayed nights {these}; remove that folder to "
        f"replay nights {those}."
    )


def _sessions(
    order: Order, days: tuple[dt.date | None, dt.date | None], now: dt.datetime
) -> Iterator[dt.date]:
    """The sessions of a range that bars reach: New York's, or every day if all is crypto."""
    first, last = days
    if first is None or last is None or first > last:
        raise SourceError("--from must not be later than --to.")
    looked = plan(replace(order, session=last), now)
    known = [listing for task in looked.tasks for _, listing in task.symbols]
    kind: AssetType = "crypto" if all(listing.crypto for listing in known) else "stock"
    end = min(looked.as_of, last)
    return takewhile(lambda day: day <= end, _onwards(first, kind))


def _onwards(first: dt.date, kind: AssetType) -> Iterator[dt.date]:
    day = first
    if last_session(first, kind) != first:
        day = next_session(first, kind)
    while True:
        yield day
        day = next_session(day, kind)
