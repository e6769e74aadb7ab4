"""Trouble: what the disk or the system refused, in words for an operator.

A full disk is no fault of the program, and a traceback would not tell where to make room.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from typing import Final

MEMORY: Final = "Memory ran out; make the work smaller (fewer --jobs) or add memory."

WORDS: Final[Mapping[int, str]] = {
    errno.ENOSPC: "the disk is full; make room and run it again",
    errno.EDQUOT: "the disk quota of this user is used up; make room and run it again",
    errno.EFBIG: "the file would be larger than this process may write; raise `ulimit -f`",
    errno.EROFS: "the file system is read-only; mount it writable or choose another folder",
    errno.EACCES: "this user may not use it; run this as its owner or choose another folder",
    errno.EPERM: "this user may not change it; run this as its owner or choose another folder",
    errno.EMFILE: "this process has too many files open; raise `ulimit -n` (LimitNOFILE=)",
    errno.ENFILE: "the system has too many files open; raise fs.file-max",
    errno.EIO: "the disk is full or fails; make room, or look at the system log",
}
"""By error number: what is wrong, and what to do."""

OF_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What the disk refuses whoever asks; the same may work once it is mended."""

SQLITE: Final[Mapping[str, int]] = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_READONLY": errno.EACCES,
    "SQLITE_CANTOPEN": errno.EACCES,
    "SQLITE_IOERR": errno.EIO,
}
"""SQLite's result codes of the same troubles."""

TEMPORARY: Final = "No usable temporary directory"
"""How Python says that neither TMPDIR nor a usual folder can be written."""


def trouble_of(error: BaseException) -> str | None:
    """What was refused and what to do, as one sentence; None if the cause is another."""
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, FileNotFoundError) and str(error.strerror).startswith(TEMPORARY):
        return "No folder for temporary files can be written; make room in one and set TMPDIR."
    words = words_of(error)
    if words is None:
        return None
    name = getattr(error, "filename", None)
    return f"{name}: {words}." if name else f"{words[0].upper()}{words[1:]}."


def is_of_disk(error: BaseException | None) -> bool:
    """Whether the disk is full, fails or may not be written."""
    return error is not None and _number(error) in OF_DISK


def words_of(error: BaseException) -> str | None:
    """What was refused and what to do, without a name and a full stop; None as above."""
    return WORDS.get(_number(error) or 0)


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        return error.errno
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorname", None) or ""
        return next((number for name, number in SQLITE.items() if code.startswith(name)), None)
    return None
