"""The nights that are served: bars of a small market, and what every night of it answers."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Mapping
from pathlib import Path

from store.ledger.manifest import Manifest
from store.nights.nights import Nights as Sealed
from tests.qa.drills.server import Server
from tests.qa.drills.truth import Truth, served_by
from tests.screener.command import Finished, run_process
from tests.screener.nightly.series import walk, write_csv
from tests.screener.process import free_port, until
from tests.service import TRACKED

SESSIONS = tuple(dt.date(2024, 3, day) for day in (25, 26, 27, 28))
SEEDS = (229, 17, 34, 38, 291, *range(7))
"""Of walks at random; the first five show setups in these sessions."""
BARS = 700
PUBLISHED, NOTHING_NEW, BUSY = 0, 5, 3


class Nights:
    """A market, the folder of its sealed nights but the last one, and what each of them answers.

    All sites are served at one address, since answers name it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bars = folder / "bars"
        self._bars.mkdir()
        names = (*TRACKED, *(f"S{number}" for number in range(len(SEEDS))))
        for name, seed in zip(names, SEEDS, strict=False):
            write_csv(self._bars / f"{name}.csv", walk(BARS, seed=seed))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.truth = Truth()
        self.sealed: list[Manifest] = []
        """Of each session."""

    def learn(self) -> None:
        """Publish every night, and ask an undamaged service for all that it answers."""
        data, aside = self._folder / "truth", self._folder / "nights"
        self.publish(data, SESSIONS[0])
        server = Server(data, self.port, data.with_suffix(".log"))
        with server.running():
            keyless, keyed = server.client(), server.client(server.key())
            for session in SESSIONS:
                if session == SESSIONS[-1]:
                    own = shutil.ignore_patterns("accounts.*")
                    shutil.copytree(data, aside, ignore=own)
                self.publish(data, session)
                self.sealed.append(Sealed(data).check_active())
                until(lambda: served_by(keyless) == self.sealed[-1].data_version)
                self.truth.learn(keyless, keyed)

    def copied(self, folder: Path) -> Path:
        """A copy of all but the last one in a new data folder."""
        return Path(shutil.copytree(self._folder / "nights", folder))

    def arguments(self, session: dt.date = SESSIONS[-1]) -> tuple[str, ...]:
        """The nightly of a session."""
        return "nightly", "--bars", str(self._bars), "--session", session.isoformat()

    def publish(
        self, data: Path, session: dt.date, settings: Mapping[str, str] | None = None
    ) -> Finished:
        """Run the nightly of a session, which must end well."""
        done = run_process(data, *self.arguments(session), **(settings or {}))
        if done.returncode not in (PUBLISHED, NOTHING_NEW):
            raise RuntimeError(f"the nightly ended with {done.returncode}: {done.stderr[-1000:]}")
        return done
