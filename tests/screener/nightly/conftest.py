"""Fixtures of the tests of nights."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def kernels(request: pytest.FixtureRequest) -> None:
    """Of several workers one compiles the kernels, with the night that all of them wait for.

    The night is the session's: a module with a night of its own gives it another name, or its
    tests fail where they are a worker's first.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        request.getfixturevalue("night")
