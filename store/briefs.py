"""Briefs: the setups of a night in short, as lists of many tickers show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

Row = Mapping[str, Any]
"""The fields of a ScanSetup, parsed."""

SAME = ("setup_id", "family", "direction", "status")
"""Fields of a brief that are those of the setup."""


def brief(row: Row) -> dict[str, Any]:
    """A setup in short: which it is, and how far the last close is from its trigger, on which
    side.
    """
    return {
        **{name: row[name] for name in SAME},
        "attempt": (row.get("attempt") or {}).get("number"),
        "distance_to_trigger_pct": row["distance_to_trigger_pct"],
        "last_close_side": row.get("last_close_side"),
    }


def compact(row: Row) -> dict[str, Any]:
    """A row of the scan in short. Its win rate stands with whose it is, its sample and the average
    loss.
    """
    plan = row["plans"][0]
    return {
        "rank": row["rank"],
        "symbol": row["symbol"],
        **brief(row),
        "last_close": row["last_close"],
        "trigger_price": plan["trigger_price"],
        "stop_price": plan["stop_price"],
        "target_price": plan["target_price"],
        "expected_gain_pct": row["expected_gain_pct"],
        **_win_rate(row),
    }


def _win_rate(row: Row) -> dict[str, Any]:
    shown = (row["win_rate_trades"], row["win_rate_pct"])
    for scope in ("ticker", "family"):
        record = row["track_record"][scope] or {}
        if record.get("by_direction"):
            record = record["by_direction"][row["direction"]] or {}
        if (record.get("sample_size"), record.get("win_rate_pct")) == shown:
            return {
                "win_rate_scope": scope,
                "win_rate_pct": row["win_rate_pct"],
                "win_rate_trades": row["win_rate_trades"],
                "avg_loss_pct": record["avg_loss_pct"],
            }
    # Without its average loss a win rate is not shown.
    names = ("win_rate_scope", "win_rate_pct", "win_rate_trades", "avg_loss_pct")
    return dict.fromkeys(names)


def briefs_by_symbol(bodies: Iterable[bytes]) -> dict[str, bytes]:
    """The briefs of each symbol that has a setup, best rank first, as items of a JSON list."""
    found: dict[str, list[bytes]] = {}
    for body in bodies:
        row = orjson.loads(body)
        found.setdefault(row["symbol"], []).append(orjson.dumps(brief(row)))
    return {symbol: b",".join(parts) for symbol, parts in found.items()}
