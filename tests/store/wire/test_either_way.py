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


def sided(trades: int, rate: float, average: float) -> dict[str, Any]:
    facts = {"sample_size": trades, "win_rate_pct": rate, "avg_r": average, "expected_r": average}
    return {**facts, "avg_loss_pct": -4.0, "placebo_avg_r": 0.05, "verdict": "too_few"}


@pytest.mark.parametrize(
    ("own", "shown", "evidence"),
    [
        (sided(30, 70.0, 0.6), ("ticker", 70.0, 30), (70.0, 0.6)),
        (sided(19, 70.0, 0.6), ("family", 40.0, 900), (70.0, 0.6)),
        (sided(4, 75.0, 0.6), ("family", 40.0, 900), (None, None)),
        (None, ("family", 40.0, 900), (None, None)),
    ],
)
def test_the_second_plan_has_the_record_of_its_direction(
    own: dict[str, Any] | None, shown: tuple[str, float, int], evidence: tuple[float | None, ...]
) -> None:
    def recorded(row: dict[str, Any]) -> None:
        whole = sided(1800, 50.0, 0.1)
        sides = {"bullish": sided(900, 60.0, 0.2), "bearish": sided(900, 40.0, -0.2)}
        ticker = sided(34, 60.0, 0.3) | {"by_direction": {"bullish": None, "bearish": own}}
        row["track_record"] = {"family": whole | {"by_direction": sides}, "ticker": ticker}
        row |= {"win_rate_pct": 60.0, "win_rate_trades": 900}

    view = forming(100.0, PLANS, recorded)
    row = compact(view, with_own=True)
    second = row["opposite_plan"]
    index = ScanIndex.of([view])

    assert (row["win_rate_scope"], row["win_rate_pct"]) == ("family", 60.0)
    assert tuple(second[f"win_rate_{name}"] for name in ("scope", "pct", "trades")) == shown
    assert second["expected_r"] == (own["expected_r"] if own else -0.2)
    assert second["expected_r_trades"] == (own["sample_size"] if own else 900)
    assert second["expected_r_scope"] == ("ticker" if own else "family")
    assert (second["placebo_avg_r"], second["placebo_scope"]) == (0.05, "family")
    assert second["ticker_trades"] == (own["sample_size"] if own else 0)
    assert row["ticker_trades"] == 0
    known = [index.columns[f"opposite_{name}"][0] for name in ("min_win_rate", "min_avg_r")]
    assert tuple(None if number != number else number for number in known) == evidence


def test_a_list_of_tickers_has_the_second_plan_as_rows_of_the_scan_have_it(view: SetupView) -> None:
    index = ScanIndex.of([view])

    listed = orjson.loads(index.by_symbol[view.symbol])

    assert listed["distance_to_trigger_pct"] == 10.0
    assert listed["opposite_plan"].items() <= compact(view)["opposite_plan"].items()
    assert listed["opposite_plan"]["distance_to_trigger_pct"] == 1.0
