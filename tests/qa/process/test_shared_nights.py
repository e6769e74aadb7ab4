"""A machine that is killed at any moment leaves its folder, and a shared store, old or new."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from store.ledger.manifest import Manifest, read_manifest, verify_book
from store.ledger.verify import verify
from store.nights.nights import Nights
from store.remote.follower import Follower
from store.remote.objects import Objects
from tests.publishing import Publisher, make
from tests.qa.process.moments import moments_of

NOW = dt.datetime(2026, 2, 1, 12, tzinfo=dt.UTC)


def machine(folder: Path, name: str) -> Publisher:
    """A machine whose store is the folder `share` beside it."""
    return Publisher(folder / name, (folder / "share").as_uri())


def publish(folder: Path) -> None:
    machine(folder, "a").night(1)


def follow(folder: Path) -> None:
    objects = Objects((folder / "share").as_uri())
    assert Follower(folder / "server", objects, seconds=20, kept=3, clock=lambda: NOW).look()


def killed_anywhere(start: Path, work: Callable[[Path], None]) -> list[Path]:
    """What a folder is before each change that the work makes in it, as a kill leaves it."""
    work_in = Path(shutil.copytree(start, start.with_name("work")))
    return moments_of(partial(work, work_in), work_in, start.with_name("killed"))


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A folder with a store that has one night, which machine `a` made and a server follows."""
    folder = tmp_path / "start"
    (folder / "share").mkdir(parents=True)
    machine(folder, "a").night(0)
    follow(folder)
    return folder


def make_alone(folder: Path) -> None:
    nights = Nights(folder / "alone")
    nights.sweep()
    make(nights, 1)


def test_a_night_that_is_killed_anywhere_is_the_old_one_or_the_new_one(start: Path) -> None:
    old, seen = make(Nights(start / "alone")), list[tuple[bool, int]]()
    for folder in killed_anywhere(start, make_alone):
        nights = Nights(folder / "alone")
        seen.append((nights.check_active() == old, len(nights.ledger.names())))
        make_alone(folder)
        assert nights.check_active().as_of_session > old.as_of_session
        assert not [path for path in folder.rglob("*") if ".draft" in path.name]
        verified = verify(nights.ledger)
        assert (verified.faults, len(verified.nights), verified.unnoted) == ([], 2, False)
    assert list(dict.fromkeys(seen)) == [(True, 1), (True, 2), (False, 2)]


def test_a_commit_that_is_killed_anywhere_is_whole_or_none_and_any_machine_goes_on(
    start: Path,
) -> None:
    old, left = machine(start, "a").check(), list[Manifest]()
    for number, folder in enumerate(killed_anywhere(start, publish)):
        left.append(machine(folder, "looking").published().active)
        new = machine(folder, "a" if number % 2 else "fresh").night(1)
        for name in ("a", "fresh"):
            assert machine(folder, name).check() == new
    assert {night.data_version for night in left} == {old.data_version, new.data_version}


def test_a_follower_that_is_killed_anywhere_serves_the_old_night_or_the_new(start: Path) -> None:
    old, new = machine(start, "a").check(), machine(start, "a").night(1)
    found = set()
    for folder in killed_anywhere(start, follow):
        left = read_manifest(folder / "server" / "manifest.json")
        verify_book(folder / "server" / "nights", left)
        found.add(left.data_version)
        follow(folder)
        assert read_manifest(folder / "server" / "manifest.json") == new
        assert not [path for path in (folder / "server").rglob("*") if ".draft" in path.name]
    assert found == {old.data_version, new.data_version}
