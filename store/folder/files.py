"""Files of the data folder: private to their owner, and replaced whole or not at all."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from store.errors import StoreError
from store.folder.layout import DataFolder

DRAFT = ".draft"
"""The suffix of a file that is still being written."""

OTHERS = 0o077
"""The permission bits of everyone except the owner."""


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter, or restrict an existing one to its owner.

    A link is followed; the folder that it leads to is not restricted.

    Raises:
        StoreError: the folder cannot be made or restricted.
    """
    try:
        for each in (*reversed(folder.parents), folder):
            if each == folder or not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_symlink() and folder.stat().st_mode & OTHERS:
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be made private ({error.strerror}); "
            "set SCREENER_DATA_DIR to a folder that this user owns and can write to."
        ) from error
    return folder


def private_data_folder(folder: Path) -> Path:
    """Make the data folder, or restrict an existing one that is ours to its owner.

    Raises:
        StoreError: it cannot be made or restricted, or others may read it and it is not ours.
    """
    check_data_folder(folder)
    return private_folder(folder)


def check_data_folder(folder: Path) -> None:
    """Check that a folder, if there is one, may be the data folder.

    Raises:
        StoreError: others may enter it, and it is not ours.
    """
    if folder.is_dir() and folder.stat().st_mode & OTHERS and not _is_ours(folder):
        raise StoreError(
            f"{folder} is not a data folder: other users may enter it, and it is shared or holds "
            "other things; set SCREENER_DATA_DIR to a folder of its own."
        )


def _is_ours(folder: Path) -> bool:
    """Whether a folder is a data folder, or an empty one that may become one."""
    if folder.stat().st_mode & stat.S_ISVTX:  # as /tmp, which many use
        return False
    place = DataFolder(folder)
    if any(mark.exists() for mark in (place.nights, place.ledger, place.accounts)):
        return True
    known = {each.name for each in place} | {"lost+found"}
    is_here = folder.resolve() == Path.cwd().resolve()
    return not is_here and all(path.name in known for path in folder.iterdir())


def private_file(path: Path) -> Path:
    """Make a file that only its owner may read, or restrict an existing one to its owner.

    SQLite gives the files beside a database the permissions of the database itself. A link is
    followed; the file that it leads to is not restricted.

    Raises:
        OSError: the file cannot be made or restricted.
    """
    path.touch(mode=0o600)
    if not path.is_symlink() and path.stat().st_mode & OTHERS:
        path.chmod(0o600)
    return path


def narrow(paths: Iterable[Path]) -> None:
    """Restrict files, and folders with what they hold, to their owner.

    A folder within a folder is entered only if it was wide: a closed one protects what it holds,
    and there may be very many charts. What does not exist is passed over, and so are links, since
    what they lead to may be others'. A link among the paths themselves is one that this user or
    root made: through another's, whoever made it would have what is written here.

    Raises:
        StoreError: something is wider and cannot be restricted, or is another user's link.
    """
    paths = list(paths)
    try:
        for path in paths:
            _check_link(path)
        waiting = [held for path in paths for held in _narrowed(path, enter=True)]
        while waiting:
            waiting += _narrowed(waiting.pop())
    except OSError as error:
        raise StoreError(
            f"Other users can read {error.filename}, and it cannot be made private "
            f"({error.strerror}); run this as its owner."
        ) from error


def _check_link(path: Path) -> None:
    if path.is_symlink() and path.lstat().st_uid not in (0, os.geteuid()):
        raise StoreError(f"{path} is a link that another user made; remove it.")


def _narrowed(path: Path, *, enter: bool = False) -> list[Path]:
    """Restrict a file or a folder to its owner; returns what there is to look at in the folder."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return []
        if mode & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
        return list(path.iterdir()) if stat.S_ISDIR(mode) and (enter or mode & OTHERS) else []
    except FileNotFoundError:  # another process may remove its drafts meanwhile
        return []


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: a reader, or a crash, finds the old bytes or the new ones."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=DRAFT)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        os.replace(name, path)  # noqa: PTH105 - os.replace says that it is atomic
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make what was written to a file durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def digest_of(body: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(body).hexdigest()


def digest_file(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_unchanging(path: Path) -> sqlite3.Connection:
    """Open an SQLite file that is never written again, only replaced; any thread may read it.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)
