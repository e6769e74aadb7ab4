"""The records: what a setup, a scan row and a track record say, and their envelope.

The types of their fields are those of the document, to which `test_schemathesis.py` holds answers.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from store.wire.families import Family
from tests.contract.cases import KEYED, KEYLESS
from tests.contract.market import Market, active_book
from tests.service import TRACKED, Service

SESSION = "2012-10-03"


def iso(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


@pytest.fixture(scope="module")
def setups(service: Service) -> list[Any]:
    """Every setup that the sample's tickers have."""
    answers = [service.get(f"/tickers/{symbol}/patterns").json() for symbol in TRACKED]
    return [setup for answer in answers for setup in answer["setups"]]


@pytest.fixture(scope="module")
def records(service: Service, setups: list[Any]) -> list[Any]:
    """Every track record, of families and of tickers."""
    families = service.get("/families").json()["families"]
    tickers = [setup["track_record"]["ticker"] for setup in setups]
    return [entry["track_record"] for entry in families] + [r for r in tickers if r is not None]


@pytest.mark.proves("SETUP-setup_id", "SETUP-lineage_id", "SETUP-symbol", "SETUP-interval")
@pytest.mark.proves("SETUP-family", "SETUP-family_label", "SETUP-pattern_type", "SETUP-direction")
@pytest.mark.proves("SETUP-status", "SETUP-as_of_session", "SETUP-price_scale", "RULE-4")
def test_a_setup_says_what_it_is(setups: list[Any]) -> None:
    assert len(setups) == len({setup["setup_id"] for setup in setups}) == 6
    for setup in setups:
        assert setup["symbol"] in TRACKED
        assert setup["interval"] == "D"
        assert setup["family"] in tuple(Family)
        assert setup["family_label"].lower().replace(" ", "_") == setup["family"]
        assert setup["direction"] in ("bullish", "bearish")
        assert setup["status"] in ("forming", "in_progress")
        assert setup["as_of_session"] == SESSION
        assert setup["price_scale"] == "log"


@pytest.mark.proves("SETUP-pattern_dates", "SETUP-lines", "SETUP-line", "RULE-0")
def test_a_setup_has_two_lines_between_dated_endpoints(setups: list[Any]) -> None:
    for setup in setups:
        start, end = iso(setup["pattern_start"]), iso(setup["pattern_end"])
        assert start < end <= iso(SESSION)
        assert set(setup["lines"]) == {"upper", "lower"}
        for line in setup["lines"].values():
            assert set(line) == {"start", "end", "touch_count", "touches"}
            for point in (line["start"], line["end"], *line["touches"]):
                assert set(point) == {"date", "price"}
                assert start <= iso(point["date"]) <= end
            assert iso(line["start"]["date"]) < iso(line["end"]["date"])


@pytest.mark.proves("SETUP-plans", "SETUP-trigger_rule", "RULE-0")
def test_a_setup_has_a_trigger_rule_and_plans_with_prices_in_their_order(
    setups: list[Any],
) -> None:
    for setup in setups:
        assert setup["plans"][0]["direction"] == setup["direction"]
        for plan in setup["plans"]:
            assert set(plan) == {"direction", "trigger_price", "stop_price", "target_price"}
            prices = [plan[f"{name}_price"] for name in ("stop", "trigger", "target")]
            assert prices == sorted(prices, reverse=plan["direction"] == "bearish")
        rule = setup["trigger_rule"]
        assert "A daily close" in rule
        assert rule.endswith(".")
        if setup["status"] == "forming":
            assert f"${setup['plans'][0]['trigger_price']:.2f}" in rule
            assert "moves" in rule


@pytest.mark.proves("SETUP-last_close", "SCANSETUP-distance_to_trigger_pct")
def test_the_last_close_is_the_sessions_and_the_distance_is_measured_from_it(
    sample: Market, service: Service
) -> None:
    book = active_book(service.settings.data_dir)
    for row in sample.rows:
        prices = book.kept_prices(row["symbol"])
        assert prices is not None
        assert row["last_close"] == pytest.approx(float(prices.close[-1]))
        if row["status"] == "forming":
            trigger = row["plans"][0]["trigger_price"]
            gap = 100 * abs(trigger / row["last_close"] - 1)
            assert row["distance_to_trigger_pct"] == pytest.approx(gap, abs=0.006)
    book.close()


@pytest.mark.proves("SETUP-track_record", "RULE-0")
def test_a_setup_comes_with_its_familys_record_and_its_tickers(
    service: Service, setups: list[Any]
) -> None:
    families = {e["family"]: e["track_record"] for e in service.get("/families").json()["families"]}
    for setup in setups:
        assert set(setup["track_record"]) == {"family", "ticker"}
        assert setup["track_record"]["family"] == families[setup["family"]]
        if (own := setup["track_record"]["ticker"]) is not None:
            assert (own["family"], own["symbol"]) == (setup["family"], setup["symbol"])


@pytest.mark.proves("STATE-forming", "STATE-in_progress")
def test_forming_is_before_the_trigger_and_in_progress_runs_between_stop_and_target(
    setups: list[Any],
) -> None:
    assert {setup["status"] for setup in setups} == {"forming", "in_progress"}
    for setup in setups:
        side = 1 if setup["direction"] == "bullish" else -1
        plan, close = setup["plans"][0], setup["last_close"]
        if setup["status"] == "forming":
            assert side * close < side * plan["trigger_price"]
        else:
            assert side * plan["stop_price"] < side * close < side * plan["target_price"]
            assert "fired on" in setup["trigger_rule"]


@pytest.mark.proves("SCANSETUP-fields", "SCANSETUP-expected_gain_pct", "SCANSETUP-win_rate_pct")
@pytest.mark.proves("SCANSETUP-win_rate_trades", "SCANSETUP-rank")
@pytest.mark.proves("SCANSETUP-distance_to_trigger_pct")
def test_a_scan_row_is_the_setup_with_its_rank_and_the_numbers_behind_it(
    sample: Market, setups: list[Any]
) -> None:
    by_id = {setup["setup_id"]: setup for setup in setups}
    own = {"rank", "expected_gain_pct", "win_rate_pct", "win_rate_trades"}
    own |= {"distance_to_trigger_pct", "target_move_pct"}
    for row in sample.page(status="all")["setups"]:
        assert {name: row[name] for name in row if name not in own} == by_id[row["setup_id"]]
        shown = (row["win_rate_pct"], row["win_rate_trades"])
        behind = [
            record["by_direction"][row["direction"]] if record["by_direction"] else record
            for record in row["track_record"].values()
            if record is not None
        ]
        behind = [record for record in behind if record is not None]
        assert shown in [(r["win_rate_pct"], r["sample_size"]) for r in behind]


@pytest.mark.proves("RECORD-scope", "RECORD-family", "RECORD-symbol")
def test_a_family_record_names_its_family_and_no_symbol(service: Service) -> None:
    for entry in service.get("/families").json()["families"]:
        record = entry["track_record"]
        assert (record["scope"], record["family"]) == ("family", entry["family"])
        assert record["symbol"] is None


@pytest.mark.proves("RECORD-win_rate_pct", "RECORD-sample_size", "RECORD-wins_losses")
@pytest.mark.proves("RECORD-avg_win_pct", "RECORD-avg_loss_pct", "RECORD-median_win_pct")
@pytest.mark.proves("RECORD-avg_trade_pct", "RECORD-avg_r", "RECORD-expected_r")
@pytest.mark.proves("RECORD-profit_factor", "RECORD-avg_hold_bars")
def test_the_numbers_of_a_track_record_fit_together(records: list[Any]) -> None:
    for record in records:
        size, wins, losses = record["sample_size"], record["wins"], record["losses"]
        assert wins + losses == size
        assert record["win_rate_pct"] == pytest.approx(100 * wins / size, abs=0.006)
        won, lost = wins * (record["avg_win_pct"] or 0), losses * (record["avg_loss_pct"] or 0)
        assert won >= 0 >= lost
        assert (record["median_win_pct"] is None) is (wins == 0)
        assert record["avg_trade_pct"] == pytest.approx((won + lost) / size, abs=0.02)
        if lost:
            assert record["profit_factor"] == pytest.approx(won / -lost, rel=0.01)
        assert abs(record["expected_r"]) <= max(abs(record["avg_r"]), 0.3)


@pytest.mark.proves("RECORD-backtest_range", "RECORD-measured", "RECORD-summary")
def test_a_track_record_says_what_was_measured_and_sums_it_up_in_one_sentence(
    records: list[Any],
) -> None:
    for record in records:
        start, end = record["backtest_range"]
        assert iso(start) < iso(end) == iso(SESSION)
        assert "open trades" in record["measured"]
        assert "excluded" in record["measured"]
        summary = record["summary"]
        assert summary.startswith(record["family"].replace("_", " ").capitalize())
        facts = [f"{record['sample_size']} resolved trade", start, end]
        facts += [f"{record['win_rate_pct']:.2f}% reached the target"]
        for name, words in (("avg_win", "average win"), ("avg_loss", "average loss")):
            value = record[f"{name}_pct"]
            facts += [] if value is None else [f"{words} {value:+.2f}%"]
        if record["median_win_pct"] is not None:
            facts += [f"median win {record['median_win_pct']:+.2f}%"]
        assert all(fact in summary for fact in facts)


PRIVATE = [path for method, path in KEYED if method == "GET" and not path.endswith(".png")]
PUBLIC = [path for path in KEYLESS if not path.endswith((".txt", ".md", ".json"))]


@pytest.mark.proves("ENV-all", "ENV-api_version", "ENV-as_of_session", "ENV-data_version")
@pytest.mark.proves("ENV-source", "ENV-disclaimer", "RULE-1-session", "VER-1", "VER-3")
@pytest.mark.parametrize("path", [*PRIVATE, *PUBLIC])
def test_every_json_answer_carries_the_envelope_of_the_active_night(
    service: Service, path: str
) -> None:
    answer = service.get(path).raise_for_status()
    book = active_book(service.settings.data_dir)
    book.close()

    body = answer.json()
    assert answer.headers["content-type"] == "application/json"
    whose = "private" if path in PRIVATE else "public"
    assert answer.headers["cache-control"] == f"{whose}, no-cache"
    assert body["api_version"] == "v1"
    assert iso(body["as_of_session"]) == book.session
    assert body["next_session"] == "2012-10-04"
    assert body["data_version"] == book.data_version
    assert body["source"] == service.settings.source
    assert body["disclaimer"] == service.settings.disclaimer
