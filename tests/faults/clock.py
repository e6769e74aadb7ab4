"""The clock: set back and forward under a running service, and under a nightly, by libfaketime."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.found import CannotError, Found
from tests.faults.nightly import ARGUMENTS
from tests.faults.nights import Nights
from tests.faults.serving import Serving, served
from tests.faults.writers import Approving, SigningIn, Watching, client_of
from tests.screener.command import COMMAND, environment

LIBRARY = "faketime/libfaketimeMT.so.1"
PER_MINUTE = 30
JUMPS = ("-1d", "+0", "+1h", "+8d", "+0", "-400d", "+0")
"""From the true time; 8 days end an access token and an idle sign-in (7), but no refresh token."""
ENDED = ("+8d",)
NOT_YET = ("-400d",)


def library() -> str:
    """The library that fakes the time of a process.

    Raises:
        CannotError: it is not installed.
    """
    found = sorted(Path("/usr/lib").glob(f"*/{LIBRARY}"))
    if not found:
        raise CannotError("libfaketime is not installed (Debian: faketime)")
    return str(found[0])


class Clock:
    """A clock of processes, which can be set while they run."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.environment = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            # No one can set the monotonic clock of a machine.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set("+0")

    def set(self, jump: str) -> None:
        """Set it to some time from the true one."""
        aside = self._file.with_suffix(".new")
        aside.write_text(f"{jump}\n")
        os.replace(aside, self._file)  # noqa: PTH105 - at once


def jumps(folder: Path, nights: Nights) -> Found:
    """Set the clock while people are signed in, and call after each time."""
    found, clock = Found(), Clock(folder)
    found.made = f"the clock of the service set to {', '.join(JUMPS)} from the true time"
    data = nights.copied(folder / "data")
    with served(data, clock.environment, key_per_minute=PER_MINUTE) as serving:
        people = _People(serving)
        spent = serving.key("spent@example.com")
        with client_of(serving, spent) as client:
            for _ in range(PER_MINUTE):
                client.get("/api/v1/me").raise_for_status()
            for jump in JUMPS:
                clock.set(jump)
                began = time.monotonic()
                found.seen[f"{jump}: {people.call(found, jump)}"] += 1
                found.seconds.append(time.monotonic() - began)
                refused = client.get("/api/v1/me").status_code == 429
                if not refused:
                    found.wrong.append(f"{jump} opened a window of a minute that was full")
        found.lost += people.lost()
    if "Traceback" in serving.said():
        found.wrong.append("the log has a traceback")
    found.notes.append("A full window of a minute stays full; keys open at any time")
    return found


class _People:
    """Somebody with a key, a browser that is signed in, and an app."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._watching = Watching(serving)
        self._signing, self._approving = SigningIn(serving), Approving(serving)
        for writer in (self._watching, self._signing, self._approving, self._approving):
            assert writer.act() == "answered"

    def call(self, found: Found, jump: str) -> str:
        """Call in every way; says what was refused."""
        calls: dict[str, Callable[[], bool]] = {
            "keyless": self._serving.answers,
            "key": lambda: self._watching.act() == "answered",
            "sign-in": self._signing.is_signed_in,
            "app": self._approving.opens,
        }
        refused = [name for name, call in calls.items() if not call()]
        allowed = {"sign-in", "app"} if jump in ENDED else set()
        if jump in NOT_YET:
            allowed = {"sign-in", "app"}
        found.wrong += [f"{jump}: {name} is refused" for name in set(refused) - allowed]
        if "app" in refused and self._approving.act() != "answered":
            found.lost.append(f"{jump}: the app cannot refresh")
        if "sign-in" in refused and self._signing.act() != "answered":
            found.lost.append(f"{jump}: nobody can sign in")
        return f"{' and '.join(refused)} over, then renewed" if refused else "all answered"

    def lost(self) -> list[str]:
        """What is gone, once the clock is right again."""
        return [*self._watching.lost(), *self._approving.lost()]


def nightly(folder: Path, nights: Nights) -> Found:
    """Run a nightly whose clock is wrong."""
    found = Found(made="a nightly with its clock in 2009, and in 2041")
    for jump in ("@2009-06-01 12:00:00", "@2041-06-01 12:00:00"):
        data = nights.copied(folder / jump[1:5])
        given = {**environment(data), "LD_PRELOAD": library(), "FAKETIME": jump}
        done = subprocess.run(
            [*COMMAND, *ARGUMENTS], env=given, capture_output=True, text=True, timeout=300
        )
        lines = done.stderr.strip().splitlines()
        found.seen[f"{jump[1:5]}: ends with {done.returncode}{_words(lines)}"] += 1
        if "Traceback" in done.stderr:
            found.wrong.append(f"{jump[1:5]}: it ends with a traceback")
        active = Nights.of(data).check_active()
        if nights.books.get(active.data_version) != active.book.sha256:
            found.wrong.append(f"{jump[1:5]}: the night is another one")
    return found


def _words(lines: list[str]) -> str:
    return f", {lines[-1].removeprefix('screener: ')}" if lines else ""
