"""What the tests with hosts share: the clients, installed once in a run."""

from __future__ import annotations

import os

import pytest
from filelock import FileLock

from tests.hosts.installed import Installed, install
from tests.node import NotInstalledError


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The clients; the first worker installs them for all."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, outcome = shared / "hosts", shared / "hosts.outcome"
    with FileLock(shared / "hosts.lock"):
        if not outcome.exists():
            try:
                install(folder)
                outcome.write_text("")
            except NotInstalledError as error:
                outcome.write_text(str(error))
    if reason := outcome.read_text():
        pytest.skip(f"The clients could not be installed: {reason}")
    return Installed(folder)
