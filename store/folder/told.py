"""Told: what people were told of, so that an attempt that fails again does not tell it again.

One small file in the data folder, replaced whole.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
from operator import itemgetter
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from store.folder.files import replace_file

TOLD: Final = "told.json"

MOST: Final = 32
"""So many things are known, the newest."""

MOST_BYTES: Final = 8192
"""A larger file is not one of ours."""


class Told(BaseModel):
    """When it was told, by the digest of what was told."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: dict[str, AwareDatetime]


class ToldFile:
    """The record of a data folder. What cannot be read was not told; what cannot be written is
    told again.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / TOLD

    def knows(self, about: str, now: dt.datetime, anew: dt.timedelta) -> bool:
        """Whether this was told less than `anew` ago. A clock that was set back counts
        as time.
        """
        at = self._read().get(_digest(about))
        return at is not None and abs(now - at) < anew

    def note(self, about: str, now: dt.datetime) -> None:
        """Note what was told; of the others the newest stay."""
        others = {digest: at for digest, at in self._read().items() if digest != _digest(about)}
        newest = sorted(others.items(), key=itemgetter(1))[1 - MOST :]
        told = Told(at={**dict(newest), _digest(about): now})
        with contextlib.suppress(OSError):
            replace_file(self._path, told.model_dump_json().encode())

    def _read(self) -> dict[str, dt.datetime]:
        try:
            with self._path.open("rb") as file:
                return Told.model_validate_json(file.read(MOST_BYTES)).at
        except (OSError, ValidationError):
            return {}


def _digest(about: str) -> str:
    return hashlib.sha256(about.encode()).hexdigest()
