"""The filters of the scan: each kind, operator and period, on nights whose evidence is known.

The meaning of the price and volume evidence is proven in tests/nightly, where it is computed.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_server.operations.kinds import KINDS
from tests.contract.market import Market

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
WINDOWS = [20, 50, 252, "1w", "2w", "3w", *(f"{months}m" for months in range(1, 13))]

NUMBERS = [
    pytest.param("dist_to_entry", [None], marks=pytest.mark.proves("FILTER-dist_to_entry")),
    pytest.param("min_win_rate", [None], marks=pytest.mark.proves("FILTER-min_win_rate")),
    pytest.param("min_avg_r", [None], marks=pytest.mark.proves("FILTER-min_avg_r")),
    pytest.param("min_expected_r", [None], marks=pytest.mark.proves("FILTER-min_expected_r")),
    pytest.param("typical_return", [None], marks=pytest.mark.proves("FILTER-typical_return")),
    pytest.param("min_rr", [None], marks=pytest.mark.proves("FILTER-min_rr")),
    pytest.param("target_move", [None], marks=pytest.mark.proves("FILTER-target_move")),
    pytest.param("pre_pattern_move", [None], marks=pytest.mark.proves("FILTER-pre_pattern_move")),
    pytest.param("price", [None], marks=pytest.mark.proves("FILTER-price")),
    pytest.param("market_cap", [None], marks=pytest.mark.proves("FILTER-market_cap")),
    pytest.param("avg_volume", [None], marks=pytest.mark.proves("FILTER-avg_volume")),
    pytest.param("dollar_volume", [None], marks=pytest.mark.proves("FILTER-dollar_volume")),
    pytest.param("dollar_volume_30d", [None], marks=pytest.mark.proves("FILTER-dollar_volume_30d")),
    pytest.param(
        "current_dollar_volume", [None], marks=pytest.mark.proves("FILTER-current_dollar_volume")
    ),
    pytest.param("current_volume", [None], marks=pytest.mark.proves("FILTER-current_volume")),
    pytest.param("volume_ratio", [None], marks=pytest.mark.proves("FILTER-volume_ratio")),
    pytest.param("volume_percentile", [None], marks=pytest.mark.proves("FILTER-volume_percentile")),
    pytest.param("rsi", [None], marks=pytest.mark.proves("FILTER-rsi")),
    pytest.param("adr", [None], marks=pytest.mark.proves("FILTER-adr")),
    pytest.param("atr", [None], marks=pytest.mark.proves("FILTER-atr")),
    pytest.param("volatility", [None], marks=pytest.mark.proves("FILTER-volatility")),
    pytest.param("ema_distance", [8, 21, 60], marks=pytest.mark.proves("FILTER-ema_distance")),
    pytest.param("ema_cross", [None], marks=pytest.mark.proves("FILTER-ema_cross")),
    pytest.param("sma_distance", [20, 50, 200], marks=pytest.mark.proves("FILTER-sma_distance")),
    pytest.param(
        "performance", [5, 21, 63, 126, 252, "ytd"], marks=pytest.mark.proves("FILTER-performance")
    ),
    pytest.param("daily_change", [None], marks=pytest.mark.proves("FILTER-daily_change")),
    pytest.param("change_from_open", [None], marks=pytest.mark.proves("FILTER-change_from_open")),
    pytest.param("gap", [None], marks=pytest.mark.proves("FILTER-gap")),
    pytest.param(
        "distance_from_high", WINDOWS, marks=pytest.mark.proves("FILTER-distance_from_high")
    ),
    pytest.param(
        "distance_from_low", WINDOWS, marks=pytest.mark.proves("FILTER-distance_from_low")
    ),
    ("win_rate", [None]),
    ("gain", [None]),
]
BOOLEANS = [
    pytest.param(
        "price_above_sma", [20, 50, 200], marks=pytest.mark.proves("FILTER-price_above_sma")
    ),
    pytest.param("sma_cross", [None], marks=pytest.mark.proves("FILTER-sma_cross")),
]


def labels_in(text: str) -> list[str]:
    return [label.strip() for label in text.split(";")]


INDUSTRIES = """
Semiconductors; Software; Hardware & Electronics; Internet & Media; Telecom; Biotech & Pharma;
Healthcare Equipment & Services; Banks; Insurance; Capital Markets & Asset Management;
Fintech & Payments; Real Estate; Oil & Gas; Utilities & Renewables; Metals & Mining;
Chemicals & Materials; Industrials & Construction; Aerospace & Defense; Transport & Logistics;
Retail & E-Commerce; Consumer Goods & Services; Food & Beverage; Restaurants; Travel & Leisure;
Autos & Mobility; Crypto; Broad Market & Index; Bonds & Fixed Income; Commodities
"""
CHOICES = [
    pytest.param("direction", ["bearish", "bullish"], marks=pytest.mark.proves("FILTER-direction")),
    pytest.param(
        "phase", ["armed", "confirmed", "forming"], marks=pytest.mark.proves("FILTER-phase")
    ),
    pytest.param(
        "asset_type", ["crypto", "etf", "stock"], marks=pytest.mark.proves("FILTER-asset_type")
    ),
    pytest.param(
        "exchange",
        ["XNYS", "XNAS", "ARCX", "BATS", "XASE"],
        marks=pytest.mark.proves("FILTER-exchange"),
    ),
    pytest.param("industry", labels_in(INDUSTRIES), marks=pytest.mark.proves("FILTER-industry")),
    pytest.param("country", ["US", "GLOBAL"], marks=pytest.mark.proves("FILTER-country")),
]


def predicate(kind: str, period: object, **rest: object) -> dict[str, object]:
    return {"kind": kind, **rest, **({} if period is None else {"period": period})}


def column(kind: str, period: object) -> str:
    return kind if period is None else f"{kind}_{period}"


def in_order(market: Market, wanted: list[bool]) -> list[int]:
    """The ranks of the wanted rows, forming first, best rank first."""
    kept = [row for row, keep in zip(market.rows, wanted, strict=True) if keep]
    return [
        row["rank"] for row in sorted(kept, key=lambda r: (r["status"] != "forming", r["rank"]))
    ]


def check_number(market: Market, kind: str, period: object, *operators: str) -> None:
    evidence = market.numbers[column(kind, period)]
    known = sorted(value for value in evidence if value is not None)
    middle = known[len(known) // 2] if known else 0.0
    for op in operators:
        wanted = [value is not None and OPERATORS[op](value, middle) for value in evidence]
        filters = [predicate(kind, period, op=op, value=middle)]
        assert market.ranks(status="all", filters=filters) == in_order(market, wanted)


@pytest.mark.proves("FILTER-number", "FILTER-period", "FILTER-evidence")
@pytest.mark.parametrize(("kind", "periods"), NUMBERS)
def test_a_numeric_kind_keeps_the_rows_whose_evidence_compares(
    market: Market, sample: Market, kind: str, periods: list[object]
) -> None:
    for period in periods:
        assert None in market.numbers[column(kind, period)] or kind in SHOWN_NUMBERS
        # An operator does the same with every period.
        check_number(market, kind, period, *(OPERATORS if period == periods[0] else (">=",)))
        check_number(sample, kind, period, "<=")


@pytest.mark.proves("FILTER-boolean", "FILTER-period", "FILTER-evidence")
@pytest.mark.parametrize(("kind", "periods"), BOOLEANS)
def test_a_boolean_kind_keeps_the_rows_of_its_value(
    market: Market, sample: Market, kind: str, periods: list[object]
) -> None:
    for some in (market, sample):
        for period in periods:
            evidence = some.numbers[column(kind, period)]
            for value in (True, False):
                filters = [predicate(kind, period, value=value)]
                expected = in_order(some, [found == float(value) for found in evidence])
                assert some.ranks(status="all", filters=filters) == expected


@pytest.mark.proves("FILTER-choice", "FILTER-evidence")
@pytest.mark.parametrize(("kind", "choices"), CHOICES)
def test_a_choice_kind_keeps_the_rows_of_its_label_in_any_case(
    market: Market, sample: Market, kind: str, choices: list[str]
) -> None:
    for some in (market, sample):
        for choice in choices:
            expected = in_order(some, [label == choice for label in some.labels[kind]])
            for value in (choice, choice.lower(), choice.upper()):
                filters = [predicate(kind, None, value=value)]
                assert some.ranks(status="all", filters=filters) == expected


@pytest.mark.proves("FILTER-every")
def test_every_predicate_must_match(market: Market) -> None:
    filters = [
        {"kind": "rsi", "op": ">", "value": 0},
        {"kind": "gap", "op": "<=", "value": 2},
        {"kind": "sma_cross", "value": True},
        {"kind": "country", "value": "US"},
    ]
    apart = [set(market.ranks(status="all", filters=[one])) for one in filters]

    together = set(market.ranks(status="all", filters=filters))

    assert together == set.intersection(*apart)
    assert all(together < ranks for ranks in apart)


def test_the_kinds_are_the_38_of_the_interface_and_two_of_what_rows_show() -> None:
    named = [getattr(case, "values", case)[0] for case in (*NUMBERS, *BOOLEANS, *CHOICES)]

    assert set(named) == set(KINDS)
    assert list(KINDS)[38:] == ["win_rate", "gain"]


SHOWN_NUMBERS = ("dist_to_entry", "typical_return", "price", "min_rr", "win_rate")
"""Numbers of the row itself, which every row has."""


def in_direction(record: Mapping[str, Any] | None, direction: str) -> Mapping[str, Any] | None:
    """The part of a record that counts for a setup of one direction."""
    if record is None or record["by_direction"] is None:
        return record
    side: Mapping[str, Any] | None = record["by_direction"][direction]
    return side


def shown(row: Mapping[str, Any]) -> dict[str, float | None]:
    """The evidence that a served row shows."""
    plan = row["plans"][0]
    ticker, family = (
        in_direction(row["track_record"][name], row["direction"]) for name in ("ticker", "family")
    )
    known = ticker if ticker and ticker["sample_size"] >= 5 else None
    trigger, target, stop = (plan[f"{name}_price"] for name in ("trigger", "target", "stop"))
    start = row["entry_price"] or trigger
    return {
        "dist_to_entry": row["distance_to_trigger_pct"],
        "typical_return": row["expected_gain_pct"],
        "price": row["last_close"],
        "min_win_rate": known["win_rate_pct"] if known else None,
        "min_avg_r": known["avg_r"] if known else None,
        "min_expected_r": (ticker or family or {"expected_r": None})["expected_r"],
        "target_move": 100 * abs(target / trigger - 1),
        "min_rr": abs(target - start) / abs(stop - start),
        "win_rate": row["win_rate_pct"],
        "gain": row["gain_pct"],
    }


def test_the_evidence_about_a_setup_is_what_its_row_shows(sample: Market) -> None:
    for position, row in enumerate(sample.rows):
        for kind, value in shown(row).items():
            expected = None if value is None else pytest.approx(value, abs=0.006)
            assert sample.numbers[kind][position] == expected
        assert sample.labels["direction"][position] == row["direction"]


@pytest.mark.proves("STATE-phase")
def test_confirmed_is_a_fired_trigger_and_armed_is_nearer_than_forming(sample: Market) -> None:
    distances: dict[str | None, list[float]] = {}
    for row, phase in zip(sample.rows, sample.labels["phase"], strict=True):
        distances.setdefault(phase, []).append(abs(row["distance_to_trigger_pct"]))
        assert (phase == "confirmed") is (row["status"] == "in_progress")

    assert set(distances) == {"forming", "armed", "confirmed"}
    assert max(distances["armed"]) < min(distances["forming"])
