"""`screener backup` and `screener restore`: all that a service needs, in one file."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, NoReturn

import typer

from screener.settings.console import err, fail, out, prepare_data_dir, settings, watched, writing
from store.folder.files import sync_directory
from store.wire.words import plural

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.backup.backup import Header
    from store.backup.restore import Checked

STDOUT = Path("-")

DRAFT = ".backup-draft"
"""The suffix of a backup that is still being written."""

STALE_SECONDS = 86_400
"""Seconds since a draft was written last, after which it is one of a backup that was killed."""


def backup(
    file: Annotated[Path, typer.Argument(help="File to write; - for stdout.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write accounts, the active night and the ledger to one file, while everything runs.

    It holds the accounts with keys, sign-ins, watchlists, usage and audit log, the active night and
    the ledger. It does not hold bars, settings and other nights, nor charts and checkpoints, which
    the service makes again. Keep the file private and on another machine.
    `screener restore --check FILE` compares every byte.

    \b
    screener backup today.tar.zst
    """
    import anyio

    from store.backup.backup import back_up

    chosen = settings()

    async def work(target: IO[bytes]) -> tuple[Header, str]:
        async with chosen.database() as database:
            with watched() as watch:
                return await back_up(database, chosen.data_dir, target, watch)

    prepare_data_dir(chosen)
    with _target(file, force) as target:
        header, digest = anyio.run(work, target)
    report = f"{file}: {_contents(header)}; SHA-256 {digest}."
    (err if file == STDOUT else out).print(report)


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `screener backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the accounts and nights that are there.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check the file.")] = False,
) -> None:
    """Restore a backup completely, or change nothing.

    The whole file is checked first. Without --replace, the data folder and the account database
    must be empty. The accounts go into the database of SCREENER_DATABASE_URL, so a backup of SQLite
    can be restored into PostgreSQL and back. A backup of an older version is migrated. If the
    restore is interrupted, you have either the old state or the new one, never a mix. Run it again,
    or start the service, to finish. Restart a running service afterwards, so that it counts the
    day's calls from the restored numbers.

    \b
    screener restore --check today.tar.zst
    """
    checked = _checked(file) if check else _restored(settings(), file, replace)
    contents = f"{_contents(checked.header)}; {checked.rows} rows"
    if check:
        out.print(f"{file} is whole: {contents}.")
        return
    out.print(f"Restored: {contents}.")
    out.print("Start the service, or restart it if it runs.")


def _checked(file: Path) -> Checked:
    from store.backup.archive import ArchiveReader
    from store.backup.restore import check

    with ArchiveReader(file) as archive, watched() as watch:
        return check(archive, watch)


def _restored(chosen: Settings, file: Path, replace: bool) -> Checked:
    import anyio

    from store.backup.archive import ArchiveReader
    from store.backup.restore import restore as put_back

    async def work(archive: ArchiveReader) -> Checked:
        async with chosen.database() as database:
            with watched() as watch:
                return await put_back(
                    database, chosen.data_dir, archive, replace=replace, progress=watch
                )

    with ArchiveReader(file) as archive:
        prepare_data_dir(chosen)
        return anyio.run(work, archive)


@contextmanager
def _target(file: Path, force: bool) -> Iterator[IO[bytes]]:
    """The file to write to, a draft until the block ends without an error; private to its owner."""
    if file == STDOUT:
        if sys.stdout.isatty():
            fail("a backup is not text; write it to a file or a pipe.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if file.exists() and not force:
        _refuse_existing(file)
    with writing(file, "FILE"):
        _remove_stale_drafts(file.parent)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=DRAFT)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as target:
            yield target
            with writing(file, "FILE"):
                target.flush()
                os.fsync(target.fileno())
        with writing(file, "FILE"):
            if not force:
                _reserve(file)
            draft.replace(file)
            sync_directory(file.parent)
    finally:
        draft.unlink(missing_ok=True)


def _reserve(file: Path) -> None:
    """Take a name that nobody took meanwhile. A link would do that and name the draft at once, but
    not every file system has links.
    """
    try:
        file.touch(0o600, exist_ok=False)
    except FileExistsError:
        _refuse_existing(file)


def _refuse_existing(file: Path) -> NoReturn:
    fail(f"{file} exists; choose another name, or replace it with --force.")


def _remove_stale_drafts(folder: Path) -> None:
    for draft in folder.glob(f".*{DRAFT}"):
        if time.time() - draft.stat().st_mtime > STALE_SECONDS:
            draft.unlink(missing_ok=True)


def _contents(header: Header) -> str:
    night = f"night {header.night}" if header.night else "no night"
    schema = f"accounts of schema {header.revision}" if header.revision else "no accounts"
    made = f"{header.made_at:%Y-%m-%d %H:%M} UTC"
    return f"{schema}, {night}, {plural(header.ledger, 'object')} of the ledger, made {made}"
