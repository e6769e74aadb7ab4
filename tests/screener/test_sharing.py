"""Nights that several machines share: any of them goes on, one of two wins, and a kill is no harm.

Each machine is a data folder of its own; the store is a shared folder or a bucket.
"""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nightly.night import make_night
from nightly.plan import Order
from screener.nightly import order_of, seal
from screener.settings import Settings
from screener.sharing import changing, looking, nights_of
from screener.start import seal_first_night
from store.chain import Chain
from store.errors import (
    ConflictError,
    LedgerError,
    ManifestError,
    OvertakenError,
    SealedError,
    WithdrawnError,
)
from store.files import replace_file
from store.ledger import Ledger
from store.ledger_file import NEWEST
from store.manifest import Manifest
from store.nights import Nights
from store.opening import open_objects
from store.published import (
    MOST_BYTES,
    POINTER,
    Published,
    book_object,
    key_of,
    read_published,
)
from store.shared_folder import SharedFolder
from store.shared_nights import SharedNights
from tests.screener import command
from tests.screener.command import check_refusal, environment

DAYS = [dt.date(2012, 10, day) for day in (1, 2, 3)]
OVERTAKEN, NOTHING_NEW = 9, 5

pytestmark = pytest.mark.timeout(600)


class Machines:
    """Machines that share one store."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self.objects = open_objects(url)
        self._folder = folder

    def settings(self, name: str) -> Settings:
        return Settings(data_dir=self._folder / name, nights_url=self.url)

    def seal(self, name: str, day: dt.date, *, only_new: bool = False) -> Manifest:
        settings = self.settings(name)
        return seal(settings, self.order(name, day, only_new=only_new))[0]

    def order(self, name: str, day: dt.date, *, only_new: bool = False) -> Order:
        return order_of(self.settings(name), session=day, jobs=1, only_new=only_new)

    def published(self) -> Published:
        found = self.objects.read(POINTER, MOST_BYTES)
        assert found is not None
        return read_published(found.body, self.url)

    def stored(self) -> set[str]:
        return {n for f in ("nights", "ledger") for n in self.objects.names(f)}

    def check(self, name: str) -> Manifest:
        """A machine's night after it looked, and that its whole ledger is what was appended."""
        nights = looking(self.settings(name))
        chain = Chain.of(Ledger(self._folder / name))
        assert not chain.faults
        return nights.check_active()


@pytest.fixture
def machines(nights_url: str, tmp_path: Path) -> Machines:
    return Machines(tmp_path, nights_url)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the nights of all days, made on one machine without a store."""
    folder = tmp_path_factory.mktemp("alone")
    for day in DAYS:
        settings = Settings(data_dir=folder)
        seal(settings, order_of(settings, session=day, jobs=1))
    return folder


def test_any_machine_makes_the_next_night_with_the_bytes_of_one_alone(
    machines: Machines, alone: Path
) -> None:
    made = [machines.seal(name, day) for name, day in zip("aab", DAYS, strict=True)]

    assert made == sorted(Nights(alone).sealed(), key=lambda night: night.as_of_session)
    assert [machines.check(name) for name in ("a", "b", "fresh")] == [made[-1]] * 3
    published = machines.published()
    assert published.active == made[-1]
    assert published.kept == tuple(key_of(night) for night in reversed(made))
    assert published.newest == Ledger(machines.settings("fresh").data_dir).newest()


def test_a_night_that_is_published_is_nothing_new_on_any_machine(machines: Machines) -> None:
    machines.seal("a", DAYS[0])
    with pytest.raises(SealedError):
        machines.seal("b", DAYS[0], only_new=True)


def test_of_two_that_began_together_one_wins_and_the_other_is_told(machines: Machines) -> None:
    machines.seal("a", DAYS[0])
    first, second = (nights_of(machines.settings(name)) for name in "ab")
    first.bring()
    second.bring()
    now = dt.datetime.now(dt.UTC)
    won, _ = make_night(machines.order("a", DAYS[1]), first, now=now)
    before = machines.stored()

    with pytest.raises(OvertakenError, match="Another machine published"):
        make_night(machines.order("b", DAYS[1]), second, now=now + dt.timedelta(seconds=1))

    assert machines.published().active == won
    assert machines.stored() == before, "what the loser put is gone, or is the winner's too"
    assert machines.check("a") == machines.check("b") == won
    assert machines.seal("b", DAYS[2]).inputs.since == won.data_version


def test_two_commands_at_once_end_with_one_night(machines: Machines) -> None:
    def run(name: str) -> int:
        data = machines.settings(name).data_dir
        arguments = ["nightly", "--session", str(DAYS[0]), "--jobs", "1"]
        done = command.run_process(data, *arguments, SCREENER_NIGHTS_URL=machines.url)
        assert "Traceback" not in done.stderr
        return done.returncode

    with ThreadPoolExecutor(2) as threads:
        codes = sorted(threads.map(run, "ab"))

    assert codes[0] == 0
    assert codes[1] in (OVERTAKEN, NOTHING_NEW)
    assert machines.check("a") == machines.check("b")
    assert machines.published().newest.number == 1


def test_a_night_is_activated_and_withdrawn_from_any_machine(machines: Machines) -> None:
    old, new = machines.seal("a", DAYS[0]), machines.seal("a", DAYS[1])
    with changing(machines.settings("b")) as nights:
        nights.activate(old.data_version)
    assert machines.check("a") == old
    with changing(machines.settings("a")) as nights:
        nights.activate(new.data_version)
    with changing(machines.settings("c")) as nights:
        assert nights.withdraw(new.data_version, "wrong bars", dt.datetime.now(dt.UTC)) == old
    assert machines.check("b") == old
    with pytest.raises(WithdrawnError), changing(machines.settings("b")) as nights:
        nights.activate(new.data_version)


def test_a_withdrawal_of_another_night_is_published_too(machines: Machines) -> None:
    old, new = machines.seal("a", DAYS[0]), machines.seal("a", DAYS[1])
    with changing(machines.settings("b")) as nights:
        assert nights.withdraw(old.data_version, "wrong bars", dt.datetime.now(dt.UTC)) is None
    assert machines.check("a") == new
    assert Nights(machines.settings("a").data_dir).ledger.withdrawals().keys() == {old.data_version}


def test_pruning_removes_from_the_store_what_no_server_needs(machines: Machines) -> None:
    made = [machines.seal("a", day) for day in DAYS]
    machines.objects.put(book_object("20120101-0123456789ab-0123456789abcdef"), b"not committed")
    with changing(machines.settings("b")) as nights:
        assert nights.prune(1) == [made[1].data_version, made[0].data_version]
    assert machines.published().kept == (key_of(made[2]),)
    stored = machines.stored()
    assert {name for name in stored if "ledger" not in name} == {
        book_object(key_of(made[2])),
        f"nights/{key_of(made[2])}.json",
    }
    assert len(stored) == 5
    assert machines.check("fresh") == made[2]


def test_whoever_began_before_a_pruning_is_told(machines: Machines) -> None:
    machines.seal("a", DAYS[0])
    late = nights_of(machines.settings("b"))
    late.bring()
    with changing(machines.settings("a")) as nights:
        nights.prune(1)
    with pytest.raises(OvertakenError):
        make_night(machines.order("b", DAYS[1]), late, now=dt.datetime.now(dt.UTC))


def test_an_empty_store_gets_all_that_the_first_machine_has(
    machines: Machines, alone: Path
) -> None:
    shutil.copytree(alone, machines.settings("a").data_dir)
    active = Nights(alone).check_active()
    with changing(machines.settings("a")) as nights:
        nights.activate(active.data_version)
    assert len(machines.published().kept) == len(DAYS)
    assert machines.check("fresh") == active
    fresh = looking(machines.settings("fresh"))
    assert [fresh.verify(night.data_version) for night in fresh.sealed()] == Nights(alone).sealed()


def test_a_folder_with_another_ledger_is_refused(machines: Machines, alone: Path) -> None:
    machines.seal("a", DAYS[0])
    shutil.copytree(alone, machines.settings("b").data_dir)
    with pytest.raises(LedgerError, match=r"differs from that of .* from object"):
        machines.seal("b", DAYS[2])
    assert machines.published().newest.number == 1


def test_a_folder_that_is_ahead_of_its_store_is_refused(machines: Machines) -> None:
    machines.seal("a", DAYS[0])
    found = machines.objects.read(POINTER, MOST_BYTES)
    assert found is not None
    machines.seal("a", DAYS[1])
    machines.objects.put(POINTER, found.body)  # as of a copy of the store that was put back
    with pytest.raises(LedgerError, match="from object 2 on"):
        machines.check("a")


@pytest.mark.parametrize("kind", ["nights", "ledger", "pointer"])
def test_wrong_bytes_in_the_store_are_refused(machines: Machines, alone: Path, kind: str) -> None:
    made = machines.seal("a", DAYS[0])
    if kind == "pointer":
        machines.objects.put(POINTER, b"{}")
    elif kind == "ledger":
        other = Ledger(alone)  # a sound object, with another digest
        body = other.bytes_of(other.names()[0])
        machines.objects.put(next(machines.objects.names("ledger")), body)
    else:
        machines.objects.put(book_object(key_of(made)), bytes(made.book.bytes))
    with pytest.raises((ManifestError, LedgerError)):
        machines.check("fresh")
    folder = machines.settings("fresh").data_dir
    assert not (folder / "manifest.json").exists()
    assert not list(folder.rglob("*.book"))
    assert not list(folder.rglob("*.draft"))


def test_a_damaged_book_in_the_store_does_not_stop_the_next_night(machines: Machines) -> None:
    made = machines.seal("a", DAYS[0])
    machines.objects.put(book_object(key_of(made)), b"wrong")
    new = machines.seal("fresh", DAYS[1])
    assert machines.check("other") == new


class Losing(SharedFolder):
    """A shared folder of which one answer to a swap is lost, after another machine went on."""

    def __init__(self, folder: Path, machines: Machines) -> None:
        super().__init__(folder)
        self._machines = machines

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        super().swap(name, body, tag)
        self._machines.seal("other", DAYS[1])
        raise ConflictError("It was replaced.")


def test_a_lost_answer_is_a_success_even_if_others_went_on(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    machines = Machines(tmp_path, folder.as_uri())
    nights = SharedNights(machines.settings("a").data_dir, Losing(folder, machines))
    nights.bring()
    now = dt.datetime.now(dt.UTC)
    made, _ = make_night(machines.order("a", DAYS[0]), nights, now=now)
    assert machines.published().newest.number == 2
    assert Ledger(machines.settings("a").data_dir).names()[0].version == made.data_version


def test_a_working_copy_killed_while_it_took_over_is_taken_over_again(machines: Machines) -> None:
    for day in DAYS:
        machines.seal("a", day)
    active = machines.check("b")
    folder = machines.settings("b").data_dir
    ledger = Ledger(folder)
    *_, third = ledger.names()
    replace_file(folder / "ledger" / NEWEST, b'{"number":1,"sha256":"%s"}\n' % _digest(ledger, 2))
    (ledger.folder / third.file).unlink()
    (folder / "manifest.json").unlink()
    assert machines.check("b") == active


def _digest(ledger: Ledger, number: int) -> bytes:
    previous = ledger.head(ledger.names()[number - 1]).previous
    assert previous is not None
    return previous.encode()


def test_a_first_start_takes_the_shared_night_and_makes_no_sample(machines: Machines) -> None:
    made = machines.seal("a", DAYS[0])
    seal_first_night(machines.settings("fresh"))
    assert machines.published().active == made
    assert Nights(machines.settings("fresh").data_dir).check_active() == made


def test_a_store_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    away = (tmp_path / "away").as_uri()
    done = command.run(tmp_path / "data", "night", "prune", "--keep", "1", SCREENER_NIGHTS_URL=away)
    check_refusal(done, "There is no folder at file:///", 8)
    done = command.run(tmp_path / "data", "night", "list", SCREENER_NIGHTS_URL=away)
    assert done.returncode == 0
    assert "What follows is the copy in" in done.stderr


@pytest.mark.engine
def test_a_nightly_killed_before_any_step_leaves_the_old_night_or_the_new(tmp_path: Path) -> None:
    (tmp_path / "0" / "shared").mkdir(parents=True)
    start = Machines(tmp_path / "0", (tmp_path / "0" / "shared").as_uri())
    old = start.seal("a", DAYS[0])
    shutil.copytree(tmp_path / "0", tmp_path / "whole")
    told = _killed(tmp_path / "whole", 0)
    new = Machines(tmp_path, (tmp_path / "whole" / "shared").as_uri()).published().active
    changes = [line for line in told.splitlines() if line.startswith("change ")]
    first = next(n for n, line in enumerate(changes, 1) if "/shared/nights" in line)
    ends = ("os.rename", "os.remove", "os.rmdir")  # before others nothing has another state
    steps = [n for n, line in enumerate(changes, 1) if n >= first and line.split()[1] in ends]

    def kill(number: int) -> Path:
        folder = tmp_path / f"killed-{number}"
        shutil.copytree(tmp_path / "0", folder)
        _killed(folder, number)
        return folder

    def left_in(number: int, folder: Path) -> Manifest:
        machines = Machines(folder, (folder / "shared").as_uri())
        left = machines.published().active
        again = "a" if number % 2 else "fresh"
        if left == new:
            with pytest.raises(SealedError):
                machines.seal(again, DAYS[1], only_new=True)
        else:
            assert machines.seal(again, DAYS[1], only_new=True) == new
        for name in ("a", "fresh"):
            assert machines.check(name) == new
        assert machines.published().newest.number == 2
        return left

    with ThreadPoolExecutor(2) as threads:
        folders = threads.map(kill, steps)
        left = [left_in(number, folder) for number, folder in zip(steps, folders, strict=True)]
    assert {night.data_version for night in left} == {old.data_version, new.data_version}


def _killed(folder: Path, number: int) -> str:
    """Run the nightly of one machine, killed before its n-th change of a file. Progress is not
    counted, because the clock decides how often it is written.
    """
    killed = [sys.executable, "-m", "tests.faults.killed", "--but", "progress.json"]
    arguments = ["nightly", "--session", str(DAYS[1]), "--jobs", "1"]
    done = subprocess.run(
        [*killed, str(folder), str(number), *arguments],
        env=environment(folder / "a", SCREENER_NIGHTS_URL=(folder / "shared").as_uri()),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == (0 if number == 0 else -9), done.stderr
    return done.stderr
