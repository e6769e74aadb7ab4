"""Fixtures of the sign-in tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oauth.conversation import Host, new_host
from tests.oauth.documents import Internet, internet
from tests.service import Service


@pytest.fixture
def host(service: Service) -> Host:
    """A new host with a new account, for one test only."""
    return new_host(service)


@pytest.fixture(scope="module")
def net() -> Iterator[Internet]:
    """An Internet, for the tests of one module."""
    with internet() as net:
        yield net
