"""Files of the data folder: private to their owner, and replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from store.errors import StoreError

DRAFT = ".draft"
"""The suffix of a file that is still being written."""

OTHERS = 0o077
"""The permission bits of everyone except the owner."""


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter, or restrict an existing one to its owner.

    Raises:
        StoreError: the folder cannot be made or restricted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name != "nt" and folder.stat().st_mode & OTHERS:
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be made private ({error.strerror}); "
            "set SCREENER_DATA_DIR to a folder that this user owns and can write to."
        ) from error
    return folder


def private_file(path: Path) -> Path:
    """Make a file that only its owner may read, or restrict an existing one to its owner.

    SQLite gives the files beside a database the permissions of the database itself.

    Raises:
        OSError: the file cannot be made or restricted.
    """
    path.touch(mode=0o600)
    if os.name != "nt" and path.stat().st_mode & OTHERS:
        path.chmod(0o600)
    return path


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
    """Make renames in a directory durable, on platforms that support it."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
