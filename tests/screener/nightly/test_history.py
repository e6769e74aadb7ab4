"""Ids of lineages and setups: no two that are served at the same time share an id."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from screener.nightly.bars import Bars
from screener.nightly.detector.events import TRADE, VERSION, EndReason, EventLog, Outcome
from screener.nightly.results.history import FACTS, FirstAttempts, Lineages
from screener.nightly.results.views import setup_id
from screener.nightly.series import Series
from screener.nightly.statistics.records import Scope, track_record
from screener.nightly.statistics.summary import GroupSummary
from store.wire.families import Family

DAY = dt.date(2024, 3, 8)


def bars(count: int = 100) -> Bars:
    price = np.full(count, 10.0)
    return Bars(np.arange(count, dtype=np.int32), price, price, price, price, price)


def version(**fields: Any) -> Any:
    """A version that was first served on bar 50 and still is, unless its fields say otherwise."""
    row = np.zeros(1, VERSION)[0]
    values = {"type": 3, "attempt": 1, "upper_start": 20, "lower_start": 22, "first_served": 50}
    for name, value in {**values, "end": -1, **fields}.items():
        row[name] = value
    return row


def trade(row: int, entry: int, leave: int = -1) -> Any:
    """A trade of a version's row."""
    made = np.zeros(1, TRADE)[0]
    prices = {"entry_price": 10.0, "stop_price": 9.0, "target_price": 12.0, "exit_price": 12.0}
    prices["atr"] = 0.02
    outcome = Outcome.OPEN if leave < 0 else Outcome.WIN
    facts = {"version": row, "direction": 1, "entry": entry, "exit": leave, "outcome": outcome}
    for name, value in {**prices, **facts}.items():
        made[name] = value
    return made


def lineages(versions: list[Any], trades: list[Any]) -> Lineages:
    log = EventLog(np.array(versions, VERSION), np.array(trades, TRADE))
    return Lineages("TEST", bars(), log)


def test_lineages_that_begin_on_the_same_days_have_ids_of_their_own() -> None:
    alone = lineages([version(lineage=0)], [])
    found = lineages([version(lineage=number, type=number) for number in range(3)], [])

    assert found.id(0) == alone.id(0)
    assert len({found.id(number) for number in range(3)}) == 3


def test_two_setups_of_one_lineage_and_attempt_have_ids_of_their_own() -> None:
    alone = lineages([version()], [])
    found = lineages([version(), version(upper_start=40, first_served=60)], [])

    assert found.setup_id(0, 0, 1, 99, DAY) == alone.setup_id(0, 0, 1, 99, DAY)
    assert found.setup_id(1, 0, 1, 99, DAY) != found.setup_id(0, 0, 1, 99, DAY)


def test_a_setup_s_id_regards_only_what_was_served_beside_it() -> None:
    over = version(end=70, end_reason=EndReason.TRIGGERED)
    found = lineages([over, version(first_served=60)], [trade(0, 70, 80)])

    ids = [found.setup_id(1, 0, 1, bar, DAY) for bar in (69, 79, 80)]
    assert ids[0] == ids[1] != ids[2]
    assert ids[2] == setup_id(found.id(0), 1, DAY)


def test_a_history_row_has_the_id_of_the_last_session_on_which_it_was_forming() -> None:
    versions = [version(end=70, end_reason=EndReason.TRIGGERED) for _ in range(2)]
    found = lineages(versions, [trade(0, 70, 80), trade(1, 70)])

    rows = FirstAttempts.of(Series.sound(bars()), found).rows

    served = dt.date(1970, 1, 1) + dt.timedelta(days=69)
    for row in range(2):
        wanted = f'"setup_id":"{found.setup_id(row, 0, 1, 69, served)}"'.encode()
        assert sum(wanted in body for body in rows.bodies) == 1


def test_a_delisted_trade_that_gained_is_no_win_and_no_average_loss() -> None:
    facts = np.zeros(4, FACTS)
    facts["outcome"] = [Outcome.WIN, Outcome.LOSS, Outcome.DELISTED, Outcome.DELISTED]
    facts["realized_pct"] = [10.0, -5.0, 30.0, -1.0]
    facts["r"] = [2.0, -1.0, 6.0, -0.2]
    facts["risk_pct"] = 5.0
    day = dt.date(2024, 1, 2)
    record = track_record(
        Scope(Family.RISING_WEDGE, None, day, day, 1), GroupSummary(facts), {}, {}
    )

    assert record is not None
    assert (record.sample_size, record.wins, record.losses) == (4, 1, 3)
    assert (record.avg_win_pct, record.avg_loss_pct, record.avg_trade_pct) == (10.0, -5.0, 8.5)
    assert record.profit_factor == pytest.approx(40 / 6, abs=1e-3)


def test_a_record_writes_thousands_of_trades_with_a_comma() -> None:
    facts = np.zeros(1_204, FACTS)
    facts["outcome"], facts["realized_pct"], facts["risk_pct"] = Outcome.WIN, 1.0, 1.0
    day = dt.date(2024, 1, 2)
    scope = Scope(Family.RISING_WEDGE, None, day, day, 1)

    record = track_record(scope, GroupSummary(facts), {}, {})

    assert record is not None
    assert record.summary.startswith("Rising wedge: 1,204 resolved trades in the bars from ")
