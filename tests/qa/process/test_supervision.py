"""A process whose parts fail: it ends with a code, is replaced, or serves on with its database."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from screener.service.supervisor import EXIT_CODE
from screener.settings.settings import load_settings
from tests.postgres import PostgresServer, fresh_database
from tests.screener.process import READY, Server, parts, serving_process, until
from tests.service import Service, apart, new_key

AWAY_SECONDS = 10.0


@contextmanager
def started(data: Path, *options: str, **environment: str) -> Iterator[tuple[Server, Service]]:
    """`screener serve` on a data folder, and how to call it with the key of an account."""
    url = environment.get("SCREENER_DATABASE_URL")
    with serving_process(data.parent, *options, **environment) as server:
        chosen = load_settings(data_dir=data, port=server.port, database_url=url)
        yield server, Service(chosen, server.url, new_key(chosen))


def break_usage(folder: Path) -> None:
    """Make every write of the usage log fail, for ever; it can be read, or no worker starts."""
    with closing(sqlite3.connect(folder / "accounts.sqlite")) as database:
        database.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON usage BEGIN INSERT INTO gone VALUES (1); END"
        )
        database.commit()


def test_a_loop_that_cannot_run_ends_the_process(data_dir: Path) -> None:
    with started(data_dir) as (server, live):
        break_usage(data_dir)
        live.get("/me").raise_for_status()
        server.process.join(90)

    assert server.process.exitcode == EXIT_CODE
    told = server.stderr.read_text()
    assert "cannot run; the process ends" in told
    assert "no such table: main.gone" in told


@pytest.mark.engine  # a loop fails for half a minute before its worker ends
def test_a_worker_whose_loop_cannot_run_is_replaced(data_dir: Path) -> None:
    with started(data_dir, "--workers", "2") as (server, live):
        first = server.workers()
        break_usage(data_dir)
        live.get("/me").raise_for_status()

        until(lambda: server.workers() - first != set(), 180)
        until(lambda: len(server.workers()) == 2)
        live.get("/families", key="").raise_for_status()


@pytest.mark.engine  # the parent notices the death of a worker only after a minute
def test_a_worker_that_cannot_start_ends_the_service_with_a_code(data_dir: Path) -> None:
    with started(data_dir, "--workers", "2") as (server, _):
        with closing(sqlite3.connect(data_dir / "accounts.sqlite")) as database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
            database.commit()
        os.kill(min(server.workers()), signal.SIGKILL)
        server.process.join(90)

    assert server.process.exitcode == EXIT_CODE


@pytest.mark.engine
def test_a_database_that_goes_away_and_returns_costs_only_keyed_calls_in_between(
    postgres: PostgresServer, data_dir: Path
) -> None:
    url = apart(lambda: fresh_database(postgres.url, "away"))
    many = {"SCREENER_KEY_PER_MINUTE": "100000", "SCREENER_KEYLESS_PER_MINUTE": "100000"}
    settings = {"SCREENER_DATABASE_URL": url, **many}
    with started(data_dir, "--workers", "2", **settings) as (server, live):
        well = {("keyed", 200, None), ("keyless", 200, None)}
        cut = {("keyed", 503, "unavailable"), ("keyless", 200, None)}
        assert answers(live, 1) == well
        # Each worker answers a caller that it remembers for about a second more, and notices by
        # itself that the database is back: first one of them, then all.
        with postgres.stopped():
            until(lambda: live.get("/me").status_code == 503, 5)
            until(lambda: answers(live, 1) == cut, 15)
            until(lambda: parts(live.url) == {"database"})
            assert "postgres" not in httpx.get(live.url + READY).text
            assert answers(live, AWAY_SECONDS) == cut
        until(lambda: live.get("/me").status_code == 200, 5)
        until(lambda: answers(live, 1) == well, 15)
        assert answers(live, 3) == well
        assert server.process.is_alive()


def answers(live: Service, seconds: float) -> set[tuple[str, int, str | None]]:
    """The different ways in which calls of four clients end for a while."""
    seen = set[tuple[str, int, str | None]]()
    end = time.monotonic() + seconds

    def call(kind: str, path: str, key: str) -> None:
        while time.monotonic() < end:
            answer = live.get(path, key=key)
            seen.add((kind, answer.status_code, answer.json().get("error")))

    calls = (("keyed", "/me", live.key), ("keyless", "/families", ""))
    threads = [threading.Thread(target=call, args=given) for given in calls * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen
