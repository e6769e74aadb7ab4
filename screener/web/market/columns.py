"""Columns: what the screen can say of a setup, one cell each, on pages and as CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from markupsafe import Markup

from mcp_server.filters.filters import Predicate
from screener.web.market.condition_words import FIELDS
from store.nights.book import Book
from store.wire import words
from store.wire.currency import money
from store.wire.scan_index import compact
from store.wire.view import RecordView, SetupView

TONES = {"+": " up", "-": " down"}

KNOWN = ("daily_change", "market_cap")
"""Columns of the features that every row has."""

LINES = Markup('<span class="or"> or </span><br>')
"""What is between the lines of a cell; a table breaks the line, a chart's facts read on."""

NONE = "\N{EN DASH}"
"""The cell of a value that there is not."""


@dataclass(frozen=True, slots=True)
class Row:
    """A setup with the other attempts of its formation, which stand in its row."""

    view: SetupView
    others: Sequence[SetupView]
    name: str
    known: Mapping[str, Any]
    """Numbers and words of the night's features by the names of their columns: those of `KNOWN` and
    what conditions look at. None where the night does not know one.
    """

    @property
    def fields(self) -> dict[str, Any]:
        """Its values by the names that the API and the command line give them."""
        view, record = self.view, self.view.record
        short = compact(view)
        return {
            **self.known,
            **short,
            **{f"opposite_{name}": value for name, value in short.get("opposite_plan", {}).items()},
            "name": self.name,
            "as_of_session": view.as_of,
            "currency": view.currency,
            "pattern": view.pattern,
            "sessions_since_trigger": view.sessions_running,
            "stop_pct": view.plan.stop_pct,
            "target_pct": view.plan.target_pct,
            "placebo_win_rate_pct": record and record.placebo_win_rate_pct,
            "ticker_trades": view.own and view.own.sample_size,
            "ticker_avg_loss_pct": view.own and view.own.avg_loss_pct,
        }


Cell = tuple[str, Markup, str]
"""The name of a column, the attributes of its element on the page, and what a row says there."""


@dataclass(frozen=True, slots=True)
class ScreenColumn:
    """One fact of a setup."""

    label: str
    sort: str
    """The order of the scan that a click on its heading asks for; empty if there is none."""
    text: Callable[[Row], str]
    """What its cell says."""
    fields: Sequence[str]
    """Its columns of CSV, as `Row.fields` names them."""
    look: str = "number"
    """The class of its cells."""
    by_plan: bool = False
    """Whether it has a line for each plan of a setup that may break out either way."""


def _or_none(value: Any, write: Callable[[Any], str]) -> str:  # noqa: ANN401 - to write
    """A value as a cell says it, or the cell of none."""
    return NONE if value is None else write(value)


def _place(row: Row) -> str:
    """The gain of the trade so far, or where the trigger is, which the heading names."""
    return words.gain_words(row.view) or words.away_words(row.view) or NONE


def _level(row: Row, name: Literal["stop", "target"]) -> str:
    """A level of the plan, with the price move to it."""
    plan = row.view.plan
    price, move = (plan.stop, plan.stop_pct) if name == "stop" else (plan.target, plan.target_pct)
    return f"{money(price, row.view.currency)} {words.change(move)}"


def _status(row: Row) -> str:
    """The status, with how many sessions it runs or that the close is beyond the trigger."""
    view = row.view
    if view.status == "forming":
        return "forming, beyond" if view.last_close_side == "beyond" else "forming"
    running = view.sessions_running
    return words.status_words(view.status) + ("" if running is None else f", {running}")


def _win_rate(record: RecordView) -> str:
    """The win rate, with that of random entries."""
    random = record.placebo_win_rate_pct
    beside = "" if random is None else f" ({words.percent(random)})"
    return f"{words.percent(record.win_rate_pct)}{beside}"


def _trades(record: RecordView) -> str:
    """The trades behind the win rate."""
    return f"{record.sample_size:,}"


def _loss(record: RecordView) -> str:
    """The average loss."""
    return "no loss" if record.avg_loss_pct is None else words.change(record.avg_loss_pct)


COLUMNS: Mapping[str, ScreenColumn] = {
    "symbol": ScreenColumn(
        "Symbol",
        "symbol",
        lambda row: row.view.symbol,
        ("symbol", "name", "as_of_session", "setup_id"),
        "who",
    ),
    "price": ScreenColumn(
        "Price",
        "price",
        lambda row: money(row.view.last_close, row.view.currency),
        ("last_close", "currency"),
    ),
    "change": ScreenColumn(
        "Day",
        "daily_change",
        lambda row: _or_none(row.known["daily_change"], words.change),
        ("daily_change",),
    ),
    "pattern": ScreenColumn(
        "Pattern",
        "pattern",
        lambda row: f"{row.view.pattern}, {row.view.directions}",
        ("family", "pattern", "direction", "attempt", "opposite_direction"),
        "pattern",
    ),
    "status": ScreenColumn(
        "Status", "sessions", _status, ("status", "sessions_since_trigger"), "status", by_plan=True
    ),
    "quality": ScreenColumn(
        "Quality",
        "quality",
        lambda row: _or_none(row.view.quality_pct, words.tenths),
        ("quality_pct",),
    ),
    "place": ScreenColumn(
        "Distance to trigger, or open P/L",
        "distance",
        _place,
        (
            *("distance_to_trigger_pct", "last_close_side", "gain_pct", "gain_r"),
            "opposite_distance_to_trigger_pct",
        ),
        "number place",
        by_plan=True,
    ),
    "trigger": ScreenColumn(
        "Trigger or entry",
        "trigger",
        lambda row: money(row.view.plan.start, row.view.currency),
        ("trigger_price", "entry_price", "opposite_trigger_price"),
        by_plan=True,
    ),
    "stop": ScreenColumn(
        "Stop",
        "stop",
        lambda row: _level(row, "stop"),
        ("stop_price", "stop_pct", "opposite_stop_price"),
        by_plan=True,
    ),
    "target": ScreenColumn(
        "Target",
        "target",
        lambda row: _level(row, "target"),
        ("target_price", "target_pct", "opposite_target_price"),
        by_plan=True,
    ),
    "reward_to_risk": ScreenColumn(
        "Reward to risk",
        "reward_to_risk",
        lambda row: words.reward_words(row.view),
        ("reward_to_risk", "reward_to_risk_left"),
        by_plan=True,
    ),
    "trades": ScreenColumn("Trades", "sample", lambda row: _or_none(row.view.record, _trades), ()),
    "loss": ScreenColumn("Avg loss", "", lambda row: _or_none(row.view.record, _loss), ()),
    "record": ScreenColumn(
        "Win rate (random)",
        "win_rate",
        lambda row: _or_none(row.view.record, _win_rate),
        (
            *("win_rate_scope", "win_rate_pct", "placebo_win_rate_pct", "win_rate_trades"),
            *("avg_loss_pct", "verdict"),
        ),
    ),
    "market_cap": ScreenColumn(
        "Market cap",
        "market_cap",
        lambda row: _or_none(row.known["market_cap"], words.large_dollars),
        ("market_cap",),
    ),
    "expected_r": ScreenColumn(
        "Expectancy in R (random), trades",
        "expected_r",
        lambda row: words.expected_cell(row.view) or NONE,
        ("expected_r", "expected_r_scope", "expected_r_trades", "placebo_avg_r"),
        "record",
    ),
    "typical_gain": ScreenColumn(
        "Median winning trade",
        "typical_gain",
        lambda row: _or_none(row.view.typical_gain_pct, words.change),
        ("expected_gain_pct",),
    ),
}
"""Every column in its order; the symbol is always shown."""

RECORD = ("trades", "loss", "record")
"""Columns that are shown together: no win rate stands without its trades and the average loss. It
comes last, so that a narrow table shows them first.
"""

OF_KINDS: Mapping[str, str] = {
    "direction": "pattern",
    "dist_to_entry": "place",
    "gain": "place",
    "quality": "quality",
    "sessions": "status",
    "min_rr": "reward_to_risk",
    "win_rate": "record",
    "min_expected_r": "expected_r",
    "typical_return": "typical_gain",
    "price": "price",
    "market_cap": "market_cap",
    "daily_change": "change",
}
"""The column that shows what a kind of condition looks at; the others have one of their own."""

OWN = ("min_win_rate", "min_avg_r")
OWN_SAMPLE = ("ticker_trades", "ticker_avg_loss_pct")
"""What conditions look at in the record of the ticker, which is not that of the win rate."""

USUAL: tuple[str, ...] = (
    *("symbol", "price", "change", "pattern", "status", "quality", "place"),
    *("trigger", "stop", "target", "reward_to_risk"),
    *RECORD,
)
"""The columns that are shown where nobody chose."""

BY_STATUS: Mapping[tuple[str, str], str] = {
    ("place", "forming"): "Distance to trigger",
    ("place", "in_progress"): "Open P/L",
    ("trigger", "forming"): "Trigger",
    ("trigger", "in_progress"): "Entry",
}
"""What a column is called among the setups of one status."""


def read_columns(text: str) -> Sequence[str] | None:
    """The columns that a list such as `price,stop` names, in their own order; the usual ones for an
    empty list, and None if it names another.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    if not names <= COLUMNS.keys():
        return None
    if names & {*RECORD}:
        names |= {*RECORD}
    return [name for name in COLUMNS if name in names | {"symbol"}] if names else USUAL


def columns_text(columns: Sequence[str]) -> str:
    """The list that names some columns; empty for the usual ones."""
    return "" if tuple(columns) == USUAL else ",".join(columns)


def column_of(predicate: Predicate) -> tuple[str, ScreenColumn]:
    """The column that shows what a condition looks at, under its name."""
    kind, name = predicate.kind, predicate.column
    if kind.name in OF_KINDS:
        return OF_KINDS[kind.name], COLUMNS[OF_KINDS[kind.name]]
    field = FIELDS[kind.name]
    period = "" if predicate.period is None else f", {dict(field.periods)[str(predicate.period)]}"
    look = "number" if kind.takes == "number" else "words"
    text = partial(_own_text if name in OWN else _known_text, name=name, unit=kind.unit)
    fields = (name, *OWN_SAMPLE) if name in OWN else (name,)
    return name, ScreenColumn(f"{field.label}{period}", "", text, fields, look)


def column_of_order(sort: str) -> Sequence[str]:
    """The columns that show what an order is by; none where no column does."""
    name = OF_KINDS.get(sort.lstrip("-"))
    found = [name] if name else [n for n, one in COLUMNS.items() if one.sort == sort.lstrip("-")]
    return RECORD if {*found} & {*RECORD} else found


def _own_text(row: Row, name: str, unit: str) -> str:
    """What a condition looks at in the record of the ticker, with its trades and average loss."""
    own, text = row.view.own, _known_text(row, name, unit)
    if own is None:
        return text
    return f"{text} ({words.plural(own.sample_size, 'trade')}, avg loss {_loss(own)})"


def _known_text(row: Row, name: str, unit: str) -> str:
    """What a condition looks at, with its unit."""
    value = row.known[name]
    if value is None or isinstance(value, str):
        return value or NONE
    if unit == "boolean":
        return "yes" if value else "no"
    if unit == "$":
        return words.large_dollars(value)
    return f"{value:,.0f}" if unit == "shares" else f"{value:,.2f}{'%' if unit == '%' else ''}"


def rows_of(
    book: Book,
    positions: Sequence[int],
    name: Callable[[str], str],
    columns: Iterable[str] = (),
) -> list[Row]:
    """The rows at some positions of the scan, with what the columns of conditions show."""
    if not positions:
        return []  # a night without a setup has no features
    asked = [column for column in columns if column not in COLUMNS]
    known = {column: _feature(book, column) for column in (*KNOWN, *asked)}
    views = ((position, book.scan.rows[position]) for position in positions)
    return [
        Row(
            view,
            book.scan.others(view),
            name(view.symbol),
            {column: value(position) for column, value in known.items()},
        )
        for position, view in views
    ]


def _feature(book: Book, column: str) -> Callable[[int], float | str | None]:
    """What reads a column of the features at a position of the scan."""
    if column in book.features.labels:
        return book.features.labels[column].words().__getitem__
    numbers = book.features.numbers[column]
    return lambda position: _known(numbers[position])


def cells_of(row: Row, columns: Mapping[str, ScreenColumn]) -> list[Cell]:
    """The cells of a row; a number with a sign is coloured by it."""
    view, status = row.view, row.view.status
    sides = [replace(row, view=side) for side in view.sides] if len(view.plans) > 1 else []
    cells = list[Cell]()
    for name, column in columns.items():
        by_plan = sides and column.by_plan
        # What is the same of each plan is said once.
        text = LINES.join(dict.fromkeys(map(column.text, sides))) if by_plan else column.text(row)
        tone = TONES.get(text[0], "") if column.look.startswith("number") else ""
        label = BY_STATUS.get((name, status), column.label)
        cells.append((name, _attributes(label, column.look + tone), text))
    return cells


@cache
def _attributes(label: str, look: str) -> Markup:
    # Half of a page is attributes of cells, so each is written once.
    return Markup('class="{}" data-label="{}"').format(look, label)


def sheet_of(rows: Iterable[Row], columns: Iterable[ScreenColumn]) -> Iterator[Sequence[object]]:
    """The names of the columns of CSV, then the values of each row; a forming setup has no gain."""
    names = [field for column in columns for field in column.fields]
    yield names
    for row in rows:
        fields = row.fields
        yield [fields.get(name) for name in names]


def _known(number: float) -> float | None:
    return None if math.isnan(number) else round(float(number), 2) + 0.0
