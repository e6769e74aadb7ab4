"""Nights: those that the nightlies of a topology publish, and the truth about each of them."""

from __future__ import annotations

import datetime as dt
import subprocess
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.faults.serving import served
from tests.faults.writers import client_of
from tests.nightly.series import walk
from tests.nightly.test_night import write_csv
from tests.screener.command import COMMAND, environment
from tests.screener.process import until
from tests.service import TRACKED
from tests.topology.truth import KEYLESS, Truth

SESSIONS = (dt.date(2024, 3, 26), dt.date(2024, 3, 27), dt.date(2024, 3, 28))
SEEDS = (9, 39, 73, 34, 104, *range(7))
"""Of walks at random; the first five show setups in these sessions."""
BARS = 700
PUBLISHED, NOTHING_NEW = 0, 5


class Nights:
    """Bars of a market, and what every night of it says."""

    def __init__(self, folder: Path) -> None:
        self._bars = folder / "bars"
        names = (*TRACKED, *(f"S{number}" for number in range(len(SEEDS))))
        for name, seed in zip(names, SEEDS, strict=False):
            write_csv(self._bars / f"{name}.csv", walk(BARS, seed=seed))
        self.truth = Truth()
        self.versions: list[str] = []
        """Of each session."""

    def learn(self, folder: Path, public_url: str) -> None:
        """Publish every night on one machine, and note all that it answers."""
        self.publish(folder, SESSIONS[0])
        with served(folder, public_url=public_url) as serving:
            keyless, keyed = client_of(serving), client_of(serving, serving.key())
            for session in SESSIONS:
                if session != SESSIONS[0]:
                    self.publish(folder, session)
                until(lambda s=session: _serves(keyless, s))  # type: ignore[misc]
                self.versions.append(self.truth.learn(keyless, keyed))

    def command(self, session: dt.date) -> list[str]:
        """The nightly of a session."""
        bars = ["--bars", str(self._bars)]
        return [*COMMAND, "nightly", *bars, "--session", session.isoformat()]

    def publish(
        self, folder: Path, session: dt.date, settings: Mapping[str, str] | None = None
    ) -> bool:
        """Run the nightly of a session to its end; False if its night was there already."""
        given = environment(folder, **(settings or {}))
        done = subprocess.run(
            self.command(session), env=given, capture_output=True, text=True, timeout=300
        )
        if done.returncode not in (PUBLISHED, NOTHING_NEW):
            raise RuntimeError(f"the nightly ended with {done.returncode}: {done.stderr[-1000:]}")
        return done.returncode == PUBLISHED


def _serves(client: httpx.Client, session: dt.date) -> bool:
    return bool(client.get(KEYLESS[0]).json()["as_of_session"] == session.isoformat())
