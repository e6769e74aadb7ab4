"""Briefs: the setups of a night in short, as lists of many tickers show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

Row = Mapping[str, Any]
"""The fields of a ScanSetup, parsed."""

Numbers = npt.NDArray[np.float64]
"""One number a row, in the order of rank."""

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


class ShownRecord(NamedTuple):
    """The record that a win rate of the scan is of."""

    scope: Literal["ticker", "family"]
    fields: Row
    """Of a TrackRecord, or of its SideRecord in the direction of the setup."""


def shown_record(row: Row) -> ShownRecord | None:
    """The record behind the win rate of a row; None if there is none, or not its average loss."""
    shown = (row["win_rate_trades"], row["win_rate_pct"])
    scopes: tuple[Literal["ticker", "family"], ...] = ("ticker", "family")
    for scope in scopes:
        record = row["track_record"][scope] or {}
        if record.get("by_direction"):
            record = record["by_direction"][row["direction"]] or {}
        if (record.get("sample_size"), record.get("win_rate_pct")) == shown:
            return ShownRecord(scope, record)
    return None


def _win_rate(row: Row) -> dict[str, Any]:
    record = shown_record(row)
    if record is None:
        # Without its average loss a win rate is not shown.
        names = ("win_rate_scope", "win_rate_pct", "win_rate_trades", "avg_loss_pct")
        return dict.fromkeys(names)
    return {
        "win_rate_scope": record.scope,
        "win_rate_pct": row["win_rate_pct"],
        "win_rate_trades": row["win_rate_trades"],
        "avg_loss_pct": record.fields["avg_loss_pct"],
    }


class Briefs(NamedTuple):
    """The scan in short: by symbol, and as columns to sort by, in which row 0 is rank 1."""

    by_symbol: Mapping[str, bytes]
    """The briefs of each symbol that has a setup, best rank first, as items of a JSON list."""
    counts: Mapping[str, int]
    """The setups of each of these symbols."""
    symbols: Numbers
    """The place of each row's symbol in the alphabet of all."""
    trades: Numbers
    """The trades behind each row's win rate."""

    @classmethod
    def of(cls, bodies: Iterable[bytes]) -> Briefs:
        """The briefs of a scan, from its bodies in the order of rank."""
        found: dict[str, list[bytes]] = {}
        symbols: list[str] = []
        trades: list[int] = []
        for body in bodies:
            row = orjson.loads(body)
            found.setdefault(row["symbol"], []).append(orjson.dumps(brief(row)))
            symbols.append(row["symbol"])
            trades.append(row["win_rate_trades"])
        places = {symbol: place for place, symbol in enumerate(sorted(found))}
        return cls(
            {symbol: b",".join(parts) for symbol, parts in found.items()},
            {symbol: len(parts) for symbol, parts in found.items()},
            np.array([places[symbol] for symbol in symbols], np.float64),
            np.array(trades, np.float64),
        )
