"""Setup tables: setups and past trades as tables that fit the terminal.

A column is left out whole where there is no room, and no cell but a company's name is ever cut:
what a plan says stays longest. A win rate stands with its trades and the average loss, or all three
are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from screener.settings.console import Table
from store.wire.families import pattern_words
from store.wire.view import SetupView
from store.wire.words import change, dollars, harmless, multiple, percent, ratio

LEAST_NAME: Final = 20
"""Columns of a terminal below which no company's name is shown."""

MOST_NAME: Final = 40
"""Columns that a company's name takes at most."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    cell: Callable[[Any], str]
    right: bool = False
    spare: int = 0
    """What is left out first where there is no room: the columns of the highest number. 0 stays."""
    instead: Column | None = None
    """What takes its place when it is left out."""
    meaning: str = ""
    """What its name does not say."""


class Shown(NamedTuple):
    """A table, and what its columns mean."""

    table: Table
    legend: Sequence[str]


def forming_table(setups: Sequence[SetupView], names: Mapping[str, str], width: int) -> Shown:
    """Forming setups in a table of at most `width` columns."""
    return _named(FORMING, setups, names, width)


def running_table(setups: Sequence[SetupView], names: Mapping[str, str], width: int) -> Shown:
    """Setups in progress in a table of at most `width` columns."""
    return _named(RUNNING, setups, names, width)


def history_table(rows: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Past trades of one symbol, newest first, in a table of at most `width` columns."""
    return _filled(_fitting(HISTORY, rows, width), rows)


def _written(
    write: Callable[[float], str], read: Callable[[Any], float | None]
) -> Callable[[Any], str]:
    """A cell of a number; a dash where there is none."""
    return lambda row: "-" if (value := read(row)) is None else write(value)


def _field(name: str, write: Callable[[Any], str] = str) -> Callable[[Any], str]:
    """A cell of a field of a past trade."""
    return _written(write, lambda row: row[name])


def _distance(setup: SetupView) -> str:
    beyond = " beyond" if setup.last_close_side == "beyond" else ""
    return f"{abs(setup.distance_pct or 0.0):.2f}%{beyond}"


def _attempt(setup: SetupView) -> str:
    number, count = setup.attempt, setup.attempts
    return "-" if number is None else f"{number} of {count or number}"


def _loss(setup: SetupView) -> str:
    record = setup.record
    if record is None:
        return "-"
    return "no loss" if record.avg_loss_pct is None else change(record.avg_loss_pct)


RECORD: Final = (
    "won, trades, avg loss: past trades of the same family and direction, or of the ticker itself "
    "from 20 trades of its own on"
)
_SYMBOL = Column("symbol", lambda setup: setup.symbol)
_RANK = Column(
    "rank",
    lambda setup: str(setup.rank),
    right=True,
    spare=8,
    meaning="rank: by typical gain if the trade wins, which says nothing about how often it does",
)
_PATTERN = (
    Column(
        "pattern",
        lambda setup: setup.pattern,
        spare=4,
        instead=Column("pattern", lambda setup: setup.family_label),
    ),
    Column(
        "direction",
        lambda setup: setup.direction,
        spare=5,
        instead=Column("side", lambda setup: setup.direction[:4], spare=3),
    ),
)
_RECORD = (
    Column(
        "won",
        _written(percent, lambda setup: setup.record and setup.record.win_rate_pct),
        right=True,
        spare=5,
        meaning=RECORD,
    ),
    Column(
        "trades",
        _written("{:,}".format, lambda setup: setup.record and setup.record.sample_size),
        right=True,
        spare=5,
    ),
    Column("avg loss", _loss, right=True, spare=5),
    Column(
        "exp R",
        _written(lambda r: multiple(r, 3), lambda setup: setup.expected_r),
        right=True,
        spare=7,
        meaning="exp R: expected R of a trade, drift included",
    ),
    Column("record of", lambda setup: setup.record.scope if setup.record else "-", spare=9),
)


def _levels(start: str) -> tuple[Column, ...]:
    return (
        Column(start, lambda setup: dollars(setup.plan.start), right=True),
        Column("stop", lambda setup: dollars(setup.plan.stop), right=True, spare=1),
        Column("target", lambda setup: dollars(setup.plan.target), right=True, spare=1),
        Column(
            "r/r",
            lambda setup: ratio(setup.plan.reward_to_risk),
            right=True,
            spare=2,
            meaning="r/r: reward to risk, from the trigger or, in progress, from the entry",
        ),
    )


_ATTEMPT = Column("attempt", _attempt, right=True, spare=10)
_AWAY = Column(
    "distance", _distance, right=True, meaning="distance: from the last close to the trigger"
)
_GAIN = (
    Column(
        "gain",
        _written(change, lambda setup: setup.gain_pct),
        right=True,
        meaning="gain: since the entry",
    ),
    Column("gain R", _written(multiple, lambda setup: setup.gain_r), right=True, spare=3),
)
_SINCE = Column(
    "sessions",
    _written("{:,}".format, lambda setup: setup.sessions_running),
    right=True,
    spare=7,
    meaning="sessions: since the breakout",
)

FORMING: Final = (_RANK, _SYMBOL, *_PATTERN, _AWAY, *_levels("trigger"), *_RECORD, _ATTEMPT)
RUNNING: Final = (
    *(_RANK, _SYMBOL, *_PATTERN, *_GAIN),
    *(*_levels("entry"), _SINCE, *_RECORD, _ATTEMPT),
)
HISTORY: Final = (
    Column("entered", _field("entry_date")),
    Column(
        "pattern",
        pattern_words,
        spare=2,
        instead=Column("pattern", _field("family_label")),
    ),
    Column("direction", _field("direction")),
    Column("outcome", _field("outcome")),
    Column("move", _field("realized_move_pct", change), right=True, spare=1),
    Column("R", lambda row: _r(row), right=True),
    Column("sessions", _field("hold_bars"), right=True, spare=3),
    Column("exited", _field("exit_date"), spare=4),
    Column("entry", _field("entry_price", dollars), right=True, spare=5),
    Column("stop", _field("stop_price", dollars), right=True, spare=5),
    Column("target", _field("target_price", dollars), right=True, spare=5),
    Column("exit", _field("exit_price", dollars), right=True, spare=5),
    Column("attempt", lambda row: str(row["attempt"]["number"] or "-"), right=True, spare=7),
)


def _r(row: Mapping[str, Any]) -> str:
    r = row["unrealized_r"] if row["r_multiple"] is None else row["r_multiple"]
    return "-" if r is None else multiple(r)


def _named(
    columns: Sequence[Column], rows: Sequence[SetupView], names: Mapping[str, str], width: int
) -> Shown:
    """The table, with the companies' names behind their symbols where there is room for them."""

    def name(size: int) -> Column:
        return Column("name", lambda setup: clipped(names.get(setup.symbol, ""), size), spare=6)

    place = columns.index(_SYMBOL) + 1
    shortest = name(LEAST_NAME)
    kept = _fitting([*columns[:place], shortest, *columns[place:]], rows, width)
    if shortest in kept:
        place = kept.index(shortest)
        kept.remove(shortest)
        if any(names.get(setup.symbol) for setup in rows):
            left = width - _filled(kept, rows).width - 2
            kept.insert(place, name(min(left, MOST_NAME)))
    return Shown(_filled(kept, rows), [column.meaning for column in kept if column.meaning])


def _fitting(columns: Sequence[Column], rows: Sequence[Any], width: int) -> list[Column]:
    """The columns for which there is room."""
    kept: list[Column] = []
    for most in sorted({0, *(column.spare for column in columns)}, reverse=True):
        chosen = (column if column.spare <= most else column.instead for column in columns)
        kept = [column for column in chosen if column is not None and column.spare <= most]
        if _filled(kept, rows).width <= width:
            break
    return kept


def _filled(columns: Sequence[Column], rows: Sequence[Any]) -> Table:
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
