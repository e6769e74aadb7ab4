"""Servers that follow a shared store."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from store.nights.active_night import ActiveNight
from store.remote.follower import Follower
from store.remote.objects import Objects
from tests.publishing import Publisher

NOW = dt.datetime(2026, 2, 1, 12, tzinfo=dt.UTC)


class Server:
    """A machine that follows the store of a publisher into a data folder of its own."""

    def __init__(
        self, publisher: Publisher, folder: Path, *, kept: int = 3, objects: Objects | None = None
    ) -> None:
        self.folder, self.now = folder, NOW
        objects = objects or Objects(publisher.objects.place)
        self.follower = Follower(folder, objects, seconds=20, kept=kept, clock=lambda: self.now)
        self.look = self.follower.look

    @property
    def trouble(self) -> str:
        """The kind of the trouble that it tells of, and why; empty without any."""
        trouble = self.follower.lasting
        return f"{trouble.kind}: {trouble.why}" if trouble else ""

    @property
    def books(self) -> set[str]:
        """The nights whose books it keeps."""
        return {path.stem for path in (self.folder / "nights").glob("*.book")}

    async def night(self) -> ActiveNight:
        """The night that it serves, opened anew."""
        night = ActiveNight(self.folder, source="test", disclaimer="Not advice.")
        await night.poll()
        night.close()
        return night

    async def version(self) -> str | None:
        """Which night it serves."""
        return (await self.night()).book.data_version
