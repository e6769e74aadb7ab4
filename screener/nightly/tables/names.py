"""Names: read the symbol, the interval and the period of bars from the name of a file.

Each program names its files in its own way: Binance `BTCUSDT-1d-2024-01.zip`, TradingView
`NASDAQ_AAPL, 1D.csv`, Stooq `aapl.us.txt`. In any other name the only part that can be a ticker
is the symbol, such as AAPL in `yahoofinance-AAPL-20040819-20180120.csv`. No file is opened here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from screener.nightly.symbols import QUOTES
from screener.nightly.tables.columns import SPELLINGS, squeeze, unaccented
from store.wire.exchanges import exchange_named, exchange_of

DAILY: Final = "1d"
SUFFIXES: Final = (
    *(".csv", ".txt", ".tsv", ".parquet", ".pq", ".feather", ".arrow", ".ipc"),
    *(".json", ".jsonl", ".ndjson", ".zip", ".xlsx", ".xls"),
    *(
        text + end
        for text in (".csv", ".txt", ".tsv", ".json", ".jsonl", ".ndjson")
        for end in (".gz", ".xz", ".zst", ".bz2")
    ),
)

UNREAD: Final = frozenset(
    {
        *(".h5", ".hdf5", ".hdf", ".pkl", ".pickle", ".db", ".sqlite", ".sqlite3", ".duckdb"),
        *(".mat", ".rds", ".rda", ".rdata", ".dat", ".bin", ".orc", ".avro", ".7z", ".rar"),
        *(".tar", ".tgz", ".bz2", ".xz", ".zst", ".gz", ".xlsb", ".xlsm", ".ods", ".npz", ".npy"),
        *(".bak", ".prn", ".asc", ".dta", ".sas7bdat", ".lz4", ".br", ".dbn", ".bi5", ".hst"),
        ".fst",
    }
)
"""How files end that may hold bars in a form that is not read."""
_HISTORY: Final = (
    r"(?:Historical Data|Historische Daten|Datos historicos|Dados Historicos|Dati Storici"
    r"|Donnees Historiques|과거 데이터|내역|過去データ|历史数据|歷史資料)"
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
        # Dukascopy: AAPL.USUSD_Candlestick_1_D_BID_01.01.2025-27.11.2026
        r"(?P<symbol>[^_]+?)(?:\.[A-Z]{5})?_Candlestick_(?P<interval>\d+_[A-Z])[a-z]*_(?:BID|ASK)_.*",
        # FirstRate Data: AAPL_full_1day_adjsplit
        r"(?P<symbol>[^_]+)_full_(?P<interval>\d+(?:min|hour|day))(?:_.*)?",
        # Nasdaq Nordic: VOLV-B-2025-01-01-2026-11-27; NSE: Quote-Equity-INFY-EQ-27-11-2025-to-...
        r"Quote-Equity-(?P<symbol>.+?)(?:-[A-Z]{2})?-\d\d-\d\d-\d{4}-to-.*",
        # Stooq: aapl_us_d  aapl.us; EODHD: AAPL.US  BTC-USD.CC
        r"(?P<symbol>.+)_[uU][sS]_(?P<interval>[dwmqyDWMQY])",
        r"(?P<symbol>.+)\.(?:US|us|CC)",
        # One of several years or months: AAPL_2024  AAPL-2024-01  aapl 2024
        r"(?P<symbol>.*[A-Za-z0-9])[-_ ](?P<period>(?:19|20)\d\d(?:[-_](?:0\d|1[0-2]))?)",
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
DAYS: Final = frozenset({"", "1d", "1_d", "d", "day", "daily", "d1", "1440", "1day"})
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
_NUMBER: Final = re.compile(
    r"\d+(d|days?|h|m|min|mo|s|w|y|yrs?|years?)?|[dhmqw]\d+|\d{4}[hq]\d", re.IGNORECASE
)
"""A date, an interval or a length, as 20240102, 2024H1, 1d or 5yr."""
_INDEX: Final = re.compile(
    r"(nifty|sensex|bse|s&p|sp|nasdaq|dow|russell|ftse|stoxx|dax|cac|nikkei|topix|csi|kospi|hang"
    r"|omx|tsx|asx|msci|set|wig)( \w+){1,4}",
    re.IGNORECASE,
)
"""The name of an index, whose number belongs to it, as 50 of NIFTY 50."""
_HYPHENED: Final = re.compile(r"(?=.*[^-]{5})([A-Z&]{2,}-[A-Z]{2,}|[a-z&]{2,}-[a-z]{2,})")
"""A ticker with a hyphen, as those of India: BAJAJ-AUTO. AAPL-MSFT may be two of America."""
_KEYED: Final = re.compile(r"(?P<key>\w+)=(?P<value>.+)")
"""A folder of a partitioned table, as symbol=AAPL."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_FIXED: Final = re.compile(
    r"part-.*|chunk[-_]?\d*|data[-_]\d+|table|\d{8,}|0{7,}\d*|[0-9a-f]{16,}(?:-\d+)?"
    r"|[0-9a-f]{8}-[0-9a-f-]{27}.*"
)
"""How programs name every file that they write, whatever is in it."""
_AGE: Final = re.compile(r"\d{1,4}(m|min|h|hour|d|day|w|wk|mo)|hourly|weekly|monthly|minutes?|hour")
"""A file's name that is an interval, in the folder of a symbol."""
_CLASS: Final = re.compile(r"[A-Z]|P[A-Z]|WS|RT|SME", re.IGNORECASE)
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
    date: str = ""
    """The date of all its rows, if a folder names it: date=2024-01-02."""


def read_name(path: str) -> FileName | None:
    """The parts of the name of the file at a path; None if it is not a file of bars.

    A name that every file of a program has says nothing; then that of its folder counts, and
    `symbol=AAPL` or `year=2024` above it says what it says.
    """
    place = PurePosixPath(path.replace("\\", "/"))
    base, folders = place.name, place.parent.parts
    suffix = _suffix(base)
    if suffix is None or base.startswith(".") or base == suffix:
        return None
    stem = unquote(unaccented(_COPY.sub("", base[: -len(suffix)])))
    keys = {squeeze(k["key"]): unquote(k["value"]) for k in map(_KEYED.fullmatch, folders) if k}
    period = "/".join(_dated(folders))
    date = next((keys[key] for key in ("dt", *SPELLINGS["date"]) if key in keys), "")
    if own := next((keys[key] for key in SPELLINGS["symbol"] if key in keys), None):
        said = _interval(keys.get("interval", ""))
        return FileName(own, suffix, said, "/".join(filter(None, (period, stem))), date=date)
    named = _read_stem(stem, base, suffix, folders)
    if not named.symbol and (above := _above(stem, folders, suffix)):
        return above
    if _FIXED.fullmatch(stem):
        return FileName("", suffix, unnamed=f"{base} {GIVES_NONE}; {_RENAME}", date=date)
    return replace(named, period=named.period or period, date=date)


def _suffix(base: str) -> str | None:
    lowered = base.lower()
    return max((end for end in SUFFIXES if lowered.endswith(end)), key=len, default=None)


def _dated(folders: Sequence[str]) -> Iterator[str]:
    """The parts of a date that folders name: year=2024, month=05, 2024."""
    for folder in folders:
        keyed = _KEYED.fullmatch(folder)
        if keyed and keyed["key"].lower() in ("year", "month", "day", "date", "dt", "quarter"):
            yield keyed["value"].zfill(2)
        elif _YEAR.fullmatch(folder):
            yield folder


def _above(stem: str, folders: Sequence[str], suffix: str) -> FileName | None:
    """What the folder of a file says that gives no symbol itself, if it is named after one."""
    said = (_KEYED, _YEAR, WORDS)
    inner = [name for name in folders if not any(each.fullmatch(name) for each in said)]
    place = inner[-1].removesuffix(_suffix(inner[-1]) or "") if inner else ""
    if not place or exchange_named(place) or place != place.upper():
        return None
    above = read_name("/".join([*inner[:-1], place + suffix]))
    if above is None or not above.symbol:
        return None
    age = stem if _AGE.fullmatch(stem) else ""
    period = "/".join((*_dated(folders), stem)) if re.search(r"\d", stem) and not age else ""
    return replace(above, interval=_interval(age), period=period)


def _read_stem(stem: str, base: str, suffix: str, folders: Sequence[str]) -> FileName:
    """What a name says without its suffix, and the exchange that its folder may be named after."""
    in_symbol = bool(folders) and re.fullmatch(r"[A-Z]{1,5}", folders[-1]) is not None
    nothing = _FIXED.fullmatch(stem) or _AGE.fullmatch(stem.lower())
    if folders and (nothing or (in_symbol and _YEAR.fullmatch(stem))):
        return FileName("", suffix)
    matches = (pattern.fullmatch(stem) for pattern in PATTERNS)
    parts = next((found.groupdict() for found in matches if found), {})
    if not parts and NO_SYMBOL.fullmatch(stem):
        return FileName("", suffix, unnamed=f"{base} {GIVES_NONE}; {_RENAME}")
    symbol = _symbol(parts.get("symbol") or stem, parts.get("kind"))
    where = parts.get("exchange") or (folders[-1] if folders else "")
    if not parts.get("interval") and (placed := _placed(symbol)):
        symbol, where = placed
    found = [symbol] if parts.get("kind") else _tickers(symbol)
    said = f"may be of {' or '.join(found[:3])}" if found else GIVES_NONE
    return FileName(
        _at(where, found[0]) if len(found) == 1 else "",
        suffix,
        _interval(parts.get("interval") or ""),
        parts.get("period") or "",
        parts.get("kind") in TRADED,
        unnamed="" if len(found) == 1 else f"{base} {said}; {_RENAME}",
    )


def _placed(name: str) -> tuple[str, str] | None:
    """The ticker and the exchange abroad beside it, as in RELIANCE_NSE and NSE_RELIANCE."""
    head, _, last = name.rpartition("_")
    first, _, rest = name.partition("_")
    for ticker, place in ((head, last), (rest, first)):
        if len(place) > 2 and place.isupper() and _at(place, "") and len(_tickers(ticker)) == 1:
            return ticker, place
    return None


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
    if _HYPHENED.fullmatch(name) and not any(map(WORDS.fullmatch, name.split("-"))):
        return [name]
    if _INDEX.fullmatch(name):
        return [name]
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


GIVES_NONE: Final = "gives no symbol"
_RENAME: Final = "rename it to the symbol, as AAPL.csv, or give this one file with --symbol."
