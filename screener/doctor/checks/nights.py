"""Nights: the shared store of nights, where the settings name one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from screener.doctor.checks.finding import Finding, fault, ok, warning

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.remote.objects import Objects

NAME = "store of nights"

PUBLISHING = "publishing"


def nights(chosen: Settings) -> Iterator[Finding]:
    """Whether the shared store answers, and what it says; nothing in it is changed."""
    from screener.service.following import objects_of
    from screener.settings.settings import SettingsError
    from store.errors import ManifestError, ObjectsError
    from store.remote.published import MOST_BYTES, POINTER, book_object, key_of, read_published

    try:
        objects = objects_of(chosen)
        if objects is None:
            return
        found = objects.read(POINTER, MOST_BYTES)
        if found is None:
            yield warning(NAME, f"{objects.place} has no night yet; {_first(chosen)}.")
            return
        published = read_published(found.body, objects.place)
        if not objects.has(book_object(key_of(published.active))):
            words = f"{objects.place} lacks the book of the night that it names; publish it again."
            yield fault(NAME, words)
            return
    except (SettingsError, ObjectsError, ManifestError) as error:
        yield fault(NAME, str(error))
        return
    active = published.active
    yield ok(
        NAME,
        f"{objects.place} answers and names {active.data_version}, of {active.as_of_session}",
    )
    yield _here(chosen, active.data_version)


def _first(chosen: Settings) -> str:
    """How a night comes into a store that has none."""
    mine = _version_here(chosen)
    if mine is None:
        return "run `screener nightly` with this setting"
    return f"`screener night activate {mine}` puts the nights of this machine there"


def _version_here(chosen: Settings) -> str | None:
    from store.errors import ManifestError
    from store.ledger.manifest import read_manifest

    try:
        return read_manifest(chosen.data_dir / "manifest.json").data_version
    except ManifestError:
        return None


def _here(chosen: Settings, version: str) -> Finding:
    """Whether this machine has the night that the store names."""
    mine = _version_here(chosen)
    if mine == version:
        return ok("night of the store", "it is the night that is here")
    here = f"the night that is here is {mine}" if mine else "no night is here yet"
    words = f"{here}; `screener serve` fetches {version} by itself."
    return warning("night of the store", words)


def not_published(chosen: Settings) -> Iterator[Finding]:
    """That publishing was not tried, where there is a shared store."""
    if chosen.nights_url is not None:
        words = "not tried; `screener doctor --publishing` puts a small object and removes it"
        yield ok(PUBLISHING, words)


def publishing(chosen: Settings) -> Iterator[Finding]:
    """Whether this machine may publish, and the store lets only one of two writers win: by an
    object of a name of its own, which is removed.
    """
    from screener.service.following import objects_of
    from screener.settings.settings import SettingsError
    from store.errors import ObjectsError

    name = f"doctor-{uuid.uuid4().hex}.txt"
    try:
        objects = objects_of(chosen)
        if objects is None:
            words = "SCREENER_NIGHTS_URL is unset: nights are published into the data folder alone"
            yield ok(PUBLISHING, words)
            return
        try:
            yield raced(objects, name)
        finally:
            with suppress(ObjectsError):
                objects.remove(name)
    except (SettingsError, ObjectsError) as error:
        yield fault(PUBLISHING, str(error))


def raced(objects: Objects, name: str) -> Finding:
    """Two writers replace what both have read: the second must be told."""
    first = objects.swap(name, b"1", None)
    refuses_second = _is_refused(objects, name, b"2", None)
    objects.swap(name, b"3", first)
    if refuses_second and _is_refused(objects, name, b"4", first):
        return ok(PUBLISHING, f"{objects.place} can be written, and lets one of two writers win")
    return fault(
        PUBLISHING,
        f"{objects.place} lets two writers replace one object at once, so two nightlies could "
        "undo each other; use a store with conditional puts, or run one nightly alone.",
    )


def _is_refused(objects: Objects, name: str, body: bytes, tag: str | None) -> bool:
    from store.errors import ConflictError

    try:
        objects.swap(name, body, tag)
    except ConflictError:
        return True
    return False
