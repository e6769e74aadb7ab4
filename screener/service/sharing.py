"""Sharing: the nights that the settings name, in the data folder alone or in a store that several
machines share; who changes, reads or follows them.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from screener.settings.console import err
from screener.settings.settings import Settings, SettingsError
from store.errors import BusyError, ObjectsError, StoreError
from store.folder.lock import locked
from store.nights.nights import Nights

if TYPE_CHECKING:
    from store.ledger.manifest import Manifest
    from store.remote.follower import Clock, Follower
    from store.remote.objects import Objects

START_SECONDS: Final = 60.0
"""For which a start waits for a night of the store; it is fetched beside the service after that."""


def objects_of(settings: Settings) -> Objects | None:
    """The shared store of nights; None where nights are in the data folder alone.

    Raises:
        ObjectsError: its address is malformed, or needs an extra that is not installed.
    """
    if settings.nights_url is None:
        return None
    from store.remote.objects import Objects

    return Objects(settings.nights_url.get_secret_value())


def nights_of(settings: Settings) -> Nights:
    """The nights of the data folder, shared with other machines if the settings say so.

    Raises:
        ObjectsError: the address of the shared store cannot be used.
    """
    objects = objects_of(settings)
    if objects is None:
        return Nights(settings.data_dir)
    from store.remote.shared_nights import SharedNights

    return SharedNights(settings.data_dir, objects)


@contextmanager
def changing(settings: Settings) -> Iterator[Nights]:
    """The nights, to be changed: locked, and in line with what other machines published.

    Raises:
        BusyError: another process is changing them.
        StoreError: the shared store does not answer, or the folder is no copy of it.
    """
    nights = nights_of(settings)
    with locked(settings.data_dir, dt.datetime.now(dt.UTC)):
        nights.pull()
        yield nights


def looking(settings: Settings) -> Nights:
    """The nights, to be read: in line with what other machines published, as far as that can be
    had now.

    Raises:
        StoreError: the folder is no copy of the shared store.
    """
    nights = nights_of(settings)
    if settings.nights_url is None:
        return nights
    try:
        # Busy: the run that holds the lock brought them into line itself.
        with suppress(BusyError), locked(settings.data_dir, dt.datetime.now(dt.UTC)):
            nights.pull()
    except ObjectsError as error:
        err.print(f"{error} What follows is the copy in {settings.data_dir}.")
    return nights


def served(settings: Settings) -> Manifest | None:
    """The night that is served now, if it can be read."""
    try:
        return Nights(settings.data_dir).active()
    except StoreError:
        return None


def follower_of(settings: Settings, clock: Clock) -> Follower | None:
    """What follows the shared store of nights, if there is one.

    Raises:
        SettingsError: the address of the shared store cannot be used.
    """
    try:
        objects = objects_of(settings)
    except ObjectsError as error:
        raise SettingsError(str(error)) from error
    if objects is None:
        return None
    from store.remote.follower import Follower

    return Follower(
        settings.data_dir,
        objects,
        seconds=settings.nights_seconds,
        kept=settings.nights_kept,
        clock=clock,
    )


def fetch_first(settings: Settings) -> None:
    """Fetch the night of the shared store before anything is served, if there is such a store.

    Whatever fails, the service starts: with the night of the data folder, or without one. After
    `START_SECONDS` the fetch goes on beside the service.
    """
    follower = follower_of(settings, lambda: dt.datetime.now(dt.UTC))
    if follower is None:
        return
    err.print(f"Looking for the night in {follower.place}, for at most {START_SECONDS:g} s.")
    # Not one of anyio's: what hangs must not keep the process from ending.
    thread = threading.Thread(target=follower.look, daemon=True)
    thread.start()
    thread.join(START_SECONDS)
    why = follower.trouble.why if follower.trouble else ""
    if thread.is_alive():
        why = "the night is still being fetched."
    if why:
        err.print(f"The service starts with what is in {settings.data_dir}: {why}")
