"""Two serving processes on one database, as behind a load balancer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from screener.settings.settings import load_settings
from store.accounts.accounts import AccountPlan
from tests.oauth.conversation import Host, error_of, new_host
from tests.postgres import ENGINES, migrated_database
from tests.screener.process import serving_process, until
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, apart, copy_night, new_key

ROUND = 16
NOTICED = 2.0
"""Seconds within which every process knows what another one changed."""


@pytest.fixture(scope="module", params=ENGINES)
def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The same service from two processes."""
    folder = tmp_path_factory.mktemp("processes")
    copy_night(request.getfixturevalue("night"), folder)
    if request.param == "sqlite":
        url = f"sqlite+aiosqlite:///{folder / 'accounts.sqlite'}"
    else:
        at: str = request.getfixturevalue("postgres_url")
        url = apart(lambda: migrated_database(at, "processes"))
        url = url.replace("postgresql+asyncpg", "postgresql")
    key = new_key(
        load_settings(data_dir=folder, database_url=url), plan=AccountPlan.PREMIUM, tracked=()
    )
    settings = {
        "SCREENER_DATA_DIR": str(folder),
        "SCREENER_DATABASE_URL": url,
        "SCREENER_PUBLIC_URL": "http://127.0.0.1:1",
        "SCREENER_KEY_PER_MINUTE": "100000",
        "SCREENER_KEY_PER_DAY": "1000000",
    }
    with ExitStack() as stack:
        services = []
        for name in ("first", "second"):
            own = tmp_path_factory.mktemp(name)
            server = stack.enter_context(serving_process(own, **settings))
            chosen = load_settings(
                data_dir=folder,
                port=server.port,
                database_url=url,
                public_url=settings["SCREENER_PUBLIC_URL"],
            )
            services.append(Service(chosen, server.url, key))
        yield services[0], services[1]


@pytest.fixture
def hosts(services: tuple[Service, Service]) -> tuple[Host, Host]:
    """One host, once for each process that it talks to."""
    host = new_host(services[0])
    return host, replace(host, service=services[1])


def test_of_many_exchanges_over_both_exactly_one_succeeds(hosts: tuple[Host, Host]) -> None:
    """The others count as a replay, which revokes the grant in both processes."""
    code = hosts[0].code()
    with ThreadPoolExecutor(ROUND) as executor:
        answers = list(executor.map(lambda n: hosts[n % 2].exchange(code), range(ROUND)))
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * (ROUND - 1)
    until(lambda: not any(host.opens(won["access_token"]) for host in hosts), NOTICED)
    assert error_of(hosts[1].refresh(won["refresh_token"])) == (400, "invalid_grant")


def test_what_one_issues_the_other_accepts_until_either_revokes_it(
    hosts: tuple[Host, Host],
) -> None:
    tokens = hosts[0].tokens()
    assert hosts[0].opens(tokens["access_token"])
    rotated = hosts[1].refresh(tokens["refresh_token"]).json()

    assert not hosts[1].opens(tokens["access_token"])
    until(lambda: not hosts[0].opens(tokens["access_token"]), NOTICED)
    assert all(host.opens(rotated["access_token"]) for host in hosts)
    hosts[1].revoke(rotated["access_token"])
    assert not hosts[1].opens(rotated["access_token"])
    until(lambda: not hosts[0].opens(rotated["access_token"]), NOTICED)


@pytest.mark.parametrize("by", ["a command", "the page of one process"])
def test_a_key_that_is_revoked_during_calls_opens_nothing_on_either_within_seconds(
    services: tuple[Service, Service], by: str
) -> None:
    first, second = services
    person = new_person(first)
    key, secret = first.keys(lambda keys: keys.create(person.email, by))
    browser = signed_in(first, person)
    form = browser.form("/keys")
    assert [each.get("/me", key=secret).status_code for each in services] == [200, 200]

    if by == "a command":
        first.keys(lambda keys: keys.revoke(key.prefix))
        until(lambda: first.get("/me", key=secret).status_code == 401, NOTICED)
    else:
        browser.submit(form, revoke=key.prefix)
        assert first.get("/me", key=secret).status_code == 401
    until(lambda: second.get("/me", key=secret).status_code == 401, NOTICED)
    assert [each.get("/me", key=secret).status_code for each in services * 8] == [401] * ROUND


def test_of_many_lists_that_replace_the_one_that_was_read_one_is_taken(
    services: tuple[Service, Service],
) -> None:
    services[0].request("PUT", "/tickers", json={"symbols": ["AAPL"]}).raise_for_status()
    tag = services[0].get("/tickers").headers["etag"]
    lists = [["GOOG"], ["IBM"], ["MSFT"], ["AAPL", "IBM"]] * (ROUND // 4)

    def replace_list(number: int) -> int:
        body, headers = {"symbols": lists[number]}, {"If-Match": tag}
        service = services[number % 2]
        return service.request("PUT", "/tickers", json=body, headers=headers).status_code

    with ThreadPoolExecutor(ROUND) as executor:
        codes = list(executor.map(replace_list, range(ROUND)))

    assert sorted(codes) == [200] + [412] * (ROUND - 1)
    won = lists[codes.index(200)]
    until(lambda: [t["symbol"] for t in tickers(services[1])] == won, NOTICED)


def tickers(service: Service) -> list[dict[str, Any]]:
    """What the key's account tracks, as a process answers."""
    found: list[dict[str, Any]] = service.get("/tickers").json()["tickers"]
    return found


def test_a_password_changed_at_one_ends_the_sessions_of_both(
    services: tuple[Service, Service],
) -> None:
    first, second = services
    person = new_person(first)
    browser = signed_in(first, person)
    elsewhere = Browser(second, cookies={"session": browser.cookies["session"]})
    before = elsewhere.get("/keys").status_code

    first.accounts(lambda accounts: accounts.set_password(person.email, "another hash"))

    assert before == 200
    assert elsewhere.get("/keys").status_code == browser.get("/keys").status_code == 303
