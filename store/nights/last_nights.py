"""Last nights: the newest sealed nights of a data folder, for people to look back at."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store.errors import LedgerError, ManifestError
from store.ledger.ledger import Ledger
from store.ledger.ledger_file import Name, NightHead
from store.ledger.manifest import read_manifest

NAMED: Final = 14
"""Nights that are read, newest session first."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastNight:
    """A sealed night in short."""

    data_version: str
    session: dt.date
    covered: int
    setups: int
    published: dt.datetime | None
    """In UTC; None if the ledger does not say."""
    withdrawn: bool


def read_last_nights(data_dir: Path, most: int = NAMED) -> Sequence[LastNight]:
    """The newest sealed nights, newest session first; a damaged one is left out.

    It raises nothing, because a night must be served whatever became of the others.
    """
    ledger = Ledger(data_dir)
    numbers: Mapping[str, int] = {}
    gone: frozenset[str] = frozenset()
    with contextlib.suppress(LedgerError):
        names = ledger.names()
        numbers = {name.version: name.number for name in names if not name.withdrawal}
        gone = frozenset(name.version for name in names if name.withdrawal)
    found = []
    # The name of a night begins with its session.
    files = sorted((data_dir / "nights").glob("*.json"), key=lambda file: file.name, reverse=True)
    for file in files[:most]:
        try:
            night = read_manifest(file)
        except ManifestError as error:
            log.warning("The night %s is not listed: %s", file.name, type(error).__name__)
            continue
        version, counts = night.data_version, night.counts
        found.append(
            LastNight(
                version,
                night.as_of_session,
                counts.covered,
                counts.setups,
                _published(ledger, version, numbers.get(version)),
                version in gone,
            )
        )
    return tuple(found)


def _published(ledger: Ledger, version: str, number: int | None) -> dt.datetime | None:
    if number is None:
        return None
    try:
        head = ledger.head(Name(number, version))
    except LedgerError:
        return None
    if not isinstance(head, NightHead):
        return None
    moment = head.published_at
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
