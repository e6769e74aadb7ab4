"""Files: open ordinary files only, so that no pipe, device or broken link stops a run, and identify
them by their first bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Final

from screener.nightly.errors import SourceError

MAGIC: Final[Mapping[bytes, str]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"\xd0\xcf\x11\xe0": "excel",
}
_SHEETS: Final = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
"""How the first member of a zip is named that is a workbook."""
CSV: Final = (".csv", ".csv.gz")
PARQUET: Final = (".parquet", ".pq")

_KINDS: Final = (
    (stat.S_ISFIFO, "is a named pipe and not a file; write its bars into a file"),
    (stat.S_ISSOCK, "is a socket and not a file; remove it"),
    (stat.S_ISBLK, "is a device and not a file; remove it"),
    (stat.S_ISCHR, "is a device and not a file; remove it"),
)
_FOLDER: Final = "is a folder and not a file; rename it"
_REASONS: Final = {
    errno.ELOOP: "is a link that leads back to itself; remove it",
    errno.EACCES: "may not be read by this user; change its permissions",
    errno.EPERM: "may not be read by this user; change its permissions",
    errno.EISDIR: _FOLDER,
}


def open_regular(path: Path, label: str) -> BufferedReader:
    """Open a file to read, without waiting for the other end of a pipe.

    Raises:
        SourceError: it is no ordinary file, or cannot be opened.
    """
    check_regular(path, label)
    try:
        # It may have become a pipe by now.
        return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
    except OSError as error:
        raise SourceError(f"{label} {trouble(path, error)}.") from error


def check_regular(path: Path, label: str) -> None:
    """Check that a path leads to an ordinary file. A link to one is one.

    Raises:
        SourceError: it does not.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SourceError(f"{label} {trouble(path, error)}.") from error
    if stat.S_ISDIR(mode):
        raise SourceError(f"{label} {_FOLDER}.")
    odd = next((said for known, said in _KINDS if known(mode)), None)
    if odd is not None:
        raise SourceError(f"{label} {odd}.")


def trouble(path: Path, error: OSError) -> str:
    """Why a path cannot be opened and what to do, to be read after its name."""
    if error.errno == errno.ENOENT and path.is_symlink():
        return "is a link to something that does not exist; correct or remove the link"
    return _REASONS.get(error.errno or 0, f"cannot be opened ({error.strerror}); write it again")


def suffix_of(file: Path) -> str | None:
    """The suffix that marks a file as CSV or Parquet, as it is spelled; None without one."""
    if file.name.startswith("."):
        return None
    lowered = file.name.lower()
    suffix = next((end for end in (*CSV, *PARQUET) if lowered.endswith(end)), None)
    return file.name[-len(suffix) :] if suffix else None


def magic(start: bytes) -> str | None:
    """The kind of a file by its first bytes, regardless of its name; None for text or unknown."""
    known = next((kind for mark, kind in MAGIC.items() if start.startswith(mark)), None)
    if known == "zip" and start[30:].startswith(_SHEETS):
        return "excel"
    return "tar" if known is None and start[257:262] == b"ustar" else known


def file_digest(file: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with open_regular(file, str(file)) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({type(error).__name__}).") from error
