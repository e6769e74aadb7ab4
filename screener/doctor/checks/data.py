"""Data: the folder with the nights, its room, its lock, the ledger and the checkpoints."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screener.doctor.checks.finding import Finding, fault, megabytes, ok, warning

if TYPE_CHECKING:
    from screener.settings.settings import Settings

LEAST_BYTES: Final = 16_000_000
"""With less, neither accounts nor logs can grow."""

FIRST_BYTES: Final = 200_000_000
"""What is asked for where no night tells how large one is."""

NIGHTS: Final = 2
"""How many times the room of the last night the next one takes while it is made."""


def _maker(chosen: Settings) -> str:
    return "`screener serve`" if chosen.nights_url else "`screener up` or `screener nightly`"


def folder(chosen: Settings) -> Iterator[Finding]:
    """Whether the folder exists, is private and can be written."""
    path = chosen.data_dir.resolve()
    if not path.is_dir():
        words = f"{path} does not exist yet; {_maker(chosen)} makes it, or set SCREENER_DATA_DIR."
        yield warning("data folder", words)
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK) or _is_read_only(path):
        words = (
            f"{path} cannot be written by this user; let its owner run this, mount it writable, "
            "or set SCREENER_DATA_DIR."
        )
        yield fault("data folder", words)
    elif os.name != "nt" and path.stat().st_mode & 0o077:
        yield warning("data folder", f"others may read {path}; chmod 700 {path}")
    else:
        yield ok("data folder", f"{path}, private")


def _is_read_only(path: Path) -> bool:
    return hasattr(os, "statvfs") and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def room(chosen: Settings) -> Iterator[Finding]:
    """Whether there is room for another night."""
    path = chosen.data_dir.resolve()
    while not path.exists():
        path = path.parent
    free, wanted = shutil.disk_usage(path).free, _night_bytes(chosen.data_dir)
    words = f"{megabytes(free)} free; a night takes up to {megabytes(wanted)} while it is made"
    if free < LEAST_BYTES:
        yield fault("disk", f"the disk is full: {words}; make room where {path} lies.")
    elif free < wanted:
        words = f"{words}; make room where {path} lies, as by `screener night prune`."
        yield warning("disk", words)
    else:
        yield ok("disk", words)


def _night_bytes(data_dir: Path) -> int:
    books = [path.stat().st_size for path in (data_dir / "nights").glob("*.book")]
    if not books:
        return FIRST_BYTES
    kept = data_dir / "checkpoints.sqlite"
    return NIGHTS * (max(books) + (kept.stat().st_size if kept.exists() else 0))


def lock(chosen: Settings) -> Iterator[Finding]:
    """Whether a run is writing now, and whether a restore was killed."""
    from store.folder.lock import holder, restore_is_pending

    held = holder(chosen.data_dir)
    if restore_is_pending(chosen.data_dir) and not held:
        words = (
            f"one into {chosen.data_dir} was killed before it ended; run `screener restore` again, "
            "or start `screener serve`, which completes or undoes it."
        )
        yield fault("restore", words)
    yield ok("lock", f"held: {held}" if held else "free: no nightly is writing")


def ledger(chosen: Settings) -> Iterator[Finding]:
    """Whether the newest object of the ledger is what was written."""
    from store.errors import LedgerError
    from store.ledger.ledger import Ledger

    try:
        kept = Ledger(chosen.data_dir)
        names = kept.names()
        kept.newest()
    except LedgerError as error:
        yield fault("ledger", str(error))
        return
    yield ok(
        "ledger",
        f"{len(names):,} objects, the newest unchanged; `screener ledger verify` checks all",
    )


def checkpoints(chosen: Settings) -> Iterator[Finding]:
    """Whether the checkpoints can be read; they only save time."""
    from store.folder.checkpoints import Checkpoints

    kept = Checkpoints(chosen.data_dir)
    if not kept.path.exists():
        yield ok("checkpoints", "none; the next night walks every bar")
        return
    kept.read(["-"])
    if kept.damage:
        yield warning("checkpoints", f"{kept.path} is damaged ({kept.damage}); remove it.")
    else:
        yield ok("checkpoints", megabytes(kept.path.stat().st_size))
