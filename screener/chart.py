"""The chart of a setup, drawn for the command line and written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcp_server.drawing import Look, draw
from mcp_server.drawing.look import LOOKS, THEMES, WIDTHS
from mcp_server.operations.charts import chart_view
from screener.console import fail
from store.companies import company_names
from store.files import replace_file
from store.setup_words import caption

if TYPE_CHECKING:
    from store.book import Book


def look_of(theme: str, width: int) -> Look:
    """The look that the command line asks for."""
    if theme not in THEMES:
        fail(f"--theme {theme!r} is not one of {', '.join(THEMES)}.")
    look = LOOKS.get((theme, str(width)))
    if look is None:
        fail(f"--width {width} is not one of {', '.join(map(str, WIDTHS))}.")
    return look


def draw_setup(book: Book, symbol: str, setup_id: str | None, look: Look) -> tuple[bytes, str]:
    """The PNG of a current setup of a symbol, that of the highest rank if none is named, and its
    caption.
    """
    views = sorted(book.views(symbol), key=lambda view: view.rank)
    current = [view.setup_id for view in views]
    if not current:
        fail(f"{symbol} has no setup on {book.session}; `screener show {symbol}` says more.")
    setup = book.setup(symbol, setup_id or current[0])
    if setup is None:
        fail(
            f"{symbol} has no setup {setup_id!r} on {book.session}; it has {', '.join(current)}. "
            "Ids change every night."
        )
    prices = book.prices(symbol)
    if prices is None:
        fail(f"the night keeps no prices of {symbol} for charts; see SCREENER_CHART_SYMBOLS.")
    view = chart_view(book, setup, prices, company_names(book).get(symbol, ""))
    return draw(view, look), caption(setup.view, book.disclaimer)


def write_picture(path: Path, png: bytes, *, replace: bool) -> None:
    """Write a picture to a file, which may exist only if it is to be replaced; nothing but an
    ordinary file ever is.
    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            fail(f"{path} is no ordinary file; choose another with --out.")
        if path.exists() and not replace:
            fail(f"{path} exists; choose another file with --out, or replace it with --force.")
        replace_file(path, png, 0o644)
    except OSError as error:
        fail(f"{path} cannot be written ({error.strerror}); choose another --out.")
