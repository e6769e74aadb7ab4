"""A triangle that may break out either way is shown by both of its plans on every surface."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from screener.commands.patterns.tables import FORMING, setup_table
from screener.web.market.columns import COLUMNS, LINES, Row, cells_of, sheet_of
from store.wire.scan_index import ScanIndex, compact
from store.wire.view import SetupView
from store.wire.words import caption, place_words, plan_words, setup_words
from tests.store.wire.views import forming

PLANS = [("bullish", 110.0), ("bearish", 101.0)]
"""The close is 100: the first trigger is far, the second is passed."""

PRICES = {"bullish": (90.0, 150.0), "bearish": (112.0, 80.0)}
"""Stop and target of each plan."""


@pytest.fixture
def view() -> SetupView:
    def levels(row: dict[str, Any]) -> None:
        row["last_close_side"] = "beyond"
        for plan in row["plans"]:
            plan["stop_price"], plan["target_price"] = PRICES[plan["direction"]]

    return forming(100.0, PLANS, levels)


def test_sentences_name_the_levels_of_both_plans(view: SetupView) -> None:
    plans = (
        "bullish trigger $110.00, stop $90.00 (-18.18%), target $150.00 (+36.36%), reward to risk "
        "2.00; bearish trigger $101.00, stop $112.00 (+10.89%), target $80.00 (-20.79%), reward "
        "to risk 1.91"
    )

    assert setup_words(view) == "triangle: Triangle, bullish or bearish, forming"
    assert plan_words(view) == plans
    assert place_words(view) == (
        "bullish trigger 10.00% above the close or bearish trigger 1.00% above it, already passed"
    )
    assert plans in caption(view, "")


def test_a_row_of_the_screen_has_a_line_for_each_plan(view: SetupView) -> None:
    row = Row(view, (), "", {"daily_change": None, "market_cap": None})
    names = ("status", "trigger", "stop", "target", "reward_to_risk")

    cells = cells_of(row, {name: COLUMNS[name] for name in names})

    assert [str(text).replace(str(LINES), "<br>") for _, _, text in cells] == [
        "forming<br>forming, beyond",
        "$110.00<br>$101.00",
        "$90.00 -18.18%<br>$112.00 +10.89%",
        "$150.00 +36.36%<br>$80.00 -20.79%",
        "2.00<br>1.91",
    ]


def test_the_sheet_of_the_screen_has_the_second_plan(view: SetupView) -> None:
    heads, cells = sheet_of(
        [Row(view, (), "", {"daily_change": None, "market_cap": None})], COLUMNS.values()
    )

    found = dict(zip(heads, cells, strict=True))
    assert {name: found[name] for name in heads if str(name).startswith("opposite_")} == {
        "opposite_direction": "bearish",
        "opposite_distance_to_trigger_pct": 1.0,
        "opposite_trigger_price": 101.0,
        "opposite_stop_price": 112.0,
        "opposite_target_price": 80.0,
    }


def test_a_table_of_the_terminal_has_a_row_for_each_plan(view: SetupView) -> None:
    shown = setup_table(FORMING, [view], {}, 200)

    _, first, second = shown.table.lines()
    assert ("bullish" in first, "$90.00" in first) == (True, True)
    assert ("bearish" in second, "$112.00" in second, "passed" in second) == (True,) * 3
    assert "two rows of one triangle: it may break out either way" in shown.legend


def test_a_trade_has_its_reward_to_risk_from_the_entry_and_what_is_left() -> None:
    trade = {"status": "in_progress", "entry_price": 100.0, "entry_date": "2026-08-03"}

    def entered(row: dict[str, Any]) -> None:
        row |= trade
        row["plans"][0] |= {"stop_price": 90.0, "target_price": 150.0}

    view = forming(110.0, [("bullish", 99.0)], entered)

    assert plan_words(view).endswith("reward to risk 5.00 from the entry, 2.00 left")


def test_a_list_of_tickers_has_the_second_plan_as_rows_of_the_scan_have_it(view: SetupView) -> None:
    index = ScanIndex.of([view])

    listed = orjson.loads(index.by_symbol[view.symbol])

    assert listed["distance_to_trigger_pct"] == 10.0
    assert listed["opposite_plan"] == compact(view)["opposite_plan"]
    assert listed["opposite_plan"]["distance_to_trigger_pct"] == 1.0
