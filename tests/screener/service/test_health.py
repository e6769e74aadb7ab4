"""Health: probes are always answered, and only a process that can serve nothing is not ready."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from screener.service import health
from screener.service.supervisor import WELL_SECONDS, Loop, Supervisor
from screener.telemetry.metrics import PARTS
from store.accounts import usage
from store.database.database import Database
from store.folder.layout import DataFolder
from tests.postgres import PostgresServer, fresh_database
from tests.resealed import rename_bars, reseal
from tests.screener.installation import without
from tests.screener.process import READY, parts, ready, until
from tests.service import Service, apart, copy_night, serving

LIVE = "/health/live"


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look after the parts ten times as often, and write what was counted as often."""
    monkeypatch.setattr(health, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(usage, "FLUSH_SECONDS", 0.2)


def test_a_service_with_its_night_is_live_and_ready(service: Service) -> None:
    live = httpx.get(service.url + LIVE)
    envelope = service.get("/families").json()

    assert (live.status_code, live.json()) == (200, {"status": "live"})
    told = ready(service.url)
    assert told.pop("version")
    assert told == {
        "http": 200,
        "status": "ready",
        "degraded": [],
        "as_of_session": envelope["as_of_session"],
        "data_version": envelope["data_version"],
        "client_documents": False,
    }


@pytest.mark.parametrize("path", [LIVE, READY, f"{LIVE}/"])
def test_probes_are_for_reading_and_nobody_keeps_them(service: Service, path: str) -> None:
    with httpx.Client(base_url=service.url) as client:
        got, head = client.get(path), client.head(path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            refused = client.request(method, path, content=b"x" * 100)
            assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")

    assert got.headers["cache-control"] == head.headers["cache-control"] == "no-store"
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))


def test_what_is_no_probe_is_a_page_that_is_not_there(service: Service) -> None:
    for path in ("/health", "/health/", "/health/other"):
        assert httpx.get(service.url + path).status_code == 404


def test_probes_are_neither_limited_nor_counted_nor_bound_to_a_host(data_dir: Path) -> None:
    limits: dict[str, Any] = {"keyless_per_minute": 3, "other_per_minute": 3}
    with serving(data_dir, trusted_proxies=("127.0.0.1",), **limits) as live:
        headers = {"Host": "10.0.0.7", "X-Forwarded-For": "203.0.113.9"}
        for _ in range(20):
            for path in (LIVE, READY):
                assert httpx.get(live.url + path, headers=headers).status_code == 200

        assert [live.get("/families", key="").status_code for _ in range(4)] == [200] * 3 + [429]
        assert httpx.get(live.url + READY).status_code == 200


def test_without_a_night_a_process_is_not_ready_until_one_comes(
    night: Path, tmp_path: Path
) -> None:
    with serving(tmp_path) as live:
        told = ready(live.url)
        assert (told["http"], told["status"]) == (503, "unavailable")
        assert told["as_of_session"] is None
        assert told["degraded"] == [{"part": "night", "why": "There is no night yet."}]
        assert httpx.get(live.url + LIVE).status_code == 200

        copy_night(night, tmp_path)
        until(lambda: ready(live.url)["http"] == 200)


def test_an_old_night_is_degraded_once_the_next_had_its_time_to_come(data_dir: Path) -> None:
    reseal(data_dir, change_manifest=rename_bars)
    now = [dt.datetime(2012, 10, 5, 11, 0, tzinfo=dt.UTC)]
    with serving(data_dir, clock=lambda: now[0]) as live:
        # The session of 4 October has ended at midnight; its night is not late yet.
        assert parts(live.url) == set()

        now[0] += dt.timedelta(hours=2)
        until(lambda: parts(live.url) == {"night"})
        assert "1 session has ended since" in ready(live.url)["degraded"][0]["why"]


def test_what_is_worse_is_named_until_it_is_well_again(data_dir: Path) -> None:
    manifest, mark = data_dir / "manifest.json", DataFolder(data_dir).stage_ready
    database, away = data_dir / "accounts.sqlite", data_dir / "away.sqlite"
    sealed = manifest.read_bytes()
    mark.parent.mkdir()
    with serving(data_dir) as live:
        version = ready(live.url)["data_version"]

        def reason(part: str) -> str:
            """Wait until this part alone is named; why it is."""
            until(lambda: parts(live.url) == {part})
            told = ready(live.url)
            assert told["data_version"] == version
            return str(told["degraded"][0]["why"])

        def wait_until_well() -> None:
            until(lambda: parts(live.url) == set())

        replace(manifest, b"{")
        why = reason("new_night")
        assert str(data_dir) not in why
        assert why in httpx.get(f"{live.url}/status").text
        replace(manifest, sealed)
        wait_until_well()

        database.rename(away)
        reason("database")
        away.rename(database)
        wait_until_well()

        mark.touch()
        reason("restore")
        mark.unlink()
        wait_until_well()

        with locked(data_dir):
            live.get("/me").raise_for_status()
            assert reason("database") == "The account database cannot be written."
        wait_until_well()

        with without(data_dir, "usage"):
            live.get("/me").raise_for_status()
            assert "that writes the usage log" in reason("loops")


@pytest.mark.engine
def test_a_database_that_hangs_is_named_until_it_answers(
    postgres: PostgresServer, data_dir: Path
) -> None:
    url = apart(lambda: fresh_database(postgres.url, "hanging"))
    with serving(data_dir, database_url=url) as live:

        async def hang() -> None:
            # Without a limit of time.
            async with Database(url) as database, database.exclusive() as connection:
                await connection.execute(sa.text("LOCK TABLE accounts"))
                until(lambda: parts(live.url) == {"database"})

        apart(hang)
        until(lambda: parts(live.url) == set())


def test_a_book_that_is_cut_off_is_served_no_longer_until_it_is_whole(data_dir: Path) -> None:
    (book,) = (data_dir / "nights").glob("*.book")
    sealed = book.read_bytes()
    with serving(data_dir) as live:
        version = ready(live.url)["data_version"]
        os.truncate(book, 0)
        until(lambda: ready(live.url)["http"] == 503)
        told = ready(live.url)
        assert (told["status"], told["data_version"]) == ("unavailable", None)
        why = "The night cannot be read; see the log."
        assert told["degraded"] == [{"part": "night", "why": why}]
        assert live.get("/families", key="").status_code < 500

        book.write_bytes(sealed)
        until(lambda: ready(live.url)["http"] == 200)
        assert ready(live.url)["data_version"] == version


def replace(path: Path, content: bytes) -> None:
    """Replace a file as a publication does."""
    path.with_suffix(".new").write_bytes(content)
    path.with_suffix(".new").replace(path)


async def test_a_loop_that_has_run_well_for_long_enough_is_forgotten() -> None:
    now = [0.0]
    runs = list[int]()
    supervisor = Supervisor(first_delay=0.001, clock=lambda: now[0])

    async def loop() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            raise ValueError("once")
        assert supervisor.failed_lately == ["under test"]
        now[0] += WELL_SECONDS + 1
        assert supervisor.failed_lately == []
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        await supervisor.keep_running(Loop("well", "under test", loop))
    assert len(runs) == 2


def test_a_busy_service_answers_its_probes(data_dir: Path) -> None:
    with serving(data_dir, requests_at_once=8) as live, locked(data_dir):
        # One address may have two requests under way, and these wait for the database.
        change = partial(live.request, "PUT", "/tickers", json={"symbols": ["AAPL"]})
        waiting = [threading.Thread(target=change) for _ in range(2)]
        for thread in waiting:
            thread.start()
        until(lambda: live.get("/families", key="").status_code == 503)
        assert httpx.get(live.url + LIVE).status_code == 200
        told = ready(live.url)
        assert (told["http"], told["as_of_session"] is None) == (200, False)
        assert live.get("/families", key="").status_code == 503
    for thread in waiting:
        thread.join()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other writer out of the account database within the block."""
    with closing(sqlite3.connect(folder / "accounts.sqlite", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.rollback()


def test_every_part_has_a_place_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "monitoring.md").read_text()

    assert [part for part in PARTS if f"`{part}`" not in page] == []
