"""Told: what people were told of last, so that an attempt that fails again does not tell it again.

One small file in the data folder, replaced whole.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from store.files import replace_file

TOLD: Final = "told.json"

MOST_BYTES: Final = 4096
"""A larger file is not one of ours."""


class Told(BaseModel):
    """A digest of what was told, and when."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    digest: str
    at: AwareDatetime


class ToldFile:
    """The record of a data folder. What cannot be read was not told; what cannot be written is
    told again.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / TOLD

    def knows(self, about: str, now: dt.datetime, anew: dt.timedelta) -> bool:
        """Whether this was told last, and less than `anew` ago. A clock that was set back counts
        as time.
        """
        found = self._read()
        return found is not None and found.digest == _digest(about) and abs(now - found.at) < anew

    def note(self, about: str, now: dt.datetime) -> None:
        """Note what was told."""
        told = Told(digest=_digest(about), at=now)
        with contextlib.suppress(OSError):
            replace_file(self._path, told.model_dump_json().encode())

    def _read(self) -> Told | None:
        try:
            with self._path.open("rb") as file:
                return Told.model_validate_json(file.read(MOST_BYTES))
        except (OSError, ValidationError):
            return None


def _digest(about: str) -> str:
    return hashlib.sha256(about.encode()).hexdigest()
