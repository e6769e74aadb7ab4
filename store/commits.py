"""Commits: tells from shared memory whether anything was committed to an SQLite database.

In WAL mode every commit rewrites the header of the WAL-index, a file that all processes with the
database open have mapped (https://www.sqlite.org/walformat.html, section 2.1). As long as its
bytes are the same, nothing was committed; that costs 0.2 us to see, a query 4.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

HEADER_BYTES = 96
"""The header stands twice in a row, so that a reader notices a write that is under way."""
VERSION = slice(0, 4)
READY = 12
"""The byte that is 1 once the index can be read."""
WAL_INDEX_VERSION = 3_007_000

Inode = tuple[int, int]

_indexes: dict[Inode, tuple[int, mmap.mmap]] = {}
"""Open WAL-indexes of this process. POSIX takes a process's locks on a file away as soon as it
closes any descriptor of it, SQLite's own locks too: so none is closed while its file stands."""


class Commits:
    """The commits to one database, as seen in its WAL-index; keep the database open meanwhile."""

    def __init__(self, database: Path) -> None:
        self._index = _open(database.with_name(f"{database.name}-shm"))

    def mark(self) -> bytes | None:
        """What differs after each commit; None where that cannot be told."""
        return None if self._index is None else self._index[:HEADER_BYTES]


def _open(path: Path) -> mmap.mmap | None:
    """A mapped WAL-index, or None for what is none."""
    _close_deleted()
    try:
        status = path.stat()
        known = _indexes.get((status.st_dev, status.st_ino))
        if status.st_size < HEADER_BYTES:
            return None
        index = known[1] if known else _map(path)
    except OSError:
        return None
    version = int.from_bytes(index[VERSION], "little")
    is_index = WAL_INDEX_VERSION in (version, int.from_bytes(index[VERSION], "big"))
    return index if is_index and index[READY] == 1 else None


def _map(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY)
    status = os.fstat(descriptor)
    index = mmap.mmap(descriptor, HEADER_BYTES, access=mmap.ACCESS_READ)
    _indexes[status.st_dev, status.st_ino] = descriptor, index
    return index


def _close_deleted() -> None:
    """Close the indexes that SQLite has deleted, which it does when the last one closes."""
    for inode, (descriptor, index) in list(_indexes.items()):
        if os.fstat(descriptor).st_nlink == 0:
            del _indexes[inode]
            index.close()
            os.close(descriptor)
