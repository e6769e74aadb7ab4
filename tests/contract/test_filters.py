"""The filters of the scan: each kind, operator and period, on nights whose evidence is known.

The meaning of the price and volume evidence is proven in tests/screener/nightly.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import pytest

from mcp_server.filters.kinds import KINDS
from tests.contract.market import Market

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
WINDOWS = [20, 50, 252, "1w", "2w", "3w", *(f"{months}m" for months in range(1, 13))]

ONE_NUMBER = """
dist_to_entry min_win_rate min_avg_r min_expected_r typical_return min_rr target_move
pre_pattern_move price market_cap avg_volume dollar_volume dollar_volume_30d current_dollar_volume
current_volume volume_ratio volume_percentile rsi adr atr volatility ema_cross daily_change
change_from_open gap win_rate gain quality sessions
"""
"""The kinds whose one number takes no period."""

NUMBERS: dict[str, Sequence[object]] = {
    **dict.fromkeys(ONE_NUMBER.split(), (None,)),
    "ema_distance": [8, 21, 60],
    "sma_distance": [20, 50, 200],
    "performance": [5, 21, 63, 126, 252, "ytd"],
    "distance_from_high": WINDOWS,
    "distance_from_low": WINDOWS,
}
BOOLEANS: dict[str, Sequence[object]] = {
    "price_above_sma": [20, 50, 200],
    "sma_cross": [None],
    "new": [None],
}


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
CHOICES = {
    "direction": ["bearish", "bullish"],
    "phase": ["armed", "confirmed", "forming"],
    "asset_type": ["crypto", "etf", "stock"],
    "exchange": ["XNYS", "XNAS", "ARCX", "BATS", "XASE"],
    "industry": labels_in(INDUSTRIES),
    "country": ["US", "GLOBAL"],
}


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
@pytest.mark.proves("FILTER-dist_to_entry", "FILTER-min_win_rate", "FILTER-min_avg_r")
@pytest.mark.proves("FILTER-min_expected_r", "FILTER-typical_return", "FILTER-min_rr")
@pytest.mark.proves("FILTER-target_move", "FILTER-pre_pattern_move", "FILTER-price")
@pytest.mark.proves("FILTER-market_cap", "FILTER-avg_volume", "FILTER-dollar_volume")
@pytest.mark.proves("FILTER-dollar_volume_30d", "FILTER-current_dollar_volume")
@pytest.mark.proves("FILTER-current_volume", "FILTER-volume_ratio", "FILTER-volume_percentile")
@pytest.mark.proves("FILTER-rsi", "FILTER-adr", "FILTER-atr", "FILTER-volatility")
@pytest.mark.proves("FILTER-ema_distance", "FILTER-ema_cross", "FILTER-sma_distance")
@pytest.mark.proves("FILTER-performance", "FILTER-daily_change", "FILTER-change_from_open")
@pytest.mark.proves("FILTER-gap", "FILTER-distance_from_high", "FILTER-distance_from_low")
@pytest.mark.parametrize(("kind", "periods"), NUMBERS.items())
def test_a_numeric_kind_keeps_the_rows_whose_evidence_compares(
    market: Market, sample: Market, kind: str, periods: Sequence[object]
) -> None:
    for period in periods:
        assert None in market.numbers[column(kind, period)] or kind in SHOWN_NUMBERS
        # An operator does the same with every period.
        check_number(market, kind, period, *(OPERATORS if period == periods[0] else (">=",)))
        check_number(sample, kind, period, "<=")


@pytest.mark.proves("FILTER-boolean", "FILTER-period", "FILTER-evidence")
@pytest.mark.proves("FILTER-price_above_sma", "FILTER-sma_cross")
@pytest.mark.parametrize(("kind", "periods"), BOOLEANS.items())
def test_a_boolean_kind_keeps_the_rows_of_its_value(
    market: Market, sample: Market, kind: str, periods: Sequence[object]
) -> None:
    for some in (market, sample):
        for period in periods:
            evidence = some.numbers[column(kind, period)]
            for value in (True, False):
                filters = [predicate(kind, period, value=value)]
                expected = in_order(some, [found == float(value) for found in evidence])
                assert some.ranks(status="all", filters=filters) == expected


@pytest.mark.proves("FILTER-choice", "FILTER-evidence")
@pytest.mark.proves("FILTER-direction", "FILTER-phase", "FILTER-asset_type", "FILTER-exchange")
@pytest.mark.proves("FILTER-industry", "FILTER-country")
@pytest.mark.parametrize(("kind", "choices"), CHOICES.items())
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


def test_the_kinds_are_the_38_of_the_interface_and_five_of_what_rows_show() -> None:
    assert {*NUMBERS, *BOOLEANS, *CHOICES} == set(KINDS)
    assert list(KINDS)[38:] == ["win_rate", "gain", "quality", "sessions", "new"]
    for kind, periods in (NUMBERS | BOOLEANS).items():
        assert [*periods] == [*(KINDS[kind].periods or (None,))]


SHOWN_NUMBERS = ("dist_to_entry", "typical_return", "price", "min_rr", "win_rate", "quality")
"""Numbers of the row itself, which every row has."""


def test_the_evidence_about_a_setup_is_what_its_row_shows(sample: Market) -> None:
    """Other numbers that rows show: `test_one_view.py` and `test_recomputed.py`."""
    for position, row in enumerate(sample.rows):
        plan = row["plans"][0]
        move = 100 * abs(plan["target_price"] / plan["trigger_price"] - 1)
        for kind, value in (("price", row["last_close"]), ("target_move", move)):
            assert sample.numbers[kind][position] == pytest.approx(value, abs=0.006)
        assert sample.labels["direction"][position] == row["direction"]


@pytest.mark.proves("STATE-phase")
def test_confirmed_is_a_fired_trigger_and_armed_is_nearer_than_forming(sample: Market) -> None:
    distances: dict[str | None, list[float]] = {}
    for row, phase in zip(sample.rows, sample.labels["phase"], strict=True):
        distances.setdefault(phase, []).append(abs(row["distance_to_trigger_pct"]))
        assert (phase == "confirmed") is (row["status"] == "in_progress")

    assert set(distances) == {"forming", "armed", "confirmed"}
    assert max(distances["armed"]) < min(distances["forming"])
