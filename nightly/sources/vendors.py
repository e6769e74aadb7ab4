"""Vendors: which program or site wrote a table, by the names of its columns.

The form is told in the report and decides nothing, save where a module says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nightly.columns import squeeze

STOOQ: Final = "Stooq"
MASSIVE: Final = "Massive day file"
BINANCE: Final = "Binance klines"
DATABENTO: Final = "Databento"

# The first vendor counts of whose columns none is missing, so special ones stand before plain ones.
_VENDORS: Final = (
    (MASSIVE, "windowstart"),
    (BINANCE, "opentime closetime"),
    (STOOQ, "ticker per date open vol"),
    ("MetaTrader", "date open high low close tickvol vol spread"),
    ("Nasdaq.com", "date closelast volume open high low"),
    ("Investing.com", "date price open high low vol change"),
    ("Investing.com", "date price open high low change"),
    ("Investing.com", "datum zuletzt eroffn hoch tief"),
    ("Investing.com", "fecha ultimo apertura maximo minimo"),
    ("Investing.com", "date dernier ouv plushaut plusbas"),
    ("Investing.com", "data ultimo apertura massimo minimo"),
    ("Investing.com", "data ultimo abertura maxima minima"),
    ("ariva.de", "datum erster hoch tief schlusskurs"),
    ("stooq.pl", "data otwarcie najwyzszy najnizszy zamkniecie"),
    ("Boursorama", "date ouv haut bas clot"),
    ("Euronext", "date open high low last close numberofshares"),
    ("Nasdaq Nordic", "date openingprice highprice lowprice closingprice totalvolume"),
    ("Alpha Vantage", "open adjustedclose dividendamount splitcoefficient"),
    ("EODHD", "date open high low close adjustedclose volume"),
    ("Tiingo", "adjopen adjhigh adjlow adjclose divcash splitfactor"),
    ("Quandl WIKI", "adjopen adjhigh adjlow adjclose exdividend splitratio"),
    ("CryptoDataDownload", "unix date symbol open high low close"),
    ("Barchart", "time open high low last change volume"),
    ("Barchart", "time open high low latest change volume"),
    ("Interactive Brokers", "date average barcount"),
    ("Alpaca", "timestamp tradecount vwap"),
    ("CoinMarketCap", "timeopen timeclose marketcap"),
    ("CoinGecko", "snappedat price marketcap totalvolume"),
    (DATABENTO, "tsevent rtype publisherid instrumentid"),
    ("SimFin", "ticker simfinid date"),
    ("Polygon", "vw o c h l t n"),
)
_SETS: Final = tuple((form, frozenset(names.split())) for form, names in _VENDORS)
_TRADINGVIEW: Final = ["time", "open", "high", "low", "close"]
"""The first columns of TradingView, in lower case and in this order, before those of a chart."""


def vendor_of(names: Iterable[str]) -> str | None:
    """The vendor of a table with some columns; None if they are those of any program."""
    names = list(names)
    have = {squeeze(name) for name in names}
    if names[:5] == _TRADINGVIEW:
        return "TradingView"
    return next((form for form, columns in _SETS if columns <= have), None)
