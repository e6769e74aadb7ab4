"""Following: the servers of a shared store of nights, and how long a start waits for it."""

from __future__ import annotations

import threading
from typing import Final

from screener.service.supervisor import Loop
from screener.settings.console import err
from screener.settings.settings import Settings, SettingsError
from store.accounts.accounts import utc_now
from store.errors import ObjectsError
from store.remote.follower import Clock, Follower
from store.remote.objects import Objects
from store.remote.opening import open_objects

START_SECONDS: Final = 60.0
"""For which a start waits for a night of the store; it is fetched beside the service after that."""


def objects_of(settings: Settings) -> Objects | None:
    """The shared store of nights; None where nights are in the data folder alone.

    Raises:
        SettingsError: its address is malformed, or needs an extra that is not installed.
    """
    if settings.nights_url is None:
        return None
    try:
        return open_objects(settings.nights_url)
    except ObjectsError as error:
        raise SettingsError(str(error)) from error


def follower_of(settings: Settings, clock: Clock = utc_now) -> Follower | None:
    """What follows the shared store of nights, if there is one."""
    objects = objects_of(settings)
    if objects is None:
        return None
    seconds, kept = settings.nights_seconds, settings.nights_kept
    return Follower(settings.data_dir, objects, seconds=seconds, kept=kept, clock=clock)


def loops_of(follower: Follower | None) -> list[Loop]:
    """What a follower does in the background."""
    if follower is None:
        return []
    return [Loop("nights", "that follows the store of nights", follower.keep_following)]


def fetch_first(settings: Settings, seconds: float = START_SECONDS) -> None:
    """Fetch the night of the shared store before anything is served, if there is such a store.

    Whatever fails, the service starts: with the night of the data folder, or without one. After so
    many seconds the fetch goes on beside the service.
    """
    follower = follower_of(settings)
    if follower is None:
        return
    err.print(f"Looking for the night in {follower.place}, for at most {seconds:g} s.")
    # Not one of anyio's: what hangs must not keep the process from ending.
    looking = threading.Thread(target=follower.look, daemon=True)
    looking.start()
    looking.join(seconds)
    late = "the night is still being fetched." if looking.is_alive() else ""
    if why := late or follower.away or follower.fault:
        err.print(f"The service starts with what is in {settings.data_dir}: {why}")
