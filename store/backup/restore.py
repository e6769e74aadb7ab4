"""Restore: puts what a backup holds in the place of what is there, all of it or nothing.

First everything is checked. Then the files are put into a folder of their own, and the rows are
loaded in one transaction, whose commit decides: before it the old state stands, after it the new
files take their places one by one. A restore that is killed in between is ended by the next restore
or start of the service, which the mark in the audit log tells that the transaction was committed.
"""

from __future__ import annotations

import datetime as dt
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from pydantic import ValidationError

from store.backup.archive import ArchiveReader, Member, Progress, silent
from store.backup.backup import HEADER, MANIFEST, Header
from store.backup.rows import (
    MAX_CHUNK_BYTES,
    Loading,
    mark_restored,
    newest_mark,
    read_chunk,
)
from store.backup.values import count_checked
from store.database import tables
from store.database.database import Database
from store.database.migration import HEAD, check_known
from store.errors import BackupError, BookError, LedgerError, ManifestError
from store.folder.files import private_folder, replace_file, sync_directory
from store.folder.layout import DataFolder
from store.folder.lock import locked, restore_is_pending
from store.ledger.ledger import Ledger
from store.ledger.manifest import Manifest, read_manifest, stamp_path, verify_book
from store.ledger.objects import NOTHING, Name, read_newest
from store.ledger.verify import walk, walk_objects
from store.nights.book import Book
from store.nights.nights import Nights

DATABASE = "database/"
LEDGER = "ledger/"

MAX_HEAD = 2**20
"""Bytes of a small file: what the backup is, the manifest of its night, the head of its ledger."""

MAX_OBJECT = 16 * 2**20
"""Bytes of an object of the ledger, compressed; two are in memory at a time."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a backup that was read to its end holds."""

    header: Header
    rows: int


def check(archive: ArchiveReader, progress: Progress = silent) -> Checked:
    """Read all of a backup and check it, without keeping anything.

    Raises:
        BackupError: a byte of it is not what was written, or it is of a newer program.
    """
    contents = _ReadBackup(archive.members(progress))
    with _refused():
        objects = sum(1 for _ in walk_objects(contents.ledger(), lambda: contents.newest))
    header = contents.header
    if header is None or not objects == contents.newest.number == header.ledger:
        raise BackupError(f"{archive.path} does not hold what it lists.")
    return Checked(header, contents.rows)


class _ReadBackup:
    """What was found in a backup so far."""

    def __init__(self, members: Iterator[Member]) -> None:
        self._members = members
        self.header: Header | None = None
        self.rows = 0
        self.newest = NOTHING

    def ledger(self) -> Iterator[tuple[Name, Callable[[], bytes]]]:
        """The objects of the ledger; the other members are looked at meanwhile."""
        for member in self._members:
            if self.header is None:
                self.header = _header(member)
            elif member.name.startswith(DATABASE):
                table = member.name.split("/")[1]
                _, rows = read_chunk(member.read(MAX_CHUNK_BYTES))
                self.rows += count_checked(table, rows)
            elif member.name.startswith(LEDGER):
                name = Name.read(member.name.removeprefix(LEDGER))
                if name is None:
                    self.newest = read_newest(member.read(MAX_HEAD))
                else:
                    yield name, partial(member.read, MAX_OBJECT)


@contextmanager
def _refused() -> Iterator[None]:
    """Turn what is wrong with a night or a ledger into what is wrong with the backup."""
    try:
        yield
    except (BookError, LedgerError, ManifestError) as error:
        raise BackupError(f"The backup cannot be restored: {error}") from error


async def restore(
    database: Database,
    data_dir: Path,
    archive: ArchiveReader,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> Checked:
    """Put what a backup holds in the place of what is there. A service may run meanwhile: it serves
    the old state until the end.

    Raises:
        BackupError: the file cannot be restored, or something is there and `replace` is not given.
            Nothing was changed.
        BusyError: a nightly is at work.
        DatabaseError: the account database cannot be opened or written. Nothing was changed.
    """
    found = check(archive, progress)
    with locked(data_dir, dt.datetime.now(dt.UTC), restoring=True):
        await _end(database, data_dir)
        if not replace:
            await _check_empty(database, data_dir)
        try:
            await _replace(database, data_dir, archive, found.header, progress)
        finally:
            await _end(database, data_dir)
    return found


async def _replace(
    database: Database, data_dir: Path, archive: ArchiveReader, header: Header, progress: Progress
) -> None:
    """Make everything ready beside what is there, and commit the rows."""
    place, mark = DataFolder(data_dir), secrets.token_hex(16)
    stage = private_folder(place.stage)
    async with database.exclusive() as connection:
        loading = await Loading.begin(connection, header.revision or HEAD)
        with _room(data_dir):
            await _unpack(archive, stage, loading, progress)
        _check_files(stage, header)
        await loading.end()
        await mark_restored(connection, mark)
        with _room(data_dir):
            for folder in (stage / "night", stage / "ledger", stage):
                sync_directory(folder)
            replace_file(place.stage_ready, f"{mark} {_where(database, data_dir)}".encode())


async def end_restore(database: Database, data_dir: Path) -> None:
    """End a restore that was killed: put its files in their places if its rows are committed,
    else remove them.

    Raises:
        DatabaseError: the account database cannot be opened, so nothing can be told.
        BackupError: it is not the database of that restore.
        BusyError: a restore is still at work.
    """
    if restore_is_pending(data_dir):
        with locked(data_dir, dt.datetime.now(dt.UTC), restoring=True):
            await _end(database, data_dir)


async def _end(database: Database, data_dir: Path) -> None:
    stage, ready = DataFolder(data_dir).stage, DataFolder(data_dir).stage_ready
    if ready.exists():
        if await _is_committed(database, data_dir, ready.read_text()):
            with _room(data_dir):
                _move(stage, data_dir)
        ready.unlink(missing_ok=True)
        sync_directory(stage)
    shutil.rmtree(stage, ignore_errors=True)


async def _is_committed(database: Database, data_dir: Path, ready: str) -> bool:
    """Whether the rows of a restore that was ready are in the database.

    Raises:
        BackupError: it went into another database.
    """
    mark, _, where = ready.partition(" ")
    if where != _where(database, data_dir):
        raise BackupError(
            f"A restore into {data_dir} was killed, and its rows went to {where}; name that "
            "database again (SCREENER_DATABASE_URL) and run this again, which ends the restore."
        )
    # Not a snapshot: a COMMIT of the killed restore may still be under way.
    async with database.exclusive() as connection:
        return await newest_mark(connection) == mark


def _where(database: Database, data_dir: Path) -> str:
    """Which database it is, without a secret; a file in the data folder moves with the folder."""
    return database.place.removeprefix(f"{data_dir.resolve()}/")


async def _check_empty(database: Database, data_dir: Path) -> None:
    nights = Nights(data_dir)
    there = nights.pointer.exists() or any(nights.folder.glob("*.json")) or nights.ledger.names()
    if there:
        raise BackupError(
            f"{data_dir} holds nights already; restore into another SCREENER_DATA_DIR, or replace "
            "everything there with --replace."
        )
    async with database.snapshot() as connection:
        known = await connection.run_sync(lambda sync: sa.inspect(sync).has_table("accounts"))
        if known and (await connection.execute(sa.select(tables.accounts.c.id).limit(1))).first():
            raise BackupError(
                "The account database holds accounts already; restore into another one, or replace "
                "all of them with --replace."
            )


def _header(member: Member) -> Header:
    if member.name != HEADER:
        raise BackupError("The file does not begin like a backup.")
    try:
        header = Header.model_validate_json(member.read(MAX_HEAD))
    except ValidationError as error:
        raise BackupError(
            "The backup has a format that this program does not know; restore it with the version "
            "that made it, or a newer one."
        ) from error
    check_known(header.revision)
    return header


@contextmanager
def _room(data_dir: Path) -> Iterator[None]:
    """Turn an error of the disk into one that says what to do."""
    try:
        yield
    except OSError as error:
        raise BackupError(
            f"The backup cannot be put into {data_dir} ({error.strerror}); make room there and run "
            "this again."
        ) from error


async def _unpack(
    archive: ArchiveReader, stage: Path, loading: Loading, progress: Progress
) -> None:
    """Load the rows, and put the files into the folder."""
    done = 0
    for folder in (stage / "night", stage / "ledger"):
        shutil.rmtree(folder, ignore_errors=True)
        private_folder(folder)
    for member in archive.members():
        done += member.size
        progress("restoring", done, 0)
        if member.name.startswith(DATABASE):
            await loading.load(member.name.split("/")[1], member.read(MAX_CHUNK_BYTES))
        elif member.name != HEADER:
            _check_size(member, stage)
            _write(member, stage / member.name)


def _check_size(member: Member, stage: Path) -> None:
    """Check that a file is no larger than one of its kind, and than what is free."""
    most = MAX_OBJECT if member.name.startswith(LEDGER) else MAX_HEAD
    if member.name.endswith(".book"):
        with _refused():
            manifest = _staged(stage)
        most = manifest.book.bytes if manifest else 0
    if member.size > most:
        raise BackupError(f"{member.name} in the backup is too large.")
    if member.size > shutil.disk_usage(stage).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _write(member: Member, path: Path) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
        for piece in member.pieces():
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _check_files(stage: Path, header: Header) -> None:
    """Check that the night is the one that was sealed and can be opened, and the ledger whole."""
    with _refused():
        manifest, ledger = _staged(stage), Ledger(stage)
        if manifest is not None:
            Book.open(verify_book(stage / "night", manifest), manifest).close()
        for _ in walk(ledger):
            pass
    if (manifest.data_version if manifest else None) != header.night:
        raise BackupError("The backup does not hold the night that it names.")


def _staged(stage: Path) -> Manifest | None:
    path = stage / MANIFEST
    return read_manifest(path) if path.exists() else None


def _move(stage: Path, data_dir: Path) -> None:
    """Put the files of a whole stage in their places; once more after a kill does the same.

    The book goes first and the old nights go last, so that whoever starts to serve meanwhile finds
    the night that the manifest names.
    """
    nights, manifest = Nights(data_dir), _staged(stage)
    if manifest is not None:
        book = stage / "night" / manifest.book.file
        if book.exists():
            stamp_path(nights.folder, manifest).unlink(missing_ok=True)
            book.replace(nights.folder / manifest.book.file)
            sync_directory(nights.folder)
        replace_file(nights.folder / f"{manifest.data_version}.json", manifest.encode())
    if (stage / "ledger").exists():
        if nights.ledger.folder.exists():
            nights.ledger.folder.replace(stage / f"old-{secrets.token_hex(8)}")
        (stage / "ledger").replace(nights.ledger.folder)
        sync_directory(data_dir)
    if manifest is not None:
        replace_file(nights.pointer, manifest.encode())
    else:
        nights.pointer.unlink(missing_ok=True)
    _remove_others(nights, manifest, data_dir)


def _remove_others(nights: Nights, manifest: Manifest | None, data_dir: Path) -> None:
    """Remove nights that the restored ledger does not know, and what was made of them."""
    kept = manifest.data_version if manifest else ""
    for path in nights.folder.iterdir():
        if path.is_file() and path.stem.removeprefix(".") != kept:
            path.unlink(missing_ok=True)
    shutil.rmtree(nights.charts, ignore_errors=True)
    DataFolder(data_dir).checkpoints.unlink(missing_ok=True)
