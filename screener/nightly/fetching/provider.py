"""The provider: the interface to a service of daily bars, and its errors.

Each provider is an optional extra that uses an existing client of the service. Its module is
imported when the provider is opened.
"""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

import polars as pl

from screener.nightly.errors import NightlyError

SCHEMA: Final = pl.Schema(
    {
        "date": pl.Date,
        **dict.fromkeys(("open", "high", "low", "close", "volume"), pl.Float64),
    }
)
MODULES: Final = {"yfinance": "yahoo", "ccxt": "exchange"}
"""The module for each extra."""


MAX_REASON: Final = 200
"""Characters of a client's error that are shown."""


class ProviderError(NightlyError):
    """A provider cannot give the bars of a symbol; the message says why."""


class ProviderBusyError(ProviderError):
    """The provider limits requests or cannot be reached at the moment; a retry may succeed."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
        """The seconds that the provider asks to wait, if it says so."""


class Provider(Protocol):
    """A service of daily bars, split-adjusted and not adjusted for dividends."""

    @property
    def name(self) -> str:
        """The provider's name on the command line."""
        ...

    @property
    def parallel(self) -> int:
        """How many symbols may be asked for at once."""
        ...

    def calendar(self, symbol: str) -> str:
        """The name of the calendar that a symbol trades by."""
        ...

    def daily(self, symbol: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The bars from `since` to `until`, both included, oldest first, in `SCHEMA`.

        Without `since`: all bars up to `until`.

        Raises:
            ProviderBusyError: the request failed, but a retry may succeed.
            ProviderError: the request failed, and a retry would fail too.
        """
        ...


def one_line(error: Exception) -> str:
    """The text of a client's error, in one line that is not too long."""
    return " ".join(str(error).split())[:MAX_REASON]


def open_provider(name: str, url: str | None = None) -> Provider:
    """The provider with a name such as `yfinance` or `ccxt:binance`; `url` is that of a mirror.

    Raises:
        ProviderError: no provider has this name, or its extra is not installed.
    """
    extra, _, detail = name.partition(":")
    if extra not in MODULES or (extra == "ccxt") != bool(detail):
        raise ProviderError(
            f"No provider is called {name}; choose yfinance, or ccxt with an exchange, such as "
            "ccxt:binance."
        )
    if find_spec(extra) is None:
        raise ProviderError(
            f"{extra} is not installed; `make install-providers` in the checkout installs it."
        )
    module = import_module(f"screener.nightly.fetching.{MODULES[extra]}")
    opened: Provider = module.open_provider(detail, url)
    return opened
