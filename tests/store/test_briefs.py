"""Setups in short."""

from __future__ import annotations

from typing import Any

import pytest

from store.briefs import compact


def row(records: dict[str, Any], trades: int, win_rate: float | None) -> dict[str, Any]:
    same = dict.fromkeys(("rank", "symbol", "setup_id", "family", "status", "last_close"))
    plan = dict.fromkeys(("trigger_price", "stop_price", "target_price"))
    return {
        **same,
        "direction": "bullish",
        "distance_to_trigger_pct": 1.0,
        "expected_gain_pct": 2.0,
        "plans": [plan],
        "track_record": records,
        "win_rate_trades": trades,
        "win_rate_pct": win_rate,
    }


def record(trades: int, win_rate: float, loss: float) -> dict[str, Any]:
    return {"sample_size": trades, "win_rate_pct": win_rate, "avg_loss_pct": loss}


@pytest.mark.parametrize(
    ("records", "scope", "loss"),
    [
        ({"ticker": record(9, 40.0, -3.0), "family": record(30, 50.0, -4.0)}, "family", -4.0),
        ({"ticker": record(30, 50.0, -3.0), "family": record(99, 45.0, -4.0)}, "ticker", -3.0),
        ({"ticker": record(30, 40.0, -3.0), "family": record(30, 50.0, -4.0)}, "family", -4.0),
        (
            {"ticker": None, "family": {"by_direction": {"bullish": record(30, 50.0, -5.0)}}},
            "family",
            -5.0,
        ),
        ({"ticker": None, "family": None}, None, None),
    ],
)
def test_a_win_rate_stands_with_the_average_loss_of_the_same_trades(
    records: dict[str, Any], scope: str | None, loss: float | None
) -> None:
    short = compact(row(records, 30, 50.0))

    assert (short["win_rate_scope"], short["avg_loss_pct"]) == (scope, loss)
    assert short["win_rate_pct"] == (None if scope is None else 50.0)
