"""Fixtures of the questions: a live service for each night that is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.qa.agents.nights import Nights, opened


@pytest.fixture(scope="session")
def nights(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """The sample night and the market, each sealed and served."""
    with opened(night, tmp_path_factory.mktemp("nights")) as found:
        yield found
