"""Chart: the picture of a symbol's setup, or of its past trades, drawn from a night's book."""

from __future__ import annotations

from collections.abc import Callable

from mcp_server.charts.charts import chart_view
from mcp_server.charts.past import Past, Trade, past_view, past_words, trades_of
from mcp_server.drawing import draw
from mcp_server.drawing.view import ChartStyle
from store.errors import BookError
from store.nights.book import Book, Prices, StoredSetup, company_names
from store.wire.words import caption, named


def draw_setup(
    book: Book, symbol: str, setup_id: str | None, look: ChartStyle
) -> tuple[bytes, str]:
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
    prices, words = book.kept_prices(symbol), past_words(book, Past(symbol))
    if prices is None or words is None:
        raise BookError(
            f"the night stores no prices of {symbol} for charts; see SCREENER_CHART_SYMBOLS."
        )
    view = chart_view(book, setup, prices, company_names(book).get(symbol, ""))
    if isinstance(setup, StoredSetup):
        words = caption(setup.view, book.disclaimer)
    return draw(view, look), words


def draw_trade(
    book: Book, symbol: str, entered: str, look: ChartStyle, older: Callable[[str, Trade], Prices]
) -> tuple[bytes, str]:
    """The PNG of a past trade of a symbol by the day of its entry, and its caption. `older` gives
    the bars around a trade that are not among those of the night.

    Raises:
        BookError: the night has no such trade.
        SourceError: its bars cannot be had.
    """
    trades = trades_of(book, symbol)
    trade = next((trade for trade in trades if trade["entry_date"] == entered), None)
    if trade is None:
        known = named([trade["entry_date"] for trade in trades]) or "none"
        raise BookError(f"{symbol} has no past trade of {entered!r}; it has those of {known}.")
    past, prices = Past.with_trade(symbol, trade), book.kept_prices(symbol)
    if prices is None or not past.is_among(prices):
        prices = older(symbol, trade)
    view = past_view(book, past, prices, company_names(book).get(symbol, ""))
    return draw(view, look), past_words(book, past, prices) or ""
