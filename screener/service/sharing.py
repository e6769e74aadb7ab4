"""Sharing: the nights that the settings name, alone or shared with other machines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from screener.settings.console import err
from screener.settings.settings import Settings
from store.errors import BusyError, ObjectsError
from store.folder.lock import locked
from store.nights.nights import Nights


def nights_of(settings: Settings) -> Nights:
    """The nights of the data folder, shared with other machines if the settings say so.

    Raises:
        ObjectsError: the address of the shared store cannot be used.
    """
    if settings.nights_url is None:
        return Nights(settings.data_dir)
    from store.remote.opening import open_objects
    from store.remote.shared_nights import SharedNights

    return SharedNights(settings.data_dir, open_objects(settings.nights_url))


@contextmanager
def changing(settings: Settings) -> Iterator[Nights]:
    """The nights, to be changed: locked, and in line with what other machines published.

    Raises:
        BusyError: another process is changing them.
        StoreError: the shared store does not answer, or the folder is no copy of it.
    """
    nights = nights_of(settings)
    with locked(settings.data_dir, dt.datetime.now(dt.UTC)):
        nights.bring()
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
            nights.bring()
    except ObjectsError as error:
        err.print(f"{error} What follows is the copy in {settings.data_dir}.")
    return nights
