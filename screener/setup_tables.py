"""Setup tables: setups and past trades as tables that fit the terminal.

A column is left out whole where there is no room, and no cell but a company's name is ever cut. A
win rate stands with its trades and the average loss, or all three are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mcp_server.operations.setups import levels_of
from nightly.numbers import dollars, multiple, percent
from screener.console import Table
from store.briefs import Row, compact
from store.lines import harmless
from store.setup_words import pattern_words, ratio_words

LEAST_NAME: Final = 20
"""Columns of a terminal below which no company's name is shown."""

MOST_NAME: Final = 40
"""Columns that a company's name takes at most."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    cell: Callable[[Row], str]
    right: bool = False
    spare: int = 0
    """What is left out first where there is no room: the columns of the highest number. 0 stays."""
    instead: Column | None = None
    """What takes its place when it is left out."""


def setups_table(rows: Sequence[Row], names: Mapping[str, str], width: int) -> Table:
    """Forming setups of the scan, best rank first, in a table of at most `width` columns."""
    return _named(FORMING, [flat(row) for row in rows], names, width)


def running_table(rows: Sequence[Row], names: Mapping[str, str], width: int) -> Table:
    """Setups in progress of the scan, best rank first, in a table of at most `width` columns."""
    return _named(RUNNING, [flat(row) for row in rows], names, width)


def history_table(rows: Sequence[Row], width: int) -> Table:
    """Past trades of one symbol, newest first, in a table of at most `width` columns."""
    return _filled(_fitting(HISTORY, rows, width), rows)


def flat(row: Row) -> Row:
    """A row of the scan, and its entry, with its levels and its win rate, whose it is and its loss.

    The per cents of stop and target and the reward to risk count from the entry or, before one,
    from the trigger.
    """
    levels = levels_of(row)
    ratio = levels.reward_to_risk
    return {
        **row,
        **compact(row),
        "stop_pct": percent(levels.stop_pct),
        "target_pct": percent(levels.target_pct),
        "reward_to_risk": None if ratio is None else multiple(ratio),
    }


def distance(row: Row) -> str:
    """How far the last close is from the trigger, and whether it is beyond it already."""
    beyond = " beyond" if row.get("last_close_side") == "beyond" else ""
    return f"{row['distance_to_trigger_pct']:.2f}%{beyond}"


def _percent(name: str) -> Callable[[Row], str]:
    return _decimal(name, ".1f", "%")


def _decimal(name: str, form: str, unit: str = "") -> Callable[[Row], str]:
    return lambda row: "-" if row.get(name) is None else f"{row[name]:{form}}{unit}"


def _price(name: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(name) is None else dollars(row[name])


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(name) is None else str(row[name])


def _attempt(row: Row) -> str:
    attempt = row.get("attempt")
    number = attempt["number"] if isinstance(attempt, Mapping) else attempt
    return "-" if number is None else str(number)


_SYMBOL = Column("symbol", _text("symbol"))
_PATTERN = (
    Column("pattern", pattern_words, spare=2, instead=Column("family", _text("family_label"))),
    Column("direction", _text("direction")),
)
_RECORD = (
    Column("won", _percent("win_rate_pct"), right=True, spare=1),
    Column("trades", _text("win_rate_trades"), right=True, spare=1),
    Column("avg loss", lambda row: _loss(row), right=True, spare=1),
    Column("record of", _text("win_rate_scope"), spare=6),
)
_PLAN = (
    Column("stop", _price("stop_price"), right=True, spare=5),
    Column("target", _price("target_price"), right=True, spare=5),
    Column("reward/risk", lambda row: ratio_words(row["reward_to_risk"]), right=True, spare=5),
)
_RANK = Column("rank", _text("rank"), right=True, spare=3)
_ATTEMPT = Column("attempt", _attempt, right=True, spare=7)
_TRIGGER = Column("trigger", _price("trigger_price"), right=True)
_ENTRY = Column("entry", _price("entry_price"), right=True)
_AWAY = Column("distance", distance, right=True)
_SINCE = Column("sessions", _text("sessions_since_trigger"), right=True)

FORMING: Final = (_RANK, _SYMBOL, *_PATTERN, _AWAY, _TRIGGER, *_PLAN, *_RECORD, _ATTEMPT)
RUNNING: Final = (_RANK, _SYMBOL, *_PATTERN, _SINCE, _ENTRY, *_PLAN, *_RECORD, _ATTEMPT)
HISTORY: Final = (
    Column("entry", _text("entry_date")),
    *_PATTERN,
    Column("outcome", _text("outcome")),
    Column("move", _decimal("realized_move_pct", "+.1f", "%"), right=True, spare=1),
    Column("R", lambda row: _r(row), right=True),
    Column("sessions", _text("hold_bars"), right=True, spare=3),
    Column("exit", _text("exit_date"), spare=4),
    Column("price", _price("entry_price"), right=True, spare=5),
    Column("stop", _price("stop_price"), right=True, spare=5),
    Column("target", _price("target_price"), right=True, spare=5),
    _ATTEMPT,
)


def _loss(row: Row) -> str:
    if row["avg_loss_pct"] is None:
        return "-" if row["win_rate_pct"] is None else "no loss"
    return f"{row['avg_loss_pct']:.1f}%"


def _r(row: Row) -> str:
    r = row["unrealized_r"] if row["r_multiple"] is None else row["r_multiple"]
    return "-" if r is None else f"{r:+.2f}"


def _named(
    columns: Sequence[Column], rows: Sequence[Row], names: Mapping[str, str], width: int
) -> Table:
    """The table, with the companies' names behind their symbols where there is room for them."""

    def name(size: int) -> Column:
        return Column("name", lambda row: clipped(names.get(row["symbol"], ""), size), spare=4)

    place = columns.index(_SYMBOL) + 1
    shortest = name(LEAST_NAME)
    kept = _fitting([*columns[:place], shortest, *columns[place:]], rows, width)
    if shortest in kept:
        place = kept.index(shortest)
        kept.remove(shortest)
        if any(names.get(row["symbol"]) for row in rows):
            left = width - _filled(kept, rows).width - 2
            kept.insert(place, name(min(left, MOST_NAME)))
    return _filled(kept, rows)


def _fitting(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Column]:
    """The columns for which there is room."""
    kept: list[Column] = []
    for most in sorted({0, *(column.spare for column in columns)}, reverse=True):
        chosen = (column if column.spare <= most else column.instead for column in columns)
        kept = [column for column in chosen if column is not None]
        if _filled(kept, rows).width <= width:
            break
    return kept


def _filled(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    numbers = {column.name for column in columns if column.right}
    table = Table(*(column.name for column in columns), right=numbers)
    for row in rows:
        table.add_row(*(column.cell(row) for column in columns))
    return table


def clipped(text: str, width: int) -> str:
    """As many whole words of a text as have room in so many columns."""
    from rich.cells import cell_len

    words = harmless(text).split()
    whole = " ".join(words)
    if cell_len(whole) <= width:
        return whole
    return next(_beginnings(words, width - 2, cell_len), "") + " …" if words else ""


def _beginnings(words: Sequence[str], width: int, measure: Callable[[str], int]) -> Iterator[str]:
    for number in range(len(words) - 1, 0, -1):
        beginning = " ".join(words[:number])
        if measure(beginning) <= width:
            yield beginning
