"""Examples: past trades that are shown as small charts, picked by a rule and by nobody."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

OF_SYMBOL: Final = 6
OF_FAMILY: Final = 12

FIELDS: Final = (
    *("lineage_id", "family", "direction", "outcome", "entry_date"),
    *("r_multiple", "realized_move_pct"),
)
"""Those of a history row that an example has, beside its symbol."""

Item = TypeVar("Item")
Trade = Mapping[str, Any]


def drawable(symbol: str, rows: Iterable[Trade], first_day: dt.date) -> list[Trade]:
    """The resolved trades among the history rows of a symbol whose lines begin on a day or later;
    none in a night that was sealed before history had lines.
    """
    whole = (
        row
        for row in rows
        if row["outcome"] != "open"
        and row.get("lines")
        and min(line["start"]["date"] for line in row["lines"].values()) >= f"{first_day}"
    )
    return [{"symbol": symbol, **{name: row[name] for name in FIELDS}} for row in whole]


def examples(trades: Iterable[Trade], number: int) -> Mapping[str, Any]:
    """How many `trades` there are, how many of them are `wins`, the average of the others, and the
    trades that are `shown`.
    """
    ordered = sorted(trades, key=lambda row: (row["outcome"] != "win", row["entry_date"]))
    losses = [row["realized_move_pct"] for row in ordered if row["outcome"] != "win"]
    return {
        "trades": len(ordered),
        "wins": len(ordered) - len(losses),
        "avg_loss_pct": round(sum(losses) / len(losses), 2) if losses else None,
        "shown": at_even_steps(ordered, number),
    }


def at_even_steps(items: Sequence[Item], number: int) -> list[Item]:
    """So many of some items, or all if there are no more, at even steps of their order: of wins
    before losses, each by date, it has both in their share.
    """
    count = min(number, len(items))
    return [items[(2 * place + 1) * len(items) // (2 * count)] for place in range(count)]
