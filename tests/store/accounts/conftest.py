"""The time at which accounts are tried."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.clocks import SetClock


@pytest.fixture
def clock() -> SetClock:
    """A clock that the test sets, at noon of a day."""
    return SetClock(dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC))
