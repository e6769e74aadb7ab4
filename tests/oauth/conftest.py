"""Fixtures of the sign-in tests: a live service on each engine, and a host that it knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oauth.conversation import Host, new_host
from tests.postgres import ENGINES, fresh_database
from tests.service import Service, apart, copy_night, serving


@pytest.fixture(scope="session", params=ENGINES)
def service(
    request: pytest.FixtureRequest,
    service: Service,
    night: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    """A live service whose accounts are on SQLite, and one whose are on PostgreSQL."""
    if request.param == "sqlite":
        yield service
        return
    folder = tmp_path_factory.mktemp("on-postgresql")
    copy_night(night, folder)
    server = request.getfixturevalue("postgres_url")
    with serving(folder, database_url=apart(lambda: fresh_database(server, "oauth"))) as live:
        yield live


@pytest.fixture
def host(service: Service) -> Host:
    """A new host with a new account, for one test only."""
    return new_host(service)
