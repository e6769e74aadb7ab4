"""Servers that follow a shared store: whatever its network does, they serve one whole night."""

from __future__ import annotations

import collections
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from store.ledger.manifest import Manifest
from store.remote.objects import REPEATING, REQUEST
from tests.faulty import Kind, Proxy, faulty
from tests.publishing import Publisher
from tests.s3 import S3Server
from tests.screener.process import READY, Server, ready, serving_process, until


@pytest.fixture
def bucket(tmp_path: Path, bucket_url: str) -> Publisher:
    """A machine that publishes into a new bucket, without any fault between."""
    return Publisher(tmp_path / "publisher", bucket_url)


@pytest.fixture
def proxy(s3: S3Server, bucket: Publisher, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the bucket, which servers that are started from now on ask."""
    with faulty(s3.address) as between:
        monkeypatch.setenv("AWS_ENDPOINT_URL", between.url)
        yield between


@contextmanager
def following(
    folder: Path, publisher: Publisher, *options: str, **settings: str
) -> Iterator[Server]:
    """Run `screener serve` on a new data folder that follows the store of a publisher."""
    folder.mkdir(exist_ok=True)
    settings = {
        "SCREENER_NIGHTS_URL": publisher.objects.place,
        "SCREENER_NIGHTS_SECONDS": "0.2",
        "SCREENER_CHARTS_WARM": "false",
        "SCREENER_KEYLESS_PER_MINUTE": "10000",  # it is asked until it serves what is awaited
        **settings,
    }
    with serving_process(folder, *options, **settings) as server:
        yield server


def nights(server: Server) -> str:
    """What is said of the store of nights; empty while all is well."""
    return next((d["why"] for d in ready(server.url)["degraded"] if d["part"] == "nights"), "")


def serves(server: Server, night: Manifest) -> bool:
    """Whether a night is served, by the probe and by an answer."""
    answer = httpx.get(f"{server.url}/api/v1/families", timeout=30).json()
    return {answer["data_version"], ready(server.url)["data_version"]} == {night.data_version}


FAULTS: dict[Kind, tuple[str, str]] = {
    "unavailable": ("", "has not been reached since 20"),
    "refused": ("", "has not been reached since 20"),
    "silent": ("", "has not been reached since 20"),
    "lost": ("", "has not been reached since 20"),
    "cut": (".book", "cannot be fetched"),
    "wrong": (".book", "cannot be fetched"),
}


@pytest.mark.engine
@pytest.mark.parametrize("kind", FAULTS)
def test_a_server_serves_the_old_night_through_a_fault_says_so_and_recovers_by_itself(
    bucket: Publisher, proxy: Proxy, tmp_path: Path, kind: Kind
) -> None:
    name, words = FAULTS[kind]
    old = bucket.night(0)
    with following(tmp_path / "server", bucket) as server:
        assert serves(server, old)
        asked = len(proxy.asked)
        until(lambda: len(proxy.asked) > asked + 1)  # so a look beside the service is over
        with proxy.failing(kind, name=name):
            new = bucket.night(1)
            # A book whose fetch the fault met is given up after this.
            until(lambda: words in nights(server), (REQUEST + REPEATING).total_seconds() + 60)
            assert nights(server).endswith(f"the night served is of {old.as_of_session}.")
            assert serves(server, old)
            # Under load a look may take so long that the store is away for a moment.
            until(lambda: nights(server) in httpx.get(f"{server.url}/status").text)

        until(lambda: serves(server, new) and nights(server) == "")
        log = server.stderr.read_text()
        assert "Traceback" not in log
        assert "tests" not in log  # the name of the key


@pytest.mark.engine
def test_a_book_that_drips_is_served_when_it_is_whole_and_a_stop_waits_for_no_fetch_that_hangs(
    bucket: Publisher, proxy: Proxy, tmp_path: Path
) -> None:
    old = bucket.night(0)
    with following(tmp_path / "server", bucket) as server:
        with proxy.failing("slow", name=".book") as fault:
            new = bucket.night(1)
            until(lambda: fault.struck > 0)
            assert serves(server, old)
        until(lambda: serves(server, new))

        with proxy.failing("silent", name=".book") as fault:
            bucket.night(2)
            until(lambda: fault.struck > 0)
            os.kill(server.pid, signal.SIGINT)
            server.process.join(25)
            assert server.process.exitcode in (0, 130)
    assert "Traceback" not in server.stderr.read_text()


@pytest.mark.engine
def test_without_the_store_a_server_starts_with_the_night_of_its_disk_or_is_not_ready_without_one(
    bucket: Publisher, proxy: Proxy, tmp_path: Path
) -> None:
    night = bucket.night(0)
    with proxy.failing("refused"), following(tmp_path / "server", bucket) as server:
        assert httpx.get(server.url + READY).status_code == 503
        until(lambda: "since the start at 20" in nights(server))
        assert nights(server).endswith("no night is served.")
        proxy.fault = None
        until(lambda: serves(server, night))
    said = server.stderr.read_text()
    assert f"Looking for the night in {bucket.objects.place}, for at most 60 s." in said
    assert "The service starts with what is in" in said

    with proxy.failing("refused"), following(tmp_path / "server", bucket) as server:
        assert serves(server, night)
        until(lambda: "since the start at 20" in nights(server))


@pytest.mark.engine
def test_one_of_several_workers_fetches_a_book_and_all_of_them_serve_it(
    bucket: Publisher, proxy: Proxy, tmp_path: Path
) -> None:
    bucket.night(0)
    with following(tmp_path / "server", bucket, "--workers", "2") as server:
        new = bucket.night(1)
        until(lambda: serves(server, new))
        for _ in range(20):
            until(lambda: serves(server, new))
    # The first night was fetched before there were workers.
    books = collections.Counter(each.path for each in proxy.asked if each.path.endswith(".book"))
    assert len(books) == 2
    assert len(set(books.values())) == 1
