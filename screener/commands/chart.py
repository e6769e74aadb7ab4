"""`screener chart`: the picture of a setup, or of past trades, without a server.

Their modules are imported by the command (`screener.settings.console` says why).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from screener.commands.patterns.patterns import Symbol, known_symbol
from screener.settings.console import err, fail, out, settings, writing
from store.folder.files import replace_file


def chart(
    symbol: Symbol,
    setup: Annotated[
        str | None,
        typer.Option(help="A setup_id of `screener show`; the first by rank when unset."),
    ] = None,
    trade: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="A past trade by its entry, as `screener show` has it."),
    ] = None,
    bars: Annotated[
        str | None,
        typer.Option(
            help="Bars of a --trade older than the night keeps, as for `nightly`; if left out, "
            "those that the night was made from."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--out", help="File to write, - for stdout; SYMBOL.png when unset."),
    ] = None,
    theme: Annotated[Literal["light", "dark"], typer.Option(help="The colours.")] = "light",
    width: Annotated[
        Literal["320", "720", "1200"], typer.Option(help="Pixels; 320 is a thumbnail.")
    ] = "1200",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Save a symbol's chart as a PNG file: a setup, a past trade, or all past trades.

    \b
    screener chart AAPL
    screener chart AAPL --theme dark --width 720 --out aapl.png
    screener chart AAPL --trade 2010-09-03
    """
    from mcp_server.drawing.view import LOOKS
    from screener.commands.patterns.setups import age_of, open_active_night
    from screener.data.chart import draw_setup, draw_trade

    look = LOOKS[theme, width]
    if target == "":
        fail("--out names no file; give one, or - for stdout.")
    if setup and trade:
        fail("--setup and --trade exclude each other; give one of them.")
    if target == "-" and sys.stdout.isatty():
        fail("a picture is not text; write it to a file or a pipe.")
    with open_active_night(settings()) as book:
        known = known_symbol(book, symbol)
        if trade is None:
            png, words = draw_setup(book, known, setup, look)
        else:
            from screener.commands.analysis.old_bars import bars_around

            png, words = draw_trade(
                book, known, trade, look, partial(bars_around, settings(), bars)
            )
        age = age_of(book)
    if target == "-":
        sys.stdout.buffer.write(png)
    else:
        path = Path(target or f"{known}.png")
        _write_picture(path, png, replace=force)
        out.print(str(path))
    stream = err if target == "-" else out
    stream.print_text(age)
    stream.print_text(words)


def _write_picture(path: Path, png: bytes, *, replace: bool) -> None:
    """Write a picture to a file, which may exist only if it is to be replaced; nothing but an
    ordinary file ever is.
    """
    with writing(path, "--out"):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            fail(f"{path} is not a regular file; choose another with --out.")
        if path.exists() and not replace:
            fail(f"{path} exists; choose another file with --out, or replace it with --force.")
        replace_file(path, png, 0o644)
