"""Withdrawals are read newest first, and a damaged one never stops a night from being served."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import pytest

from store.ledger.ledger import MAX_NAMED, Ledger
from store.ledger.objects import MAX_REASON
from store.nights.active_night import ActiveNight
from store.nights.nights import Nights
from tests.books import SESSION, write
from tests.resealed import withdraw


def test_withdrawals_are_read_newest_first_and_the_newest_alone(tmp_path: Path) -> None:
    for number in range(1, MAX_NAMED + 6):
        version, reason = f"20121004-{number:012x}", "x" * MAX_REASON
        withdraw(tmp_path, number, data_version=version, reason=reason)

    found = Ledger(tmp_path).last_withdrawn()

    versions = [f"20121004-{number:012x}" for number in range(MAX_NAMED + 5, 5, -1)]
    assert [withdrawal.data_version for withdrawal in found] == versions
    assert {len(withdrawal.reason) for withdrawal in found} == {MAX_REASON}


def test_a_withdrawal_is_told_in_one_sentence(tmp_path: Path) -> None:
    withdraw(tmp_path, 7, reason=" Splits\nwere missing. ", at="2012-10-05T23:30:00-05:00")

    (found,) = Ledger(tmp_path).last_withdrawn()

    assert found.withdrawn_at == dt.datetime(2012, 10, 6, 4, 30, tzinfo=dt.UTC)
    assert found.words == (
        "The night of 2012-10-04 was withdrawn on 2012-10-06: Splits were missing."
    )


def test_without_a_ledger_nothing_was_withdrawn(tmp_path: Path) -> None:
    assert Ledger(tmp_path).last_withdrawn() == ()


GOOD = b'{"ledger":1,"kind":"withdrawal"}'


DAMAGED = {
    "empty": b"",
    "not gzip": b"not gzip",
    "cut off": gzip.compress(GOOD)[:-6],
    "overwritten": gzip.compress(GOOD)[:-9] + b"\xff" * 9,
    "a list": gzip.compress(b"[]"),
    "no text": gzip.compress(b"\xff\xfe"),
    "fields missing": gzip.compress(GOOD),
    "too long": gzip.compress(b" " * 5_000_000),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_withdrawal_is_left_out_and_the_night_is_served(
    data_dir: Path, content: bytes
) -> None:
    withdraw(data_dir, 3)
    (data_dir / "ledger" / "000004-20121004-0123456789ab.withdrawal.jsonl.gz").write_bytes(content)
    (data_dir / "ledger" / "000005-20121004-0123456789ab.withdrawal.jsonl.gz").mkdir()
    withdraw(data_dir, 6, at="0001-01-01T00:00:00+14:00")
    night = ActiveNight(data_dir, source="test", disclaimer="Not advice.")

    assert await night.poll()

    assert night.book.session == dt.date(2012, 10, 3)
    assert [withdrawal.as_of_session for withdrawal in night.withdrawn] == [dt.date(2012, 10, 4)]
    night.close()


async def test_a_running_service_learns_of_the_withdrawal_of_a_night_it_does_not_serve(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path)
    old, _ = write(nights), write(nights, session=SESSION + dt.timedelta(days=1))
    night = ActiveNight(tmp_path, source="test", disclaimer="Not advice.")
    await night.poll()

    nights.withdraw(old.data_version, "wrong", dt.datetime(2026, 1, 9, tzinfo=dt.UTC))
    await night.poll()

    assert [withdrawn.data_version for withdrawn in night.withdrawn] == [old.data_version]
    night.close()
