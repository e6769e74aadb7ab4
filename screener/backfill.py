"""Backfill: past sessions replayed one after the other, kept apart from the published nights.

A replayed night reads the bars as they are now, up to its session. It shows what the rules would
have served, and not what a reader saw: a bar may have been revised since.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from nightly.errors import SourceError
from nightly.night import make_night
from nightly.plan import Order, Step, plan
from nightly.reference import AssetType
from nightly.sessions import last_session, next_session
from store.checkpoints import Checkpoints
from store.errors import LedgerError
from store.files import private_folder
from store.ledger_file import NightHead
from store.lock import locked
from store.nights import Nights

REPLAYING = "replaying nights"


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
        NightlyError, StoreError: a night cannot be made, or the folder holds nights of other bars.
    """
    now = dt.datetime.now(dt.UTC)
    sessions = list(_sessions(order, days, now))
    nights = Nights(private_folder(folder), simulated=True)
    with locked(folder, now):
        nights.sweep()
        done = _newest(nights, order)
        left = [day for day in sessions if done is None or day > done]
        for number, day in enumerate(left):
            step(REPLAYING, number, len(left))
            dated = replace(order, session=day, accept_fall=True)
            make_night(dated, nights, now=now, checkpoints=Checkpoints(folder))
            nights.prune(keep=1)
        step(REPLAYING, len(left), len(left))
    return Replayed(len(left), len(sessions) - len(left))


def _newest(nights: Nights, order: Order) -> dt.date | None:
    """The session of the newest night; None before the first one."""
    names = [name for name in nights.ledger.names() if not name.withdrawal]
    if not names:
        return None
    head = nights.ledger.head(names[-1])
    if isinstance(head, NightHead) and head.bars != order.name:
        raise LedgerError(
            f"{nights.ledger.folder.parent} holds replayed nights of {head.bars}; remove that "
            f"folder to replay {order.name}."
        )
    return head.as_of_session


def _sessions(
    order: Order, days: tuple[dt.date | None, dt.date | None], now: dt.datetime
) -> Iterator[dt.date]:
    """The sessions of a range that bars reach: New York's, or every day if all is crypto."""
    first, last = days
    if first is None or last is None or first > last:
        raise SourceError("--from must be a day up to --to.")
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
