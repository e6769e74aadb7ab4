"""Files of the data folder: private to their owner, and replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from store.errors import StoreError

DRAFT = ".draft"
"""How the name of a file ends that is not yet in its place."""

OTHERS = 0o077
"""The permission bits of everybody but the owner."""


def private_folder(folder: Path) -> Path:
    """Make a folder that its owner alone may enter; one that is open to others is closed.

    Raises:
        StoreError: it cannot be made, or not be closed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name != "nt" and folder.stat().st_mode & OTHERS:
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be made private ({error.strerror}); "
            "set SCREENER_DATA_DIR to one that this user owns and can write."
        ) from error
    return folder


def private_file(path: Path) -> Path:
    """Make a file, if there is none, that its owner alone may read; a wider one is narrowed.

    SQLite gives the files beside a database the permissions of the database itself.

    Raises:
        OSError: it cannot be made, or not be narrowed.
    """
    path.touch(mode=0o600)
    if os.name != "nt" and path.stat().st_mode & OTHERS:
        path.chmod(0o600)
    return path


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file so that a reader, or a crash, sees the old bytes or the new ones."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=DRAFT)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        os.replace(name, path)  # noqa: PTH105 - the same call, named as the atomic one it is
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the renames in a directory durable, where the platform can."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
