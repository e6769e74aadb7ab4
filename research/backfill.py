"""Backfill: past sessions replayed one after the other, and what they served compared with the
history that the last one computes. On the same bars both say the same of every trade.

    python -m research.backfill BARS FOLDER --from DAY --to DAY

A replayed night reads the bars as they are now, up to its session. It shows what the rules would
have served, and not what a reader saw: a bar may have been revised since. Interrupted, it goes on
where it stopped, with the same bars, reference data and parameters alone, and only forward.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from screener.nightly.cleaning.sessions import upcoming
from screener.nightly.errors import NightlyError, SourceError
from screener.nightly.night import make_night
from screener.nightly.plan import Order, inputs_of, plan
from screener.nightly.reading.files import file_digest
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.source import Step, silent
from screener.nightly.reference.reference import Reference, read_reference
from store.errors import LedgerError, StoreError
from store.folder.checkpoints import Checkpoints
from store.folder.files import private_folder
from store.folder.lock import locked
from store.nights.book import Book
from store.nights.grade import Grade, Side, grade
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
    folder: Path, order: Order, days: tuple[dt.date, dt.date], step: Step = silent
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
    if not nights.ledger.head(name).simulated:
        raise LedgerError(f"{nights.folder.parent} holds published nights; choose another folder.")
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


def _sessions(order: Order, days: tuple[dt.date, dt.date], now: dt.datetime) -> Iterator[dt.date]:
    """The sessions of a range that bars reach: their exchanges', or every day if all is crypto."""
    first, last = days
    if first > last:
        raise SourceError("--from must not be later than --to.")
    looked = plan(replace(order, session=last), now)
    known = [listing for task in looked.tasks for _, listing in task.symbols]
    end, calendars = min(looked.as_of, last), {listing.calendar for listing in known}
    return takewhile(lambda day: day <= end, _onwards(first, calendars))


def _onwards(first: dt.date, calendars: Collection[str]) -> Iterator[dt.date]:
    day = first - dt.timedelta(days=1)
    while True:
        day = upcoming(day, calendars)[0]
        yield day


def compare(folder: Path) -> Grade:
    """What the replayed nights of a folder served, beside the history in the last one.

    Raises:
        StoreError: the folder has no night, or its ledger is not what was written.
    """
    nights = Nights(folder, simulated=True)
    manifest = nights.check_active()
    with closing(Book.open(nights.folder / manifest.book.file, manifest)) as book:
        return grade(nights.ledger, book)


def main() -> None:
    """Replay, compare, and end with 1 if a trade differs."""
    asked = _arguments()
    path = Path(asked.bars)
    try:
        with TemporaryDirectory() as work:
            table = Path(asked.reference) if asked.reference else None
            order = Order(
                open_source(path, Path(work)).source,
                path.resolve().name,
                reference=read_reference(table) if table else Reference(),
                reference_sha256=file_digest(table) if table else None,
                jobs=asked.jobs,
            )
            made = replay(Path(asked.folder), order, (asked.first, asked.last), _print_step)
        graded = compare(Path(asked.folder))
    except (NightlyError, StoreError) as error:
        sys.exit(str(error))
    print(f"{made.new:,} nights replayed, {made.known:,} were there already.")
    for family, side in graded.served.items():
        history = graded.history[family]
        print(f"{family.label}: {_counts(side)} as served, {_counts(history)} in the history")
    for one in graded.disagreements:
        print(f"{one.symbol} {one.lineage_id} {one.family}: {one.kind} ({one.why})")
    sys.exit(1 if graded.disagreements else 0)


def _counts(side: Side) -> str:
    return f"{side.wins:,} of {side.trades:,} won and {side.open:,} open"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m research.backfill", description=__doc__)
    parser.add_argument("bars", help="a file or a folder of bars")
    parser.add_argument("folder", help="where the replayed nights are kept; never served")
    parser.add_argument("--from", dest="first", type=dt.date.fromisoformat, required=True)
    parser.add_argument("--to", dest="last", type=dt.date.fromisoformat, required=True)
    parser.add_argument("--reference", help="the reference table of the bars")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


def _print_step(name: str, done: int, total: int) -> None:
    if name == REPLAYING:
        print(f"{name}: {done:,} of {total:,}", file=sys.stderr)


if __name__ == "__main__":
    main()
