"""A server that follows a shared store serves what was committed, or goes on with what it has.

Over 400 lines, because every fault of a store is tried on the same few nights.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
import threading
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from store.folder.lock import locked
from store.ledger.ledger import Ledger
from store.ledger.manifest import verify_book
from store.nights.active_night import ActiveNight
from store.remote.follower import LATE, Follower, Trouble, in_daemon
from store.remote.objects import Objects
from store.remote.pointer import POINTER, book_object, key_of, ledger_object
from store.remote.pull import SPARE_BYTES
from tests.faulty import faulty
from tests.publishing import FIRST, Publisher, spoil
from tests.s3 import S3Server
from tests.screener.process import until
from tests.store.ledger.test_ledger import withdraw


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns, in bytes."""

    total: int
    used: int
    free: int


NOW = dt.datetime(2026, 2, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def publisher(tmp_path: Path, nights_url: str) -> Publisher:
    """A machine that publishes into a new store, of each kind."""
    return Publisher(tmp_path / "publisher", nights_url)


@pytest.fixture
def folder_publisher(tmp_path: Path) -> Publisher:
    """A machine that publishes into a new shared folder."""
    (tmp_path / "share").mkdir()
    return Publisher(tmp_path / "publisher", (tmp_path / "share").as_uri())


def follower(publisher: Publisher, folder: Path, kept: int = 3) -> Follower:
    """What follows the store of a publisher."""
    objects = Objects(publisher.objects.place)
    return Follower(folder, objects, seconds=20, kept=kept, clock=lambda: NOW)


def met(following: Follower) -> str:
    """The kind of the trouble that a follower tells of, and why; empty without any."""
    trouble = following.lasting
    return f"{trouble.kind}: {trouble.why}" if trouble else ""


async def served(folder: Path) -> ActiveNight:
    """The night that a server of a folder serves, opened anew."""
    night = ActiveNight(folder, source="test", disclaimer="Not advice.")
    await night.poll()
    night.close()
    return night


async def versions(*folders: Path) -> set[str | None]:
    """The nights that servers of some folders serve."""
    return {(await served(folder)).book.data_version for folder in folders}


def files(folder: Path) -> set[str]:
    """The names of the books that a folder keeps."""
    return {path.stem for path in (folder / "nights").glob("*.book")}


def drafts(folder: Path) -> list[Path]:
    """What was left half."""
    return [path for path in folder.rglob("*") if ".draft" in path.name]


async def test_two_servers_follow_one_store_from_night_to_night(
    publisher: Publisher, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    followers = [follower(publisher, folder) for folder in (one, two)]
    assert all(each.look() for each in followers)
    assert await versions(one, two) == {None}

    for day in range(2):
        made = publisher.night(day)
        assert all(each.look() for each in followers)
        assert await versions(one, two) == {made.data_version}
        for folder in (one, two):
            assert verify_book(folder / "nights", made).stat().st_mode & 0o077 == 0
    assert [each.trouble for each in followers] == [None, None]


async def test_a_server_that_was_off_for_three_nights_serves_the_newest_and_lists_the_others(
    publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    publisher.night(0)
    assert follower(publisher, folder, kept=2).look()
    nights = [publisher.night(day) for day in (1, 2, 3)]

    assert follower(publisher, folder, kept=2).look()

    night = await served(folder)
    assert night.book.data_version == nights[-1].data_version
    assert [last.session for last in night.last_nights] == [
        FIRST + dt.timedelta(days=day) for day in (3, 2, 1, 0)
    ]
    assert all(last.published for last in night.last_nights)
    assert len(files(folder)) == 2


async def test_a_withdrawn_night_is_left_and_every_server_tells_of_it(
    publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(publisher, folder)
    first, second = publisher.night(0), publisher.night(1)
    assert following.look()

    publisher.withdraw(second)
    assert following.look()

    night = await served(folder)
    assert night.book.data_version == first.data_version
    assert [gone.data_version for gone in night.withdrawn] == [second.data_version]
    assert [last.withdrawn for last in night.last_nights] == [True, False]


async def test_the_withdrawal_of_a_night_that_is_not_served_reaches_a_server_that_runs(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    first, second = folder_publisher.night(0), folder_publisher.night(1)
    assert following.look()
    night = ActiveNight(folder, source="test", disclaimer="Not advice.")
    await night.poll()

    folder_publisher.withdraw(first)
    assert following.look()
    await night.poll()

    assert night.book.data_version == second.data_version
    assert [gone.data_version for gone in night.withdrawn] == [first.data_version]
    night.close()


async def test_a_new_server_learns_of_withdrawals_that_lie_far_back(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    first = folder_publisher.night(0)
    folder_publisher.night(1)
    folder_publisher.withdraw(first)
    for day in range(2, 20):
        folder_publisher.night(day)

    assert follower(folder_publisher, tmp_path / "server").look()

    night = await served(tmp_path / "server")
    assert [gone.data_version for gone in night.withdrawn] == [first.data_version]
    assert len(night.last_nights) == 14


async def test_what_a_run_left_that_did_not_commit_is_not_read(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    first = folder_publisher.night(0)
    folder_publisher.night(1)
    left = Publisher(tmp_path / "left", folder_publisher.objects.place)
    left.nights.ledger.folder.mkdir(parents=True)
    withdraw(left.nights.ledger, first, "Nobody committed this.")
    (name,) = left.nights.ledger.names()
    body = left.nights.ledger.bytes_of(name)
    digest = hashlib.sha256(body).hexdigest()
    folder_publisher.objects.put(ledger_object(1, digest), body)

    assert follower(folder_publisher, tmp_path / "server").look()

    assert (await served(tmp_path / "server")).withdrawn == ()


async def test_a_pointer_that_is_gone_is_told_and_the_night_stays(
    publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(publisher, folder)
    night = publisher.night(0)
    assert following.look()
    published = publisher.published()

    publisher.objects.remove(POINTER)
    assert not following.look()
    assert "fault: There is no manifest.json" in met(following)
    assert await versions(folder) == {night.data_version}

    publisher.objects.put(POINTER, published.encode())
    assert following.look()
    assert met(following) == ""


@pytest.mark.parametrize("what", ["book", "ledger", "pointer"])
async def test_what_is_not_as_it_was_sealed_is_never_put_in_place(
    folder_publisher: Publisher, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    old = folder_publisher.night(0)
    assert following.look()
    new = folder_publisher.night(1)
    published = folder_publisher.published()
    newest = published.newest
    name = {
        "book": book_object(key_of(new)),
        "ledger": ledger_object(newest.number, newest.sha256 or ""),
        "pointer": "",
    }[what]
    if name:
        spoil(folder_publisher.objects, name)
    else:
        folder_publisher.swap(published.encode()[:200])

    assert not following.look()
    assert met(following).startswith("fault: ")
    assert await versions(folder) == {old.data_version}
    assert files(folder) == {old.data_version}
    assert not drafts(folder)

    if name:
        spoil(folder_publisher.objects, name)
    else:
        folder_publisher.swap(published.encode())
    assert following.look()
    assert met(following) == ""
    assert await versions(folder) == {new.data_version}


async def test_a_book_for_which_the_disk_has_no_room_is_not_fetched_and_the_disk_is_named(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    old = folder_publisher.night(0)
    assert following.look()
    new = folder_publisher.night(1)
    large = new.book.model_copy(update={"bytes": 10**18})
    damaged = new.model_copy(update={"book": large})
    published = folder_publisher.published()
    folder_publisher.swap(published.model_copy(update={"active": damaged}).encode())

    assert not following.look()

    assert "is full" in met(following)
    assert await versions(folder) == {old.data_version}


async def test_earlier_books_give_way_where_the_disk_has_no_room_for_a_new_one(
    folder_publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    made = []
    for day in range(2):
        made.append(folder_publisher.night(day))
        assert following.look()
    most = SPARE_BYTES + 5 * made[0].book.bytes // 2  # for two books and a half

    def usage(nights: Path) -> Usage:
        used = sum(path.stat().st_size for path in nights.glob("*.book"))
        return Usage(most, used, most - used)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    made.append(folder_publisher.night(2))
    assert following.look()

    assert met(following) == ""
    assert files(folder) == {night.data_version for night in made[1:]}
    assert await versions(folder) == {made[2].data_version}


async def test_a_book_that_is_damaged_here_is_fetched_again(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    made = folder_publisher.night(0)
    assert following.look()
    book = folder / "nights" / made.book.file
    book.write_bytes(b"damaged")
    assert await versions(folder) == {None}

    assert following.look()

    assert await versions(folder) == {made.data_version}


async def test_what_was_activated_here_alone_gives_way_to_what_the_store_names(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    following = follower(folder_publisher, folder)
    first = folder_publisher.night(0)
    assert following.look()
    second = folder_publisher.night(1)
    assert following.look()
    (folder / "manifest.json").write_bytes(first.encode())

    assert following.look()

    assert await versions(folder) == {second.data_version}


async def test_a_store_whose_ledger_began_anew_is_not_followed(
    folder_publisher: Publisher, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    old = folder_publisher.night(0)
    assert follower(folder_publisher, folder).look()
    folder_publisher.objects.remove(POINTER)
    Publisher(tmp_path / "anew", folder_publisher.objects.place).night(1)
    assert folder_publisher.published().newest.number == 1

    following = follower(folder_publisher, folder)
    assert not following.look()

    assert "differs from that of" in met(following)
    assert await versions(folder) == {old.data_version}
    assert len(Ledger(folder).names()) == 1


async def test_a_data_folder_that_another_process_does_not_let_go_is_said_to_be_held(
    folder_publisher: Publisher, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, now = tmp_path / "server", [NOW]
    objects = Objects(folder_publisher.objects.place)
    following = Follower(folder, objects, seconds=20, kept=3, clock=lambda: now[0])
    folder_publisher.night(0)
    assert following.look()
    new = folder_publisher.night(1)
    with locked(folder, NOW):
        found = [(following.look(), following.lasting)]
        now[0] += LATE + dt.timedelta(seconds=1)
        found += [(following.look(), following.lasting) for _ in range(2)]
    found.append((following.look(), following.lasting))

    held = (True, Trouble("late", NOW, "another process writes in the data folder"))
    assert found == [(True, None), held, held, (True, None)]
    assert caplog.text.count("Another run is writing in") == 1
    assert await versions(folder) == {new.data_version}


class Hanging(Objects):
    """A shared folder out of which no book comes until it is let go."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked, self.over = threading.Event(), threading.Event()

    def fetch(self, name: str, path: Path, most: int) -> None:
        self.asked.set()
        self.over.wait()
        super().fetch(name, path, most)


def test_a_fetch_that_hangs_is_said_to_be_late(folder_publisher: Publisher, tmp_path: Path) -> None:
    folder_publisher.night(0)
    now, objects = [NOW], Hanging(folder_publisher.objects.place)
    following = Follower(tmp_path / "server", objects, seconds=20, kept=3, clock=lambda: now[0])
    looking = threading.Thread(target=following.look)
    looking.start()
    objects.asked.wait()
    now[0] += LATE + dt.timedelta(seconds=1)
    late = following.lasting
    objects.over.set()
    looking.join()

    assert late == Trouble("late", NOW)
    assert following.trouble is None


@pytest.mark.engine
async def test_a_store_that_is_away_is_said_to_be_once_it_was_missed_for_several_looks(
    s3: S3Server, bucket_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = Publisher(tmp_path / "publisher", bucket_url)
    publisher.night(0)
    now = [NOW]
    with faulty(s3.address) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        objects = Objects(bucket_url)
        following = Follower(tmp_path / "server", objects, seconds=20, kept=3, clock=lambda: now[0])
        found = [(following.look(), met(following)[:4])]
        with proxy.failing("refused"):
            found.append((following.look(), met(following)[:4]))
            now[0] += dt.timedelta(seconds=61)
            found.append((following.look(), met(following)[:4]))
            assert following.reached_at == NOW
        found.append((following.look(), met(following)[:4]))
    assert found == [(True, ""), (False, ""), (False, "away"), (True, "")]


@pytest.mark.engine
def test_a_look_is_one_request_so_that_a_store_is_noticed_whenever_it_falls_silent(
    s3: S3Server, bucket_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Publisher(tmp_path / "publisher", bucket_url).night(0)
    now = [NOW]
    with faulty(s3.address) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        objects = Objects(bucket_url)
        following = Follower(tmp_path / "server", objects, seconds=20, kept=3, clock=lambda: now[0])
        assert following.look()
        before = len(proxy.asked)
        assert following.look()
        assert [each.method for each in proxy.asked[before:]] == ["GET"]

        looking = threading.Thread(target=following.look, daemon=True)
        with proxy.failing("silent") as fault:
            looking.start()
            until(lambda: fault.struck > 0)
            now[0] += dt.timedelta(seconds=61)
            assert met(following) == "away: "
        looking.join()
        assert following.look()
        assert met(following) == ""


@pytest.mark.engine
@pytest.mark.parametrize("times", [1, None])
async def test_a_night_whose_commit_has_no_answer_is_published_once_and_followed(
    s3: S3Server,
    bucket_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int | None,
) -> None:
    folder = tmp_path / "server"
    Publisher(tmp_path / "publisher", bucket_url).night(0)
    with faulty(s3.address) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        publisher = Publisher(tmp_path / "publisher", bucket_url)
        with proxy.failing("lost", method="PUT", name=POINTER, times=times) as fault:
            made = publisher.night(1)
        assert fault.struck > 0
        assert publisher.published().commit == 2
        assert follower(publisher, folder).look()
        assert await versions(folder) == {made.data_version}


async def test_who_is_cancelled_does_not_wait_for_what_hangs() -> None:
    over = threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await in_daemon(over.wait)
    assert scope.cancelled_caught
    over.set()
