"""Tables of setups and of past trades that fit the terminal.

A column is left out whole where there is no room, and no cell but a company's name is ever cut:
what a plan says stays longest. A win rate stands with its trades and the average loss, or all three
are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from screener.settings.console import Table, or_dash
from store.wire.currency import money
from store.wire.families import pattern_words
from store.wire.view import RecordView, SetupView
from store.wire.words import (
    QUALITY,
    away_words,
    change,
    expected_cell,
    harmless,
    multiple,
    percent,
    ratio,
    tenths,
)

Cells: TypeAlias = Mapping[str, str]
"""The cells of a row by the names of their columns."""

MIN_NAME: Final = 20
"""Columns of a terminal below which no company's name is shown."""

MAX_NAME: Final = 40
"""Columns that a company's name takes at most."""

LEFT: Final = frozenset(
    {
        *("symbol", "name", "pattern", "family", "direction", "side", "record of"),
        *("entered", "outcome", "exited"),
    }
)
"""Columns of words; numbers end below each other."""

HEADS: Final = {"family": "pattern"}
"""What stands above a column that is not called as the column that it takes the place of."""

LEGEND: Final = {
    "rank": "rank: by median winning trade, which is not a win rate",
    "quality": f"quality: {QUALITY[:1].lower()}{QUALITY[1:-1]}",
    "distance": "distance: from the last close to the trigger",
    "P/L": "P/L: open profit or loss since the entry",
    "r/r": "r/r: reward to risk from the trigger; in an open trade, from the last close",
    "sessions": "sessions: trading days since the breakout",
    "win rate": "win rate, trades, avg loss: past trades of the same family and direction, or of "
    "the ticker itself if it has 20 or more",
    "exp R": "exp R: expectancy in R, market drift included; in brackets that of random entries",
}
"""What the columns mean, as far as their names are short."""

EITHER_WAY: Final = "two rows of one triangle: it may break out either way"
"""What a second row means."""

_FIRST = ("rank", "symbol", "name", "pattern", "direction", "quality")
_RECORD = ("win rate", "trades", "avg loss", "exp R", "record of", "attempt")
FORMING: Final = (*_FIRST, "distance", "trigger", "stop", "target", "r/r", *_RECORD)
RUNNING: Final = (
    *(*_FIRST, "P/L", "P/L R", "entry", "stop", "target", "r/r", "sessions"),
    *_RECORD,
)
HISTORY: Final = (
    *("entered", "pattern", "direction", "outcome", "move", "R", "days held", "exited"),
    *("entry", "stop", "target", "exit", "attempt"),
)

SPARED: Final[Sequence[Mapping[str, str]]] = (
    {"attempt": ""},
    {"record of": ""},
    {"exp R": "", "sessions": ""},
    {"rank": ""},
    {"name": ""},
    {"quality": ""},
    {"direction": "side", "win rate": "", "trades": "", "avg loss": ""},
    {"pattern": "family"},
    {"P/L R": ""},
    {"r/r": ""},
    {"target": ""},
    {"side": "", "stop": ""},
)
"""What is left out, or replaced, of a table of setups one after the other until there is room."""

PAST_SPARED: Final[Sequence[Mapping[str, str]]] = (
    {"attempt": ""},
    {"entry": "", "stop": "", "target": "", "exit": ""},
    {"exited": ""},
    {"days held": ""},
    {"pattern": "family"},
    {"move": ""},
)
"""What is left out, or replaced, of a table of past trades."""


class SetupTable(NamedTuple):
    """A table, and what its columns mean."""

    table: Table
    legend: Sequence[str]


def setup_table(
    columns: Sequence[str], setups: Sequence[SetupView], names: Mapping[str, str], width: int
) -> SetupTable:
    """Setups in a table of at most `width` columns; companies' names where there is room."""

    def rows(most: int) -> list[Cells]:
        shortened = {setup.symbol: clipped(names.get(setup.symbol, ""), most) for setup in setups}
        sides = (side for setup in setups for side in setup.sides)
        return [setup_cells(side, shortened[side.symbol]) for side in sides]

    cells = rows(MIN_NAME)
    named = any(row["name"] for row in cells)
    shown = _fitting([name for name in columns if named or name != "name"], SPARED, cells, width)
    if "name" in shown:
        others = _filled([name for name in shown if name != "name"], cells)
        cells = rows(min(width - others.width - 2, MAX_NAME))
    legend = [LEGEND[name] for name in shown if name in LEGEND]
    if any(len(setup.plans) > 1 for setup in setups):
        legend.append(EITHER_WAY)
    return SetupTable(_filled(shown, cells), legend)


def history_table(trades: Sequence[Mapping[str, Any]], currency: str, width: int) -> Table:
    """Past trades of one symbol, newest first, in a table of at most `width` columns."""
    rows = [past_cells(trade, currency) for trade in trades]
    return _filled(_fitting(HISTORY, PAST_SPARED, rows, width), rows)


def setup_cells(setup: SetupView, name: str) -> Cells:
    """Every cell of a setup, forming or triggered; `name` is that of its company."""
    plan, record = setup.plan, setup.record
    return {
        "rank": str(setup.rank),
        "symbol": setup.symbol,
        "name": name,
        "pattern": setup.pattern,
        "family": setup.family_label,
        "direction": setup.direction,
        "side": setup.direction[:4],
        "quality": or_dash(setup.quality_pct, tenths),
        "distance": away_words(setup) or "-",
        "P/L": or_dash(setup.gain_pct, change),
        "P/L R": or_dash(setup.gain_r, multiple),
        "trigger": money(plan.start, setup.currency),
        "entry": money(plan.start, setup.currency),
        "stop": money(plan.stop, setup.currency),
        "target": money(plan.target, setup.currency),
        "r/r": ratio(setup.reward_to_risk),
        "sessions": or_dash(setup.sessions_running, "{:,}".format),
        "win rate": or_dash(record and record.win_rate_pct, percent),
        "trades": or_dash(record and record.sample_size, "{:,}".format),
        "avg loss": _loss(record),
        "exp R": expected_cell(setup) or "-",
        "record of": record.scope if record else "-",
        "attempt": or_dash(setup.attempt, lambda one: f"{one} of {setup.attempts or one}"),
    }


def past_cells(trade: Mapping[str, Any], currency: str) -> Cells:
    """Every cell of a past trade, a row of the history."""
    r = trade["unrealized_r"] if trade["r_multiple"] is None else trade["r_multiple"]
    shown = partial(money, currency=currency)
    prices = {name: trade[f"{name}_price"] for name in ("entry", "stop", "target", "exit")}
    return {
        "entered": or_dash(trade["entry_date"]),
        "pattern": pattern_words(trade),
        "family": trade["family_label"],
        "direction": or_dash(trade["direction"]),
        "outcome": trade["outcome"],
        "move": or_dash(trade["realized_move_pct"], change),
        "R": or_dash(r, multiple),
        "days held": or_dash(trade["hold_bars"]),
        "exited": or_dash(trade["exit_date"]),
        **{name: or_dash(price, shown) for name, price in prices.items()},
        "attempt": or_dash(trade["attempt"]["number"]),
    }


def _loss(record: RecordView | None) -> str:
    if record is None:
        return "-"
    return "no loss" if record.avg_loss_pct is None else change(record.avg_loss_pct)


def _fitting(
    columns: Sequence[str], spared: Sequence[Mapping[str, str]], rows: Sequence[Cells], width: int
) -> list[str]:
    """The columns for which there is room."""
    shown = list(columns)
    for step in spared:
        if _filled(shown, rows).width <= width:
            break
        shown = [new for name in shown if (new := step.get(name, name))]
    return shown


def _filled(columns: Sequence[str], rows: Sequence[Cells]) -> Table:
    heads = [HEADS.get(name, name) for name in columns]
    table = Table(*heads, right={name for name in columns if name not in LEFT})
    for row in rows:
        table.add_row(*(row[name] for name in columns))
    return table


def clipped(text: str, width: int) -> str:
    """As many whole words of a text as have room in so many columns."""
    from rich.cells import cell_len

    words = harmless(text).split()
    clipped = " ".join(words)
    while words and cell_len(clipped) > width:
        words.pop()
        clipped = " ".join([*words, "…"])
    return clipped
