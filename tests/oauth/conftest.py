"""Fixtures of the sign-in tests."""

from __future__ import annotations

import pytest

from tests.oauth.conversation import Host, new_host
from tests.service import Service


@pytest.fixture
def host(service: Service) -> Host:
    """A new host with a new account, for one test only."""
    return new_host(service)
