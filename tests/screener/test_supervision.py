"""Parts that fail: a loop is started again, a database comes back, and nothing is half alive."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx
import pytest
from prometheus_client import REGISTRY

from screener.settings import Settings
from screener.supervisor import EXIT_CODE, MOST_FAILURES, Loop, Supervisor
from tests.postgres import PostgresServer, fresh_database
from tests.screener.process import until
from tests.service import Service, apart, copy_night, new_key, serving

SCREENER = str(Path(sys.executable).with_name("screener"))
AWAY_SECONDS = 10.0


@contextmanager
def started(folder: Path, *, workers: int = 1, **environment: str) -> Iterator[Process]:
    """`screener serve` on a data folder, as a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [SCREENER, "serve", "--port", str(port), "--workers", str(workers)]
    settings = {"SCREENER_DATA_DIR": str(folder), **environment}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **settings}, stderr=log)
    try:
        chosen = Settings(
            data_dir=folder, port=port, database_url=environment.get("SCREENER_DATABASE_URL")
        )
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), timeout=90) as client:
            client.get(f"{url}/api/v1/families").raise_for_status()
        yield Process(Service(chosen, url, new_key(chosen)), server, folder / "log")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


class Process(NamedTuple):
    """A running `screener serve`, how to call it, and where it logs."""

    live: Service
    server: subprocess.Popen[bytes]
    log: Path


async def test_a_loop_that_failed_is_started_again() -> None:
    runs = list[int]()
    well = anyio.Event()
    restarts = partial(REGISTRY.get_sample_value, "screener_loop_restarts_total", {"loop": "test"})

    async def loop() -> None:
        assert restarts() == len(runs)  # 0 is told before the first one
        runs.append(len(runs))
        if len(runs) < MOST_FAILURES:
            raise ValueError("a fault of this run")
        well.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        supervised = Loop("test", "under test", loop)
        group.start_soon(Supervisor(first_delay=0.001).keep_running, supervised)
        with anyio.fail_after(30):
            await well.wait()
        group.cancel_scope.cancel()

    assert len(runs) == MOST_FAILURES


async def test_failures_that_lie_far_apart_never_end_the_process() -> None:
    times = iter(range(0, 10_000, 100))
    runs = list[int]()
    well = anyio.Event()

    async def loop() -> None:
        runs.append(len(runs))
        if len(runs) > 3 * MOST_FAILURES:
            well.set()
            await anyio.sleep_forever()
        raise ValueError("now and then")

    async with anyio.create_task_group() as group:
        supervisor = Supervisor(first_delay=0.001, clock=lambda: next(times))
        group.start_soon(supervisor.keep_running, Loop("far_apart", "under test", loop))
        with anyio.fail_after(30):
            await well.wait()
        group.cancel_scope.cancel()


def break_usage(folder: Path) -> None:
    """Make every write of the usage log fail, for ever; it can be read, or no worker starts."""
    with closing(sqlite3.connect(folder / "accounts.sqlite")) as database:
        database.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON usage BEGIN INSERT INTO gone VALUES (1); END"
        )
        database.commit()


def test_a_loop_that_cannot_run_ends_the_process(data_dir: Path) -> None:
    with started(data_dir) as process:
        break_usage(data_dir)
        process.live.get("/me").raise_for_status()

        assert process.server.wait(timeout=90) == EXIT_CODE

    told = process.log.read_text()
    assert "cannot run; the process ends" in told
    assert "no such table: main.gone" in told


def test_a_worker_whose_loop_cannot_run_is_replaced(data_dir: Path) -> None:
    with started(data_dir, workers=2) as process:
        first = workers_of(process.server.pid)
        break_usage(data_dir)
        process.live.get("/me").raise_for_status()

        until(lambda: workers_of(process.server.pid) - first != set(), 180)
        until(lambda: len(workers_of(process.server.pid)) == 2)
        process.live.get("/families", key="").raise_for_status()


@pytest.mark.engine  # the parent notices the death of a worker only after a minute
def test_a_worker_that_cannot_start_ends_the_service_with_a_code(data_dir: Path) -> None:
    with started(data_dir, workers=2) as process:
        with closing(sqlite3.connect(data_dir / "accounts.sqlite")) as database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
            database.commit()
        os.kill(min(workers_of(process.server.pid)), signal.SIGKILL)

        assert process.server.wait(timeout=90) == EXIT_CODE


def workers_of(parent: int) -> set[int]:
    """The worker processes of a running service."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


DELETE_ACCOUNT = """
    CREATE TEMP TABLE doomed AS SELECT id FROM accounts WHERE email = 'doomed@example.com';
    DELETE FROM keys WHERE account_id IN doomed;
    DELETE FROM watchlist WHERE account_id IN doomed;
    DELETE FROM usage WHERE account_id IN doomed;
    DELETE FROM accounts WHERE id IN doomed;
"""


def test_an_account_deleted_under_a_pending_usage_record_costs_nobody_an_answer(
    data_dir: Path,
) -> None:
    with serving(data_dir) as live:
        doomed = new_key(live.settings, "doomed@example.com")
        live.get("/me", key=doomed).raise_for_status()
        with closing(sqlite3.connect(data_dir / "accounts.sqlite")) as database:
            database.executescript(DELETE_ACCOUNT)
            database.commit()
        live.get("/me").raise_for_status()

        until(lambda: "me" in counted(data_dir))
        live.get("/me").raise_for_status()
        assert live.get("/me", key=doomed).status_code == 401


def counted(folder: Path) -> set[str]:
    """The operations in the usage log."""
    with closing(sqlite3.connect(folder / "accounts.sqlite")) as database:
        return {row[0] for row in database.execute("SELECT operation FROM usage")}


@pytest.mark.engine
@pytest.mark.parametrize("workers", [1, 2])
def test_a_database_that_goes_away_and_returns_costs_only_keyed_calls_in_between(
    postgres: PostgresServer, night: Path, tmp_path: Path, workers: int
) -> None:
    copy_night(night, tmp_path / "data")
    url = apart(lambda: fresh_database(postgres.url, f"away{workers}"))
    many = {"SCREENER_KEY_PER_MINUTE": "100000", "SCREENER_KEYLESS_PER_MINUTE": "100000"}
    with started(tmp_path / "data", workers=workers, SCREENER_DATABASE_URL=url, **many) as process:
        live = process.live
        well = {("keyed", 200, None), ("keyless", 200, None)}
        cut = {("keyed", 503, "unavailable"), ("keyless", 200, None)}
        assert answers(live, 1) == well
        # Each worker answers a caller that it remembers for about a second more, and notices by
        # itself that the database is back: first one of them, then all.
        with postgres.stopped():
            until(lambda: live.get("/me").status_code == 503, 5)
            until(lambda: answers(live, 1) == cut, 15)
            assert answers(live, AWAY_SECONDS) == cut
        until(lambda: live.get("/me").status_code == 200, 5)
        until(lambda: answers(live, 1) == well, 15)
        assert answers(live, 3) == well
        assert process.server.poll() is None


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
