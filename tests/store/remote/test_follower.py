"""A server that follows a shared store serves what was committed, or goes on with what it has.

Over 400 lines, because every fault of a store is tried on the same few nights.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from store.folder.lock import locked
from store.ledger.ledger import Ledger
from store.ledger.manifest import Manifest, verify_book
from store.nights.active_night import ActiveNight
from store.remote.follower import LATE, Trouble, in_daemon
from store.remote.objects import Objects
from store.remote.pointer import POINTER, book_object, key_of, ledger_object
from store.remote.pull import SPARE_BYTES
from tests.faulty import Proxy, faulty
from tests.publishing import FIRST, Publisher, spoil
from tests.s3 import S3Server
from tests.screener.process import until
from tests.store.ledger.ledgers import withdraw
from tests.store.remote.servers import NOW, Server


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns, in bytes."""

    total: int
    used: int
    free: int


@pytest.fixture
def publisher(tmp_path: Path, nights_url: str) -> Publisher:
    """A machine that publishes into a new store, of each kind."""
    return Publisher(tmp_path / "publisher", nights_url)


@pytest.fixture
def folder_publisher(tmp_path: Path) -> Publisher:
    """A machine that publishes into a new shared folder."""
    (tmp_path / "share").mkdir()
    return Publisher(tmp_path / "publisher", (tmp_path / "share").as_uri())


@pytest.fixture
def first(folder_publisher: Publisher) -> Manifest:
    """The first night of the shared folder."""
    return folder_publisher.night(0)


@pytest.fixture
def server(folder_publisher: Publisher, first: Manifest, tmp_path: Path) -> Server:
    """A server that has fetched the first night from the shared folder."""
    server = Server(folder_publisher, tmp_path / "server")
    assert server.look()
    assert server.books == {first.data_version}
    return server


@pytest.fixture
def bucket(bucket_url: str, tmp_path: Path) -> Publisher:
    """A machine that has published its first night into a new bucket, without any fault between."""
    publisher = Publisher(tmp_path / "publisher", bucket_url)
    publisher.night(0)
    return publisher


@pytest.fixture
def proxy(s3: S3Server, bucket: Publisher, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the bucket, which everybody asks from now on."""
    with faulty(s3.address) as between:
        monkeypatch.setenv("AWS_ENDPOINT_URL", between.url)
        yield between


async def test_two_servers_follow_one_store_from_night_to_night(
    publisher: Publisher, tmp_path: Path
) -> None:
    servers = [Server(publisher, tmp_path / name) for name in ("one", "two")]
    assert all(each.look() for each in servers)
    assert [await each.version() for each in servers] == [None, None]

    for day in range(2):
        made = publisher.night(day)
        assert all(each.look() for each in servers)
        assert [await each.version() for each in servers] == [made.data_version] * 2
        for each in servers:
            assert verify_book(each.folder / "nights", made).stat().st_mode & 0o077 == 0
    assert [each.follower.trouble for each in servers] == [None, None]


async def test_a_server_that_was_off_for_three_nights_serves_the_newest_and_lists_the_others(
    publisher: Publisher, tmp_path: Path
) -> None:
    publisher.night(0)
    assert Server(publisher, tmp_path / "server", kept=2).look()
    nights = [publisher.night(day) for day in (1, 2, 3)]

    server = Server(publisher, tmp_path / "server", kept=2)
    assert server.look()

    night = await server.night()
    assert night.book.data_version == nights[-1].data_version
    assert [last.session for last in night.last_nights] == [
        FIRST + dt.timedelta(days=day) for day in (3, 2, 1, 0)
    ]
    assert all(last.published for last in night.last_nights)
    assert len(server.books) == 2


async def test_a_withdrawn_night_is_left_and_every_server_tells_of_it(
    publisher: Publisher, tmp_path: Path
) -> None:
    server = Server(publisher, tmp_path / "server")
    first, second = publisher.night(0), publisher.night(1)
    assert server.look()

    publisher.withdraw(second)
    assert server.look()

    night = await server.night()
    assert night.book.data_version == first.data_version
    assert [gone.data_version for gone in night.withdrawn] == [second.data_version]
    assert [last.withdrawn for last in night.last_nights] == [True, False]


async def test_the_withdrawal_of_a_night_that_is_not_served_reaches_a_server_that_runs(
    folder_publisher: Publisher, first: Manifest, server: Server
) -> None:
    second = folder_publisher.night(1)
    assert server.look()
    night = ActiveNight(server.folder, source="test", disclaimer="Not advice.")
    await night.poll()

    folder_publisher.withdraw(first)
    assert server.look()
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

    server = Server(folder_publisher, tmp_path / "server")
    assert server.look()

    night = await server.night()
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

    server = Server(folder_publisher, tmp_path / "server")
    assert server.look()

    assert (await server.night()).withdrawn == ()


async def test_a_pointer_that_is_gone_is_told_and_the_night_stays(
    publisher: Publisher, tmp_path: Path
) -> None:
    server = Server(publisher, tmp_path / "server")
    night = publisher.night(0)
    assert server.look()
    published = publisher.published()

    publisher.objects.remove(POINTER)
    assert not server.look()
    assert "fault: There is no manifest.json" in server.trouble
    assert await server.version() == night.data_version

    publisher.objects.put(POINTER, published.encode())
    assert server.look()
    assert server.trouble == ""


@pytest.mark.parametrize("what", ["book", "ledger", "pointer"])
async def test_what_is_not_as_it_was_sealed_is_never_put_in_place(
    folder_publisher: Publisher, first: Manifest, server: Server, what: str
) -> None:
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

    assert not server.look()
    assert server.trouble.startswith("fault: ")
    assert await server.version() == first.data_version
    assert server.books == {first.data_version}
    assert not list(server.folder.rglob("*.draft*"))

    if name:
        spoil(folder_publisher.objects, name)
    else:
        folder_publisher.swap(published.encode())
    assert server.look()
    assert server.trouble == ""
    assert await server.version() == new.data_version


async def test_a_book_for_which_the_disk_has_no_room_is_not_fetched_and_the_disk_is_named(
    folder_publisher: Publisher, first: Manifest, server: Server
) -> None:
    new = folder_publisher.night(1)
    large = new.book.model_copy(update={"bytes": 10**18})
    damaged = new.model_copy(update={"book": large})
    published = folder_publisher.published()
    folder_publisher.swap(published.model_copy(update={"active": damaged}).encode())

    assert not server.look()

    assert "is full" in server.trouble
    assert await server.version() == first.data_version


async def test_earlier_books_give_way_where_the_disk_has_no_room_for_a_new_one(
    folder_publisher: Publisher,
    first: Manifest,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second = folder_publisher.night(1)
    assert server.look()
    most = SPARE_BYTES + 5 * first.book.bytes // 2  # for two books and a half

    def usage(nights: Path) -> Usage:
        used = sum(path.stat().st_size for path in nights.glob("*.book"))
        return Usage(most, used, most - used)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    third = folder_publisher.night(2)
    assert server.look()

    assert server.trouble == ""
    assert server.books == {second.data_version, third.data_version}
    assert await server.version() == third.data_version


async def test_a_book_that_is_damaged_here_is_fetched_again(
    first: Manifest, server: Server
) -> None:
    book = server.folder / "nights" / first.book.file
    book.write_bytes(b"damaged")
    assert await server.version() is None

    assert server.look()

    assert await server.version() == first.data_version


async def test_what_was_activated_here_alone_gives_way_to_what_the_store_names(
    folder_publisher: Publisher, first: Manifest, server: Server
) -> None:
    second = folder_publisher.night(1)
    assert server.look()
    (server.folder / "manifest.json").write_bytes(first.encode())

    assert server.look()

    assert await server.version() == second.data_version


async def test_a_store_whose_ledger_began_anew_is_not_followed(
    folder_publisher: Publisher, first: Manifest, server: Server, tmp_path: Path
) -> None:
    folder_publisher.objects.remove(POINTER)
    Publisher(tmp_path / "anew", folder_publisher.objects.place).night(1)
    assert folder_publisher.published().newest.number == 1

    again = Server(folder_publisher, server.folder)
    assert not again.look()

    assert "differs from that of" in again.trouble
    assert await again.version() == first.data_version
    assert len(Ledger(server.folder).names()) == 1


async def test_a_data_folder_that_another_process_does_not_let_go_is_said_to_be_held(
    folder_publisher: Publisher, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    new = folder_publisher.night(1)
    with locked(server.folder, NOW):
        found = [(server.look(), server.follower.lasting)]
        server.now += LATE + dt.timedelta(seconds=1)
        found += [(server.look(), server.follower.lasting) for _ in range(2)]
    found.append((server.look(), server.follower.lasting))

    held = (True, Trouble("late", NOW, "another process writes in the data folder"))
    assert found == [(True, None), held, held, (True, None)]
    assert caplog.text.count("Another run is writing in") == 1
    assert await server.version() == new.data_version


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
    objects = Hanging(folder_publisher.objects.place)
    server = Server(folder_publisher, tmp_path / "server", objects=objects)
    looking = threading.Thread(target=server.look)
    looking.start()
    objects.asked.wait()
    server.now += LATE + dt.timedelta(seconds=1)
    late = server.follower.lasting
    objects.over.set()
    looking.join()

    assert late == Trouble("late", NOW)
    assert server.follower.trouble is None


@pytest.mark.engine
async def test_a_store_that_is_away_is_said_to_be_once_it_was_missed_for_several_looks(
    bucket: Publisher, proxy: Proxy, tmp_path: Path
) -> None:
    server = Server(bucket, tmp_path / "server")
    found = [(server.look(), server.trouble[:4])]
    with proxy.failing("refused"):
        found.append((server.look(), server.trouble[:4]))
        server.now += dt.timedelta(seconds=61)
        found.append((server.look(), server.trouble[:4]))
        assert server.follower.reached_at == NOW
    found.append((server.look(), server.trouble[:4]))
    assert found == [(True, ""), (False, ""), (False, "away"), (True, "")]


@pytest.mark.engine
def test_a_look_is_one_request_so_that_a_store_is_noticed_whenever_it_falls_silent(
    bucket: Publisher, proxy: Proxy, tmp_path: Path
) -> None:
    server = Server(bucket, tmp_path / "server")
    assert server.look()
    before = len(proxy.asked)
    assert server.look()
    assert [each.method for each in proxy.asked[before:]] == ["GET"]

    looking = threading.Thread(target=server.look, daemon=True)
    with proxy.failing("silent") as fault:
        looking.start()
        until(lambda: fault.struck > 0)
        server.now += dt.timedelta(seconds=61)
        assert server.trouble == "away: "
    looking.join()
    assert server.look()
    assert server.trouble == ""


@pytest.mark.engine
@pytest.mark.parametrize("times", [1, None])
async def test_a_night_whose_commit_has_no_answer_is_published_once_and_followed(
    bucket: Publisher, proxy: Proxy, tmp_path: Path, times: int | None
) -> None:
    publisher = Publisher(bucket.folder, bucket.objects.place)
    with proxy.failing("lost", method="PUT", name=POINTER, times=times) as fault:
        made = publisher.night(1)
    assert fault.struck > 0
    assert publisher.published().commit == 2
    server = Server(publisher, tmp_path / "server")
    assert server.look()
    assert await server.version() == made.data_version


async def test_who_is_cancelled_does_not_wait_for_what_hangs() -> None:
    over = threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await in_daemon(over.wait)
    assert scope.cancelled_caught
    over.set()
