"""Nights of a shared store: any machine goes on, one of two wins, and what is said of a commit is
what became of it.

Each machine is a data folder of its own.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.errors import (
    ConflictError,
    LedgerError,
    ManifestError,
    ObjectsError,
    OvertakenError,
    WithdrawnError,
)
from store.folder.files import replace_file
from store.ledger.ledger import Ledger
from store.ledger.objects import NEWEST
from store.nights.nights import Nights
from store.remote.objects import Object, Objects
from store.remote.pointer import (
    POINTER,
    book_object,
    key_of,
    manifest_object,
    read_published,
)
from tests.publishing import Publisher, make
from tests.store.ledger.ledgers import sealed_alone

NOW = dt.datetime(2026, 2, 1, 12, tzinfo=dt.UTC)

New = Callable[[str], Publisher]


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A folder that machines share."""
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


@pytest.fixture
def machine(tmp_path: Path, share: Path) -> New:
    """Makes a machine with a name that publishes there."""
    return lambda name: Publisher(tmp_path / name, share.as_uri())


@pytest.fixture
def publisher(machine: New) -> Publisher:
    """A machine that publishes there."""
    return machine("publisher")


def stored(objects: Objects) -> set[str]:
    """The names of all objects but the pointer."""
    return {name for folder in ("nights", "ledger") for name in objects.names(folder)}


def age(share: Path) -> None:
    """Let all that lies there have been put two days ago."""
    for path in share.rglob("*"):
        os.utime(path, (time.time() - 2 * 86400,) * 2)


def test_any_machine_makes_goes_back_to_and_withdraws_a_night(
    nights_url: str, tmp_path: Path
) -> None:
    a, b, fresh = (Publisher(tmp_path / name, nights_url) for name in ("a", "b", "fresh"))
    nights = [each.night(day) for day, each in enumerate((a, a, b))]
    for each in (a, b, fresh):
        assert each.check() == nights[2]
    published = a.published()
    assert published.active == nights[2]
    assert published.kept == tuple(key_of(night) for night in reversed(nights))
    assert published.newest == fresh.nights.ledger.newest()

    b.nights.activate(nights[0].data_version)
    assert a.check() == nights[0]
    a.nights.activate(nights[2].data_version)
    fresh.nights.pull()
    assert fresh.nights.withdraw(nights[2].data_version, "wrong bars", NOW) == nights[1]
    assert b.check() == nights[1]
    with pytest.raises(WithdrawnError):
        b.nights.activate(nights[2].data_version)
    assert b.nights.withdraw(nights[0].data_version, "wrong bars", NOW) is None
    assert a.check() == nights[1]
    gone = {night.data_version for night in (nights[0], nights[2])}
    assert a.nights.ledger.withdrawals().keys() == gone


def test_of_two_that_began_together_one_wins_and_the_other_is_told(machine: New) -> None:
    a, b = machine("a"), machine("b")
    a.night(0)
    b.nights.pull()
    won = a.night(1)
    before = stored(a.objects)

    with pytest.raises(OvertakenError, match="Another machine published"):
        make(b.nights, 1, hour=23)

    assert stored(a.objects) > before, "what the loser put is removed by a prune, a day later"
    assert a.published().active == a.check() == b.check() == won
    assert b.night(2) == a.check()


def test_pruning_removes_from_the_store_what_no_server_needs(machine: New, share: Path) -> None:
    a, b, late = machine("a"), machine("b"), machine("late")
    nights = [a.night(day) for day in range(3)]
    left, fresh = (book_object(f"2012010{day}-0123456789ab-0123456789abcdef") for day in (1, 2))
    a.objects.put(left, b"not committed")
    age(share)
    a.objects.put(fresh, b"not committed yet")
    for each in (b, late):
        each.nights.pull()

    assert b.nights.prune(1) == [nights[1].data_version, nights[0].data_version]

    key = key_of(nights[2])
    assert a.published().kept == (key,)
    ledger = set(a.objects.names("ledger"))
    assert len(ledger) == 3
    assert stored(a.objects) - ledger == {book_object(key), manifest_object(key), fresh}
    assert machine("fresh").check() == nights[2]
    with pytest.raises(OvertakenError):
        make(late.nights, 3)


def test_what_was_put_within_a_day_outlives_a_prune_since_it_may_be_about_to_be_committed(
    publisher: Publisher,
) -> None:
    old, *_ = [publisher.night(day) for day in range(3)]
    before = stored(publisher.objects)

    publisher.nights.prune(1)

    assert stored(publisher.objects) == before
    assert publisher.published().kept == (key_of(publisher.check()),)
    assert old not in publisher.nights.sealed()


def test_a_night_that_another_machine_goes_back_to_outlives_the_prune_that_would_remove_it(
    machine: New, share: Path
) -> None:
    class Meanwhile(Objects):
        def names(self, folder: str, before: dt.datetime | None = None) -> Iterator[str]:
            listed = list(super().names(folder, before))
            if folder == "nights":
                other.nights.pull()
                other.nights.activate(nights[0].data_version)
            return iter(listed)

    other = machine("other")
    nights = [other.night(day) for day in range(2)]
    age(share)
    pruning = Publisher(share.with_name("pruning"), share.as_uri(), Meanwhile(share.as_uri()))
    pruning.nights.pull()

    pruning.nights.prune(1)

    assert machine("fresh").check() == nights[0]


def test_a_night_is_withdrawn_where_the_copy_of_the_active_book_is_damaged(machine: New) -> None:
    a = machine("a")
    nights = [a.night(day) for day in range(2)]
    book = a.folder / "nights" / nights[1].book.file
    before = book.stat()
    book.write_bytes(bytes(before.st_size))
    os.utime(book, ns=(before.st_atime_ns, before.st_mtime_ns))

    a.withdraw(nights[0])

    assert machine("fresh").check() == nights[1]
    assert a.nights.verify(nights[1].data_version) == nights[1]


def test_an_empty_store_gets_all_that_the_first_machine_has(machine: New, tmp_path: Path) -> None:
    alone = Nights(tmp_path / "a")
    for day in range(3):
        make(alone, day)
    active = alone.check_active()
    a, fresh = machine("a"), machine("fresh")
    a.nights.pull()

    a.nights.activate(active.data_version)

    assert len(a.published().kept) == 3
    assert fresh.check() == active
    sealed = fresh.nights.sealed()
    assert sealed == alone.sealed()
    assert [fresh.nights.verify(night.data_version) for night in sealed] == sealed


def test_an_empty_store_gets_neither_withdrawn_nights_nor_those_that_are_not_on_record(
    machine: New, tmp_path: Path
) -> None:
    alone = Nights(tmp_path / "a")
    withdrawn, active = (make(alone, day) for day in range(2))
    alone.withdraw(withdrawn.data_version, "The bars were wrong.", NOW)
    off_record = sealed_alone(alone, 2, active.data_version)
    a, fresh = machine("a"), machine("fresh")
    a.nights.pull()

    a.nights.activate(active.data_version)

    assert off_record in alone.sealed()
    assert a.published().kept == (key_of(active),)
    assert fresh.check() == active
    assert fresh.nights.ledger.withdrawals().keys() == {withdrawn.data_version}


def test_a_folder_that_is_ahead_of_its_store_is_refused(publisher: Publisher) -> None:
    publisher.night(0)
    before = publisher.published()
    publisher.night(1)
    publisher.objects.put(POINTER, before.encode())  # as of a copy of the store that was put back
    with pytest.raises(LedgerError, match="beginning with object 2"):
        publisher.check()


def test_a_sound_object_of_another_ledger_is_refused(machine: New, tmp_path: Path) -> None:
    a = machine("a")
    a.night(0)
    make(other := Nights(tmp_path / "other"), 1)
    (name,) = other.ledger.names()
    a.objects.put(next(a.objects.names("ledger")), other.ledger.bytes_of(name))

    with pytest.raises(LedgerError, match="not what was appended"):
        machine("fresh").check()


def test_a_damaged_book_in_the_store_does_not_stop_the_next_night(machine: New) -> None:
    a = machine("a")
    night = a.night(0)
    a.objects.put(book_object(key_of(night)), b"wrong")
    new = machine("fresh").night(1)
    assert machine("other").check() == new


class Losing(Objects):
    """A shared folder of which one answer to a swap is lost, after another machine went on."""

    def __init__(self, url: str, other: Publisher) -> None:
        super().__init__(url)
        self._other = other

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        super().swap(name, body, tag)
        self._other.night(1)
        raise ConflictError("It was replaced.")


def test_a_lost_answer_is_a_success_even_if_others_went_on(machine: New, share: Path) -> None:
    a = Publisher(machine("a").folder, share.as_uri(), Losing(share.as_uri(), machine("other")))

    night = a.night(0)

    assert a.published().newest.number == 2
    assert a.nights.ledger.names()[0].version == night.data_version


def test_a_working_copy_killed_while_it_took_over_is_taken_over_again(machine: New) -> None:
    b = machine("b")
    for day in range(3):
        machine("a").night(day)
    active = b.check()
    ledger = Ledger(b.folder)
    _, second, third = ledger.names()
    noted = ledger.head(second).previous
    replace_file(b.folder / "ledger" / NEWEST, f'{{"number":1,"sha256":"{noted}"}}\n'.encode())
    (ledger.folder / third.file).unlink()
    (b.folder / "manifest.json").unlink()

    assert machine("b").check() == active


class Breaking(Objects):
    """A shared folder after whose swap the data folder of a machine cannot be written."""

    def __init__(self, url: str, data_dir: Path) -> None:
        super().__init__(url)
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
    breaking = Publisher(
        publisher.folder, share.as_uri(), Breaking(share.as_uri(), publisher.folder)
    )

    made = breaking.night(1)

    assert publisher.published().active == made
    assert "It is published, but the copy in the data folder was not updated" in caplog.text
    ledger = publisher.folder / "ledger"
    ledger.unlink()
    ledger.with_name("moved").rename(ledger)
    publisher.nights.pull()
    assert publisher.nights.ledger.newest() == publisher.published().newest


class Leaving(Objects):
    """A shared folder that goes away once the pointer was read."""

    missed = 0

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
    leaving = Leaving(share.as_uri())

    Publisher(tmp_path / "fresh", share.as_uri(), leaving).nights.pull()

    assert leaving.missed == 1


def test_a_pointer_to_a_night_that_the_store_does_not_keep_is_refused(publisher: Publisher) -> None:
    publisher.night(0)
    published = publisher.published()
    book = published.active.book.model_copy(update={"file": "20200101-0123456789ab.book"})
    other = published.active.model_copy(update={"book": book})
    for wrong in ({"active": other}, {"kept": ()}):
        body = published.model_copy(update=wrong).encode()
        with pytest.raises(ManifestError, match="names a night that it does not hold"):
            read_published(body, "test")
