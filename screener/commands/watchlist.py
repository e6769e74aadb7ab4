"""`screener watchlist`: the list of an account, from the files of other programs and to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from screener.commands.accounts import Email, with_store
from screener.commands.groups import group
from screener.settings.console import err, fail, out, settings

if TYPE_CHECKING:
    from mcp_server.operations.watchlist import Imported
    from screener.service.parts import AccountStore

watchlist_app = group(
    "Import and export an account's watchlist.", "screener watchlist export me@localhost"
)


@watchlist_app.command("import")
def import_file(
    email: Email, file: Annotated[str, typer.Argument(help="The list; - for stdin.")]
) -> None:
    """Add the symbols of a TradingView or Finviz list, or of a CSV file, to a watchlist.

    Known symbols are appended until the list is full. The others are listed, with a suggestion
    where one is close. Exchange prefixes such as NASDAQ:AAPL are understood, and ###SECTION lines
    are skipped.
    """
    from mcp_server.filters.symbol_lists import text_of
    from mcp_server.filters.symbol_search import SymbolSearch
    from mcp_server.operations.watchlist import TrackedList
    from screener.commands.patterns.scan_arguments import refusing
    from screener.commands.patterns.setups import open_active_night
    from store.accounts.watchlist import Watchlist

    text = text_of(_read(file))
    with open_active_night(settings()) as book, refusing():

        async def work(store: AccountStore) -> Imported:
            watchlist, account = Watchlist(store.database), await store.accounts.get(email)
            own = TrackedList(account, book, SymbolSearch.of(book), watchlist)
            return await own.import_text(text)

        done = with_store(work)
    added = done.edited.added
    err.print_text(f"Added {len(added)}: {', '.join(added)}." if added else "Nothing was added.")
    for given, nearest in done.unknown.items():
        meant = f"; perhaps {' or '.join(nearest)}" if nearest else ""
        err.print(f"Not known: {given}{meant}")
    if done.over_cap:
        err.print_text(f"No room in the plan: {', '.join(done.over_cap)}.")


@watchlist_app.command("export")
def export_file(
    email: Email,
    form: Annotated[
        Literal["tradingview", "csv"], typer.Option("--as", help="The form of the list.")
    ] = "tradingview",
) -> None:
    """Print a watchlist for TradingView, or as CSV of symbol, exchange and name."""
    from mcp_server.filters.symbol_lists import WRITERS
    from mcp_server.filters.symbol_search import SymbolSearch
    from screener.commands.patterns.setups import open_active_night
    from store.accounts.watchlist import Watchlist

    async def work(store: AccountStore) -> list[str]:
        account = await store.accounts.get(email)
        return await Watchlist(store.database).symbols(account.id)

    symbols = with_store(work)
    with open_active_night(settings()) as book:
        out.write(WRITERS[form](symbols, SymbolSearch.of(book)))


def _read(file: str) -> bytes:
    """The bytes of a list, and one more than it may have if it is too long."""
    from mcp_server.filters.symbol_lists import MAX_LIST

    try:
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as source:
            body = source.read(MAX_LIST + 1)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")
    if len(body) > MAX_LIST:
        fail(f"{file} is over {MAX_LIST // 1024} KB; a list is smaller.")
    return body
