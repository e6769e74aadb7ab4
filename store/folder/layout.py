"""Layout: where everything lies in a data folder (docs/upkeep.md lists what is kept how long)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

STAGE: Final = ".restore"
"""The folder in the data folder in which a restore puts everything first."""

READY: Final = "ready"
"""The file in that folder that says that all is in it, under which mark the restore runs, and into
which database."""


class DataFolder:
    """The files and folders in a data folder, whether they exist or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "manifest.json"
        """The manifest of the active night; replacing it activates another one."""
        self.nights = path / "nights"
        self.ledger = path / "ledger"
        self.charts = path / "charts"
        self.bars = path / "bars"
        self.checkpoints = path / "checkpoints.sqlite"
        self.lock = path / "nightly.lock"
        """Held by whatever changes the nights; it names the process."""
        self.progress = path / "progress.json"
        self.origin = path / "origin.json"
        """Which bars the newest night was made of; for the operator alone."""
        self.accounts = path / "accounts.sqlite"
        self.followed = path / "followed.json"
        """What a folder that follows a shared store copied last."""
        self.notified = path / "notified"
        self.doctor = path / "doctor.token"
        self.stage = path / STAGE
        self.stage_ready = self.stage / READY

    def __iter__(self) -> Iterator[Path]:
        """All of them. Nothing else is touched, since the folder may hold what is not ours."""
        yield from (self.nights, self.ledger, self.charts, self.bars, self.manifest)
        yield from (self.checkpoints, self.lock, self.progress, self.origin, self.followed)
        yield from (self.notified, self.doctor, self.stage, self.accounts)
        yield from (self.path / f"{self.accounts.name}-{kind}" for kind in ("wal", "shm"))
