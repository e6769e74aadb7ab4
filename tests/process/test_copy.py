"""A live installation moves, whole or not at all, and nothing acknowledged is lost."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import httpx
import pytest
import sqlalchemy as sa

from screener.cli import main
from screener.settings import Settings
from tests.oauth.conversation import Host, new_account, new_host
from tests.postgres import ENGINES, fresh_database
from tests.screener.command import environment, run, run_process
from tests.screener.process import until
from tests.screener.test_copy import COPY, closed, rows_at
from tests.service import TRACKED, Service, apart, copy_night, new_key, serving
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in


class Counter(Protocol):
    """A number that processes share."""

    value: int


@pytest.fixture(params=ENGINES)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes addresses of empty databases."""
    if request.param == "sqlite":
        numbers = iter(range(99))
        return lambda: f"sqlite+aiosqlite:///{tmp_path / f'{next(numbers)}.sqlite'}"
    server = request.getfixturevalue("postgres_url")
    return lambda: apart(lambda: fresh_database(server, tmp_path.name))


class Writers:
    """People who change what they track and hosts that refresh, until each is refused by a move."""

    def __init__(self, live: Service) -> None:
        self._live = live
        self._stopped = threading.Event()
        self.tracked: dict[str, list[str]] = {}
        """By key: the symbols of the last change that was acknowledged."""
        self.tokens: dict[Host, list[str]] = {}
        """By host: the refresh tokens that it was given."""
        self.refused = list[tuple[int, str]]()
        self.moved = False
        hosts = [new_host(live, new_account(live)) for _ in range(2)]
        keys = [new_key(live.settings, f"writer{number}@example.com") for number in range(2)]
        works = [(self._track, key) for key in keys] + [(self._refresh, host) for host in hosts]
        self._threads = [threading.Thread(target=work, args=(who,)) for work, who in works]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)

    def _track(self, key: str) -> None:
        orders = itertools.cycle(itertools.permutations(TRACKED))
        while not self._stopped.is_set():
            symbols = list(next(orders))
            answer = self._live.request("PUT", "/tickers", key=key, json={"symbols": symbols})
            if answer.status_code == 200:
                assert not self.moved
                self.tracked[key] = symbols
            else:
                self._refuse(answer)

    def _refresh(self, host: Host) -> None:
        self.tokens[host] = [host.tokens()["refresh_token"]]
        while not self._stopped.is_set():
            answer = host.refresh(self.tokens[host][-1])
            if answer.status_code == 200:
                assert not self.moved
                self.tokens[host].append(answer.json()["refresh_token"])
            else:
                self._refuse(answer)

    def _refuse(self, answer: httpx.Response) -> None:
        self.refused.append((answer.status_code, answer.json()["error"]))

    @property
    def wrote(self) -> int:
        """How many have had something acknowledged."""
        return len(self.tracked) + sum(len(tokens) > 1 for tokens in self.tokens.values())


def test_a_service_is_moved_while_people_write_and_nothing_acknowledged_is_lost(
    night: Path, tmp_path: Path, new_url: Callable[[], str]
) -> None:
    origin, target = new_url(), new_url()
    copy_night(night, tmp_path / "old")
    copy_night(night, tmp_path / "new")
    with serving(tmp_path / "old", database_url=origin) as live:
        browser = signed_in(live, new_person(live, tracked=("AAPL", "IBM")))
        until(lambda: live.get("/me").status_code == 200)
        with Writers(live) as writers:
            until(lambda: writers.wrote == 4)
            done = run_process(tmp_path / "old", *COPY, origin, target)
            assert done.returncode == 0, done.stderr
            writers.moved = True
            before = len(writers.refused)
            until(lambda: len(writers.refused) > before + 8)
        assert set(writers.refused) == {(503, "unavailable"), (503, "temporarily_unavailable")}
        assert live.get("/me").status_code == 200
        assert live.get("/tickers").status_code == 200
        until(lambda: "moved" in str(httpx.get(f"{live.url}/health/ready").json()["degraded"]))
        assert httpx.get(f"{live.url}/health/ready").status_code == 200

    with serving(tmp_path / "new", database_url=target, email="later@example.com") as moved:
        assert moved.get("/me", key=live.key).status_code == 200
        again = Browser(moved)
        again.cookies.update(browser.cookies)
        assert again.get("/keys").status_code == 200
        for key, symbols in writers.tracked.items():
            tracked = moved.get("/tickers", key=key).json()["tickers"]
            assert [one["symbol"] for one in tracked] == symbols
        for host, tokens in writers.tokens.items():
            there = Host(moved, host.account_id, host.client_id, host.secret)
            assert there.refresh(tokens[-1]).status_code == 200
        assert (
            moved.request("PUT", "/tickers", json={"symbols": ["IBM"]}, key=key).status_code == 200
        )


def test_a_copy_that_is_killed_anywhere_leaves_nothing_or_all(
    tmp_path: Path, new_url: Callable[[], str]
) -> None:
    origin = new_url()
    new_key(Settings(data_dir=tmp_path, database_url=origin))
    expected = rows_at(origin)
    steps = multiprocessing.get_context("forkserver").Value("i", 0)
    assert copied(tmp_path, origin, new_url(), 0, steps) == 0
    assert run(tmp_path, "db", "reopen", origin).returncode == 0

    last = steps.value
    for step in (last // 4, last // 2, last - 25, last - 2, last - 1, last, last + 1):
        target = new_url()
        is_killed = copied(tmp_path, origin, target, step, steps) == -signal.SIGKILL
        assert is_killed == (step <= last)
        assert rows_at(origin) == expected
        if is_killed:
            assert not any(rows_at(target).values()), step
            assert run(tmp_path, *COPY, origin, target).returncode == 0, step
        assert closed(origin)
        assert rows_at(target) == expected
        assert run(tmp_path, "db", "reopen", origin).returncode == 0
        assert not closed(origin)


def copied(data: Path, origin: str, target: str, number: int, steps: Counter) -> int | None:
    """How a copy in a process of its own ends that is killed before a statement or commit."""
    process = multiprocessing.get_context("forkserver").Process(
        target=copy_until, args=(environment(data), (origin, target), number, steps)
    )
    process.start()
    process.join(120)
    return process.exitcode


def copy_until(
    settings: dict[str, str], addresses: tuple[str, str], number: int, steps: Counter
) -> None:
    """Copy, and die just before a statement or commit with a number; 0: count them."""
    steps.value = 0

    def step(*_what: object) -> None:
        steps.value += 1
        if steps.value == number:
            os.kill(os.getpid(), signal.SIGKILL)

    for event in ("before_cursor_execute", "commit"):
        sa.event.listen(sa.engine.Engine, event, step)
    os.environ.update(settings)
    sys.argv = ["screener", *COPY, *addresses]
    main()
