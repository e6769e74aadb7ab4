"""Reference: the facts about symbols other than their bars, read from one table.

Columns are found by name, in any case and order. This module knows no bars: a symbol that the table
lists is known even if the source has no bars for it. Names of industries become the labels of the
scan's filter by the shipped tables `shipped/industries.csv` (names used by Nasdaq, GICS and Yahoo)
and `shipped/funds.csv` (phrases in fund names); an empty label there is deliberate: the name is too
broad for any one label.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import polars as pl

from screener.nightly.bars import ADJUSTMENTS, Adjustment
from screener.nightly.errors import SourceError
from screener.nightly.reading.files import CSV, check_regular, suffix_of
from screener.nightly.symbols import resolve
from screener.nightly.tables.columns import find_columns, squeeze
from store.nights.book import MAX_NAME
from store.wire.exchanges import (
    NEW_YORK,
    UTC_DAYS,
    Exchange,
    currency_code,
    exchange_named,
    exchange_of,
)
from store.wire.labels import INDUSTRIES
from store.wire.words import short

AssetType = Literal["stock", "etf", "crypto"]

SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "symbol": ("symbol", "ticker", "code", "actsymbol"),
    "name": ("name", "companyname", "securityname", "company", "longname", "shortname"),
    "asset_type": ("assettype", "type", "assetclass", "quotetype", "securitytype"),
    "exchange": ("exchange", "mic", "primaryexchange", "listingexchange", "exch"),
    "industry": ("industry", "subindustry", "gicssubindustry", "gicsindustry"),
    "sector": ("sector", "gicssector"),
    "country": ("country", "countryofdomicile"),
    "market_cap": ("marketcap", "marketcapitalization", "mktcap"),
    "adjustment": ("adjustment", "adjusted"),
    "splits": ("splits", "split"),
    "quote_currency": ("quotecurrency", "currency", "quote"),
    "listed_until": ("listeduntil", "delistedon", "delistingdate", "delisteddate", "delisted"),
}
ASSET_TYPES: Final[Mapping[str, AssetType]] = {
    **dict.fromkeys(("stock", "equity", "commonstock", "cs", "adr", "adrc", "share"), "stock"),
    **dict.fromkeys(("etf", "fund", "etn", "etp", "exchangetradedfund"), "etf"),
    **dict.fromkeys(("crypto", "cryptocurrency", "coin", "token"), "crypto"),
}
HOME: Final = frozenset({"us", "usa", "unitedstates", "unitedstatesofamerica", "america"})

_PAIR: Final = re.compile(r"(?=.{6})[A-Z0-9]{2,}(USDT|USDC|FDUSD|BUSD|USD)(\.P)?")
_SPLIT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[\s:=]+(\d+(?:\.\d+)?)(?:[:/](\d+(?:\.\d+)?))?")
_MAGNITUDES: Final = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


@dataclass(frozen=True, slots=True)
class Split:
    """A share split: from `date` on, one old share is `ratio` new shares."""

    date: dt.date
    ratio: float


@dataclass(frozen=True, slots=True)
class Listing:
    """The facts about one symbol; None means unknown.

    `exchange` is a MIC; `industry` and `country` hold labels of the scan's filters. `market_cap` is
    in its currency. `adjustment` says for what the symbol's bars are adjusted, `listed_until` is
    the last day on which the symbol was known to be listed.
    """

    symbol: str
    name: str | None = None
    asset_type: AssetType = "stock"
    stated: bool = False
    """Whether the table states the asset type; else it follows from the symbol."""
    exchange: str | None = None
    industry: str | None = None
    sector: str | None = None
    """As the table writes it."""
    country: str | None = None
    market_cap: float | None = None
    adjustment: Adjustment | None = None
    splits: tuple[Split, ...] = ()
    quote_currency: str | None = None
    listed_until: dt.date | None = None
    inferred_calendar: str | None = None
    """The name of the calendar that its bars alone fit, where the exchange is unknown."""

    @property
    def calendar(self) -> str:
        """The name of the calendar that it trades by: UTC days, its exchange's, or New York's."""
        if self.crypto:
            return UTC_DAYS
        known = exchange_named(self.exchange or "")
        return known.calendar if known else self.inferred_calendar or NEW_YORK

    @property
    def crypto(self) -> bool:
        """Whether the symbol is crypto, which trades every day of the week."""
        return self.asset_type == "crypto"


@dataclass(frozen=True, slots=True)
class Reference:
    """Every listing by symbol."""

    listings: Mapping[str, Listing] = field(default_factory=dict)

    def listing(self, symbol: str) -> Listing:
        """The symbol's listing; if the table has none, one derived from the symbol alone."""
        return self.listings.get(symbol) or unlisted(symbol)


def as_crypto(listing: Listing) -> Listing:
    """The listing of a coin, whatever else was said of its industry and country."""
    return replace(listing, asset_type="crypto", industry="Crypto", country="GLOBAL")


def listed_at(listing: Listing, exchange: Exchange | None) -> Listing:
    """The listing of a symbol at an exchange, if one is known."""
    return listing if exchange is None else replace(listing, exchange=exchange.mic)


def unlisted(symbol: str) -> Listing:
    """A listing from the symbol alone: crypto for a pair in dollars or dollar coins, else stock, of
    the exchange that its suffix names.

    A pair has at least six characters; no American ticker without a dot is that long.
    """
    if _PAIR.fullmatch(symbol):
        return as_crypto(Listing(symbol))
    return listed_at(Listing(symbol), exchange_of(symbol))


def read_reference(path: Path) -> Reference:
    """Read a CSV or Parquet table with one row per symbol. A repeated symbol keeps its first row;
    a row whose symbol is none is left out.

    Raises:
        SourceError: the table cannot be read or has no symbol column.
    """
    frame = _read(path)
    columns = find_columns(frame.columns, tuple(SPELLINGS), SPELLINGS)
    if "symbol" not in columns:
        raise SourceError(f"{path} has no column symbol; add one to the reference table.")
    rows: list[tuple[str, dict[str, str]]] = []
    texts = frame.select(pl.col(name).cast(pl.String).alias(to) for to, name in columns.items())
    for row in texts.iter_rows(named=True):
        cells = {name: value.strip() for name, value in row.items() if value and value.strip()}
        rows.append((_name(cells), cells))
    symbol_of = {raw: symbol for symbol, raw in resolve(name for name, _ in rows).raw_of.items()}
    listings: dict[str, Listing] = {}
    for name, cells in rows:
        symbol = symbol_of.get(name)
        if symbol is not None and symbol not in listings:
            listings[symbol] = _listing(symbol, cells)
    if not listings:
        raise SourceError(f"{path} lists no symbol; check the reference table.")
    return Reference(MappingProxyType(listings))


def _name(cells: Mapping[str, str]) -> str:
    """The symbol of a row, behind its exchange if that is abroad."""
    symbol, exchange = cells.get("symbol", ""), exchange_named(cells.get("exchange", ""))
    return f"{exchange.mic}:{symbol}" if exchange and exchange.abroad else symbol


def parse_splits(text: str) -> tuple[Split, ...]:
    """Parse splits such as `2005-02-28 2:1; 2014-06-09 7`, sorted by date; ignore other text."""
    splits = []
    for day, new, old in _SPLIT.findall(text):
        ratio = float(new) / (float(old or 1) or math.nan)
        try:
            date = dt.date.fromisoformat(day)
        except ValueError:
            continue
        if math.isfinite(ratio) and ratio > 0:
            splits.append(Split(date, ratio))
    return tuple(sorted(splits, key=lambda split: split.date))


def _read(path: Path) -> pl.DataFrame:
    suffix = suffix_of(path)
    if suffix is None:
        raise SourceError(f"{path} is neither CSV nor Parquet; convert the reference table.")
    check_regular(path, str(path))
    try:
        if suffix.lower() in CSV:
            return pl.read_csv(path, infer_schema=False, glob=False, encoding="utf8-lossy")
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}).") from error


def _listing(symbol: str, cells: Mapping[str, str]) -> Listing:
    stated = squeeze(cells.get("asset_type", ""))
    asset_type = ASSET_TYPES.get(stated, "stock") if stated else unlisted(symbol).asset_type
    named = cells.get("exchange")
    exchange = exchange_named(named) if named else exchange_of(symbol)
    listing = Listing(
        symbol,
        # Strangers wrote them, and agents read them as they are sealed.
        name=short(cells.get("name", ""), MAX_NAME) or None,
        asset_type=asset_type,
        stated=bool(stated),
        industry=_industry(cells, fund=asset_type == "etf"),
        sector=short(cells.get("sector", ""), MAX_NAME) or None,
        country=_country(cells.get("country")),
        market_cap=_amount(cells.get("market_cap", "")),
        adjustment=_adjustment(cells.get("adjustment", "")),
        splits=parse_splits(cells.get("splits", "")),
        quote_currency=currency_code(cells.get("quote_currency", "")),
        listed_until=_day(cells.get("listed_until", "")),
    )
    return listed_at(as_crypto(listing) if listing.crypto else listing, exchange)


def _industry(cells: Mapping[str, str], *, fund: bool) -> str | None:
    label = industry_label(cells.get("industry"), cells.get("sector"))
    return fund_label(cells.get("name")) if fund and label is None else label


def _country(cell: str | None) -> str | None:
    if cell is None:
        return None
    return "US" if squeeze(cell) in HOME else "GLOBAL"


def _adjustment(cell: str) -> Adjustment | None:
    plain = re.sub(r"\s", "", cell.lower())
    return next((known for known in ADJUSTMENTS if known == plain), None)


def _day(cell: str) -> dt.date | None:
    """Parse a day written as 2024-03-08, with or without a time behind it."""
    try:
        return dt.date.fromisoformat(cell[:10])
    except ValueError:
        return None


def _amount(cell: str) -> float | None:
    """Parse dollars written as 1234.5, $1,234.50 or 1.2B; None if not a positive number."""
    text = cell.lower().replace(",", "").removeprefix("$")
    factor = _MAGNITUDES.get(text[-1:], 1.0)
    try:
        amount = factor * float(text.rstrip("kmbt"))
    except ValueError:
        return None
    return amount if math.isfinite(amount) and amount > 0 else None


def industry_label(industry: str | None, sector: str | None = None) -> str | None:
    """The label of an industry name in any case and punctuation; None if none fits.

    A few of Nasdaq's industries mean different things in different sectors, so the pair of sector
    and industry is tried first. Without an industry the sector is used alone.
    """
    name, within = words(industry or ""), words(sector or "")
    table = _industries()
    for key in ((within, name), ("", name)) if name else (("", within),):
        if key in table:
            return table[key]
    return None


def fund_label(name: str | None) -> str | None:
    """The label that a phrase in a fund's name determines; None if no phrase does."""
    padded = f" {words(name or '')} "
    return next((label for phrase, label in _funds() if f" {phrase} " in padded), None)


def words(text: str) -> str:
    """The words of a text in lower case, with `&` spelled out: the key for matching the tables."""
    return squeeze(text.replace("&", " and "), between=" ").strip()


@cache
def _industries() -> Mapping[tuple[str, str], str | None]:
    table: dict[tuple[str, str], str | None] = {("", words(label)): label for label in INDUSTRIES}
    for row in _rows("industries.csv"):
        table[words(row["sector"]), words(row["industry"])] = row["label"] or None
    return MappingProxyType(table)


@cache
def _funds() -> tuple[tuple[str, str | None], ...]:
    """Phrases with their labels; the first phrase that a name contains decides."""
    return tuple((words(row["phrase"]), row["label"] or None) for row in _rows("funds.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    table = resources.files("screener.nightly") / "shipped" / name
    yield from csv.DictReader(table.read_text(encoding="utf-8").splitlines())
