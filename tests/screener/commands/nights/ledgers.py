"""A data folder with a ledger of six nights."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from tests.screener.nightly.nights import order_of as lenient
from tests.screener.nightly.published import market, publish, sessions_before

LAST = dt.date(2024, 3, 28)

SESSIONS = sessions_before(LAST, 6)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bars, and a data folder with a night of each session."""
    folder = tmp_path_factory.mktemp("published")
    order = lenient(market(folder / "bars", 12))
    for session in SESSIONS:
        publish(order, folder / "data", session)
    return folder
