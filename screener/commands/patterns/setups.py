"""The setups of the active night as commands print them: a page of the scan, and the end of a
nightly.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from mcp_server.filters.scan_order import NEARNESS, SORTS
from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.handlers.scan import notes, scan_body
from mcp_server.operations.selection import page, select
from mcp_server.presentation.age import Age
from screener.commands.patterns.scan_arguments import refusing, scan_arguments
from screener.commands.patterns.tables import FORMING, RUNNING, SetupTable, setup_table
from screener.data.night import open_book
from screener.data.rows import cells_of, names_of, setup_rows
from screener.settings.console import NO_NIGHT, err, fail, out, terminal_width
from store.folder.layout import DataFolder
from store.nights.book import Book, company_names
from store.wire.view import SetupView
from store.wire.words import plural, status_words

if TYPE_CHECKING:
    from screener.settings.settings import Settings

Row: TypeAlias = Mapping[str, Any]
"""The fields of a ScanSetup."""

BEST: Final = 10
"""Forming setups with which a nightly ends."""


@contextmanager
def open_active_night(chosen: Settings, version: str | None = None) -> Iterator[Book]:
    """The book of the active night, or of the one that is named; before the first one, the command
    ends and says how to make it.

    Raises:
        ManifestError, BookError: the night is not what was sealed, or of another version.
    """
    folder = DataFolder(chosen.data_dir)
    if not folder.manifest.exists():
        fail(
            f"there is no night in {chosen.data_dir} yet; make one with `screener nightly --bars "
            "PATH`, or one of the sample that comes with the program, with `screener nightly`.",
            NO_NIGHT,
        )
    with closing(open_book(chosen.data_dir, version)) as book:
        book.tell_day(dt.datetime.now(dt.UTC).date())
        yield book


def age_of(book: Book) -> str:
    """The session of a night, and how old it is today."""
    age = Age.of(book, dt.datetime.now(dt.UTC).date())
    return f"As of {book.session}. {age.words}"


def print_forming(chosen: Settings) -> None:
    """Print the first forming setups of the active night, in the order in which pages begin, and
    what shows more.
    """
    with open_active_night(chosen) as book:
        arguments = scan_arguments(limit=BEST, sort=NEARNESS)
        answer = _answer(book, arguments)
        rows, count = _views(book, answer), answer["count"]
        out.print()
        if rows:
            part = f"{len(rows)} of {count:,}" if len(rows) < count else "all"
            out.print(f"Forming as of {book.session}, {part}. Order: {SORTS[NEARNESS]}.")
            shown = setup_table(FORMING, rows, company_names(book), terminal_width())
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


def print_scan(book: Book, arguments: ScanArguments, *, as_json: bool, as_csv: bool) -> None:
    """Print one page of the scan, for people unless it is wanted as JSON or CSV."""
    answer = _answer(book, arguments)
    if as_json:
        out.print_json(answer)
    elif as_csv:
        rows = setup_rows(answer["setups"], book.scan.by_id, company_names(book))
        out.print_csv([names_of("setups"), *cells_of("setups", rows)])
        if more := _more(answer):
            err.print(more)
    else:
        _print_page(book, arguments, answer)


def _print_page(book: Book, arguments: ScanArguments, answer: Row) -> None:
    out.print_text(age_of(book))
    words = "forming or triggered" if arguments.status == "all" else status_words(arguments.status)
    order = SORTS[arguments.sort]
    out.print_text(f"Setups {words}: {answer['count']:,}. Order: {order}.")
    for kind, number in answer["without_evidence"].items():
        out.print_text(f"{kind}: {plural(number, 'setup')} without a value cannot match.")
    matches = select(book, arguments)
    _, rows = page(book.features, matches, arguments)
    for note in dict.fromkeys(notes(book, arguments, matches, rows)):
        out.print_text(note)
    tables = list(_tables(_views(book, answer), company_names(book)))
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


def _legend(tables: Sequence[SetupTable]) -> str:
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
    if count := int(select(book, arguments).in_progress.sum()):
        out.print_text(f"Triggered: {count:,}; {command} shows them.")


def _nothing(book: Book) -> str:
    """What to do when no row is shown."""
    if not book.scan.rows:
        return "The night has no setups. `screener night show` lists the symbols that it left out."
    return (
        f"No setup matches. Try fewer filters, or `screener scan --status all`, which lists "
        f"{plural(len(book.scan.rows), 'setup')}."
    )


def _tables(
    setups: Sequence[SetupView], names: Mapping[str, str]
) -> Iterator[tuple[str, SetupTable]]:
    """A table of the forming setups and one of the running ones, as far as there are any."""
    for status, title, columns in (
        ("forming", "Forming:", FORMING),
        ("in_progress", "Triggered:", RUNNING),
    ):
        if rows := [setup for setup in setups if setup.status == status]:
            yield title, setup_table(columns, rows, names, terminal_width())


def _answer(book: Book, arguments: ScanArguments) -> Any:  # noqa: ANN401 - JSON values
    with refusing():
        return orjson.loads(book.enveloped(scan_body(book, arguments)))
