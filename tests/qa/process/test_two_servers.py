"""Two serving processes on one PostgreSQL, as behind a load balancer.

What may be done once, however many ask, is held in tests/store, where the database decides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from screener.settings.settings import load_settings
from tests.postgres import migrated_database
from tests.screener.process import serving_process, until
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, apart

pytestmark = pytest.mark.engine

ROUND = 16
NOTICED = 2.0
"""Seconds within which every process knows what another one changed."""


@pytest.fixture(scope="module")
def services(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, ...]]:
    """The same service from two processes."""
    url = apart(lambda: migrated_database(postgres_url, "processes"))
    url, public = url.replace("postgresql+asyncpg", "postgresql"), "http://127.0.0.1:1"
    settings = {"SCREENER_DATABASE_URL": url, "SCREENER_PUBLIC_URL": public}
    with ExitStack() as stack:
        services = []
        for name in ("first", "second"):
            folder = tmp_path_factory.mktemp(name)
            server = stack.enter_context(serving_process(folder, **settings))
            chosen = load_settings(
                data_dir=folder, port=server.port, database_url=url, public_url=public
            )
            services.append(Service(chosen, server.url, ""))
        yield tuple(services)


@pytest.mark.parametrize("by", ["a command", "the page of one process"])
def test_a_key_that_is_revoked_during_calls_opens_nothing_on_either_within_seconds(
    services: tuple[Service, ...], by: str
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
