"""Columns: the tables of a night, and what each of their columns holds: type, unit and meaning.

`screener export --columns`, the table `columns` of every export and `docs/data.md` are made of what
stands here. The unit `currency` is that in which the symbol is quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from mcp_server.filters.kinds import KINDS, Kind, Period
from store.wire.briefs import NUMBERS

Type: TypeAlias = Literal["text", "date", "number", "integer", "boolean"]
TableName: TypeAlias = Literal["night", "setups", "trades", "records", "features", "columns"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. A cell without a value is null."""

    name: str
    type: Type
    unit: str
    meaning: str


def _text(name: str, meaning: str) -> Column:
    return Column(name, "text", "", meaning)


def _date(name: str, meaning: str) -> Column:
    return Column(name, "date", "", meaning)


def _count(name: str, meaning: str, unit: str = "") -> Column:
    return Column(name, "integer", unit, meaning)


def _price(name: str, meaning: str) -> Column:
    return Column(name, "number", "currency", meaning)


def _percent(name: str, meaning: str) -> Column:
    return Column(name, "number", "%", meaning)


def _r(name: str, meaning: str) -> Column:
    return Column(name, "number", "R", meaning)


SYMBOL: Final = _text("symbol", "Ticker.")
FAMILY: Final = _text("family", "Family of the pattern, such as triangle.")
DIRECTION: Final = _text("direction", "bullish or bearish.")
LINEAGE: Final = _text("lineage_id", "The formation; the same from night to night.")
VERDICT: Final = _text(
    "verdict",
    "What trades say beside random entries: too_few, not_distinguishable, above_random or "
    "below_random.",
)
ATTEMPT: Final = _count("attempt", "Which attempt of the formation; records count the first alone.")

NIGHT: Final = (
    _text("data_version", "Which night this is."),
    _date("as_of_session", "Its session; no later bar is used."),
    _date("next_session", "Once this session is over, the night is old."),
    _text("source", "Source of the bars."),
    _text("disclaimer", "Repeat it where a person might act."),
    _count("known", "Symbols that the night knows."),
    _count("covered", "Symbols that it analysed."),
)

SETUPS: Final = (
    _count("rank", "1 has the largest typical gain, which says nothing of the odds."),
    SYMBOL,
    _text("name", "Company or fund."),
    FAMILY,
    _text("pattern_type", "Shape, such as ascending_triangle."),
    DIRECTION,
    _text("status", "forming, or in_progress: the trigger fired and the trade runs."),
    ATTEMPT,
    _text("setup_id", "The setup, in this night only."),
    LINEAGE,
    _date("as_of_session", "Session of the night."),
    _date("pattern_start", "First bar of the pattern."),
    _date("pattern_end", "Last bar of the pattern."),
    _price("last_close", "Close of the session."),
    _percent("distance_to_trigger_pct", "From the last close to the trigger; null if running."),
    _text("last_close_side", "Side of the trigger: before or beyond; null if running."),
    _count("sessions_since_trigger", "Since the breakout; null while forming.", "sessions"),
    _price("trigger_price", "A daily close beyond it is the breakout."),
    _price("entry_price", "Close of the breakout; null while forming."),
    _price("stop_price", "Where the trade is lost."),
    _percent("stop_pct", "To the stop, from the entry or, before one, from the trigger."),
    _price("target_price", "Where the trade is won."),
    _percent("target_pct", "To the target, from the entry or, before one, from the trigger."),
    Column(
        "reward_to_risk", "number", "ratio", "Way to the target over way to the stop, from there."
    ),
    _percent("expected_gain_pct", "Typical gain if the trade wins."),
    _text("win_rate_scope", "Whose win rate stands next: ticker or family."),
    _percent("win_rate_pct", "Share of past trades that reached the target."),
    _count("win_rate_trades", "Of so many trades.", "trades"),
    _percent("avg_loss_pct", "Their average loss; null without one."),
    _date("entry_date", "Session of the breakout; null while forming."),
    _percent("gain_pct", "Of the running trade so far; null while forming."),
    _r("gain_r", "The same as a multiple of the way from entry to stop."),
    _r("expected_r", "Average of past trades, shrunk; drift is in it."),
    VERDICT,
    *(
        column
        for side in ("upper", "lower")
        for end in ("start", "end")
        for column in (
            _date(f"{side}_{end}_date", f"Of the {side} line's {end}."),
            _price(
                f"{side}_{end}_price", f"Of the {side} line's {end}; lines are straight in log."
            ),
        )
    ),
    _text("opposite_direction", "Of the second plan, if the pattern may break either way."),
    *(_price(f"opposite_{name}_price", "Of that plan.") for name in ("trigger", "stop", "target")),
)
"""One row for each current setup, best rank first."""

TRADES: Final = (
    SYMBOL,
    _text("setup_id", "The setup, in the last session in which it was forming."),
    LINEAGE,
    FAMILY,
    _text("pattern_type", "Shape, such as ascending_triangle."),
    DIRECTION,
    _text("outcome", "win, loss or open."),
    _text("exit_reason", "target, stop or delisted; null while open."),
    _date("entry_date", "Session of the breakout."),
    _price("entry_price", "Close of the breakout."),
    _price("stop_price", "Fixed at the entry."),
    _price("target_price", "Fixed at the entry."),
    _date("exit_date", "Session of the exit; null while open."),
    _price("exit_price", "Stop, target or last close; null while open."),
    _percent("realized_move_pct", "From entry to exit, positive in the trade's favour."),
    _percent("target_move_pct", "From the line to the target."),
    _r("r_multiple", "Result; null while open."),
    _r("unrealized_r", "Of an open trade, at the last close."),
    _count("hold_bars", "From entry to exit.", "bars"),
    ATTEMPT,
    _count("attempts", "Attempts of the formation so far."),
)
"""One row for each past or running first attempt, by symbol, newest entry first."""

RECORDS: Final = (
    _text("scope", "family or ticker: the backtest; as_served: what nights served in advance."),
    FAMILY,
    _text("symbol", "Ticker; null unless the scope is ticker."),
    _text("direction", "bullish or bearish; null for both together."),
    _count("sample_size", "Resolved first attempts.", "trades"),
    _count("wins", "Reached the target.", "trades"),
    _count("losses", "Did not.", "trades"),
    _percent("win_rate_pct", "Share of wins."),
    _percent("win_rate_low_pct", "Lower end of its 95% Wilson interval."),
    _percent("win_rate_high_pct", "Upper end."),
    _percent("avg_win_pct", "Average win; null without one."),
    _percent("median_win_pct", "Median win; null without one."),
    _percent("avg_loss_pct", "Average loss, negative; null without one."),
    _percent("avg_trade_pct", "Average of all trades."),
    _r("avg_r", "Average result."),
    _r("expected_r", "The same, shrunk with the weight of 60 trades; drift is in it."),
    _r("avg_r_after_10bp", "Average after round trips of 10 basis points."),
    _r("avg_r_after_25bp", "Average after round trips of 25 basis points."),
    Column("profit_factor", "number", "ratio", "Won over lost percent; null without a loss."),
    Column("avg_hold_bars", "number", "bars", "From entry to exit."),
    _date("first_date", "Beginning of what was measured."),
    _date("last_date", "End of what was measured."),
    _count("compared", "With random entries of their own; the next four are of these.", "trades"),
    _percent("placebo_win_rate_pct", "Wins of random entries with the same stops and targets."),
    _r("placebo_avg_r", "Average of the same random entries."),
    _r("lift_r", "Trades minus their own random entries, on average."),
    _r("lift_r_se", "Standard error of lift_r; null with too few trades."),
    VERDICT,
    _count("open", "Served trades that still run; of as_served alone.", "trades"),
    _count("detector", "Version of the detector."),
    _count("method_version", "Version of the method that measured."),
    _text("measured", "What was measured."),
    _text("summary", "Quote it whole."),
)
"""One row for each family and each ticker's family, then for its directions."""

_TYPES: Final[Mapping[str, Type]] = {"number": "number", "choice": "text", "boolean": "boolean"}
_UNITS: Final = {"$": "currency", "boolean": ""}


def _feature(kind: Kind, period: Period | None) -> Column:
    """The column of a filter of the scan, for a period if it takes one."""
    meaning = kind.meaning or f"{kind.name.replace('_', ' ').capitalize()} of the symbol."
    over = "" if period is None else f" Period: {period}."
    unit = _UNITS.get(kind.unit, kind.unit)
    return Column(kind.column(period), _TYPES[kind.takes], unit, f"{meaning}{over}")


FEATURES: Final = (
    _text("setup_id", "The setup, as in setups."),
    SYMBOL,
    *(
        _feature(kind, period)
        for kind in KINDS.values()
        if kind.name not in {DIRECTION.name, *NUMBERS}
        for period in kind.periods or (None,)
    ),
)
"""One row for each current setup, best rank first: what the filters of the scan compare,
without what setups have already."""

COLUMNS: Final = (
    _text("table", "Table of the column."),
    _text("column", "Its name."),
    _text("type", "text, date, number, integer or boolean."),
    _text("unit", "Of its numbers; currency is that in which the symbol is quoted."),
    _text("meaning", "What it holds."),
)

TABLES: Mapping[TableName, tuple[Column, ...]] = MappingProxyType(
    {
        "night": NIGHT,
        "setups": SETUPS,
        "trades": TRADES,
        "records": RECORDS,
        "features": FEATURES,
        "columns": COLUMNS,
    }
)


def described() -> Iterator[dict[str, str | None]]:
    """The rows of the table `columns`: every column of the others."""
    for table, columns in TABLES.items():
        for column in columns if table != "columns" else ():
            yield {
                "table": table,
                "column": column.name,
                "type": column.type,
                "unit": column.unit or None,
                "meaning": column.meaning,
            }
