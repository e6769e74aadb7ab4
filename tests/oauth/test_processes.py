"""Two serving processes on one database (U14), as behind a load balancer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from screener.settings import Settings
from store.accounts import Plan
from tests.oauth.conversation import Host, error_of, new_host
from tests.postgres import ENGINES, fresh_database
from tests.service import Service, apart, new_key
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in

SCREENER = str(Path(sys.executable).with_name("screener"))
ROUND = 12


@contextmanager
def process(folder: Path, database_url: str, public_url: str, key: str) -> Iterator[Service]:
    """A separate `screener serve` on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chosen = Settings(data_dir=folder, port=port, database_url=database_url, public_url=public_url)
    environment = {
        **os.environ,
        "SCREENER_DATA_DIR": str(folder),
        "SCREENER_DATABASE_URL": database_url,
        "SCREENER_PUBLIC_URL": public_url,
    }
    command = [SCREENER, "serve", "--port", str(port)]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Serving")
        url = f"http://127.0.0.1:{port}"
        httpx.get(f"{url}/docs", timeout=60).raise_for_status()
        yield Service(chosen, url, key)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


@pytest.fixture(scope="module", params=ENGINES)
def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The same service from two processes."""
    folder = tmp_path_factory.mktemp("processes")
    if request.param == "sqlite":
        url = f"sqlite+aiosqlite:///{folder / 'accounts.sqlite'}"
    else:
        server: str = request.getfixturevalue("postgres_url")
        url = apart(lambda: fresh_database(server, "processes"))
    key = new_key(Settings(data_dir=folder, database_url=url), plan=Plan.PREMIUM, tracked=())
    with ExitStack() as stack:
        yield tuple(  # type: ignore[misc]
            stack.enter_context(process(folder, url, "http://127.0.0.1:1", key)) for _ in range(2)
        )


@pytest.fixture
def hosts(services: tuple[Service, Service]) -> tuple[Host, Host]:
    """One host, once for each process that it talks to."""
    host = new_host(services[0])
    return host, replace(host, service=services[1])


def test_of_many_exchanges_over_both_exactly_one_succeeds(hosts: tuple[Host, Host]) -> None:
    """U14, T10, T08: the others count as a replay, which revokes the grant in both processes."""
    code = hosts[0].code()
    with ThreadPoolExecutor(ROUND) as executor:
        answers = list(executor.map(lambda n: hosts[n % 2].exchange(code), range(ROUND)))
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * (ROUND - 1)
    assert not any(host.opens(won["access_token"]) for host in hosts)
    assert error_of(hosts[1].refresh(won["refresh_token"])) == (400, "invalid_grant")


def test_of_many_refreshes_over_both_exactly_one_succeeds(hosts: tuple[Host, Host]) -> None:
    """U14, F07."""
    old = hosts[0].tokens()["refresh_token"]
    with ThreadPoolExecutor(ROUND) as executor:
        answers = list(executor.map(lambda n: hosts[n % 2].refresh(old), range(ROUND)))
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * (ROUND - 1)
    assert not any(host.opens(won["access_token"]) for host in hosts)


def test_what_one_issues_the_other_accepts_until_either_revokes_it(
    hosts: tuple[Host, Host],
) -> None:
    tokens = hosts[0].tokens()
    rotated = hosts[1].refresh(tokens["refresh_token"]).json()

    assert not hosts[0].opens(tokens["access_token"])
    assert hosts[0].opens(rotated["access_token"])
    hosts[1].revoke(rotated["access_token"])
    assert not hosts[0].opens(rotated["access_token"])


def test_a_password_changed_at_one_ends_the_sessions_of_both(
    services: tuple[Service, Service],
) -> None:
    """U13."""
    first, second = services
    person = new_person(first)
    browser = signed_in(first, person)
    elsewhere = Browser(second, cookies={"session": browser.cookies["session"]})
    before = elsewhere.get("/keys").status_code

    first.accounts(lambda accounts: accounts.set_password(person.email, "another hash"))

    assert before == 200
    assert elsewhere.get("/keys").status_code == browser.get("/keys").status_code == 303
