"""`screener scan` and `show`: the patterns of the active night, without a server.

The answers are those of the API: the operations make them from the night's book. Their modules are
imported by the commands (`screener.settings.console` says why).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from screener.settings.console import fail, out, settings

if TYPE_CHECKING:
    from store.nights.book import Book

Symbol = Annotated[str, typer.Argument(help="A symbol in the night, such as AAPL or aapl.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def scan(
    family: Annotated[
        str | None,
        typer.Option(
            help="rising_wedge, falling_wedge, bullish_pennant, bearish_pennant or triangle."
        ),
    ] = None,
    direction: Annotated[str | None, typer.Option(help="bullish or bearish.")] = None,
    status: Annotated[
        str, typer.Option(help="forming, in_progress (triggered) or all.")
    ] = "forming",
    max_distance: Annotated[
        str | None,
        typer.Option(help="Only forming setups within this many percent of the trigger."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", help="A filter in quotes, such as 'rsi<40'; repeat for more."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help="rank, symbol, pattern, price, daily_change, market_cap, quality, distance, "
            "trigger, stop, target, reward_to_risk, gain, sessions, win_rate, ticker_win_rate, "
            "ticker_avg_r, sample, expected_r, gain_r, typical_gain or nearness; prefix - to "
            "reverse: --sort=-gain."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows to show, 1 to 200.")] = 50,
    offset: Annotated[int, typer.Option(help="Rows to skip.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the JSON of GET /api/v1/scan.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for spreadsheets.")] = False,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="List all filters and how to write them.")
    ] = False,
) -> None:
    """Find setups in the latest scan: forming ones, or triggered ones with --status.

    Rank 1 has the largest median winning trade. That favours volatile symbols and is not a win
    rate.

    A filter is a kind, an operator and a value; some kinds take a period after a colon. All filters
    must match. Quote them, because a shell reads < and > as files.

    \b
    screener scan --max-distance 2
    screener scan --family triangle --direction bullish --filter 'min_rr>=2'
    screener scan --status in_progress --sort=-gain
    screener scan --filter 'rsi<40' --filter 'sma_distance:50>0'
    screener scan --filter 'industry=Software' --filter 'sma_cross=true'
    screener scan --status all --csv > setups.csv
    """
    from screener.commands.patterns.scan_arguments import scan_arguments
    from screener.commands.patterns.setups import open_active_night, print_scan

    if kinds:
        _print_kinds()
        return
    if as_json and as_csv:
        fail("--json and --csv exclude each other; give one of them.")
    arguments = scan_arguments(
        family=family,
        direction=direction,
        status=status,
        max_distance_pct=max_distance,
        filters=filters or (),
        sort=sort,
        limit=limit,
        offset=offset,
    )
    with open_active_night(settings()) as book:
        print_scan(book, arguments, as_json=as_json, as_csv=as_csv)


def show(
    symbol: Symbol,
    history: Annotated[
        int, typer.Option(min=1, max=100, help="Past trades to show, newest first.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """See everything about one symbol: its setups, its record and its past trades.

    \b
    screener show AAPL
    screener show AAPL --history 100
    screener show AAPL --json
    """
    from screener.commands.patterns.setups import open_active_night
    from screener.commands.patterns.ticker import answers_of, print_ticker

    with open_active_night(settings()) as book:
        known = known_symbol(book, symbol)
        answers = answers_of(book, known, history)
        if as_json:
            out.print_json(answers)
        else:
            print_ticker(book, known, answers)


def known_symbol(book: Book, symbol: str) -> str:
    """A symbol that the night knows, in upper case."""
    from mcp_server.operations.arguments import SymbolArguments, read_arguments
    from screener.commands.patterns.scan_arguments import refusing

    with refusing():
        wanted = read_arguments(SymbolArguments, {"symbol": symbol}).symbol
    if book.coverage(wanted) is None:
        from mcp_server.filters.symbol_search import SymbolSearch

        near = SymbolSearch.of(book).nearest(symbol)
        meant = f"did you mean {' or '.join(near)}?" if near else "`screener scan` lists setups."
        fail(f"the night of {book.session} has no symbol {wanted!r}; {meant}")
    return wanted


def _print_kinds() -> None:
    from mcp_server.filters.kinds import KINDS
    from screener.commands.patterns.scan_arguments import example

    for kind in KINDS.values():
        out.print(example(kind))
        periods = f"Periods: {', '.join(map(str, kind.periods))}." if kind.periods else ""
        choices = f"One of {', '.join(kind.choices)}." if kind.choices else ""
        unit = f"({kind.unit})" if kind.unit else ""
        out.print_text(" ".join(filter(None, (kind.meaning, unit, periods, choices))), "    ")
