"""The setups of a night as commands print them: a page of the scan, and the end of a nightly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson

from mcp_server.operations.arguments import ScanArguments, read_arguments
from mcp_server.operations.errors import ApiError
from mcp_server.operations.scan import scan_body
from mcp_server.operations.scan_order import SORTS
from screener.commands.patterns.predicates import FilterError, filters_of
from screener.commands.patterns.setup_tables import Shown, forming_table, running_table
from screener.commands.patterns.sheet import Row, sheet
from screener.commands.patterns.tonight import age_of, tonight
from screener.settings.console import err, fail, out, terminal_width
from store.nights.book import Book
from store.nights.companies import company_names
from store.wire.view import SetupView

if TYPE_CHECKING:
    from screener.settings.settings import Settings

Form: TypeAlias = Literal["table", "json", "csv"]

BEST: Final = 10
"""Forming setups with which a nightly ends."""

STATUS_WORDS: Final = {
    "forming": "forming",
    "in_progress": "in progress",
    "all": "forming or in progress",
}
"""The words for each status of a scan."""


def print_forming(chosen: Settings) -> None:
    """Print the forming setups of the highest rank of the active night, and what shows more."""
    with tonight(chosen) as book:
        arguments = scan_arguments(limit=BEST)
        found = _answer(book, arguments)
        rows, count = _views(book, found), found["count"]
        out.print()
        if rows:
            part = f"the first {len(rows)} by rank of {count:,}" if len(rows) < count else "all"
            out.print(f"Forming as of {book.session}, {part}:")
            shown = forming_table(rows, company_names(book), terminal_width())
            out.print(shown.table)
            out.print_text(_legend([shown]))
        else:
            out.print(f"No pattern is forming as of {book.session}.")
        _print_running(book, arguments, "`screener scan --status in_progress`")
        if rows:
            symbol = rows[0].symbol
            commands = ("scan", f"show {symbol}", f"chart {symbol}")
            out.print(f"More: {', '.join(f'`screener {command}`' for command in commands)}.")
        out.print_text(book.disclaimer)


def print_scan(book: Book, arguments: ScanArguments, form: Form) -> None:
    """Print one page of the scan."""
    answer = _answer(book, arguments)
    if form == "json":
        out.print_json(answer)
    elif form == "csv":
        out.print_csv(sheet(answer["setups"], book.scan.by_id, company_names(book)))
        if more := _more(answer):
            err.print(more)
    else:
        _print_page(book, arguments, answer)


def _print_page(book: Book, arguments: ScanArguments, answer: Row) -> None:
    out.print_text(age_of(book))
    order = SORTS[arguments.sort]
    out.print_text(f"Setups {STATUS_WORDS[answer['status']]}: {answer['count']:,}. Order: {order}.")
    for kind, number in answer["without_evidence"].items():
        out.print_text(f"{kind}: {number:,} of the setups have no value for it and cannot match.")
    for note in answer["notes"]:
        out.print_text(note)
    tables = _tables(_views(book, answer), company_names(book))
    for title, shown in tables:
        out.print()
        if len(tables) > 1:
            out.print(title)
        out.print(shown.table)
    out.print()
    out.print_text(_legend([shown for _, shown in tables]) or _nothing(book))
    if more := _more(answer):
        out.print(more)
    if arguments.status == "forming":
        _print_running(book, arguments, "--status in_progress")
    out.print_text(book.disclaimer)


def _views(book: Book, answer: Row) -> list[SetupView]:
    return [book.scan.by_id[setup["setup_id"]] for setup in answer["setups"]]


def _legend(tables: Sequence[Shown]) -> str:
    """What the columns of some tables mean; nothing without a table."""
    meanings = dict.fromkeys(meaning for shown in tables for meaning in shown.legend)
    return f"{'; '.join(meanings)}." if meanings else ""


def _more(answer: Row) -> str:
    """What shows the next page, if there is one."""
    offset, count, rows = answer["offset"], answer["count"], len(answer["setups"])
    if not rows or offset + rows == count:
        return ""
    last = offset + rows
    return f"Shown: {offset + 1:,} to {last:,} of {count:,}; --offset {last} shows the next."


def _print_running(book: Book, arguments: ScanArguments, command: str) -> None:
    if count := _count(book, arguments, "in_progress"):
        out.print_text(f"In progress, past their trigger: {count:,}; {command} shows them.")


def _count(book: Book, arguments: ScanArguments, status: str) -> int:
    """How many setups match in a status."""
    counted = arguments.model_copy(update={"status": status, "limit": 1, "offset": 0})
    number: int = _answer(book, counted)["count"]
    return number


def _nothing(book: Book) -> str:
    """What to do when no row is shown."""
    everything = _count(book, scan_arguments(), "all")
    if not everything:
        return "The night has no setups at all; `screener night show` says what it covers."
    return (
        f"The night has {everything:,} setups in all: `screener scan --status all` shows them; "
        "fewer or wider filters, or a smaller --offset, match more."
    )


def _tables(setups: Sequence[SetupView], names: Mapping[str, str]) -> list[tuple[str, Shown]]:
    """A table of the forming setups and one of the running ones, as far as there are any."""
    kinds = (("forming", "Forming:", forming_table), ("in_progress", "In progress:", running_table))
    chosen = [
        (title, table, [setup for setup in setups if setup.status == status])
        for status, title, table in kinds
    ]
    width = terminal_width()
    return [(title, table(rows, names, width)) for title, table, rows in chosen if rows]


def scan_arguments(*, filters: Sequence[str] = (), **given: object) -> ScanArguments:
    """The arguments of the scan, from what the command line gives; None is not given."""
    with refusing():
        try:
            predicates = filters_of(filters)
        except FilterError as error:
            fail(str(error))
        raw = {"filters": predicates, **given}
        return read_arguments(ScanArguments, {k: v for k, v in raw.items() if v is not None})


def _answer(book: Book, arguments: ScanArguments) -> Any:  # noqa: ANN401 - JSON values
    with refusing():
        return orjson.loads(book.enveloped(scan_body(book, arguments)))


@contextmanager
def refusing() -> Iterator[None]:
    """Turn a refusal of an operation into its one line."""
    try:
        yield
    except ApiError as error:
        message = error.message.replace("max_distance_pct", "--max-distance")
        fail(message[0].lower() + message[1:])
