"""Several worker processes answer as one: limits, revocations and watchlists hold over all."""

from __future__ import annotations

import collections
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pytest

from screener.settings.settings import Settings
from store.accounts.keys import Keys
from store.accounts.usage import UsageLog
from store.database.database import Database
from tests.screener.process import Server, serving_process
from tests.service import Service, at_database, copy_night, new_key

WORKERS = 3
PER_MINUTE = 40
PER_DAY = 1_000


def spent_key(settings: Settings) -> str:
    """A key that used up its day before the workers were started."""
    secret = new_key(settings, "spent@example.com")

    async def spend(database: Database) -> None:
        principal = await Keys(database).principal(secret)
        assert principal is not None
        log = UsageLog(database)
        for _ in range(PER_DAY):
            log.record(principal, "me", "")
        await log.flush()

    at_database(settings.accounts_url, spend)
    return secret


class Live(NamedTuple):
    """A service of several workers, its process, and a key that was spent before the start."""

    service: Service
    server: Server
    spent: str


@pytest.fixture(scope="module")
def live(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """`screener serve --workers 3` on the sample night."""
    folder = tmp_path_factory.mktemp("workers")
    copy_night(night, folder / "data")
    chosen = Settings(data_dir=folder / "data")
    key, spent = new_key(chosen), spent_key(chosen)
    quotas = {"SCREENER_KEY_PER_MINUTE": str(PER_MINUTE), "SCREENER_KEY_PER_DAY": str(PER_DAY)}
    options = ("--workers", str(WORKERS))
    with serving_process(folder, *options, SCREENER_CHARTS_WARM="false", **quotas) as server:
        assert len(server.workers()) == WORKERS
        yield Live(Service(chosen, server.url, key), server, spent)


def listens(process: psutil.Process, port: int) -> bool:
    """Whether a process has the listening socket of a port."""
    opened = process.net_connections()
    return (port, psutil.CONN_LISTEN) in [(one.laddr.port, one.status) for one in opened]


def statuses(live: Live, key: str, calls: int) -> collections.Counter[int]:
    """How calls at once end, each on a connection of its own."""
    with ThreadPoolExecutor(16) as executor:
        ends = executor.map(
            lambda _: live.service.get("/tickers", key=key).status_code, range(calls)
        )
        return collections.Counter(ends)


@pytest.mark.proves("LIM-key")
def test_workers_count_together_and_forget_no_call_at_a_restart(live: Live) -> None:
    key = new_key(live.service.settings, "together@example.com")

    assert statuses(live, key, 3 * PER_MINUTE) == {200: PER_MINUTE, 429: 2 * PER_MINUTE}
    assert statuses(live, live.spent, 9) == {429: 9}


def test_a_revoked_key_ends_at_every_worker_at_once(live: Live) -> None:
    key = new_key(live.service.settings, "revoked@example.com")
    assert statuses(live, key, PER_MINUTE // 2) == {200: PER_MINUTE // 2}

    live.service.keys(lambda keys: keys.revoke(key[:16]))

    assert statuses(live, key, PER_MINUTE // 2) == {401: PER_MINUTE // 2}


def test_a_changed_watchlist_holds_at_every_worker_at_once(live: Live) -> None:
    service = live.service
    key = new_key(service.settings, "watchlist@example.com", tracked=("AAPL",))

    for tracked in (["IBM"], ["AAPL"], ["IBM", "MSFT"]):
        service.request("PUT", "/tickers", key=key, json={"symbols": tracked}).raise_for_status()
        for symbol in ("AAPL", "IBM", "MSFT"):
            answer = service.get(f"/tickers/{symbol}/patterns", key=key)
            assert answer.status_code == (200 if symbol in tracked else 403)


def check_drawing(server: Server) -> None:
    """That what draws a chart of a service does not have its listening socket."""
    demo = f"{server.url}/api/v1/demo/MSFT"
    first = httpx.get(demo, timeout=60).json()["setups"][0]["setup_id"]
    httpx.get(f"{demo}/chart.png?setup_id={first}", timeout=60).raise_for_status()

    family = psutil.Process(server.pid).children(recursive=True)
    drawing = [each for each in family if "anyio.to_process" in each.cmdline()]
    assert [listens(each, server.port) for each in drawing] == [False]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the processes of Linux")
def test_the_process_that_draws_does_not_have_the_listening_socket(
    live: Live, data_dir: Path
) -> None:
    check_drawing(live.server)
    with serving_process(data_dir.parent, SCREENER_CHARTS_WARM="false") as server:
        check_drawing(server)


def test_the_death_of_a_worker_is_no_outage(live: Live) -> None:
    key = new_key(live.service.settings, "phoenix@example.com")
    os.kill(min(live.server.workers()), signal.SIGKILL)

    transport = httpx.HTTPTransport(retries=3)
    with httpx.Client(transport=transport, timeout=60) as client:
        headers = {"Authorization": f"Bearer {key}"}
        me = f"{live.service.base}/me"
        assert {client.get(me, headers=headers).status_code for _ in range(10)} == {200}
