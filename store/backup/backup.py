"""Backup: what a service needs to be the same elsewhere, taken while it runs, in one archive.

In it are the account database as one transaction sees it, the active night, and the ledger as of
one moment. Charts, checkpoints, bars, settings and other sealed nights are not: the first two are
made again, the others are the operator's.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, BinaryIO, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from store.backup.archive import ArchiveWriter, Progress, silent
from store.backup.rows import chunks, newest_mark
from store.database.database import Database
from store.database.migration import check_known, revision_of
from store.errors import BackupError, BusyError
from store.folder.lock import refuse_over_restore
from store.ledger.manifest import Manifest, read_manifest
from store.ledger.objects import NEWEST, Name, Newest
from store.ledger.verify import walk_objects
from store.nights.nights import Nights

HEADER: Final = "backup.json"
MANIFEST: Final = "night/manifest.json"
SETTLE_SECONDS: Final = 10.0
"""Seconds to wait while a night is being published; it takes a fraction of one."""

AGAIN: Final = "Nights are being published again and again; try again later."
UNSETTLED: Final = (
    "A run was killed while it published or withdrew a night; finish that with `screener nightly` "
    "or `screener night activate VERSION`, then back up again."
)


class Header(BaseModel):
    """The first member: what is in the backup."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    made_at: dt.datetime
    revision: Annotated[str, Field(pattern=r"^\d{4}$")] | None
    """The schema of the account database; None if there is none."""
    night: str | None
    """The version of the active night; None before the first."""
    ledger: Annotated[int, Field(ge=0)]
    """How many objects the ledger has."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The files of one moment: what is active, and the ledger that it stands in."""

    manifest: Manifest | None
    names: Sequence[Name]
    newest: Newest


async def back_up(
    database: Database, data_dir: Path, file: IO[bytes], progress: Progress = silent
) -> tuple[Header, str]:
    """Write a backup to a file; returns its header and digest. Nothing waits for it meanwhile.

    Raises:
        BackupError: nights are published again and again or by half, or a file cannot be read.
        BusyError: a restore is at work, was killed, or ended meanwhile.
        ManifestError, LedgerError: the active night or the ledger is not what was written.
        DatabaseError: the account database cannot be read, or a newer program has migrated it.
    """
    nights = Nights(data_dir)
    archive = ArchiveWriter(file)
    async with database.snapshot() as connection:
        # Read first: a restore commits its rows before it moves its files, and ends after that.
        revision = await connection.run_sync(revision_of)
        mark = await newest_mark(connection)
        refuse_over_restore(data_dir)
        with _book(nights) as (taken, book):
            await _check_not_restored(database, mark)
            check_known(revision)
            header = Header(
                made_at=dt.datetime.now(dt.UTC),
                revision=revision,
                night=taken.manifest.data_version if taken.manifest else None,
                ledger=len(taken.names),
            )
            archive.add(HEADER, header.model_dump_json(indent=2).encode())
            if revision is not None:
                await _add_rows(archive, connection, progress)
            _add_ledger(archive, nights, taken, progress)
            _add_night(archive, taken.manifest, book, progress)
    return header, archive.end()


async def _check_not_restored(database: Database, mark: str | None) -> None:
    """Check that no restore was committed since a snapshot whose newest mark is given."""
    async with database.snapshot() as connection:
        if await newest_mark(connection) != mark:
            raise BusyError("A restore ended while the backup was being made; back up again.")


async def _add_rows(
    archive: ArchiveWriter, connection: AsyncConnection, progress: Progress
) -> None:
    number = 0
    async for table, body in chunks(connection):
        number += 1
        progress("accounts", number, 0)
        archive.add(f"database/{table}/{number:06}.jsonl", body)


def _add_ledger(archive: ArchiveWriter, nights: Nights, taken: Taken, progress: Progress) -> None:
    sources = nights.ledger.sources(taken.names)
    for name, body in walk_objects(sources, lambda: taken.newest):
        progress("the ledger", name.number, len(taken.names))
        archive.add(f"ledger/{name.file}", body)
    if taken.names:
        archive.add(f"ledger/{NEWEST}", taken.newest.encode())


def _add_night(
    archive: ArchiveWriter, manifest: Manifest | None, book: BinaryIO | None, progress: Progress
) -> None:
    if manifest is None or book is None:
        return
    archive.add(MANIFEST, manifest.encode())
    progress("the night", 0, manifest.book.bytes)
    digest = archive.add_file(f"night/{manifest.book.file}", book, manifest.book.bytes)
    if digest != manifest.book.sha256:
        raise BackupError(
            f"The book {manifest.book.file} is not the one that was sealed; see `screener "
            "night verify`. Activate another night, then back up again."
        )


@contextmanager
def _book(nights: Nights) -> Iterator[tuple[Taken, BinaryIO | None]]:
    """What there is at one moment, with the active book open, so that pruning cannot take it."""
    taken = _taken(nights)
    if taken.manifest is None:
        yield taken, None
        return
    path = nights.folder / taken.manifest.book.file
    try:
        book = path.open("rb")
    except OSError as error:
        raise BackupError(f"The book {path} cannot be read ({error.strerror}).") from error
    with book:
        yield taken, book


def _taken(nights: Nights) -> Taken:
    """What is there as of one moment, at which no night is half published."""
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        before = _look(nights)
        stable = before == _look(nights)
        late = time.monotonic() > end
        if stable and _is_settled(nights, before):
            return before
        if late:
            raise BackupError(UNSETTLED if stable else AGAIN)
        time.sleep(0.05)


def _look(nights: Nights) -> Taken:
    manifest = read_manifest(nights.pointer) if nights.pointer.exists() else None
    newest = nights.ledger.newest()
    return Taken(manifest, nights.ledger.names(), newest)


def _is_settled(nights: Nights, taken: Taken) -> bool:
    newest = taken.newest
    active = taken.manifest.data_version if taken.manifest else None
    gone = active in nights.ledger.withdrawals()
    return newest.number == len(taken.names) and not newest.pending and not gone
