"""The market-wide scan: its parameters, its order, its pages and the language of its filters."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from store.wire.families import Family
from tests.contract.market import Market
from tests.service import Service, new_key


def check_refused(market: Market, *words: str, **parameters: Any) -> dict[str, Any]:
    answer = market.scan(**parameters)
    body: dict[str, Any] = answer.json()
    assert answer.status_code == 400
    assert body["error"] == "bad_request"
    for word in words:
        assert word in body["message"]
    return body


def ranks_where(market: Market, **wanted: Any) -> list[int]:
    return [
        row["rank"]
        for row in market.rows
        if all(row[name] == value for name, value in wanted.items())
    ]


@pytest.mark.proves("SCAN-market", "RULE-3")
def test_the_scan_needs_no_tracked_ticker(service: Service) -> None:
    key = new_key(service.settings, "untracking@example.com", tracked=())

    page = service.get("/scan?status=all", key=key).json()

    assert {row["symbol"] for row in page["setups"]} == {"AAPL", "GOOG", "IBM", "MSFT"}


@pytest.mark.proves("SCAN-family", "SCAN-direction", "SCAN-status", "SCAN-setups", "STATE-scan")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        *({"family": family} for family in Family),
        *({"direction": direction} for direction in ("bullish", "bearish")),
        *({"status": status} for status in ("in_progress", "all")),
    ],
)
def test_the_forming_setups_or_those_asked_for_are_listed_best_rank_first(
    market: Market, asked: dict[str, str]
) -> None:
    """With all of them, the forming ones come first."""
    wanted = {"status": "forming", **asked}
    assert market.page(**asked)["status"] == wanted["status"]
    statuses = ("forming", "in_progress") if wanted["status"] == "all" else (wanted["status"],)
    listed = [ranks_where(market, **{**wanted, "status": status}) for status in statuses]

    assert all(listed)
    assert market.ranks(**asked) == [rank for ranks in listed for rank in ranks]


@pytest.mark.proves("SCAN-max_distance_pct")
def test_a_distance_of_zero_is_the_same_however_it_is_written(service: Service) -> None:
    answers = {service.get(f"/scan?max_distance_pct={zero}").text for zero in ("-0.0", "0", "-0")}

    assert len(answers) == 1
    assert '"max_distance_pct":0.0' in answers.pop()


@pytest.mark.proves("SCAN-max_distance_pct")
def test_max_distance_pct_keeps_near_forming_setups_and_every_running_one(market: Market) -> None:
    near = [
        row["rank"]
        for row in market.rows
        if row["status"] == "forming" and abs(row["distance_to_trigger_pct"]) <= 2.5
    ]

    assert market.ranks(max_distance_pct=2.5) == near
    assert market.ranks(max_distance_pct=2.5, status="all") == near + ranks_where(
        market, status="in_progress"
    )
    assert market.ranks(max_distance_pct=0) == [
        row["rank"]
        for row in market.rows
        if row["status"] == "forming" and row["distance_to_trigger_pct"] == 0
    ]


@pytest.mark.proves("SCAN-limit", "LIM-scan", "SCAN-count")
@pytest.mark.parametrize(
    ("asked", "given"),
    [(None, 50), (1, 1), (0, 1), (-3, 1), (120, 120), (200, 200), (999, 200), (10**30, 200)],
)
def test_limit_is_50_unless_asked_and_clamped_to_1_to_200(
    market: Market, asked: int | None, given: int
) -> None:
    page = market.page(status="all", **({} if asked is None else {"limit": asked}))

    assert page["limit"] == given
    assert len(page["setups"]) == given
    assert page["count"] == len(market.rows)


@pytest.mark.proves("SCAN-offset", "LIM-scan", "SCAN-count", "SCAN-pages")
def test_pages_of_one_session_fit_together_without_gap_or_repeat(market: Market) -> None:
    whole = market.ranks(status="all")
    pages = [market.page(status="all", limit=70, offset=offset) for offset in range(0, 350, 70)]

    assert [row["rank"] for page in pages for row in page["setups"]] == whole
    assert [page["offset"] for page in pages] == [0, 70, 140, 210, 280]
    assert {page["count"] for page in pages} == {300}
    assert len({page["data_version"] for page in pages}) == 1
    assert market.page(status="all")["offset"] == 0


@pytest.mark.proves("SCAN-offset", "LIM-scan")
def test_an_offset_below_zero_is_zero_and_one_past_the_end_gives_no_rows(market: Market) -> None:
    assert market.page(offset=-5)["setups"] == market.page()["setups"]
    for offset in (5000, 10**30):
        beyond = market.page(offset=offset)
        assert (beyond["setups"], beyond["count"]) == ([], 240)


@pytest.mark.proves("SCAN-available", "SCAN-applied", "SCAN-predicates")
def test_the_answer_says_what_was_applied_and_null_for_what_was_not_sent(market: Market) -> None:
    bare = market.page()
    assert bare["available"] is True
    assert bare["filters"] == {
        "family": None,
        "direction": None,
        "max_distance_pct": None,
        "predicates": [],
    }

    page = market.page(
        family="triangle", direction="bullish", status="all", max_distance_pct="7.5", filters=[]
    )
    assert page["status"] == "all"
    assert page["filters"] == {
        "family": "triangle",
        "direction": "bullish",
        "max_distance_pct": 7.5,
        "predicates": [],
    }


@pytest.mark.proves("SCAN-predicates")
def test_predicates_are_answered_in_canonical_form_order_and_once(market: Market) -> None:
    page = market.page(
        filters=[
            {"value": "us", "kind": "country"},
            {"period": "YTD", "value": 4.0, "op": ">", "kind": "performance"},
            {"kind": "sma_distance", "period": 200, "op": "<", "value": 1},
            {"kind": "sma_distance", "period": "50", "op": ">=", "value": 0.5},
            {"kind": "rsi", "op": "<", "value": 70.0},
            {"kind": "rsi", "op": "<", "value": 70},
            {"kind": "rsi", "op": ">", "value": 30},
            {"kind": "direction", "value": "Bullish"},
        ]
    )

    assert orjson.dumps(page["filters"]["predicates"]) == orjson.dumps(
        [
            {"kind": "direction", "value": "bullish"},
            {"kind": "rsi", "op": "<", "value": 70},
            {"kind": "rsi", "op": ">", "value": 30},
            {"kind": "sma_distance", "op": ">=", "value": 0.5, "period": 50},
            {"kind": "sma_distance", "op": "<", "value": 1, "period": 200},
            {"kind": "performance", "op": ">", "value": 4, "period": "ytd"},
            {"kind": "country", "value": "US"},
        ]
    )
    again = market.page(filters=page["filters"]["predicates"])
    assert again["filters"] == page["filters"]


GOOD = {"kind": "rsi", "op": "<", "value": 60}


@pytest.mark.proves("SCAN-filters", "ERR-bad_request", "FILTER-number", "FILTER-choice")
@pytest.mark.proves("FILTER-boolean", "FILTER-period")
@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ({"kind": "rsi", "value": 60}, "op must be one of <, <=, >, >=, ="),
        ({"kind": "rsi", "op": "!=", "value": 60}, "op must be one of"),
        ({"kind": "rsi", "op": "<"}, "value must be a number"),
        ({"kind": "rsi", "op": "<", "value": "60"}, "value must be a number"),
        ({"kind": "rsi", "op": "<", "value": True}, "value must be a number"),
        ({"kind": "rsi", "op": "<", "value": 60, "period": 14}, "takes only"),
        ({"kind": "ema_distance", "op": "<", "value": 1}, "period must be one of 8, 21, 60"),
        ({"kind": "ema_distance", "op": "<", "value": 1, "period": 9}, "period must be one of"),
        ({"kind": "performance", "op": "<", "value": 1, "period": "1y"}, "period must be one of"),
        ({"kind": "distance_from_low", "op": "<", "value": 1, "period": "13m"}, "period must be"),
        ({"kind": "sma_cross", "value": 1}, "value must be true or false"),
        ({"kind": "price_above_sma", "value": True}, "period must be one of 20, 50, 200"),
        ({"kind": "sma_cross", "op": "=", "value": True}, "takes only"),
        ({"kind": "phase", "value": "done"}, "value must be one of armed, confirmed, forming"),
        ({"kind": "industry", "value": "Pets"}, "value must be one of Semiconductors"),
        ({"kind": "country"}, "value must be one of US, GLOBAL"),
    ],
)
def test_a_faulty_predicate_is_named_by_its_position_and_kind_with_the_reason(
    market: Market, predicate: dict[str, object], reason: str
) -> None:
    check_refused(
        market, f"filters[1] ({predicate['kind']})", reason, filters=[GOOD, predicate, GOOD]
    )


@pytest.mark.proves("SCAN-filters", "ERR-bad_request")
@pytest.mark.parametrize("predicate", [{}, {"op": "<"}, {"kind": 5}, "rsi", 7, None, []])
def test_a_predicate_without_a_kind_is_named_by_its_position(
    market: Market, predicate: object
) -> None:
    check_refused(market, "filters[2]", "kind", filters=[GOOD, GOOD, predicate])


@pytest.mark.proves("SCAN-filters", "ERR-bad_request")
def test_an_unknown_kind_is_named_by_its_position_and_the_kinds_are_listed(market: Market) -> None:
    body = check_refused(market, "filters[0]", "unknown kind", filters=[{"kind": "moon"}])

    assert {"win_rate", "min_win_rate"} < set(body["details"]["allowed"])
    assert len(body["details"]["allowed"]) == 43
    assert "moon" not in orjson.dumps(body).decode()
    check_refused(
        market, "Did you mean min_win_rate or win_rate?", filters=[{"kind": "min_winrate"}]
    )


@pytest.mark.proves("SCAN-filters")
@pytest.mark.parametrize("text", ["", "{", "{}", "null", "3", '"rsi"', "[" * 2000, "[NaN]"])
def test_filters_that_are_no_json_array_are_refused_by_name(market: Market, text: str) -> None:
    check_refused(market, "filters", filters=text)


@pytest.mark.proves("SCANSETUP-rank")
def test_rank_sorts_by_expected_gain_and_does_not_depend_on_filters(
    market: Market, sample: Market
) -> None:
    for some in (market, sample):
        rows = some.page(status="all", limit=200)["setups"]
        by_rank = sorted(rows, key=lambda row: row["rank"])
        gains = [row["expected_gain_pct"] for row in by_rank]
        assert gains == sorted(gains, reverse=True)
    assert sorted(row["rank"] for row in sample.rows) == [1, 2, 3, 4, 5, 6]
    symbols = {row["rank"]: row["symbol"] for row in market.rows}
    for row in market.page(family="triangle", max_distance_pct=3)["setups"]:
        assert symbols[row["rank"]] == row["symbol"]


@pytest.mark.proves("RULE-1", "SCAN-setups")
def test_the_rows_are_the_stored_ones(market: Market, sample: Market) -> None:
    for some in (market, sample):
        stored = {row["rank"]: row for row in some.rows}
        for row in some.page(status="all", limit=200)["setups"]:
            assert row == stored[row["rank"]]
