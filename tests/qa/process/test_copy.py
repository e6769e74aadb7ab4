"""A live installation moves, whole or not at all, and nothing acknowledged is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import httpx
import pytest
import sqlalchemy as sa

from screener.commands.cli import main
from screener.settings.settings import load_settings
from store.accounts.tokens import REFRESHES_AN_HOUR
from tests.oauth.conversation import new_host
from tests.postgres import ENGINES, fresh_database
from tests.screener.command import environment, run, run_process
from tests.screener.commands.copies import COPY, is_closed, rows_at
from tests.screener.process import until
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.service import TRACKED, apart, copy_night, new_key, serving

T = TypeVar("T")


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


class Writer(Generic[T]):
    """Somebody who writes again and again, from what was acknowledged last."""

    def __init__(
        self, last: T, write: Callable[[T], httpx.Response], read: Callable[[Any], T]
    ) -> None:
        self.last, self.wrote, self.refused = last, 0, list[tuple[int, str]]()
        self._write, self._read = write, read

    def work(self, stopped: threading.Event) -> None:
        """Write until that is set."""
        while not stopped.is_set():
            answer = self._write(self.last)
            if answer.status_code == 200:
                self.last, self.wrote = self._read(answer.json()), self.wrote + 1
            else:
                self.refused.append((answer.status_code, answer.json()["error"]))


def symbols_of(tracked: Any) -> list[str]:
    return [one["symbol"] for one in tracked["tickers"]]


def test_a_service_is_moved_while_people_write_and_nothing_acknowledged_is_lost(
    night: Path, tmp_path: Path, new_url: Callable[[], str]
) -> None:
    origin, target, stopped = new_url(), new_url(), threading.Event()
    copy_night(night, tmp_path / "old")
    copy_night(night, tmp_path / "new")
    with (
        serving(tmp_path / "old", database_url=origin) as live,
        ThreadPoolExecutor(2) as threads,
    ):
        browser = signed_in(live, new_person(live, tracked=("AAPL", "IBM")))
        key, host = new_key(live.settings, "writer@example.com"), new_host(live)

        def replace_list(last: list[str]) -> httpx.Response:
            return live.request("PUT", "/tickers", key=key, json={"symbols": last[::-1]})

        person = Writer(list(TRACKED), replace_list, symbols_of)
        app = Writer(host.tokens(), lambda last: host.refresh(last["refresh_token"]), dict)
        runs = [threads.submit(each.work, stopped) for each in (person, app)]
        try:
            until(lambda: min(person.wrote, app.wrote) > 0)
            # Of a server, it may find the accounts in use, and says so.
            until(lambda: run_process(tmp_path / "old", *COPY, origin, target).returncode == 0)
            wrote = person.wrote, app.wrote
            before = [len(each.refused) for each in (person, app)]
            until(lambda: len(person.refused) > before[0] + 4 and len(app.refused) > before[1] + 4)
        finally:
            stopped.set()
        for run_of in runs:
            run_of.result(60)
        assert (person.wrote, app.wrote) == wrote
        assert set(person.refused) == {(503, "unavailable")}
        too_often = {(429, "rate_limited")}  # where the copy took longer than an hour's refreshes
        assert set(app.refused) - too_often == {(503, "temporarily_unavailable")}
        assert live.get("/me").status_code == 503
        assert live.get("/families", key="").status_code == 200
        until(lambda: "moved" in str(httpx.get(f"{live.url}/health/ready").json()["degraded"]))
        assert httpx.get(f"{live.url}/health/ready").status_code == 200

    with serving(tmp_path / "new", database_url=target, email="later@example.com") as moved:
        assert moved.get("/me", key=live.key).status_code == 200
        again = Browser(moved)
        again.cookies.update(browser.cookies)
        assert again.get("/keys").status_code == 200
        assert symbols_of(moved.get("/tickers", key=key).json()) == person.last
        # Each refresh ends the access tokens before it, so only the last pair's is accepted.
        assert moved.get("/me", key=app.last["access_token"]).status_code == 200
        last = replace(host, service=moved).refresh(app.last["refresh_token"]).status_code
        assert last == (200 if app.wrote < REFRESHES_AN_HOUR else 429)
        changed = moved.request("PUT", "/tickers", json={"symbols": ["IBM"]}, key=key)
        assert changed.status_code == 200


def test_a_copy_that_is_killed_anywhere_leaves_nothing_or_all(
    tmp_path: Path, new_url: Callable[[], str]
) -> None:
    origin = new_url()
    new_key(load_settings(data_dir=tmp_path, database_url=origin))
    expected = rows_at(origin)
    steps = multiprocessing.get_context("forkserver").Value("i", 0)
    assert copied(tmp_path, origin, new_url(), 0, steps) == 0
    assert run(tmp_path, "db", "reopen", origin).returncode == 0

    last = steps.value
    for step in (last // 4, last // 2, last - 25, last - 2, last - 1, last, last + 1):
        target = new_url()
        is_killed = copied(tmp_path, origin, target, step, steps) == -signal.SIGKILL
        assert is_killed == (step <= last)
        if is_killed:
            assert not any(rows_at(target).values()), step
            assert run(tmp_path, *COPY, origin, target).returncode == 0, step
        assert is_closed(origin)
        assert rows_at(target) == expected
        assert run(tmp_path, "db", "reopen", origin).returncode == 0
        assert rows_at(origin) == expected


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
