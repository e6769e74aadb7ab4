"""Fixtures of the questions: a live service for each night that is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contract.market import write_market
from tests.qa.agents.nights import Nights, sealed
from tests.resealed import market_changes, reseal, write_changes
from tests.service import copy_night, serving


@pytest.fixture(scope="session")
def nights(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """The sample night and the market that is made from it, each sealed and served."""
    folder = tmp_path_factory.mktemp("nights")
    copy_night(night, folder / "sample")
    write_market(night, folder / "market")
    reseal(folder / "market", lambda content: write_changes(content, market_changes()))
    with ExitStack() as stack:
        yield {
            name: (stack.enter_context(serving(folder / name)), sealed(folder / name))
            for name in ("sample", "market")
        }
