"""Services that tests of several pages share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service import Service, copy_night, serving
from tests.web.market import make_market


@pytest.fixture(scope="module")
def closed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of which MSFT alone is a demo symbol."""
    folder = tmp_path_factory.mktemp("closed")
    copy_night(night, folder)
    with serving(folder, demo_symbols=("MSFT",)) as live:
        yield live


@pytest.fixture(scope="module")
def market(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service with a scan of many rows, whose pages are open to everybody."""
    folder = tmp_path_factory.mktemp("market")
    copy_night(night, folder)
    make_market(folder)
    with serving(folder, open_pages=True) as live:
        yield live
