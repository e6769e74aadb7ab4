"""Bars of a crypto exchange through ccxt, which respects each exchange's rate limits itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import ccxt
import polars as pl

from screener.nightly.fetching.provider import SCHEMA, ProviderBusyError, ProviderError, one_line
from store.wire.exchanges import UTC_DAYS

DAY_MS: Final = 86_400_000
PAGE: Final = 500
MAX_PAGES: Final = 100
FIRST: Final = dt.date(2010, 1, 1)
"""A day before any exchange opened."""
TIMEOUT_MS: Final = 30_000


@dataclass(frozen=True)
class CryptoExchange:
    """One exchange. Its client limits its own request rate, so symbols are fetched one by one."""

    client: Any
    name: str
    parallel: int = 1

    def calendar(self, symbol: str) -> str:
        """Every market trades around the clock."""
        del symbol
        return UTC_DAYS

    def daily(self, symbol: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The bars of a symbol; see `Provider`."""
        try:
            rows = list(self._rows(symbol, since or self._first(symbol), until))
        except ccxt.NetworkError as error:
            reason = f"{self.name} cannot answer now ({type(error).__name__})."
            raise ProviderBusyError(reason, self._after(error)) from error
        except ccxt.BaseError as error:
            raise ProviderError(f"{self.name}: {one_line(error)}") from error
        frame = pl.DataFrame(rows, schema=SCHEMA.names(), orient="row", strict=False)
        opened = pl.col("date").cast(pl.Int64).cast(pl.Datetime("ms")).cast(pl.Date)
        frame = frame.with_columns(opened).cast(dict(SCHEMA))  # type: ignore[arg-type]
        return frame.filter(pl.col("date") <= until).unique("date", keep="last").sort("date")

    def _rows(self, symbol: str, since: dt.date, until: dt.date) -> Iterator[list[Any]]:
        """Fetch pages until one reaches the last day or brings nothing newer."""
        start, end = _milliseconds(since), _milliseconds(until)
        for _ in range(MAX_PAGES):
            page = self.client.fetch_ohlcv(symbol, "1d", since=start, limit=PAGE)
            fresh = [row for row in page if row[0] >= start]
            yield from fresh
            if not fresh or fresh[-1][0] >= end:
                return
            start = fresh[-1][0] + DAY_MS
        raise ProviderError(f"{self.name} returned more than {MAX_PAGES} pages of {symbol}.")

    def _after(self, error: Exception) -> float | None:
        """The seconds after which a refused request may be repeated, if the exchange says so."""
        if not isinstance(error, ccxt.DDoSProtection | ccxt.RateLimitExceeded):
            return None  # the headers are those of an older answer
        seconds = (self.client.last_response_headers or {}).get("Retry-After", "")
        return float(seconds) if seconds.isdigit() else None

    def _first(self, symbol: str) -> dt.date:
        """The first day to ask for: when the market opened, if the exchange says so."""
        self.client.load_markets()
        created = self.client.market(symbol).get("created")
        if not created:
            return FIRST
        return dt.datetime.fromtimestamp(created / 1000, dt.UTC).date()


def _milliseconds(day: dt.date) -> int:
    return (day - dt.date(1970, 1, 1)).days * DAY_MS


def open_provider(detail: str, url: str | None) -> CryptoExchange:
    """The exchange with a name that ccxt knows.

    Raises:
        ProviderError: ccxt does not know the name, or the exchange has no daily bars.
    """
    if detail not in ccxt.exchanges:
        raise ProviderError(f"ccxt has no exchange {detail}; see its list of exchanges.")
    client = getattr(ccxt, detail)({"enableRateLimit": True, "timeout": TIMEOUT_MS})
    if not client.has.get("fetchOHLCV"):
        raise ProviderError(f"{detail} offers no bars; choose another exchange.")
    if url is not None:
        client.urls["api"] = _rebased(client.urls["api"], url)
    return CryptoExchange(client, f"ccxt:{detail}")


def _rebased(urls: Any, url: str) -> Any:  # noqa: ANN401 - nested differently by each exchange
    """The URLs, with the scheme and host of `url`."""
    if isinstance(urls, dict):
        return {name: _rebased(value, url) for name, value in urls.items()}
    base = urlsplit(url)
    return urlsplit(urls)._replace(scheme=base.scheme, netloc=base.netloc).geturl()
