"""The ledger: whatever is changed in it, taken from it or put into it is found.

Over 400 lines, because every way to damage one ledger is tried on the same few objects.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import LedgerError, ManifestError, WithdrawnError
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.objects import (
    MAX_LINES,
    MAX_OBJECT,
    MAX_REASON,
    Name,
    Newest,
    decoded,
    encoded,
)
from store.ledger.served import Tally
from store.ledger.verify import verify, walk
from store.nights.nights import Nights
from store.wire.families import Family
from tests.books import SESSION, write
from tests.store.ledger.ledgers import (
    DAY,
    NOW,
    append,
    files,
    four,
    manifest_of,
    outcome,
    put,
    recorded,
    sealed_alone,
    withdraw,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shutil.copytree(four() / "ledger", tmp_path / "data" / "ledger")
    return tmp_path / "data"


def faults(folder: Path) -> list[str]:
    return [fault.file for fault in verify(Ledger(folder)).faults]


def test_what_was_appended_verifies_and_adds_up(data: Path) -> None:
    verified = verify(Ledger(data))

    assert verified.faults == []
    assert (len(verified.nights), verified.withdrawals, verified.unnoted) == (3, 1, False)
    totals = verified.nights[3].as_served.families[Family.TRIANGLE]
    assert (totals.trades, totals.wins, totals.losses) == (2, 1, 1), "first attempts alone"
    assert (totals.win_pct, totals.loss_pct, totals.r) == (20.0, -10.0, 1.0)


def test_objects_are_private_undated_and_the_same_from_the_same_night(tmp_path: Path) -> None:
    for name in ("one", "two"):
        append(Ledger(tmp_path / name), 0, outcome("stop", -1.0, -5.0))
    (one,), (two,) = files(tmp_path / "one"), files(tmp_path / "two")

    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[4:8] == bytes(4), "gzip's time of writing"
    assert one.stat().st_mode & 0o777 == 0o600
    head, line = gzip.decompress(one.read_bytes()).splitlines()
    assert orjson.loads(head)["kind"] == "night"
    assert orjson.loads(line)["r_multiple"] == -1.0


@given(st.data())
def test_one_changed_byte_anywhere_is_found(drawn: st.DataObject) -> None:
    folder = Path(mkdtemp())
    shutil.copytree(four() / "ledger", folder / "ledger")
    path = drawn.draw(st.sampled_from([*files(folder), folder / "ledger" / "head.json"]))
    body = bytearray(path.read_bytes())
    place = drawn.draw(st.integers(0, len(body) - 1))
    body[place] ^= drawn.draw(st.integers(1, 255))
    path.write_bytes(body)

    assert faults(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("number", range(4))
def test_a_missing_object_is_found_and_named_by_its_place(data: Path, number: int) -> None:
    files(data)[number].unlink()

    assert faults(data)


def test_a_file_that_does_not_belong_there_is_named(data: Path) -> None:
    (data / "ledger" / "000002-again.jsonl.gz").write_bytes(b"")

    assert faults(data) == ["000002-again.jsonl.gz"]


def test_a_trade_that_ran_already_on_the_first_night_is_in_no_total(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    append(ledger, 0)
    append(ledger, 1, outcome("target", 2.0, 20.0, entered=SESSION), outcome("stop", -1.0, -10.0))

    verified = verify(ledger)

    totals = verified.nights[2].as_served.families[Family.TRIANGLE]
    assert (verified.faults, totals.trades, totals.wins) == ([], 1, 0)


def test_totals_that_do_not_add_up_are_found(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    append(ledger, 0)
    manifest = manifest_of(1)
    entry = NightEntry(2, 3, NOW, 1, Tally.begun(SESSION), [outcome("target", 2.0, 20.0)])
    put(ledger, manifest, entry)

    assert faults(tmp_path) == [files(tmp_path)[1].name]


def test_a_night_compared_with_one_of_its_own_session_is_found(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    first = append(ledger, 1)
    same = first.model_copy(update={"data_version": f"{first.data_version[:9]}{0:012x}"})
    put(ledger, same, NightEntry(2, 3, NOW, 1, Tally.begun(SESSION + DAY), []))

    (fault,) = verify(ledger).faults

    assert fault.what == "it is compared with a night that is not earlier"


@pytest.mark.parametrize(
    ("written", "checked", "words"),
    [(True, False, "it is of a simulated night"), (False, True, "its night was not simulated")],
)
def test_simulated_nights_and_published_ones_are_told_apart(
    tmp_path: Path, written: bool, checked: bool, words: str
) -> None:
    append(Ledger(tmp_path, simulated=written), 0)

    (fault,) = verify(Ledger(tmp_path, simulated=checked)).faults

    assert fault.what == words


def test_an_object_with_a_line_of_another_kind_is_no_list_of_lines(data: Path) -> None:
    ledger = Ledger(data)
    written = ledger.read(ledger.names()[1])

    with pytest.raises(LedgerError, match="a line is not one of the ledger"):
        replace(written, rows=[*written.rows, {"kind": "weather"}]).lines()


def test_a_first_object_that_follows_another_is_found(data: Path, tmp_path: Path) -> None:
    ledger = Ledger(data)
    written = ledger.read(ledger.names()[1])
    head = written.head.model_copy(update={"number": 1, "since": None})
    body = encoded(head)
    (tmp_path / "ledger").mkdir()
    name = Name(1, head.data_version).file
    (tmp_path / "ledger" / name).write_bytes(body)
    newest = Newest(number=1, sha256=hashlib.sha256(body).hexdigest())
    (tmp_path / "ledger" / "head.json").write_bytes(newest.encode())

    assert "an object before it is missing" in [f.what for f in verify(Ledger(tmp_path)).faults]


def test_nothing_is_appended_after_an_unnoted_object_that_follows_another_one(data: Path) -> None:
    newest = Newest(number=3, sha256="0" * 64)
    (data / "ledger" / "head.json").write_bytes(newest.encode())

    with pytest.raises(LedgerError, match=r"does not follow the object that head\.json names"):
        append(Ledger(data), 5)
    assert faults(data) == ["head.json"]


LARGE, LONG = "too long, or more than one file", "more than 200,000 lines"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body + b"\0", LARGE),
        (lambda body: body + body, LARGE),
        (lambda _: gzip.compress(bytes(MAX_OBJECT + 1)), LARGE),
        (lambda body: gzip.compress(gzip.decompress(body) + b"0\n" * MAX_LINES), LONG),
    ],
)
def test_an_object_is_one_compressed_file_within_its_bounds(
    data: Path, change: Callable[[bytes], bytes], words: str
) -> None:
    first = files(data)[0]
    first.write_bytes(change(first.read_bytes()))

    assert first.name in faults(data)
    with pytest.raises(LedgerError, match=words):
        decoded(Ledger(data).names()[0], first.read_bytes())


class Busy(Ledger):
    """A ledger to which a night is appended whenever its files have just been listed."""

    appended = 0

    def names(self) -> list[Name]:
        found = super().names()
        if self.appended < 3:
            self.appended += 1
            append(Ledger(self.folder.parent), 3 + self.appended)
        return found

    def bytes_of(self, name: Name, most: int = MAX_OBJECT + 1) -> bytes:
        if name.number == 2:
            append(Ledger(self.folder.parent), 9)
        return super().bytes_of(name, most)


def test_nights_that_are_appended_during_the_check_raise_no_alarm(data: Path) -> None:
    assert verify(Busy(data)).faults == []
    assert len(files(data)) == 8


def test_a_walk_reads_each_object_once_and_lists_the_folder_once(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, listed = Counter[str](), list[object]()
    open_file, list_folder = Path.open, os.listdir

    def opening(path: Path, *args: Any, **options: Any) -> Any:
        opened[path.name] += 1
        return open_file(path, *args, **options)

    def listing(folder: Path) -> list[str]:
        listed.append(folder)
        return list_folder(folder)

    monkeypatch.setattr(Path, "open", opening)
    monkeypatch.setattr(os, "listdir", listing)

    objects = list(walk(Ledger(data)))

    assert [name.number for name, _ in objects] == [1, 2, 3, 4]
    assert [opened[path.name] for path in files(data)] == [1, 1, 1, 1]
    assert len(listed) == 1


@pytest.mark.parametrize("number", range(5))
def test_a_walk_ends_with_an_error_at_whatever_is_wrong(data: Path, number: int) -> None:
    [*files(data), data / "ledger" / "head.json"][number].write_bytes(b"{}")

    with pytest.raises(LedgerError, match="of the ledger"):
        list(walk(Ledger(data)))


def test_an_object_under_the_name_of_another_night_is_found(data: Path) -> None:
    path = files(data)[1]
    renamed = path.with_name(f"000002-20200102-{'0' * 12}.jsonl.gz")
    path.rename(renamed)

    assert faults(data)
    with pytest.raises(LedgerError, match=f"^{renamed.name} .*that of {path.name}"):
        list(walk(Ledger(data)))


def test_what_was_not_appended_is_never_decoded(data: Path) -> None:
    second, last = files(data)[1], files(data)[-1]
    for path in (second, last):
        path.write_bytes(gzip.compress(b"{}\n" * 3))

    said = {fault.file: fault.what for fault in verify(Ledger(data)).faults}

    assert said[second.name] == said[last.name] == "it is not the one that was appended"


@pytest.mark.parametrize("content", [b"", b"{}", b'{"number":4, "sha256":null}'])
def test_a_fault_of_the_note_is_told_once(data: Path, content: bytes) -> None:
    (data / "ledger" / "head.json").write_bytes(content)

    (fault,) = verify(Ledger(data)).faults

    assert fault.file == "head.json"
    assert fault.what in ("it cannot be read", "it is not as it was written")


def test_a_run_killed_before_noting_the_newest_object_raises_no_alarm(data: Path) -> None:
    ledger = Ledger(data)
    before = (data / "ledger" / "head.json").read_bytes()
    manifest = append(ledger, 3)
    (data / "ledger" / "head.json").write_bytes(before)

    verified = verify(ledger)
    assert (verified.faults, verified.unnoted) == ([], True)
    append(ledger, 3)  # the same night again
    assert len(files(data)) == 5, "nothing is appended twice"
    assert not verify(ledger).unnoted
    (data / "ledger" / "head.json").write_bytes(before)
    append(ledger, 4)
    assert (faults(data), len(files(data))) == ([], 6)
    assert manifest.data_version in ledger.recorded()


def test_the_very_first_object_may_be_unnoted_too(tmp_path: Path) -> None:
    append(Ledger(tmp_path), 0)
    (tmp_path / "ledger" / "head.json").unlink()

    verified = verify(Ledger(tmp_path))
    assert (verified.faults, verified.unnoted) == ([], True)
    append(Ledger(tmp_path), 1)
    assert faults(tmp_path) == []


def test_nothing_is_appended_to_a_chain_whose_end_was_changed(data: Path) -> None:
    last = files(data)[-1]
    last.write_bytes(files(data)[0].read_bytes())
    with pytest.raises(LedgerError, match=last.name):
        append(Ledger(data), 5)

    last.unlink()
    with pytest.raises(LedgerError, match=r"head\.json"):
        append(Ledger(data), 5)


def test_a_night_is_compared_with_the_last_one_of_an_earlier_session(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    made = [append(ledger, number) for number in (0, 2, 1)]
    again = append(ledger, 1, bars="mended")
    sample = append(ledger, 1, bars="sample")

    def last(number: int, *, sample: bool = False) -> str | None:
        earlier = ledger.before(SESSION + number * DAY, sample=sample)
        return earlier[0].data_version if earlier else None

    assert last(0) is None
    assert last(1) == made[0].data_version
    assert last(2) == again.data_version, "what was published last of a session"
    assert last(3) == made[1].data_version, "the last session, whenever it was published"
    assert last(3, sample=True) == sample.data_version
    withdraw(ledger, made[1], "wrong bars")
    assert last(3) == again.data_version


def test_a_damaged_object_is_never_compared_with(data: Path) -> None:
    path = files(data)[1]
    path.write_bytes(path.read_bytes()[:-1] + b"\7")

    with pytest.raises(LedgerError, match=path.name):
        Ledger(data).before(SESSION + 2 * DAY, sample=False)


def test_a_withdrawn_night_gives_its_place_to_the_one_before_and_never_comes_back(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path)
    first, second, third = (recorded(nights, number) for number in range(3))

    assert nights.withdraw(third.data_version, "wrong splits", NOW) == second
    assert nights.active() == second
    with pytest.raises(WithdrawnError, match=r"withdrawn on 2026-01-09: wrong splits\. It is"):
        nights.activate(third.data_version)
    assert nights.withdraw(first.data_version, "these too", NOW) is None
    with pytest.raises(WithdrawnError, match="make one with"):
        nights.withdraw(second.data_version, "and these", NOW)
    assert nights.ledger.withdrawals().keys() == {first.data_version, third.data_version}
    assert nights.active() == second
    assert verify(nights.ledger).faults == []


@pytest.mark.parametrize("again", [True, False], ids=["said again", "the next run"])
def test_a_withdrawal_that_was_killed_half_way_is_ended(tmp_path: Path, again: bool) -> None:
    nights = Nights(tmp_path)
    first, second = recorded(nights, 0), recorded(nights, 1)
    withdraw(nights.ledger, second, "wrong")

    if again:
        assert nights.withdraw(second.data_version, "wrong", NOW) == first
    else:
        nights.sweep()

    assert nights.active() == first
    assert len(files(tmp_path)) == 3, "it is recorded once"
    withdraw(nights.ledger, first, "wrong too")
    nights.sweep()
    assert nights.active() == first, "none can take its place"


def test_the_last_recorded_night_of_a_session_takes_the_place_of_a_withdrawn_one(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path)
    older = recorded(nights, 0)
    made = [recorded(nights, 1, symbols=number) for number in (3, 4, 5, 6, 7)]

    for night, before in zip(made[:0:-1], made[-2::-1], strict=True):
        assert nights.withdraw(night.data_version, "wrong", NOW) == before
    assert nights.withdraw(made[0].data_version, "wrong", NOW) == older


@pytest.mark.parametrize(("bars", "other"), [("sample", "bars"), ("bars", "sample")])
def test_the_sample_and_other_bars_never_stand_in_for_each_other(
    tmp_path: Path, bars: str, other: str
) -> None:
    nights = Nights(tmp_path)
    alike = recorded(nights, 0, bars=other)
    recorded(nights, 1, bars=bars)
    night = recorded(nights, 2, bars=other)

    assert nights.withdraw(night.data_version, "wrong", NOW) == alike
    with pytest.raises(WithdrawnError, match="make one with"):
        nights.withdraw(alike.data_version, "wrong", NOW)


def test_no_night_of_a_later_session_takes_the_place_of_a_withdrawn_one(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    first, second, _ = (recorded(nights, number) for number in range(3))
    nights.activate(second.data_version)

    assert nights.withdraw(second.data_version, "wrong", NOW) == first


def test_a_night_that_was_sealed_and_not_recorded_is_never_activated(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    before_ledger = write(nights, session=SESSION - DAY)
    first = recorded(nights, 0)
    second = sealed_alone(nights, 1, first.data_version)
    third = recorded(nights, 2)

    with pytest.raises(ManifestError, match=r"not in the ledger.* run `screener nightly` again"):
        nights.activate(second.data_version)
    assert nights.withdraw(third.data_version, "wrong", NOW) == first
    assert nights.activate(before_ledger.data_version) == before_ledger
    nights.ledger.folder.rename(tmp_path / "aside")
    assert nights.activate(second.data_version) == second, "its ledger was moved away"


def test_a_night_on_record_that_a_killed_run_did_not_activate_is_activated(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    first = recorded(nights, 0)
    noted = (tmp_path / "ledger" / "head.json").read_bytes()
    second = recorded(nights, 1)
    older = nights.folder / f"{first.data_version}.json"
    nights.pointer.write_bytes(older.read_bytes())  # killed before activating

    (tmp_path / "ledger" / "head.json").unlink()
    with pytest.raises(LedgerError, match=r"head\.json"):
        nights.sweep()  # two objects and no note: this is no trace of a killed run
    nights.ledger.folder.joinpath("head.json").write_bytes(noted)
    nights.sweep()
    assert nights.active() == second
    assert not verify(nights.ledger).unnoted

    nights.activate(first.data_version)  # an operator's choice stays, also in a copy without times
    os.utime(nights.pointer, (0, 0))
    nights.sweep()
    assert nights.active() == first


def test_an_operator_may_choose_another_night_before_a_killed_run_is_ended(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    first, second = recorded(nights, 0), recorded(nights, 1)
    nights.ledger.folder.joinpath("head.json").unlink()
    files(tmp_path)[1].unlink()
    nights.ledger.note()
    put(nights.ledger, second, NightEntry(2, 3, NOW, None, Tally.begun(SESSION + DAY), []))

    nights.activate(first.data_version)
    nights.sweep()

    assert nights.active() == first


def test_only_an_intact_night_takes_the_place_of_a_withdrawn_one(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    first, second, third = (recorded(nights, number) for number in range(3))
    (nights.folder / second.book.file).write_bytes(b"torn")

    assert nights.withdraw(third.data_version, "wrong", NOW) == first


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "\x1b[2J", "x" * (MAX_REASON + 1)])
def test_a_withdrawal_needs_a_reason_that_can_be_shown(tmp_path: Path, reason: str) -> None:
    nights = Nights(tmp_path)
    recorded(nights, 0)
    night = recorded(nights, 1)

    with pytest.raises(LedgerError, match="1 to 500 printable"):
        nights.withdraw(night.data_version, reason, NOW)
    assert nights.active() == night


def test_pruning_removes_withdrawn_nights_and_leaves_the_ledger(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    made = [recorded(nights, number) for number in range(4)]
    nights.withdraw(made[2].data_version, "wrong", NOW)

    removed = nights.prune(keep=2)

    assert set(removed) == {made[0].data_version, made[2].data_version}
    assert len(files(tmp_path)) == 5
    assert verify(nights.ledger).faults == []


def test_a_ledger_that_is_a_file_stops_the_night_before_it_is_active(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    (tmp_path / "ledger").write_text("in the way")

    with pytest.raises(LedgerError, match="must be a folder"):
        recorded(nights, 0)
    assert nights.active() is None
    with pytest.raises(LedgerError, match="must be a folder"):
        verify(nights.ledger)
