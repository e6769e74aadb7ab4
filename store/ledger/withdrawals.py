"""Withdrawals: the nights that were taken back after they had been served, and why.

Each is a file `ledger/NNNNNN-VERSION.withdrawal.jsonl.gz` of the data folder, of one JSON line.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store.errors import LedgerError
from store.ledger.ledger_file import LONGEST_HEAD, Withdrawal, decoded, ended

NAMED: Final = 20
"""Withdrawals that are read, newest first."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A night that is not to be used any more."""

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


def read_withdrawals(data_dir: Path, most: int = NAMED) -> Sequence[Withdrawn]:
    """The newest withdrawals of a data folder, newest first; a damaged file is logged and left out.

    It raises nothing, because a night must be served whatever became of the ledger.
    """
    found: list[Withdrawn] = []
    paths = (data_dir / "ledger").glob("*.withdrawal.jsonl.gz")
    for path in sorted(paths, key=lambda path: path.name, reverse=True):
        if len(found) == most:
            break
        try:
            found.append(_read(path))
        except (OSError, LedgerError, OverflowError) as error:
            log.warning("The withdrawal %s is left out: %s", path, type(error).__name__)
    return tuple(found)


def _read(path: Path) -> Withdrawn:
    with path.open("rb") as file:
        head = decoded(file.read(LONGEST_HEAD), LONGEST_HEAD).head
    if not isinstance(head, Withdrawal):
        raise LedgerError("it is a night's, not a withdrawal's")
    return Withdrawn(
        head.data_version,
        head.as_of_session,
        " ".join(head.reason.split()),
        head.at.astimezone(dt.UTC),
    )
