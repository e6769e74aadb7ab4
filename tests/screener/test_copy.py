"""`screener db copy`: a live installation moves, whole or not at all, and nothing acknowledged is
lost.
"""

from __future__ import annotations

import datetime as dt
import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from screener.settings import Settings
from store import tables
from store.copies import is_closed
from store.database import Database
from tests.oauth.conversation import Host, new_account, new_host
from tests.postgres import ENGINES, fresh_database
from tests.screener.command import check_refusal, environment, run, run_process
from tests.screener.process import until
from tests.service import TRACKED, Service, apart, copy_night, new_key, serving
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in

COPY = ("db", "copy")

KILLED = """
import os, signal, sys
import sqlalchemy as sa
left = int(sys.argv.pop(1))
def step(*_what):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
for event in ("before_cursor_execute", "commit"):
    sa.event.listen(sa.engine.Engine, event, step)
from screener.cli import main
try:
    main()
finally:
    print("left", left)
"""
"""Kills itself just before its Nth statement or commit; else says how many were left."""


@pytest.fixture(params=ENGINES)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes addresses of empty databases."""
    if request.param == "sqlite":
        numbers = iter(range(99))
        return lambda: f"sqlite+aiosqlite:///{tmp_path / f'{next(numbers)}.sqlite'}"
    server = request.getfixturevalue("postgres_url")
    return lambda: apart(lambda: fresh_database(server, tmp_path.name))


def rows_of(url: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables that are copied; none where there are no tables yet."""

    async def read() -> dict[str, list[tuple[object, ...]]]:
        database, found = Database(url), {}
        revision = await database.revision()
        async with database.snapshot() as connection:
            for table in tables.metadata.sorted_tables if revision else ():
                if table.name not in tables.OWN:
                    rows = await connection.execute(sa.select(table))
                    found[table.name] = sorted((tuple(map(in_utc, row)) for row in rows), key=repr)
        await database.close()
        return found

    return apart(read)


def in_utc(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value


def closed(url: str) -> bool:
    async def look() -> bool:
        database = Database(url)
        try:
            return await is_closed(database)
        finally:
            await database.close()

    return apart(look)


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
    expected = rows_of(origin)
    whole = killed(10**6, tmp_path, origin, new_url())
    steps = 10**6 - int(whole.stdout.split()[-1])
    run(tmp_path, "db", "reopen", origin)

    for step in (steps // 4, steps // 2, steps - 25, steps - 2, steps - 1, steps, steps + 1):
        target = new_url()
        is_killed = killed(step, tmp_path, origin, target).returncode == -signal.SIGKILL
        assert is_killed == (step <= steps)
        assert rows_of(origin) == expected
        if is_killed:
            assert not any(rows_of(target).values()), step
            assert run(tmp_path, *COPY, origin, target).returncode == 0, step
        assert closed(origin)
        assert rows_of(target) == expected
        assert run(tmp_path, "db", "reopen", origin).returncode == 0
        assert not closed(origin)


def killed(step: int, data: Path, origin: str, target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(step), *COPY, origin, target],
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_settings_name_one_side_and_a_path_is_one(tmp_path: Path) -> None:
    data, old = tmp_path / "data", tmp_path / "old.sqlite"
    data.mkdir()
    new_key(Settings(data_dir=data))
    url = f"sqlite+aiosqlite:///{old}"
    done = run(data, *COPY, "-", str(old))

    assert done.returncode == 0, done.stderr
    assert "Copied and compared" in done.stdout
    assert rows_of(url) == rows_of(Settings(data_dir=data).accounts_url)
    assert old.stat().st_mode & 0o777 == 0o600
    back = run(data, *COPY, f"sqlite:///{old}", "-", SCREENER_DATABASE_URL=f"{url}2")
    assert back.returncode == 0, back.stderr
    assert rows_of(f"{url}2") == rows_of(url)


def test_the_operator_is_told_that_the_accounts_moved_until_they_are_taken_back(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    new_key(Settings(data_dir=data))
    assert run(data, "db", "check").returncode == 0
    assert run(data, *COPY, "-", str(tmp_path / "new.sqlite")).returncode == 0

    check_refusal(run(data, "account", "add", "--plan", "none", "b@example.com"), "db reopen")
    check_refusal(run(data, "db", "check"), "have moved", code=1)
    assert "have moved" in run(data, "doctor").stdout
    assert run(data, "account", "list").returncode == 0
    assert "again" in run(data, "db", "reopen", "-").stdout
    assert "already" in run(data, "db", "reopen", "-").stdout
    assert run(data, "account", "add", "--plan", "none", "b@example.com").returncode == 0
    assert run(data, "db", "check").returncode == 0


def test_what_cannot_be_copied_is_one_line(tmp_path: Path) -> None:
    data, new = tmp_path / "data", str(tmp_path / "new.sqlite")
    data.mkdir()
    new_key(Settings(data_dir=data))

    check_refusal(run(data, *COPY, "-", "-"), "the same database")
    check_refusal(run(data, *COPY, str(tmp_path / "none"), new), "does not exist")
    check_refusal(run(data, *COPY, "-", "mysql://host/x"), "cannot be used")
    check_refusal(run(data, *COPY, "-", str(tmp_path / "no" / "new")), "make it", code=8)
    assert run(data, *COPY, "-", new, "--leave-open").returncode == 0
    check_refusal(run(data, *COPY, "-", new), "holds rows already")
    assert not closed(Settings(data_dir=data).accounts_url)


def test_a_password_among_the_arguments_is_warned_of_and_never_shown(tmp_path: Path) -> None:
    new_key(Settings(data_dir=tmp_path))
    url = "postgresql+asyncpg://user:hunter22@127.0.0.1:1/accounts"
    done = run(tmp_path, *COPY, "-", url)

    assert "others on this machine can see the password" in done.stderr
    assert "hunter22" not in done.stderr + done.stdout
    assert done.returncode == 8
