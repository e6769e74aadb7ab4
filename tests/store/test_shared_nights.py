"""Nights of a shared store: what is said of a commit is what became of it, and stays there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from store.errors import ManifestError, ObjectsError
from store.manifest import Manifest
from store.objects import Object
from store.published import book_object, key_of, manifest_object, read_published
from store.shared_folder import SharedFolder
from tests.publishing import Publisher


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A folder that machines share."""
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


@pytest.fixture
def publisher(tmp_path: Path, share: Path) -> Publisher:
    """A machine that publishes there."""
    return Publisher(tmp_path / "publisher", share.as_uri())


class Breaking(SharedFolder):
    """A shared folder after whose swap the data folder of a machine cannot be written."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        super().__init__(folder)
        self._ledger = data_dir / "ledger"

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        tag = super().swap(name, body, tag)
        self._ledger.rename(self._ledger.with_name("moved"))
        self._ledger.write_bytes(b"no folder")
        return tag


def test_a_commit_that_the_data_folder_cannot_follow_is_a_success_and_is_mended_later(
    publisher: Publisher, share: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher.night(0)
    breaking = Publisher(publisher.folder, share.as_uri(), Breaking(share, publisher.folder))

    made = breaking.night(1)

    assert publisher.published().active == made
    assert "It is published, but the copy in the data folder was not updated" in caplog.text
    ledger = publisher.folder / "ledger"
    ledger.unlink()
    ledger.with_name("moved").rename(ledger)
    publisher.nights.bring()
    assert publisher.nights.ledger.newest() == publisher.published().newest


class Leaving(SharedFolder):
    """A shared folder that goes away once the pointer was read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.missed = 0

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        if name.startswith("nights/"):
            self.missed += 1
            raise ObjectsError("It does not answer.")
        return super().read(name, most, known)


def test_a_store_that_goes_away_is_not_waited_for_once_for_each_night(
    publisher: Publisher, share: Path, tmp_path: Path
) -> None:
    for day in range(4):
        publisher.night(day)
    leaving = Leaving(share)

    Publisher(tmp_path / "fresh", share.as_uri(), leaving).nights.bring()

    assert leaving.missed == 1


class Interrupted(SharedFolder):
    """A shared folder in which something happens once, after an object was removed."""

    def __init__(self, folder: Path, happens: Callable[[], object]) -> None:
        super().__init__(folder)
        self._happens: list[Callable[[], object]] = [happens]

    def remove(self, name: str) -> None:
        super().remove(name)
        if self._happens:
            self._happens.pop()()


def test_a_prune_leaves_what_another_machine_publishes_meanwhile(
    publisher: Publisher, share: Path, tmp_path: Path
) -> None:
    old, *_ = [publisher.night(day) for day in range(3)]
    other = Publisher(tmp_path / "other", share.as_uri())
    shutil.copytree(publisher.folder, other.folder, dirs_exist_ok=True)

    def publishes() -> None:
        other.nights.bring()
        other.nights.activate(old.data_version)

    interrupted = Interrupted(share, publishes)
    pruning = Publisher(publisher.folder, share.as_uri(), interrupted)
    pruning.nights.bring()
    pruning.nights.prune(1)

    assert publisher.published().active == old
    assert is_whole(publisher, old)


class Pruned(SharedFolder):
    """A shared folder out of which a prune of another machine takes a night before its commit."""

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        for there in list(self.names("nights")):
            self.remove(there)
        return super().swap(name, body, tag)


def test_what_a_prune_took_away_before_a_commit_is_put_again(
    publisher: Publisher, share: Path
) -> None:
    made = Publisher(publisher.folder, share.as_uri(), Pruned(share)).night(0)

    assert is_whole(publisher, made)


def is_whole(publisher: Publisher, night: Manifest) -> bool:
    """Whether the store has the book and the manifest of a night."""
    key = key_of(night)
    return all(map(publisher.objects.has, (book_object(key), manifest_object(key))))


def test_a_pointer_to_a_night_that_the_store_does_not_keep_is_refused(publisher: Publisher) -> None:
    publisher.night(0)
    published = publisher.published()
    book = published.active.book.model_copy(update={"file": "20200101-0123456789ab.book"})
    other = published.active.model_copy(update={"book": book})
    for wrong in ({"active": other}, {"kept": ()}):
        body = published.model_copy(update=wrong).encode()
        with pytest.raises(ManifestError, match="names a night that it does not hold"):
            read_published(body, "test")
