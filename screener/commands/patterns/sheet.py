"""The sheet: rows of the scan as one flat table, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from store.wire.briefs import compact
from store.wire.view import SetupView

Row: TypeAlias = Mapping[str, Any]
"""The fields of a ScanSetup."""

FIELDS: Final = (
    *("rank", "symbol", "name", "family", "pattern_type", "direction", "status", "attempt"),
    *("setup_id", "lineage_id", "as_of_session", "pattern_start", "pattern_end"),
    *("last_close", "distance_to_trigger_pct", "last_close_side", "sessions_since_trigger"),
    *("trigger_price", "entry_price", "stop_price", "stop_pct", "target_price", "target_pct"),
    *("reward_to_risk", "expected_gain_pct"),
    *("win_rate_scope", "win_rate_pct", "win_rate_trades", "avg_loss_pct"),
    *("entry_date", "gain_pct", "gain_r", "expected_r", "verdict"),
)
"""The columns: fields of the API's rows, of their first plan, and of its short rows.

Per cents of stop and target and the reward to risk count from the entry or, before one, from the
trigger.
"""

ENDS: Final = tuple(
    f"{side}_{end}_{field}"
    for side in ("upper", "lower")
    for end in ("start", "end")
    for field in ("date", "price")
)
"""The columns of the lines' endpoints, between which they are straight on a log price axis."""


def sheet(
    rows: Sequence[Row], views: Mapping[str, SetupView], names: Mapping[str, str]
) -> Iterator[Sequence[object]]:
    """The names of the columns, then a line for each row of the scan; views are by setup id."""
    yield (*FIELDS, *ENDS)
    for row in rows:
        view = views[row["setup_id"]]
        percents = {"stop_pct": view.plan.stop_pct, "target_pct": view.plan.target_pct}
        fields = {**row, **compact(view), **percents, "name": names.get(view.symbol)}
        yield (*(fields.get(name) for name in FIELDS), *_ends(row["lines"]))


def _ends(lines: Row) -> Iterator[object]:
    for side in ("upper", "lower"):
        for end in ("start", "end"):
            yield from (lines[side][end]["date"], lines[side][end]["price"])
