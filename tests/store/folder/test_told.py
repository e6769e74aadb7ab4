"""What was told last: known for a while, and never a reason to fail."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from store.folder.told import MOST, MOST_BYTES, TOLD, ToldFile

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
DAY, HOUR = dt.timedelta(days=1), dt.timedelta(hours=1)


def test_what_was_told_is_known_for_so_long_whatever_is_told_next(tmp_path: Path) -> None:
    record = ToldFile(tmp_path)
    assert not record.knows("a", NOW, DAY)
    record.note("a", NOW)
    assert record.knows("a", NOW + 23 * HOUR, DAY)
    assert not record.knows("a", NOW + DAY, DAY)
    assert record.knows("a", NOW + 9999 * DAY, dt.timedelta.max)
    record.note("b", NOW)
    assert record.knows("a", NOW, DAY)
    assert record.knows("b", NOW, DAY)


def test_the_newest_are_known_however_much_is_told(tmp_path: Path) -> None:
    record = ToldFile(tmp_path)
    for number in range(2 * MOST):
        record.note(str(number), NOW + number * HOUR)
    known = [n for n in range(2 * MOST) if record.knows(str(n), NOW, dt.timedelta.max)]

    assert known == list(range(MOST, 2 * MOST))
    assert (tmp_path / TOLD).stat().st_size < MOST_BYTES


def test_a_clock_that_was_set_back_silences_nobody(tmp_path: Path) -> None:
    record = ToldFile(tmp_path)
    record.note("a", NOW + 400 * DAY)
    assert not record.knows("a", NOW, DAY)


def test_the_record_is_private_and_holds_no_words(tmp_path: Path) -> None:
    ToldFile(tmp_path).note("a reason", NOW)
    assert "a reason" not in (tmp_path / TOLD).read_text()
    assert (tmp_path / TOLD).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"\xff", b'{"digest": 1, "at": "never"}', b" " * 9999]
)
def test_a_record_that_is_none_knows_nothing(tmp_path: Path, body: bytes) -> None:
    (tmp_path / TOLD).write_bytes(body)
    assert not ToldFile(tmp_path).knows("a", NOW, DAY)


def test_a_record_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    record = ToldFile(tmp_path / "gone")
    record.note("a", NOW)
    assert not record.knows("a", NOW, DAY)
