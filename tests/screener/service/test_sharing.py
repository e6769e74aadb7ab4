"""Nights that several machines share, made by real nightlies and looked at by commands.

Each machine is a data folder of its own; what a commit does is held in tests/store.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import make_and_publish, order_of
from screener.commands.start import seal_first_night
from screener.service.sharing import looking
from screener.settings.settings import Settings, load_settings
from store.errors import SealedError
from store.ledger.manifest import Manifest
from store.nights.nights import Nights
from store.remote import objects
from store.remote.objects import Objects
from store.remote.pointer import key_of
from tests.publishing import Publisher
from tests.screener.command import Finished, check_refusal, run

DAYS = [dt.date(2012, 10, day) for day in (1, 2)]
OVERTAKEN = 9


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A folder that machines share."""
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


def settings_of(folder: Path, share: Path | None = None) -> Settings:
    return load_settings(data_dir=folder, nights_url=share.as_uri() if share else None)


def made(settings: Settings, day: dt.date, *, only_new: bool = False) -> Manifest:
    """The night that a machine makes."""
    order = order_of(settings, BarsOptions(session=day, jobs=1))
    return make_and_publish(settings, replace(order, only_new=only_new))[0]


def test_any_machine_makes_the_next_night_with_the_bytes_of_one_alone(
    share: Path, tmp_path: Path
) -> None:
    machines = [settings_of(tmp_path / name, share) for name in ("a", "b")]
    alone = [made(settings_of(tmp_path / "alone"), day) for day in DAYS]
    fresh = settings_of(tmp_path / "fresh", share)

    assert [made(*each) for each in zip(machines, DAYS, strict=True)] == alone
    with pytest.raises(SealedError):
        made(machines[0], DAYS[1], only_new=True)
    seal_first_night(fresh)  # which makes no sample
    assert Nights(fresh.data_dir).check_active() == alone[1]

    old, share_url = alone[0].data_version, share.as_uri()
    rolled = run(machines[0].data_dir, "night", "activate", old, SCREENER_NIGHTS_URL=share_url)
    assert rolled.returncode == 0, rolled.stderr
    assert looking(machines[1]).check_active() == alone[0]
    published = Publisher(tmp_path / "looking", share_url).published()
    assert published.kept == tuple(key_of(night) for night in reversed(alone))


class Overtaken(Objects):
    """A shared folder to which another machine publishes just before the first swap."""

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        if not self.has(name):
            Publisher(Path(urlsplit(self.place).path).with_name("other"), self.place).night()
        return super().swap(name, body, tag)


def test_a_command_that_another_machine_overtook_is_told_and_leaves_its_night(
    share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "Objects", Overtaken)

    def nightly() -> Finished:
        options = ("--session", str(DAYS[0]), "--jobs", "1")
        return run(tmp_path / "a", "nightly", *options, SCREENER_NIGHTS_URL=share.as_uri())

    overtaken = nightly()

    assert overtaken.returncode == OVERTAKEN
    assert "Another machine published" in overtaken.stderr
    assert Publisher(tmp_path / "looking", share.as_uri()).published().newest.number == 1


def test_a_store_that_does_not_answer_or_is_none_is_one_line(tmp_path: Path) -> None:
    away = (tmp_path / "away").as_uri()
    done = run(tmp_path / "data", "night", "prune", "--keep", "1", SCREENER_NIGHTS_URL=away)
    check_refusal(done, "There is no folder at file:///", 8)
    done = run(tmp_path / "data", "night", "list", SCREENER_NIGHTS_URL=away)
    assert done.returncode == 0
    assert "What follows is the copy in" in done.stderr
    none = run(tmp_path / "data", "serve", SCREENER_NIGHTS_URL="ftp://example.com/nights")
    check_refusal(none, "SCREENER_NIGHTS_URL ftp://example.com/nights is not a place for objects")
