"""The origin of a night: which bars it was made of, and how they were read.

The manifest, which clients see, holds only the name of the bars. Their path is noted in a file of
the data folder that only the operator reads, so that a night can be explained without naming its
bars again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ValidationError

from screener.commands.bars_options import SAMPLE, Adjustment, BarsOptions
from screener.nightly.errors import SourceError
from screener.settings.console import err
from screener.settings.settings import Settings
from store.folder.files import replace_file
from store.folder.layout import DataFolder
from store.ledger.manifest import Manifest
from store.nights.nights import Nights

READING: Final = ("symbol", "reference", "adjustment", "exchange", "currency", "min_quality")
"""Options that tell how bars are read."""


class NightOrigin(BaseModel):
    """The bars of a night and the options that they were read with."""

    data_version: str
    session: dt.date
    bars: str
    """An absolute path, or an address in an object store."""
    state: str
    """A digest of the sizes and times of its files; empty in an object store."""
    symbol: str | None
    reference: Path | None
    adjustment: Adjustment
    exchange: str | None = None
    currency: str | None = None
    min_quality: float | None = None


def note_origin(settings: Settings, options: BarsOptions, manifest: Manifest) -> None:
    """Note what the night that was just sealed was made of."""
    if options.bars == SAMPLE:
        return
    there = replace(options, reference=options.reference and options.reference.absolute())
    origin = NightOrigin(
        data_version=manifest.data_version,
        session=manifest.as_of_session,
        bars=_absolute(options.bars),
        state=_state(options.bars),
        **{name: getattr(there, name) for name in READING},
    )
    replace_file(DataFolder(settings.data_dir).origin, origin.model_dump_json().encode())


def as_the_night(settings: Settings, options: BarsOptions, bars: str | None) -> BarsOptions:
    """The options with some `bars`, or those of the active night if None are named. Bars of the
    active night are read up to its session, and as it read them, unless options override that.

    Raises:
        SourceError: no `bars` are named, and those of the active night are gone or not known.
    """
    active = Nights(settings.data_dir).active()
    origin = _known(settings, active)
    if origin is None and bars is None and active and not active.sample:
        raise SourceError(
            f"The bars of the night of {active.as_of_session} are not on record; name them with "
            "--bars."
        )
    if origin is None or (bars is not None and _absolute(bars) != origin.bars):
        return replace(options, bars=bars or SAMPLE)
    _check_there(origin)
    unset = BarsOptions()
    noted = {
        name: getattr(origin, name)
        for name in (*READING, "session")
        if getattr(options, name) == getattr(unset, name)
    }
    return replace(options, bars=origin.bars, **noted)


def _known(settings: Settings, active: Manifest | None) -> NightOrigin | None:
    """The origin of the active night; None if it is not known."""
    try:
        noted = DataFolder(settings.data_dir).origin.read_bytes()
        origin = NightOrigin.model_validate_json(noted)
    except (OSError, ValidationError):
        return None
    return origin if active and active.data_version == origin.data_version else None


def _check_there(origin: NightOrigin) -> None:
    made = f"The night of {origin.session} was made from {origin.bars}, which"
    if not origin.state:
        return
    if not Path(origin.bars).exists():
        raise SourceError(f"{made} is gone; name other bars with --bars.")
    if _state(origin.bars) != origin.state:
        err.print(f"{made} has changed since; this is the result now.")


def _absolute(bars: str) -> str:
    return bars if "://" in bars else str(Path(bars).absolute())


def _state(bars: str) -> str:
    """The sizes and times of all files at a path, digested."""
    if "://" in bars:
        return ""
    path, state = Path(bars), hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        found = file.lstat()
        line = f"{file.relative_to(path)} {found.st_size} {found.st_mtime_ns}\n"
        state.update(line.encode(errors="surrogateescape"))
    return state.hexdigest()
