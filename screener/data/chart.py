"""Chart: the picture of a symbol's setup, or of its past trades, drawn from a night's book."""

from __future__ import annotations

from mcp_server.charts.charts import chart_view
from mcp_server.charts.past import Past, past_words
from mcp_server.drawing import Look, draw
from store.errors import BookError
from store.nights.book import Book, StoredSetup, company_names
from store.wire.words import caption


def draw_setup(book: Book, symbol: str, setup_id: str | None, look: Look) -> tuple[bytes, str]:
    """The PNG of a current setup of a symbol, that of the highest rank if none is named, and its
    caption; without any setup that of its bars and past trades.

    Raises:
        BookError: the night has no such setup, or stores no bars of the symbol.
    """
    views = sorted(book.views(symbol), key=lambda view: view.rank)
    current = [view.setup_id for view in views]
    wanted = setup_id or next(iter(current), None)
    setup = book.setup(symbol, wanted) if wanted else Past(symbol)
    if setup is None:
        raise BookError(
            f"{symbol} has no setup {setup_id!r} on {book.session}; it has "
            f"{', '.join(current) or 'none'}. Ids change every night."
        )
    prices, words = book.prices(symbol), past_words(book, Past(symbol))
    if prices is None or words is None:
        raise BookError(
            f"the night stores no prices of {symbol} for charts; see SCREENER_CHART_SYMBOLS."
        )
    view = chart_view(book, setup, prices, company_names(book).get(symbol, ""))
    if isinstance(setup, StoredSetup):
        words = caption(setup.view, book.disclaimer)
    return draw(view, look), words
