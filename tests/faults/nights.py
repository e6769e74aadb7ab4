"""The nights that are served: three of the sample, and what an undamaged service says of each."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace
from pathlib import Path

from nightly.parameters import DETECTORS
from screener.nightly import order_of, seal
from screener.settings import Settings
from store.manifest import Manifest
from store.nights import Nights as Sealed
from tests.faults.serving import served
from tests.faults.truth import Truth, served_by
from tests.faults.writers import client_of
from tests.screener.process import until

SESSIONS = (dt.date(2012, 10, 2), dt.date(2012, 10, 3), dt.date(2012, 10, 4))
NEXT = dt.date(2012, 10, 5)
"""The session that a nightly makes while it is disturbed."""


class Nights:
    """Three sealed nights in a folder, the truth about them and the digests of their books; and of
    the one that a nightly makes next, which is not in the folder.
    """

    new: Manifest

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.truth = Truth()
        settings = Settings(data_dir=folder)
        for session in SESSIONS:
            order = order_of(settings, session=session)
            seal(settings, replace(order, parameters=DETECTORS["reference"]))
        self.versions = sorted(night.data_version for night in Sealed(folder).sealed())
        self.books = {night.data_version: night.book.sha256 for night in Sealed(folder).sealed()}

    def learn(self, aside: Path) -> None:
        """Ask an undamaged service for all answers of every night."""
        settings = Settings(data_dir=aside)
        with served(self.copied(aside)) as serving:
            client = client_of(serving, serving.key())
            for version in self.versions:
                self.switch(aside, version)
                until(lambda v=version: served_by(client) == v)  # type: ignore[misc]
                self.truth.learn(client)
            self.new, _ = seal(settings, order_of(settings, session=NEXT))
            self.books[self.new.data_version] = self.new.book.sha256
            until(lambda: served_by(client) == self.new.data_version)
            self.truth.learn(client)

    def copied(self, folder: Path) -> Path:
        """A copy in a new data folder."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return folder

    @staticmethod
    def of(folder: Path) -> Sealed:
        """The nights of a data folder."""
        return Sealed(folder)

    @staticmethod
    def switch(folder: Path, version: str) -> None:
        """Make a night the active one."""
        Sealed(folder).activate(version)
