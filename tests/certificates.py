"""The certificates of authorities, which each client of HTTP reads, are read once in a process.

Tests make thousands of clients for addresses without TLS, and reading takes longer than a request.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """Give clients that ask for the same certificates the same context."""
    with pytest.MonkeyPatch.context() as patch:
        read_once = functools.cache(ssl.create_default_context)
        patch.setattr(ssl, "create_default_context", read_once)
        yield
