"""The record of a run: whole, bounded, without folders, and never of a run that is dead."""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from store.errors import BusyError
from store.folder.layout import DataFolder
from store.folder.progress import (
    MAX_BYTES,
    MAX_NAMED,
    MAX_TEXT,
    NAMED_FOR_EACH,
    STOPPED,
    Progress,
    ProgressFile,
)


def record_of(file: ProgressFile) -> Progress:
    """The record of the newest run, which is there."""
    progress = file.read()
    assert progress is not None
    return progress


def test_a_run_is_at_work_until_it_says_how_it_ended(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    with file.recording("bars") as record:
        record.step("finding patterns", 3, 9)
        during = record_of(file)
        record.end("published", data_version="20240328-0123456789ab")
        record.end("failed", "A second end is not one.")
    after = record_of(file)

    assert during.working
    shown = during.bars, during.step, during.done, during.total
    assert shown == ("bars", "finding patterns", 3, 9)
    assert (after.state, after.data_version) == ("published", "20240328-0123456789ab")


def test_readers_do_not_take_each_other_for_a_run(tmp_path: Path) -> None:
    with ProgressFile(tmp_path).recording("bars"):
        pass
    with ThreadPoolExecutor(8) as readers:
        found = list(readers.map(lambda _: ProgressFile(tmp_path).read(), range(2_000)))

    assert {one and (one.state, one.message) for one in found} == {("failed", STOPPED)}


def test_a_record_without_its_lock_is_of_a_run_that_was_stopped(tmp_path: Path) -> None:
    with ProgressFile(tmp_path).recording("bars"):
        pass
    DataFolder(tmp_path).lock.unlink()

    assert record_of(ProgressFile(tmp_path)).message == STOPPED


def test_a_second_run_is_refused_and_leaves_the_record_of_the_first_alone(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    with file.recording("first") as record:
        with pytest.raises(BusyError), file.recording("second"):
            pass
        record.step("putting it together", 0, 0)
        found = record_of(file)

    assert found.working
    assert (found.bars, found.step) == ("first", "putting it together")


def test_an_announced_run_is_at_work_for_a_minute_and_then_was_stopped(tmp_path: Path) -> None:
    now = [dt.datetime(2026, 1, 2, 21, 30, tzinfo=dt.UTC)]
    file = ProgressFile(tmp_path, clock=lambda: now[0])
    file.announce("bars")
    at_once = record_of(file)
    now[0] += dt.timedelta(minutes=2)
    later = record_of(file)

    assert (at_once.state, at_once.bars) == ("working", "bars")
    assert later.state == "failed"


def test_an_announcement_does_not_hide_a_run_that_is_under_way(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    with file.recording("first"):
        file.announce("second")
        found = record_of(file)

    assert found.bars == "first"


def test_what_is_left_out_is_counted_and_a_bounded_part_is_named(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    with file.recording("bars") as record:
        for number in range(10_000):
            name = f"below/{number}-{'x' * 300}.csv"
            record.leave_out(name, "unreadable_file", f"{name} is empty.")
            record.leave_out(f"S{number}", f"code {number}", "It is.")
        record.step("finding patterns", 1, 1)
        found = record_of(file)

    assert found.left[-1].count == 10_000
    assert len(found.left[-1].named) == NAMED_FOR_EACH
    assert sum(len(left.named) for left in found.left) == MAX_NAMED
    texts = [text for left in found.left for pair in left.named.items() for text in pair]
    assert max(map(len, texts)) == MAX_TEXT
    assert not any("below" in text for text in texts)
    assert DataFolder(tmp_path).progress.stat().st_size < MAX_BYTES


def test_no_text_of_the_record_steers_who_reads_it(tmp_path: Path) -> None:
    folder = ProgressFile(tmp_path)
    with folder.recording("\u202esrab\x1b[2J") as record:
        record.leave_out("\x9b\u2066A.csv", "unreadable_file", "\x00\u200fis none")
        record.end("failed", "It\x07 failed.\n\u2069")
    found = record_of(folder)

    ((name, reason),) = found.left[0].named.items()
    texts = (found.bars, found.message, name, reason)
    assert all(text.isprintable() for text in texts)
    assert [text.strip("\N{REPLACEMENT CHARACTER} ") for text in texts][3] == "is none"


def test_the_end_names_what_the_night_left_out_and_nothing_else(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    with file.recording("bars") as record:
        record.leave_out("AAPL", "gap", "It has a gap.")
        record.end("published", left={"behind": {"IBM": "It is behind."}})
    found = record_of(file)

    assert [(left.code, left.count, left.named) for left in found.left] == [
        ("behind", 1, {"IBM": "It is behind."})
    ]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"state": "working"}', b"\xff\xfe", b" " * (MAX_BYTES + 1)],
)
def test_a_damaged_record_is_no_record(tmp_path: Path, body: bytes) -> None:
    DataFolder(tmp_path).progress.write_bytes(body)

    assert ProgressFile(tmp_path).read() is None


def test_the_record_is_its_owner_s_alone_and_holds_one_object(tmp_path: Path) -> None:
    with ProgressFile(tmp_path).recording("bars") as record:
        record.end("failed", "Line one.\nLine two.")

    path = DataFolder(tmp_path).progress
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text())["message"] == "Line one. Line two."


def test_a_record_that_cannot_be_written_stops_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with ProgressFile(folder).recording("bars") as record:
        DataFolder(folder).progress.unlink()
        DataFolder(folder).progress.mkdir()
        record.step("finding patterns", 1, 2)
        record.end("published")

    assert ProgressFile(folder).read() is None
