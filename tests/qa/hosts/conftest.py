"""What the tests with hosts share: the clients, installed once in a run."""

from __future__ import annotations

import pytest

from tests.node import NotInstalledError
from tests.once import made_once
from tests.qa.hosts.installed import Installed, install


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The clients; the first worker installs them for all."""
    try:
        return Installed(made_once(tmp_path_factory, "hosts", install))
    except NotInstalledError as error:
        pytest.skip(f"The clients could not be installed: {error}")
