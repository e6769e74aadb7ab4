"""Several worker processes answer as one: limits, revocations and watchlists hold over all."""

from __future__ import annotations

import collections
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from screener.settings import Settings
from store.database import Database
from store.keys import Keys
from store.usage import UsageLog
from tests.screener.process import serving_process
from tests.service import Service, apart, copy_night, new_key

SCREENER = str(Path(sys.executable).with_name("screener"))
WORKERS = 3
PER_MINUTE = 40
PER_DAY = 1_000


def spent_key(settings: Settings) -> str:
    """A key that used up its day before the workers were started."""
    secret = new_key(settings, "spent@example.com")

    async def run() -> None:
        database = Database(settings.accounts_url)
        try:
            principal = await Keys(database).principal(secret)
            assert principal is not None
            log = UsageLog(database)
            for _ in range(PER_DAY):
                log.record(principal, "me", "")
            await log.flush()
        finally:
            await database.close()

    apart(run)
    return secret


@pytest.fixture(scope="module")
def started(
    night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, int, str]]:
    """`screener serve --workers 3` on the sample night, its process number, and a spent key."""
    folder = tmp_path_factory.mktemp("workers")
    copy_night(night, folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chosen = Settings(data_dir=folder, port=port)
    key, spent = new_key(chosen), spent_key(chosen)
    environment = {
        **os.environ,
        "SCREENER_DATA_DIR": str(folder),
        "SCREENER_KEY_PER_MINUTE": str(PER_MINUTE),
        "SCREENER_KEY_PER_DAY": str(PER_DAY),
    }
    command = [SCREENER, "serve", "--port", str(port), "--workers", str(WORKERS)]
    server = subprocess.Popen(command, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        transport = httpx.HTTPTransport(retries=8)  # until the parent listens
        with httpx.Client(transport=transport, timeout=90) as client:
            client.get(f"{url}/docs").raise_for_status()
        yield Service(chosen, url, key), server.pid, spent
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


@pytest.fixture
def live(started: tuple[Service, int, str]) -> Service:
    """The service."""
    return started[0]


def statuses(live: Service, key: str, calls: int) -> collections.Counter[int]:
    """How calls at once end, each on a connection of its own."""
    with ThreadPoolExecutor(16) as executor:
        ends = executor.map(lambda _: live.get("/tickers", key=key).status_code, range(calls))
        return collections.Counter(ends)


@pytest.mark.proves("LIM-key")
def test_workers_count_together(live: Service) -> None:
    key = new_key(live.settings, "together@example.com")

    assert statuses(live, key, 3 * PER_MINUTE) == {200: PER_MINUTE, 429: 2 * PER_MINUTE}


def test_no_worker_forgets_the_calls_of_the_day_at_a_restart(
    started: tuple[Service, int, str],
) -> None:
    live, _, spent = started

    assert statuses(live, spent, 9) == {429: 9}


def test_a_revoked_key_ends_at_every_worker_at_once(live: Service) -> None:
    key = new_key(live.settings, "revoked@example.com")
    assert statuses(live, key, PER_MINUTE // 2) == {200: PER_MINUTE // 2}

    live.keys(lambda keys: keys.revoke(key[:16]))

    assert statuses(live, key, PER_MINUTE // 2) == {401: PER_MINUTE // 2}


def test_a_changed_watchlist_holds_at_every_worker_at_once(live: Service) -> None:
    key = new_key(live.settings, "watchlist@example.com", tracked=("AAPL",))

    for tracked in (["IBM"], ["AAPL"], ["IBM", "MSFT"]):
        live.request("PUT", "/tickers", key=key, json={"symbols": tracked}).raise_for_status()
        for symbol in ("AAPL", "IBM", "MSFT"):
            answer = live.get(f"/tickers/{symbol}/patterns", key=key)
            assert answer.status_code == (200 if symbol in tracked else 403)


def test_the_death_of_a_worker_is_no_outage(started: tuple[Service, int, str]) -> None:
    live, parent, _ = started
    key = new_key(live.settings, "phoenix@example.com")
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    workers = [int(child) for child in children if _is_worker(int(child))]
    assert len(workers) == WORKERS

    os.kill(workers[0], signal.SIGKILL)

    transport = httpx.HTTPTransport(retries=3)
    with httpx.Client(transport=transport, timeout=60) as client:
        headers = {"Authorization": f"Bearer {key}"}
        ends = {client.get(f"{live.base}/me", headers=headers).status_code for _ in range(10)}
    assert ends == {200}


def _is_worker(process: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the processes of Linux")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_process_that_draws_does_not_have_the_listening_socket(
    night: Path, tmp_path: Path, workers: str
) -> None:
    (tmp_path / "data").mkdir()
    copy_night(night, tmp_path / "data")
    with serving_process(tmp_path, "--workers", workers) as server:
        demo = f"{server.url}/api/v1/demo/MSFT"
        first = httpx.get(demo, timeout=60).json()["setups"][0]["setup_id"]
        httpx.get(f"{demo}/chart.png?setup_id={first}", timeout=60).raise_for_status()

        family = psutil.Process().children(recursive=True)
        drawing = [one for one in family if "anyio.to_process" in one.cmdline()]
        assert drawing
        for process in drawing:
            opened = process.net_connections()
            listening = [one.laddr.port for one in opened if one.status == psutil.CONN_LISTEN]
            assert server.port not in listening
