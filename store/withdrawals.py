"""Withdrawals: the nights that were taken back after they had been served, and why.

Each is a file `ledger/NNNNNN-VERSION.withdrawal.jsonl.gz` of the data folder, of one JSON line.
"""

from __future__ import annotations

import datetime as dt
import gzip
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from store.manifest import VERSION_PATTERN

NAMED: Final = 20
"""Withdrawals that are read, newest first."""

MOST_BYTES: Final = 64 * 1024
"""Bytes of a file's content; a longer one is damaged."""

LONGEST_REASON: Final = 500
"""Characters of a reason that are kept."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A night that is not to be used any more."""

    data_version: str
    as_of_session: dt.date
    reason: str
    withdrawn_at: dt.datetime
    """In UTC."""

    @property
    def words(self) -> str:
        """What happened, in one sentence."""
        reason = self.reason.rstrip(" .")
        return (
            f"The night of {self.as_of_session} was withdrawn on {self.withdrawn_at:%Y-%m-%d}: "
            f"{reason}."
        )


class _Line(BaseModel):
    ledger: Literal[1]
    kind: Literal["withdrawal"]
    data_version: Annotated[str, Field(pattern=VERSION_PATTERN.pattern)]
    as_of_session: dt.date
    reason: str
    at: AwareDatetime


def read_withdrawals(data_dir: Path, most: int = NAMED) -> Sequence[Withdrawal]:
    """The newest withdrawals of a data folder, newest first; a damaged file is logged and left out.

    It raises nothing, because a night must be served whatever became of the ledger.
    """
    found: list[Withdrawal] = []
    paths = (data_dir / "ledger").glob("*.withdrawal.jsonl.gz")
    for path in sorted(paths, key=lambda path: path.name, reverse=True):
        if len(found) == most:
            break
        try:
            found.append(_read(path))
        except (OSError, EOFError, zlib.error, ValidationError, OverflowError) as error:
            log.warning("The withdrawal %s is left out: %s", path, type(error).__name__)
    return tuple(found)


def _read(path: Path) -> Withdrawal:
    with gzip.open(path) as file:
        line = _Line.model_validate_json(file.read(MOST_BYTES))
    return Withdrawal(
        line.data_version,
        line.as_of_session,
        " ".join(line.reason.split())[:LONGEST_REASON],
        line.at.astimezone(dt.UTC),
    )
