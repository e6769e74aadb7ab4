"""Fixtures of the sign-in tests: a host that is registered at the live service."""

from __future__ import annotations

import pytest

from tests.oauth.conversation import Host, new_host
from tests.service import Service


@pytest.fixture
def host(service: Service) -> Host:
    """A host of the test's own, before an account of its own."""
    return new_host(service)
