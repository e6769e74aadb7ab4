"""A nightly whose clock is wrong, or whose disk takes nothing, publishes nothing and says so."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import order_of
from screener.nightly.night import make_night
from screener.settings.settings import Settings
from store.errors import HeldBackError, PublishError
from store.ledger.manifest import Inputs
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from tests.service import copy_night

SESSION = dt.date(2012, 10, 1)
LATER = dt.datetime(2100, 6, 1, tzinfo=dt.UTC)


@pytest.fixture
def nights(night: Path, tmp_path: Path) -> Nights:
    """The sample night, on record."""
    copy_night(night, tmp_path)
    shutil.copytree(night / "ledger", tmp_path / "ledger")
    return Nights(tmp_path)


def test_a_clock_that_was_set_back_makes_no_night_of_the_past(nights: Nights) -> None:
    active = nights.check_active()
    order = order_of(Settings(), BarsOptions(session=SESSION))

    with pytest.raises(HeldBackError, match="set the clock"):
        make_night(order, nights, now=dt.datetime(2013, 1, 1, tzinfo=dt.UTC))
    assert nights.check_active() == active


def test_a_night_of_the_past_is_made_by_a_right_clock_or_if_it_is_meant(nights: Nights) -> None:
    order = order_of(Settings(), BarsOptions(session=SESSION))
    meant = replace(order, accept_fall=True)

    make_night(meant, nights, now=dt.datetime(2013, 1, 1, tzinfo=dt.UTC))
    made, _ = make_night(order, nights, now=LATER)

    assert made.as_of_session == SESSION


def test_a_clock_that_was_set_back_stops_no_later_session(nights: Nights) -> None:
    later = nights.check_active().as_of_session + dt.timedelta(days=1)
    order = order_of(Settings(), BarsOptions(session=later))

    made, _ = make_night(order, nights, now=dt.datetime(2013, 1, 1, tzinfo=dt.UTC))

    assert made.as_of_session == later


def test_a_book_that_cannot_be_begun_is_one_sentence(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    inputs = Inputs(
        bars="bars", bars_sha256="0", reference_sha256=None, parameters={}, code_version="1"
    )
    shutil.rmtree(nights.folder, ignore_errors=True)

    with pytest.raises(PublishError, match="cannot be written"):
        BookWriter(nights, session=SESSION, source="", disclaimer="", inputs=inputs)
