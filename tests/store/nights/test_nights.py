"""Sealed nights: published by one replacement, verified byte for byte, rolled back and pruned."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from store.errors import BookError, ManifestError, PublishError
from store.ledger.manifest import Manifest, read_manifest
from store.nights.active_night import ActiveNight
from store.nights.book import Book
from store.nights.nights import Nights
from store.nights.publish import BookWriter, fall_behind
from store.wire.families import Family
from store.wire.records import TickerRecord
from tests.books import SESSION, write


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """The nights of an empty data folder."""
    return Nights(tmp_path)


@pytest.fixture
def active_night(nights: Nights) -> Iterator[ActiveNight]:
    """What a service serves of them."""
    with closing(ActiveNight(nights.pointer.parent, source="s", disclaimer="d")) as night:
        yield night


def test_a_failed_night_publishes_nothing_and_leaves_the_old_one(nights: Nights) -> None:
    old = write(nights)

    with pytest.raises(PublishError, match="lacks a family"):
        write(nights, symbols=4, families=4)

    assert nights.active() == old
    assert [night.data_version for night in nights.sealed()] == [old.data_version]
    assert sorted(path.suffix for path in nights.folder.glob("[!.]*")) == [".book", ".json"]
    assert not list(nights.folder.glob("*.draft"))


def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_clear(
    nights: Nights, tmp_path: Path
) -> None:
    kept = write(nights)
    left = (
        nights.folder / ".20260102-000000000000.999.draft",
        nights.folder / ".20260102-000000000000.json.x1y2.draft",
        nights.folder / "20260102-000000000000.book",
        tmp_path / ".manifest.json.x1y2.draft",
    )
    for path in left:
        path.write_bytes(b"half of it")

    nights.sweep()

    assert not any(path.exists() for path in left)
    assert nights.check_active() == kept


def twice(writer: BookWriter) -> None:
    writer.add_symbol("S0", covered=True, reason=None)


def of_no_family(writer: BookWriter) -> None:
    writer.add_symbol("BAD", covered=True, reason=None)
    writer.add_history("BAD", "w", [b'{"family":"cup"}'])


def of_nothing(writer: BookWriter) -> None:
    writer.add_ticker_record(TickerRecord(symbol="S0", available=True, records=[]))
    writer._db.execute("UPDATE ticker_records SET body = '{}'")  # what no writer leaves behind


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (twice, "cannot be written"),
        (of_no_family, "history is invalid"),
        (of_nothing, "ticker_records is invalid"),
    ],
)
def test_a_record_that_is_invalid_or_cannot_be_written_is_never_published(
    nights: Nights, spoil: Callable[[BookWriter], None], words: str
) -> None:
    with pytest.raises(PublishError, match=words):
        write(nights, spoil=spoil)


def test_a_night_that_covers_far_less_than_the_last_is_held_back(nights: Nights) -> None:
    old = write(nights, symbols=10)
    next_day = SESSION + dt.timedelta(days=1)

    with pytest.raises(PublishError, match="--accept-fall"):
        write(nights, session=next_day, symbols=4)
    assert nights.active() == old

    assert write(nights, session=next_day, symbols=4, accept_fall=True).counts.covered == 4


def test_nights_of_other_bars_or_of_another_time_are_not_compared(nights: Nights) -> None:
    write(nights, symbols=10)
    write(nights, symbols=2, bars="b")

    write(nights, symbols=10, session=SESSION + dt.timedelta(days=1))
    assert write(nights, symbols=2, session=SESSION - dt.timedelta(days=900)).counts.covered == 2


@pytest.mark.parametrize(("detector", "held_back"), [(2, True), (1, False), (None, False)])
def test_history_is_compared_only_between_nights_of_one_detector(
    tmp_path: Path, detector: int | None, held_back: bool
) -> None:
    night = write(Nights(tmp_path))

    def of(detector: int | None, history: int) -> Manifest:
        parameters = {} if detector is None else {"detector": detector}
        inputs = night.inputs.model_copy(update={"parameters": parameters})
        counts = night.counts.model_copy(update={"history": history})
        return night.model_copy(update={"inputs": inputs, "counts": counts})

    fall = fall_behind(of(detector, 98), of(2, 6))
    assert (fall is not None) == held_back


@pytest.mark.parametrize("version", ["nonsense", "../../etc", "20260102-000000000000"])
def test_an_unknown_version_is_named_as_such(tmp_path: Path, version: str) -> None:
    with pytest.raises(ManifestError, match="There is no night"):
        Nights(tmp_path).get(version)


def test_pruning_keeps_the_newest_and_always_the_active_one(nights: Nights) -> None:
    made = [write(nights, session=SESSION + dt.timedelta(days=n)) for n in range(4)]
    nights.activate(made[0].data_version)
    (nights.charts / made[1].data_version).mkdir(parents=True)

    removed = nights.prune(keep=1)

    assert set(removed) == {made[1].data_version, made[2].data_version}
    assert {night.data_version for night in nights.sealed()} == {
        made[0].data_version,
        made[3].data_version,
    }
    assert not (nights.charts / made[1].data_version).exists()


def test_a_manifest_of_another_schema_is_refused(nights: Nights) -> None:
    manifest = write(nights)
    nights.pointer.write_bytes(manifest.model_copy(update={"schema_version": 99}).encode())

    with pytest.raises(ManifestError, match="schema 99"):
        read_manifest(nights.pointer)


def test_a_book_of_another_schema_is_refused(nights: Nights) -> None:
    manifest = write(nights)
    path = nights.folder / manifest.book.file
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(BookError, match="schema 99"):
        Book.open(path, manifest)


async def test_a_pin_keeps_its_book_while_another_night_is_published(
    nights: Nights, active_night: ActiveNight
) -> None:
    old = write(nights)
    await active_night.poll()

    with active_night.pin() as pinned:
        new = write(nights, session=SESSION + dt.timedelta(days=1))
        await active_night.poll()
        with active_night.pin() as fresh:
            assert fresh.data_version == new.data_version
        assert pinned.data_version == old.data_version
        assert pinned.patterns("S0") is not None
    with pytest.raises(sqlite3.ProgrammingError):
        pinned.patterns("S0")


async def test_a_night_that_is_damaged_while_it_is_served_is_served_no_longer(
    nights: Nights, active_night: ActiveNight
) -> None:
    manifest = write(nights)
    await active_night.poll()
    path = nights.folder / manifest.book.file
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    assert not await active_night.poll()
    assert active_night.book.session is None
    assert "not the one that was sealed" in active_night.fault

    path.write_bytes(whole)
    assert await active_night.poll()
    assert active_night.book.data_version == manifest.data_version
    assert active_night.fault == ""


async def test_a_wrong_manifest_that_gives_way_to_the_one_served_is_forgotten(
    nights: Nights,
    active_night: ActiveNight,
    tmp_path: Path,
) -> None:
    manifest = write(nights)
    # Through a link the file that comes back is the one that was opened, with all its times.
    sealed, wrong = tmp_path / "sealed.json", tmp_path / "wrong.json"
    nights.pointer.rename(sealed)
    wrong.write_bytes(b"{")
    nights.pointer.symlink_to(sealed)
    await active_night.poll()

    point_to(nights.pointer, wrong)
    assert not await active_night.poll()
    assert active_night.fault

    point_to(nights.pointer, sealed)
    assert await active_night.poll()
    assert active_night.fault == ""
    assert active_night.book.data_version == manifest.data_version


def point_to(link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


async def test_a_night_whose_file_is_touched_or_removed_goes_on_being_served(
    nights: Nights, active_night: ActiveNight
) -> None:
    manifest = write(nights)
    await active_night.poll()
    path = nights.folder / manifest.book.file
    served = active_night.book

    os.utime(path, ns=(0, 0))
    touched = await active_night.poll()
    path.unlink()
    removed = await active_night.poll()

    assert (touched, removed) == (True, True)
    assert active_night.book is served


async def test_a_manifest_that_is_not_the_sealed_one_is_not_served(
    nights: Nights, active_night: ActiveNight
) -> None:
    manifest = write(nights)
    other = manifest.model_copy(update={"source": manifest.source + "!"})
    nights.pointer.write_bytes(other.encode())

    assert not await active_night.poll()
    assert active_night.book.session is None
    with pytest.raises(ManifestError, match="not the one that was sealed"):
        nights.check_active()


async def test_whatever_is_wrong_inside_a_new_night_the_old_one_stays(
    nights: Nights, active_night: ActiveNight
) -> None:
    old = write(nights)
    await active_night.poll()

    def spoil(writer: BookWriter) -> None:
        writer.add_numbers("rsi", np.array([50.0]))
        writer._db.execute("UPDATE evidence SET body = x'00'")  # what no writer leaves behind

    write(nights, session=SESSION + dt.timedelta(days=1), spoil=spoil)

    assert not await active_night.poll()
    assert active_night.book.data_version == old.data_version


async def test_a_night_whose_manifest_arrives_before_its_book_is_served_once_it_is_there(
    nights: Nights, active_night: ActiveNight
) -> None:
    manifest = write(nights)
    book = nights.folder / manifest.book.file
    content = book.read_bytes()

    book.unlink()
    missing = await active_night.poll()
    book.write_bytes(content[: len(content) // 2])
    cut = await active_night.poll()
    book.write_bytes(content)
    whole = await active_night.poll()

    assert (missing, cut, whole) == (False, False, True)
    assert active_night.book.data_version == manifest.data_version


async def test_before_the_first_night_the_book_is_empty(active_night: ActiveNight) -> None:
    await active_night.poll()

    with active_night.pin() as book:
        assert book.session is None
        assert book.coverage("AAPL") is None
        assert b'"track_record":null' in book.family(Family.TRIANGLE)


def test_a_verified_book_is_read_whole_again_only_when_its_file_has_changed(nights: Nights) -> None:
    manifest = write(nights)
    book = nights.folder / manifest.book.file
    times = book.stat().st_atime_ns, book.stat().st_mtime_ns
    content = book.read_bytes()

    book.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(book, ns=times)  # what no writer leaves behind
    assert nights.check_active() == manifest
    for check in (nights.verify, nights.activate):
        with pytest.raises(ManifestError, match="not the one that was sealed"):
            check(manifest.data_version)
    with pytest.raises(ManifestError, match="not the one that was sealed"):
        nights.check_active()  # once it was found out, nobody trusts an earlier look any more

    book.write_bytes(content)
    assert nights.check_active() == manifest
    book.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ManifestError, match="not the one that was sealed"):
        nights.check_active()
