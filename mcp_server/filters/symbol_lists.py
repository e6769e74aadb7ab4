"""Lists of symbols as TradingView, Finviz, brokers and spreadsheets write them, and back.

A text is a table if one of its first lines names a column of symbols. Else its symbols stand
between commas, semicolons, white space and line ends, and what begins with `#` is a heading, such
as `###SECTION`. A symbol may have its exchange in front (`NASDAQ:AAPL`) or, as Yahoo writes it,
behind (`RELIANCE.NS`).
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_search import QUOTED, SymbolSearch
from store.nights.book import Entry
from store.wire.csv_files import csv_text
from store.wire.exchanges import (
    NEW_YORK,
    exchange_named,
    exchange_with_suffix,
    exchanges,
    exchanges_listing,
)

MAX_LIST: Final = 64 * 1024
"""Most bytes or characters of a list."""

MAX_LISTED: Final = 1000
"""Most symbols of a list; the largest plan tracks 200."""

MAX_PREAMBLE: Final = 10
"""Lines among which a table may have its head: brokers write an account and a date above it."""

SYMBOL_HEADS: Final = ("symbol", "ticker", "symbols", "tickers", "nse code", "instrument")
EXCHANGE_HEADS: Final = ("exchange", "mic")

OVER_THE_COUNTER: Final = "OTC"
"""TradingView's prefix of American shares that no exchange lists."""

_PAIR: Final = re.compile(rf"\w{{2,}}?{QUOTED}")
"""A pair of a coin as exchanges write it."""

_UNDERSCORED: Final = frozenset({"XNSE", "XBOM", "XSTO", "XCSE"})
"""Where TradingView writes `M_M` and `VOLV_B` for what is `M.M` and `VOLV.B` here."""


def text_of(body: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 if it says so, as Excel writes "Unicode text"."""
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return body.decode("utf-16" if body.startswith(marks) else "utf-8-sig", "replace")


def read_list(text: str) -> list[str]:
    """The different symbols of a text, in its order and in upper case: `AAPL`, `NASDAQ:AAPL`.

    Raises:
        ApiError: `bad_request`; the text names no symbol, or is too long.
    """
    if len(text) > MAX_LIST:
        raise ApiError("bad_request", f"A list has at most {MAX_LIST:,} characters.")
    lines = [line for line in text.replace("\0", "").splitlines() if line.strip()]
    cells = _of_table(lines)
    words = (cell.strip("\"'$") for cell in (_of_pieces(lines) if cells is None else cells))
    found = dict.fromkeys(word.upper() if word.isascii() else word for word in words if word)
    if not found:
        raise ApiError("bad_request", "The list has no symbol.")
    if len(found) > MAX_LISTED:
        raise ApiError("bad_request", f"A list has at most {MAX_LISTED:,} symbols.")
    return list(found)


def _of_table(lines: Sequence[str]) -> Iterator[str] | None:
    """The symbols of a table, each behind its exchange if a column states it; None if it is none.

    Between cells is a tab, a semicolon, a bar or a comma, whichever the head has most of.
    """
    for at, line in enumerate(lines[:MAX_PREAMBLE]):
        delimiter = max("\t;|,", key=line.count)
        heads = [cell.strip().casefold() for cell in next(csv.reader([line], delimiter=delimiter))]
        column = next((heads.index(head) for head in SYMBOL_HEADS if head in heads), None)
        if column is not None:
            of = next((heads.index(head) for head in EXCHANGE_HEADS if head in heads), None)
            return _cells(csv.reader(lines[at + 1 :], delimiter=delimiter), column, of)
    return None


def _cells(rows: Iterable[Sequence[str]], column: int, exchange: int | None) -> Iterator[str]:
    for row in rows:
        symbol = row[column].strip() if column < len(row) else ""
        stated = (
            row[exchange].strip().upper() if exchange is not None and exchange < len(row) else ""
        )
        if not symbol.startswith("#"):
            yield f"{stated}:{symbol}" if symbol and _markets(stated) else symbol


def _of_pieces(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for piece in re.split("[,;]", line):
            if not piece.lstrip().startswith("#"):
                yield from piece.split()


def meanings(listed: str, directory: SymbolSearch) -> list[str]:
    """The symbols that a symbol of a list may mean, the likeliest first; it certainly means the
    first of them that is known.

    `BRK-B` and `BRK/B` mean `BRK.B`, and `BTC-USD` the pair `BTCUSD`. An exchange in front or
    behind must be the one that the symbol has in the night, where those of the United States count
    as one: `LSE:AAL` is not `AAL` of New York.
    """
    exchange, _, ticker = listed.rpartition(":")
    dotted, joined = (re.sub("[-/_&]", between, ticker) for between in (".", ""))
    base, _, suffix = dotted.rpartition(".")
    tried = [(ticker, exchange), (dotted, exchange)]
    tried += [(f"{dotted}.{end}", "") for end in _suffixes(exchange)]
    if not exchange and (named := exchange_with_suffix(suffix)):
        tried.append((base, named.mic))
        tried += [(f"{base}.{end}", "") for end in _suffixes(named.mic)]
    entry = directory.entry(joined) or {}
    if entry.get("asset_type") == "crypto":
        tried.append((joined, exchange))
    return [symbol for symbol, on in dict.fromkeys(tried) if _is_listed(directory, symbol, on)]


def _markets(exchange: str) -> frozenset[str]:
    """The MICs that the name, prefix or MIC of a list may stand for; none for one of crypto. A
    listing moves between the American ones, and vendors name any of them for it.
    """
    meant = exchanges_listing(exchange)
    if exchange == OVER_THE_COUNTER or not all(each.abroad for each in meant):
        return _american()
    return frozenset(each.mic for each in meant)


@cache
def _american() -> frozenset[str]:
    return frozenset(each.mic for each in exchanges() if not each.abroad)


def _suffixes(exchange: str) -> list[str]:
    mics = _markets(exchange)
    found = (each for each in exchanges() if each.mic in mics)
    return [suffix for each in found for suffix in (*each.suffixes, *each.class_suffixes)]


def _is_listed(directory: SymbolSearch, symbol: str, exchange: str) -> bool:
    """Whether a symbol may be of an exchange; any that is not in the table is one of crypto."""
    entry, markets = directory.entry(symbol) or {}, _markets(exchange)
    if not entry and exchange and not markets:
        return _PAIR.fullmatch(symbol) is not None  # a coin that the night does not cover
    if not exchange or entry.get("asset_type") == "crypto":
        return not markets
    if not directory.has_exchanges:
        return bool(markets)
    # Where a table of symbols says nothing of one, it is of New York.
    return (entry.get("exchange") or NEW_YORK) in markets


def tradingview_text(symbols: Iterable[str], directory: SymbolSearch) -> str:
    """Symbols as TradingView imports them: in one line, behind the exchange if it is known."""
    return ",".join(_prefixed(symbol, directory.entry(symbol) or {}) for symbol in symbols) + "\n"


def _prefixed(symbol: str, entry: Entry) -> str:
    exchange = exchange_named(entry.get("exchange") or "")
    if exchange is None or not exchange.tradingview:
        return symbol
    base, _, suffix = symbol.rpartition(".")
    plain = base if exchange_with_suffix(suffix) is exchange else symbol
    if exchange.mic in _UNDERSCORED:
        plain = plain.replace(".", "_")
    return f"{exchange.tradingview}:{plain}"


def table_text(symbols: Iterable[str], directory: SymbolSearch) -> str:
    """Symbols as CSV of symbol, exchange (MIC) and name, as far as known."""
    entries = ((symbol, directory.entry(symbol) or {}) for symbol in symbols)
    rows = ((s, entry.get("exchange") or "", directory.name(s)) for s, entry in entries)
    return csv_text([("Symbol", "Exchange", "Name"), *rows])


WRITERS: Final = {"tradingview": tradingview_text, "csv": table_text}
"""The forms of a list that is written, by name."""
