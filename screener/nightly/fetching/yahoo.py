"""Yahoo's bars through yfinance. `Close` is adjusted for splits only; `Adj Close` is not used."""

from __future__ import annotations

import datetime as dt
import logging
import warnings
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import polars as pl
import yfinance
from yfinance.exceptions import YFException, YFRateLimitError

from screener.nightly.fetching.provider import SCHEMA, ProviderBusyError, ProviderError, one_line
from screener.nightly.reference.reference import unlisted
from screener.nightly.symbols import normalise

TIMEOUT: Final = 30
TOO_MANY: Final = 429
_TRANSIENT: Final = (OSError, ValueError)
"""A broken connection, or an answer that is not JSON."""


@dataclass(frozen=True)
class Yahoo:
    """Yahoo Finance through yfinance's own session, or through a session that asks a mirror."""

    session: Any = None
    name: str = "yfinance"
    parallel: int = 2

    def calendar(self, symbol: str) -> str:
        """UTC days for pairs such as `BTC-USD`, else that of the exchange in Yahoo's suffix."""
        return unlisted(normalise(symbol) or symbol).calendar

    def daily(self, symbol: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The bars of a symbol; see `Provider`."""
        # No end is passed: yfinance would answer a range in the past from its own cache.
        when: dict[str, object] = {"start": since} if since else {"period": "max"}
        try:
            frame = yfinance.Ticker(symbol, session=self.session).history(
                **when,
                interval="1d",
                auto_adjust=False,
                actions=False,
                timeout=TIMEOUT,
            )
        except YFRateLimitError as error:
            raise ProviderBusyError("Yahoo limits the request rate (429).") from error
        except YFException as error:
            raise ProviderError(one_line(error)) from error
        except _TRANSIENT as error:
            raise _refusal(error) from error
        columns = {name.lower(): frame[name.title()].to_numpy() for name in SCHEMA.names()[1:]}
        bars = pl.DataFrame({"date": [stamp.date() for stamp in frame.index], **columns})
        return bars.cast(dict(SCHEMA)).filter(pl.col("date") <= until)  # type: ignore[arg-type]


def open_provider(_detail: str, url: str | None) -> Yahoo:
    """Yahoo, set up to raise failures instead of logging them, without yfinance's warnings."""
    logging.getLogger("yfinance").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="yfinance")
    yfinance.config.debug.hide_exceptions = False
    return Yahoo(_mirror(url) if url else None)


def _mirror(url: str) -> Any:  # noqa: ANN401 - the client has no types
    """A session for yfinance that sends every request to another host."""
    from curl_cffi import requests

    class Mirror(requests.Session):  # type: ignore[misc]
        def request(self, method: str, url: str, **options: Any) -> Any:  # noqa: ANN401
            parts = urlsplit(url)
            here = parts._replace(scheme=base.scheme, netloc=base.netloc)
            return super().request(method, here.geturl(), **options)

    base = urlsplit(url)
    return Mirror()


def _refusal(error: Exception) -> ProviderError:
    """The error of a failed request: busy, unless a retry would be refused as well."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None and 400 <= status < 500 and status != TOO_MANY:
        return ProviderError(f"Yahoo has no bars of it ({status}).")
    return ProviderBusyError(f"Yahoo cannot be reached ({type(error).__name__}).")
