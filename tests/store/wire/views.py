"""Views of made-up setups, for the tests of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from store.wire.view import SetupView


def forming(
    close: float,
    plans: list[tuple[str, float]],
    change: Callable[[dict[str, Any]], None] = lambda _: None,
) -> SetupView:
    """A forming setup with triggers of some directions, its row changed before it is read."""
    row: dict[str, Any] = dict.fromkeys(
        ("symbol", "setup_id", "lineage_id", "family", "family_label", "pattern_type"), "triangle"
    )
    row |= dict.fromkeys(("pattern_start", "pattern_end", "as_of_session"), "2026-08-14")
    row |= {
        "direction": plans[0][0],
        "status": "forming",
        "last_close": close,
        "trigger_rule": "",
        "rank": 1,
        "expected_gain_pct": None,
        "win_rate_pct": None,
        "win_rate_trades": 0,
        "track_record": {"family": None, "ticker": None},
        "distance_to_trigger_pct": round(abs(100 * (plans[0][1] / close - 1)), 2),
        "plans": [
            {
                "direction": direction,
                "trigger_price": trigger,
                "stop_price": trigger,
                "target_price": trigger,
            }
            for direction, trigger in plans
        ],
    }
    change(row)
    return SetupView.of(row)
