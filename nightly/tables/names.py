"""Names: read the symbol, the interval and the period of bars from the name of a file.

Each program names its files in its own way: Binance `BTCUSDT-1d-2024-01.zip`, TradingView
`NASDAQ_AAPL, 1D.csv`, Stooq `aapl.us.txt`. Of any other name the one part that can be a ticker is
the symbol, as AAPL of `yahoofinance-AAPL-20040819-20180120.csv`. No file is opened here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from nightly.symbols import QUOTES
from nightly.tables.columns import unaccented
from store.wire.exchanges import exchange_named, exchange_of

DAILY: Final = "1d"
SUFFIXES: Final = (
    *(".csv", ".txt", ".tsv", ".parquet", ".pq", ".feather", ".arrow", ".ipc"),
    *(".json", ".zip", ".csv.gz", ".txt.gz", ".tsv.gz", ".json.gz", ".xlsx", ".xls"),
)
CANDLES_ONLY: Final = (".json", ".json.gz")
"""Files of these formats are bars only if freqtrade's name says so."""

_HISTORY: Final = (
    r"(?:Historical Data|Historische Daten|Datos historicos|Dados Historicos|Dati Storici"
    r"|Donnees Historiques)"
)
# The parts of a name are `symbol`, `interval`, `period` and `kind`. The first pattern that fits the
# whole name without its suffix counts.
PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # Binance, freqtrade
        r"(?P<symbol>.+)-(?P<interval>\d+[smhdwM]o?)-(?P<period>\d{4}-\d\d(-\d\d)?)",
        r"(?P<symbol>.+?)-(?P<interval>\d+[mhdwMy])(-(?P<kind>[a-z_]+))?",
        # TradingView: NASDAQ_AAPL, 1D  BATS_AAPL, 1D_a1b2c  CME_MINI_ES1!, 60
        r"(?:(?P<exchange>[A-Z0-9_]+)_)?"
        r"(?P<symbol>[^,_]+), (?P<interval>\d*[A-Za-z]?)(_[0-9a-f]{5})?",
        # MetaTrader 5: AAPL_Daily_202001020000_202401020000  AAPL_D1
        r"(?P<symbol>.+)_(?P<interval>Daily|Weekly|Monthly|[MHDW]\d+|MN1?)(_\d{12}_\d{12})?",
        # MetaTrader 4: EURUSD1440
        r"(?P<symbol>[A-Za-z#][A-Za-z#.]*)(?P<interval>1440|10080|43200)",
        r"(?P<symbol>[A-Z]{6})(?P<interval>1|5|15|30|60|240)",
        # CryptoDataDownload: Binance_BTCUSDT_d  Gemini_BTCUSD_2024_1min
        r"[A-Z][A-Za-z]+_(?P<symbol>[A-Z0-9]{5,})_(?:\d{4}_)?(?P<interval>d|day|h|hour|minute|\d+(?:min|h|hour|d))",
        # Alpha Vantage: daily_adjusted_AAPL
        r"(?P<interval>daily|weekly|monthly|intraday_\d+min)_(?:adjusted_)?(?P<symbol>[A-Z0-9.-]+)",
        # Barchart: aapl_price-history-11-21-2024  aapl_daily_historical-data-11-21-2024
        r"(?P<symbol>.+?)_(?:(?P<interval>daily|weekly|monthly|quarterly|yearly|intraday)[\w-]*_)?"
        r"(?:price-history|historical-data|historical-prices)-\d\d-\d\d-\d{4}",
        # MarketWatch: Download Data - STOCK_US_XNAS_AAPL
        r"Download Data - [A-Z]+_[A-Z]{2}_(?P<exchange>[A-Z]{4})_(?P<symbol>\S+)",
        # Investing.com: AAPL Historical Data  EUR_USD Historical Data  Datos historicos AAPL
        rf"(?P<symbol>[A-Z0-9][A-Z0-9.=_-]*)(?: [A-Z]\w+)?[ -]+{_HISTORY}",
        rf"{_HISTORY}[ -]+(?P<symbol>[A-Z0-9][A-Z0-9.=_-]*)",
        # Stooq: aapl_us_d  aapl.us; EODHD: AAPL.US  BTC-USD.CC
        r"(?P<symbol>.+)_[uU][sS]_(?P<interval>[dwmqyDWMQY])",
        r"(?P<symbol>.+)\.(?:US|us|CC)",
    )
)
# Nasdaq.com and The Wall Street Journal, Investing.com, CoinMarketCap, CoinGecko, ariva.de, Kaggle.
NO_SYMBOL: Final = re.compile(
    rf"Historical(Data|Quotes)([_ -]\d+)?|HistoricalPrices"
    rf"|.+ (Stock Price History|{_HISTORY})|{_HISTORY}.+"
    r"|.+_historical_data_coinmarketcap|.+-usd-max|wkn_\w+_historic|coin_[a-z]+",
    re.IGNORECASE,
)
"""How files are named that hold one symbol and do not say which."""
DAYS: Final = frozenset({"", "1d", "d", "day", "daily", "d1", "1440", "1day"})
"""How names say that bars are daily, in lower case."""

WORDS: Final = re.compile(
    r"adj(usted)?|all|bars|candles|chart|close|csv|daily|data|days?|download|eod|eq|equit(y|ies)|etfs?"
    r"|export|from|full|histor(y|ic|ical)|intraday|klines|latest|market|max|ohlcv?|past|prices?"
    r"|quotes?|raw|series|shares?|split|stocks?|tickers?|to|unadjusted|amex|arca|bats|nasdaq|nyse"
    r"|alphavantage|binance|bitfinex|bitstamp|bybit|coinbase|eodhd|google|investing|kaggle|kraken"
    r"|kucoin|okx|polygon|quandl|stooq|tiingo|tradingview|yahoo(finance)?|yfinance",
    re.IGNORECASE,
)
"""What stands beside a symbol in names."""
_NUMBER: Final = re.compile(r"\d+(d|days?|h|m|min|mo|s|w|y|yrs?|years?)?|[dhmw]\d+", re.IGNORECASE)
"""A date, an interval or a length, as 20240102, 1d or 5yr."""
_CLASS: Final = re.compile(r"[A-Z]|P[A-Z]|WS|RT", re.IGNORECASE)
"""A class of shares behind a ticker, as B of BRK-B."""

_COPY: Final = re.compile(r" ?\(\d+\)$")
"""What browsers add to the name of a second download."""
_PERPETUAL: Final = re.compile(r"(?P<name>.+_(?P<quote>[A-Z0-9]+))_[A-Z0-9]+")
TRADED: Final = (None, "futures", "spot")


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a file's name. A file without a period holds all bars of its symbol."""

    symbol: str
    """Empty if the name holds none; `unnamed` says why."""
    suffix: str
    interval: str = DAILY
    period: str = ""
    price: bool = True
    """Whether the bars are traded prices, not funding rates or mark prices."""
    unnamed: str = ""
    """Why the name gives no symbol, in one sentence that says what to do; else empty."""


def read_name(path: str) -> FileName | None:
    """The parts of the name of the file at a path; None if it is not a file of bars."""
    base = PurePosixPath(path).name
    lowered = base.lower()
    suffix = max((end for end in SUFFIXES if lowered.endswith(end)), key=len, default=None)
    if suffix is None or base.startswith(".") or base == suffix:
        return None
    stem = unaccented(_COPY.sub("", base[: -len(suffix)]))
    matches = (pattern.fullmatch(stem) for pattern in PATTERNS)
    parts = next((found.groupdict() for found in matches if found), {})
    if suffix in CANDLES_ONLY and not parts.get("interval"):
        return None
    if not parts and NO_SYMBOL.fullmatch(stem):
        return FileName("", suffix, unnamed=f"{base} gives no symbol; {_RENAME}")
    symbol = _symbol(parts.get("symbol") or stem, parts.get("kind"))
    found = [symbol] if parts.get("kind") else _tickers(symbol)
    said = f"may be of {' or '.join(found[:3])}" if found else "gives no symbol"
    where = parts.get("exchange") or PurePosixPath(path).parent.name
    return FileName(
        _at(where, found[0]) if len(found) == 1 else "",
        suffix,
        _interval(parts.get("interval") or ""),
        parts.get("period") or "",
        parts.get("kind") in TRADED,
        unnamed="" if len(found) == 1 else f"{base} {said}; {_RENAME}",
    )


def _at(where: str, ticker: str) -> str:
    """A ticker behind the exchange abroad that the file's name states, or the folder's by its MIC:
    `XNSE:INFY`.
    """
    exchange = exchange_named(where)
    return f"{exchange.mic}:{ticker}" if exchange and exchange.abroad else ticker


def _tickers(name: str) -> list[str]:
    """The parts of a name that can be its symbol; in capitals, if any is."""
    if exchange_of(name) and not re.search(r"[ _,]", name):
        return [name]  # as BAJAJ-AUTO.NS
    parts = list(re.finditer(r"[^-_ ,]+", name))
    if len(parts) > 1:
        parts = [part for part in parts if not _NUMBER.fullmatch(part[0])]
    found: list[str] = []
    begin = end = -2  # of the last ticker
    for part in parts:
        if part.start() == end + 1 and (part[0].upper() in QUOTES or _CLASS.fullmatch(part[0])):
            end = part.end()
            found[-1] = name[begin:end]
        elif not all(map(WORDS.fullmatch, part[0].split("."))):
            begin, end = part.span()
            found.append(part[0])
    # A word alone in capitals is a ticker after all, as ALL of ALL_daily.
    words = [part[0] for part in parts if part[0].isupper()] if not found else []
    written = [one for one in found if one.isupper()] or words[: len(words) == 1]
    return written or found


def _symbol(name: str, kind: str | None) -> str:
    """The symbol in a name. A perpetual future's ends with its settlement currency."""
    if kind == "futures" and (pair := _PERPETUAL.fullmatch(name)):
        return f"{pair['name']}.P"
    return name


def _interval(said: str) -> str:
    """The interval that a name says: `1d` for daily, or as it is spelled."""
    return DAILY if said.lower() in DAYS else said


_RENAME: Final = "rename it to the symbol, as AAPL.csv, or give it alone with --symbol."
