"""Columns: find the columns of a table by name, in the spellings of many programs and languages.

This module is a table of spellings and the rule that reads it. It opens no file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

PRICES: Final = ("open", "high", "low", "close")
BARS: Final = ("date", *PRICES, "volume")
NEEDED: Final = ("date", *PRICES)
"""The columns without which there are no bars. A file may lack the volume."""

# The first spelling that a table has counts: a close is meant before a last price, and a count of
# shares before a turnover in money.
SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "symbol": (
        *("symbol", "ticker", "code", "tic", "tickersymbol", "stocksymbol", "actsymbol"),
        *("tscode", "secid", "pair", "tckrsymb", "tradingsymbol", "instrumentsymbol", "scripcode"),
        *("股票代码", "证券代码", "代码", "代號", "證券代號", "종목코드", "コード", "銘柄コード"),
    ),
    "date": (
        *("date", "datetime", "timestamp", "time", "opentime", "timeopen", "windowstart", "day"),
        *("tradedate", "tradingdate", "tradingday", "tsevent", "snappedat", "begin", "unix"),
        *("localtime", "gmttime", "timeutc", "dateutc", "dtyyyymmdd", "date1", "traddt", "mkttime"),
        *("datum", "fecha", "data", "dato", "paivamaara", "tarih", "дата", "t"),
        *("日期", "交易日期", "日付", "日付け", "時間", "时间", "날짜", "일자", "日時"),
    ),
    "open": (
        *("open", "openprice", "opening", "openingprice", "pricetoday", "eroffnung", "eroffn"),
        *("eroffnungskurs", "eroeffnung", "erster", "apertura", "abertura", "ouverture", "ouv"),
        *("otwarcie", "otw", "oppning", "откр", "açılış", "opnpric", "o"),  # noqa: RUF001 Turkish
        *("开盘", "开盘价", "開盤", "開盤價", "今开", "始値", "시가"),
    ),
    "high": (
        *("high", "highprice", "highest", "hoch", "tageshoch", "hochst", "hochstkurs", "h"),
        *("maximo", "maxima", "massimo", "max", "haut", "plushaut", "najwyzszy", "hoog"),
        *("макс", "yuksek", "yüksek", "hghpric"),
        *("最高", "最高价", "最高價", "高", "高値", "고가"),
    ),
    "low": (
        *("low", "lowprice", "lowest", "tief", "tagestief", "tiefst", "tiefstkurs", "l"),
        *("minimo", "minima", "min", "bas", "plusbas", "najnizszy", "laag"),
        *("мин", "dusuk", "düşük", "lwpric"),
        *("最低", "最低价", "最低價", "低", "安値", "저가"),
    ),
    "close": (
        *("close", "closeprice", "closing", "closingprice", "closelast", "settle", "last"),
        *("lastprice", "latest", "price", "schluss", "schlusskurs", "zuletzt"),
        *("cierre", "ultimo", "cloture", "clot", "dernier", "chiusura", "fechamento"),
        *("zamkniecie", "ostatnio", "laatste", "цена", "simdi", "şimdi", "clspric", "c"),
        *("收盘", "收盘价", "收盤", "收盤價", "終値", "종가"),
    ),
    "volume": (
        *("volume", "vol", "stuecke", "stucke", "stuck", "totalvolume", "sharesvolume"),
        *("numberofshares", "noofshares", "tottrdqty", "shares", "tickvol", "tickvolume"),
        *("volumen", "volumes", "wolumen", "wol", "объем", "hac", "ttltradgvol", "ttltrdqnty", "v"),
        *("成交量", "成交股數", "交易量", "出来高", "거래량"),
    ),
    "clock": ("time", "hour"),
    "currency": ("currency", "quotecurrency", "devise", "wahrung", "waehrung", "moneda", "valuta"),
}
NAMES: Final = (
    "name",
    "stock",
    "asset",
    "instrument",
    "security",
    "index",
    "indexname",
    "indexlevel0",
)
"""Columns that hold a symbol in some files and the name of a company in others."""
UNNAMED: Final = ("", "unnamed0", "index", "indexlevel0")
"""How a table says that a column is an index without a name."""

ADJUSTED: Final[Mapping[str, tuple[str, ...]]] = {
    name: (f"adj{name}", f"adjusted{name}", f"adjustment{name}", f"adj{name[0]}")
    for name in (*PRICES, "volume")
}
SCALED: Final = "adjustedclose"
"""A close adjusted for splits and dividends beside raw prices: EODHD, Alpha Vantage."""
IGNORED: Final[Mapping[str, str]] = {
    "adjclose": "ignored: prices come from Close, adjusted for splits and not for dividends",
}
_VOLUME: Final = re.compile(r"volume(?!.*(000|thousand))")
"""A volume in some unit. One in thousands is not read, since it would count too little."""
_NUMBERED: Final = re.compile(r"\d\. (?=\w)")


def unaccented(text: str) -> str:
    """A text without accents, which are written in two ways."""
    spread = unicodedata.normalize("NFKD", text)
    return "".join(mark for mark in spread if not unicodedata.combining(mark))


@lru_cache(maxsize=8192)
def squeeze(name: str, between: str = "") -> str:
    """A name without case, accents, and a number in front (`1. open`), and with `between` in place
    of spaces and punctuation.

    Letters of other scripts than the Latin are kept.
    """
    plain = unaccented(_NUMBERED.sub("", name, count=1).casefold())
    return re.sub(r"[\W_]+", between, plain)


def find_columns(
    names: Iterable[str],
    wanted: Sequence[str],
    spellings: Mapping[str, tuple[str, ...]] = SPELLINGS,
) -> dict[str, str]:
    """The actual name of each wanted column that the table has, in any case and order."""
    actual: dict[str, str] = {}
    for name in names:
        actual.setdefault(squeeze(name), name)
    found: dict[str, str] = {}
    for column in wanted:
        spelling = next((word for word in spellings[column] if squeeze(word) in actual), None)
        if spelling is not None:
            found[column] = actual[squeeze(spelling)]
    return found


def bar_columns(names: Sequence[str]) -> dict[str, str]:
    """The actual name of each column of bars that the table has.

    An index without a name is the date if nothing else is. A volume may name its unit, as in
    `Volume BTC`; of several the first counts. The time of day is a column of its own only beside
    a date.
    """
    found = find_columns(names, ("symbol", *BARS, "clock", "currency"))
    if "date" not in found:
        index = next((name for name in names if squeeze(name) in UNNAMED), None)
        found |= {"date": index} if index is not None else {}
    if "volume" not in found:
        named = next((name for name in names if _VOLUME.match(squeeze(name))), None)
        found |= {"volume": named} if named is not None else {}
    if found.get("clock") == found.get("date"):
        found.pop("clock", None)
    return found


def adjusted_columns(names: Iterable[str]) -> dict[str, str]:
    """The actual names of the adjusted prices, and of the adjusted volume, if no price lacks."""
    found = find_columns(names, (*PRICES, "volume"), ADJUSTED)
    return found if found.keys() >= set(PRICES) else {}
