"""The chart of a setup or a symbol, drawn for the command line and written to a file."""

from __future__ import annotations

from pathlib import Path

from mcp_server.drawing import Look, draw
from mcp_server.drawing.look import LOOKS, THEMES, WIDTHS
from mcp_server.operations.charts import chart_view
from mcp_server.operations.past import Past, past_words
from screener.settings.console import fail, writing
from store.folder.files import replace_file
from store.nights.book import Book, StoredSetup, company_names
from store.wire.words import caption


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
    caption; without any setup that of its bars and past trades.
    """
    views = sorted(book.views(symbol), key=lambda view: view.rank)
    current = [view.setup_id for view in views]
    wanted = setup_id or next(iter(current), None)
    setup = book.setup(symbol, wanted) if wanted else Past(symbol)
    if setup is None:
        fail(
            f"{symbol} has no setup {setup_id!r} on {book.session}; it has "
            f"{', '.join(current) or 'none'}. Ids change every night."
        )
    prices, words = book.prices(symbol), past_words(book, Past(symbol))
    if prices is None or words is None:
        fail(f"the night stores no prices of {symbol} for charts; see SCREENER_CHART_SYMBOLS.")
    view = chart_view(book, setup, prices, company_names(book).get(symbol, ""))
    if isinstance(setup, StoredSetup):
        words = caption(setup.view, book.disclaimer)
    return draw(view, look), words


def write_picture(path: Path, png: bytes, *, replace: bool) -> None:
    """Write a picture to a file, which may exist only if it is to be replaced; nothing but an
    ordinary file ever is.
    """
    with writing(path, "--out"):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            fail(f"{path} is not a regular file; choose another with --out.")
        if path.exists() and not replace:
            fail(f"{path} exists; choose another file with --out, or replace it with --force.")
        replace_file(path, png, 0o644)
