"""The clock: set back and forward under a running service, and under a nightly, by libfaketime."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from store.nights.nights import Nights as Sealed
from tests.qa.drills.drill import CannotError, Drill
from tests.qa.drills.server import Server
from tests.qa.drills.writers import Approving, SigningIn, Watching
from tests.screener.command import COMMAND, environment

LIBRARY = "faketime/libfaketimeMT.so.1"
PER_MINUTE = 30
JUMPS = ("-1d", "+0", "+1h", "+8d", "+0", "-400d", "+0")
"""From the true time; 8 days end an access token and an idle sign-in (7), but no refresh token."""
EXPIRED = ("+8d", "-400d")
"""Those at which an access token and a sign-in are over, or not yet."""


def library() -> str:
    """The library that fakes the time of a process.

    Raises:
        CannotError: it is not installed.
    """
    paths = sorted(Path("/usr/lib").glob(f"*/{LIBRARY}"))
    if not paths:
        raise CannotError("libfaketime is not installed (Debian: faketime)")
    return str(paths[0])


def _set(clock: Path, jump: str) -> None:
    """Set a clock to some time from the true one, at once."""
    aside = clock.with_suffix(".new")
    aside.write_text(f"{jump}\n")
    os.replace(aside, clock)  # noqa: PTH105 - one call


def clock_jumps(drill: Drill) -> None:
    """Set the clock while people are signed in, and call after each time."""
    drill.made = f"the clock of the service set to {', '.join(JUMPS)} from the true time"
    clock = drill.folder / "clock"
    _set(clock, "+0")
    faked = {
        "LD_PRELOAD": library(),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        # No one can set the monotonic clock of a machine.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with drill.server(more=faked, key_per_minute=PER_MINUTE).running() as server:
        people = People(server)
        with server.client(server.key("spent@example.com")) as client:
            for _ in range(PER_MINUTE):
                client.get("/api/v1/me").raise_for_status()
            for jump in JUMPS:
                _set(clock, jump)
                with drill.timed():
                    drill.seen[f"{jump}: {people.call(drill, jump)}"] += 1
                full = client.get("/api/v1/me").status_code == 429
                drill.check(so=full, wrong=f"{jump} opened a window of a minute that was full")
        drill.lost += [*people.watching.lost(), *people.approving.lost()]
    drill.check(so="Traceback" not in server.said(), wrong="the log has a traceback")
    drill.notes.append("A full window of a minute stays full; keys open at any time")


class People:
    """Somebody with a key, a browser that is signed in, and an app."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.watching, self.signing = Watching(server), SigningIn(server)
        self.approving = Approving(server)
        for actor in (self.watching, self.signing, self.approving, self.approving):
            assert actor.act() == "answered"

    def call(self, drill: Drill, jump: str) -> str:
        """Call in every way; says what was refused."""
        calls: dict[str, Callable[[], bool]] = {
            "keyless": self.server.answers,
            "key": lambda: self.watching.act() == "answered",
            "sign-in": self.signing.is_signed_in,
            "app": self.approving.opens,
        }
        refused = [name for name, call in calls.items() if not call()]
        allowed = {"sign-in", "app"} if jump in EXPIRED else set()
        drill.wrong += [f"{jump}: {name} is refused" for name in set(refused) - allowed]
        if "app" in refused and self.approving.act() != "answered":
            drill.lost.append(f"{jump}: the app cannot refresh")
        if "sign-in" in refused and self.signing.act() != "answered":
            drill.lost.append(f"{jump}: nobody can sign in")
        return f"{' and '.join(refused)} over, then renewed" if refused else "all answered"


def clock_nightly(drill: Drill) -> None:
    """Run a nightly whose clock is wrong."""
    drill.made = "a nightly with its clock in 2023, and in 2041"
    known = {night.data_version: night for night in drill.nights.sealed}
    for year in ("2023", "2041"):
        data = drill.data(year)
        faked = {"LD_PRELOAD": library(), "FAKETIME": f"@{year}-06-01 12:00:00"}
        done = subprocess.run(
            [*COMMAND, *drill.nights.arguments()],
            env=environment(data, **faked),
            capture_output=True,
            text=True,
            timeout=300,
        )
        last = "".join(done.stderr.strip().splitlines()[-1:]).removeprefix("screener: ")
        drill.seen[f"{year}: ends with {done.returncode} {last}".strip()] += 1
        drill.check(so="Traceback" not in done.stderr, wrong=f"{year}: it ends with a traceback")
        active = Sealed(data).check_active()
        same = known.get(active.data_version) == active
        drill.check(so=same, wrong=f"{year}: the night is {active}")
