"""Rows: what a night holds, as the rows of each table. Nothing is worked out again here: a cell is
a field of a stored record, or of the one view of a setup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from screener.data.columns import TableName, columns_of, described
from store.nights.book import Book, company_names
from store.wire.families import Family
from store.wire.scan_index import compact
from store.wire.view import SetupView

Fields: TypeAlias = Mapping[str, Any]
"""The cells of a row by the names of their columns; what is missing is null."""


def names_of(table: TableName) -> list[str]:
    """The names of a table's columns, in their order."""
    return [column.name for column in columns_of(table)]


def cells_of(table: TableName, rows: Iterable[Fields]) -> Iterator[Sequence[object]]:
    """The cells of some rows, in the order of the columns: text, whole and other numbers, truth
    values, and dates as YYYY-MM-DD; None for null.
    """
    names = names_of(table)
    return ([fields.get(name) for name in names] for fields in rows)


def table_rows(book: Book, table: TableName) -> Iterator[Sequence[object]]:
    """The cells of every row of a table of a night."""
    return cells_of(table, _ROWS[table](book))


def setup_rows(
    rows: Iterable[Fields], views: Mapping[str, SetupView], names: Mapping[str, str]
) -> Iterator[Fields]:
    """A row for each row of the scan; views are by setup id, names of companies by symbol."""
    for row in rows:
        view = views[row["setup_id"]]
        short = compact(view)
        yield {
            **row,
            **short,
            "name": names.get(view.symbol),
            "currency": view.currency,
            "stop_pct": view.plan.stop_pct,
            "target_pct": view.plan.target_pct,
            **{f"opposite_{name}": value for name, value in short.get("opposite_plan", {}).items()},
            **_lines(row["lines"]),
        }


def _lines(lines: Fields | None) -> Fields:
    """The ends of both trend lines; empty in a night that was sealed without them."""
    return {
        f"{side}_{end}_{field}": line[end][field]
        for side, line in (lines or {}).items()
        for end in ("start", "end")
        for field in ("date", "price")
    }


def _night(book: Book) -> Iterator[Fields]:
    opening = orjson.loads(book.envelope + b"}")
    counts = book.counts.model_dump() if book.counts else {}
    yield {**opening, **counts}


def _setups(book: Book) -> Iterator[Fields]:
    rows = map(orjson.loads, book.features.bodies)
    return setup_rows(rows, book.scan.by_id, company_names(book))


def _trades(book: Book) -> Iterator[Fields]:
    for symbol, history in book.histories():
        for body in history.rows:
            row = orjson.loads(body)
            attempt = row["attempt"]
            yield {
                **row,
                "symbol": symbol,
                "attempt": attempt["number"],
                "attempts": attempt["count"],
                "currency": book.currency(symbol),
                **_lines(row.get("lines")),
            }


def _records(book: Book) -> Iterator[Fields]:
    for family in Family:
        entry = orjson.loads(book.family(family))
        yield from _record(entry["track_record"])
        if served := entry.get("as_served"):
            days = served["first_session"], served["last_session"]
            own = {"scope": "as_served", "family": family.value, "symbol": None}
            yield from _record({**served, **own, "backtest_range": days})
    for symbol in book.symbols():
        sealed = orjson.loads(book.ticker_record(symbol) or b'{"records":[]}')
        for record in sealed["records"]:
            yield from _record(record)


def _record(record: Fields | None) -> Iterator[Fields]:
    """A record, then those of its directions, where it is traded both ways."""
    if record is None:
        return
    first, last = record["backtest_range"]
    yield {**_flat(record), "first_date": first, "last_date": last}
    same = {name: record[name] for name in ("scope", "family", "symbol")}
    for direction, side in (record.get("by_direction") or {}).items():
        if side:
            yield {**_flat(side), **same, "direction": direction}


def _flat(record: Fields) -> dict[str, Any]:
    low, high = record.get("win_rate_ci95") or (None, None)
    costs = record.get("avg_r_after_costs") or {}
    return {
        **record,
        "win_rate_low_pct": low,
        "win_rate_high_pct": high,
        "avg_r_after_10bp": costs.get("bp_10"),
        "avg_r_after_25bp": costs.get("bp_25"),
    }


def _features(book: Book) -> Iterator[Fields]:
    features = book.features
    cells: dict[str, Sequence[object]] = {}
    for column in columns_of("features"):
        if labels := features.labels.get(column.name):
            cells[column.name] = labels.words()
        elif (values := features.numbers.get(column.name)) is not None:
            read = bool if column.type == "boolean" else float
            cells[column.name] = [None if value != value else read(value) for value in values]
    for place, view in enumerate(book.scan.rows):
        row = {name: column[place] for name, column in cells.items()}
        yield {**row, "setup_id": view.setup_id, "symbol": view.symbol}


_ROWS: Final[Mapping[TableName, Callable[[Book], Iterable[Fields]]]] = {
    "night": _night,
    "setups": _setups,
    "trades": _trades,
    "records": _records,
    "features": _features,
    "columns": lambda _: described(),
}
