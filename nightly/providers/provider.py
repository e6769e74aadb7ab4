"""The provider: what every service of bars can do, and how it fails.

Each is an optional extra over the client that is kept for the service; it is imported when opened.
"""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

import polars as pl

from nightly.errors import NightlyError
from nightly.reference import AssetType

SCHEMA: Final = pl.Schema(
    {
        "date": pl.Date,
        **dict.fromkeys(("open", "high", "low", "close", "volume"), pl.Float64),
    }
)
MODULES: Final = {"yfinance": "yahoo", "ccxt": "exchange"}
"""By extra: the module that speaks to its client."""


class ProviderError(NightlyError):
    """A provider cannot give the bars of a symbol; the message says why."""


class BusyError(ProviderError):
    """The provider asks for patience, or cannot be reached just now: worth another try."""


class Provider(Protocol):
    """A service of daily bars, split-adjusted and not adjusted for dividends."""

    @property
    def name(self) -> str:
        """As it is named on the command line."""
        ...

    @property
    def parallel(self) -> int:
        """How many symbols may be asked for at once."""
        ...

    def asset_type(self, symbol: str) -> AssetType:
        """Whose calendar a symbol follows."""
        ...

    def daily(self, symbol: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The bars from one day to another, both included, oldest first, in `SCHEMA`.

        Without `since` all that there are.

        Raises:
            BusyError: it is worth another try.
            ProviderError: it is not.
        """
        ...


def open_provider(name: str, url: str | None = None) -> Provider:
    """The provider of a name such as `yfinance` or `ccxt:binance`; `url` is a mirror's.

    Raises:
        ProviderError: there is none of this name, or its extra is not installed.
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
    module = import_module(f"nightly.providers.{MODULES[extra]}")
    opened: Provider = module.open_provider(detail, url)
    return opened
