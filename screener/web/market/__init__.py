"""Pages of the market: the screen, symbols, families, the watchlist, charts."""
