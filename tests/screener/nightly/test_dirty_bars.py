"""Real but unusable bars: every symbol has its reason, and no absurd setup is served."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from screener.nightly.analysis import Task
from screener.nightly.bars import Bars, to_day
from screener.nightly.cleaning.rules import RULES
from screener.nightly.cleaning.sessions import windows
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.night import make_night
from screener.nightly.plan import Order
from screener.nightly.reading.source import Loaded
from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import Listing
from screener.nightly.version import code_version
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.records import Plan, ScanSetup
from tests.conftest import CROWDED

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[4] / "shared"))
DIRTY = SHARED / "data" / "bars_dirty.parquet"
NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
SESSIONS = (dt.date(2019, 4, 18), dt.date(2024, 3, 8), dt.date(2026, 8, 14))
"""The days on which most of the 65 series end, so that their last bars are served."""

FARTHEST_TARGET = 4.0
"""A target is at most this many times its trigger, or so small a part of it."""

pytestmark = pytest.mark.skipif(not DIRTY.exists(), reason="the shared dirty bars are not here")


@pytest.fixture(scope="module")
def loaded() -> dict[str, Loaded]:
    source = TableSource(DIRTY)
    return {item.name: item for item in source.load(source.names())}


def task(day: dt.date) -> Task:
    known = windows(day, NOW)
    return Task(TableSource(DIRTY), [], day, known, "split", Parameters(), code_version())


@pytest.mark.parametrize("parameters", [DEFAULTS, CROWDED], ids=["default", "lenient"])
@pytest.mark.parametrize("session", SESSIONS)
def test_a_night_over_garbage_reports_every_symbol_and_serves_nothing_absurd(
    session: dt.date, parameters: Parameters, loaded: dict[str, Loaded], tmp_path: Path
) -> None:
    nights = Nights(tmp_path)
    order = Order(TableSource(DIRTY), name="dirty", session=session, parameters=parameters)
    manifest, report = make_night(order, nights, now=NOW)

    refused = {symbol for symbols in report.refused.values() for symbol in symbols}
    sound_so_far = {"DDR"} if session < dt.date(2021, 1, 1) else set()  # its hole comes later
    assert set(loaded) - {*refused, *report.found} == sound_so_far
    assert set(report.refused) | set(report.findings) <= set(RULES)
    assert nights.report(manifest)["found"] == report.found

    book = Book.open(tmp_path / "nights" / manifest.book.file, manifest)
    served = [ScanSetup.model_validate_json(body) for body in book.features.bodies]
    book.close()
    # Later, few of these series still live; the default detector finds nothing in any of them.
    assert served or session > dt.date(2020, 1, 1) or parameters == DEFAULTS
    assert {setup.symbol for setup in served}.isdisjoint(refused)
    for setup in served:
        bars = task(session).clean(loaded[setup.symbol], Listing(setup.symbol)).bars
        assert list(absurdities(setup, bars)) == []


def absurdities(setup: ScanSetup, bars: Bars) -> Iterator[str]:
    """The properties of a setup that are absurd."""
    for plan in setup.plans:
        yield from _of_plan(plan, setup.last_close)
    shape = bars.take(bars.date >= to_day(setup.pattern_start))
    if (shape.high == shape.low).mean() > 0.25:
        yield "flat bars"
    if (np.diff(shape.close) == 0).mean() > 1 / 3:
        yield "steps"
    if np.abs(np.diff(np.log(shape.close))).max() > math.log(3):
        yield "a leap inside the pattern"


def _of_plan(plan: Plan, last: float) -> Iterator[str]:
    levels = [plan.stop_price, plan.trigger_price, plan.target_price]
    if not all(map(math.isfinite, levels)):
        yield "no number"
    if plan.direction == "bearish":
        levels.reverse()
    if not levels[0] < levels[1] < levels[2]:
        yield f"order {levels}"
    if max(levels[2] / levels[1], levels[1] / levels[0]) > FARTHEST_TARGET:
        yield f"a far level {levels}"
    if not 1 / 2 < plan.trigger_price / last < 2:
        yield f"a trigger of {plan.trigger_price} at a price of {last}"
