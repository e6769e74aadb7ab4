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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from mcp_server.calls.errors import ApiError
from mcp_server.filters.directory import Directory
from store.nights.book import Entry
from store.wire.sheets import csv_text

MAX_LIST: Final = 64 * 1024
"""Most bytes or characters of a list."""

MOST_LISTED: Final = 1000
"""Most symbols of a list; the largest plan tracks 200."""

MOST_PREAMBLE: Final = 10
"""Lines among which a table may have its head: brokers write an account and a date above it."""

SYMBOL_HEADS: Final = ("symbol", "ticker", "symbols", "tickers", "nse code", "instrument")
EXCHANGE_HEADS: Final = ("exchange", "mic")

UNITED_STATES: Final = frozenset({"XNYS", "XNAS", "XASE", "ARCX", "BATS", "OTC"})
"""A listing moves between these, and vendors name any of them for it."""

_EXCHANGES: Final = (
    ("NASDAQ", "XNAS", ""), ("NYSE", "XNYS", ""), ("AMEX", "XASE", ""), ("NYSEARCA", "ARCX", ""),
    ("CBOE", "BATS", ""), ("OTC", "OTC", ""),
    ("TSX", "XTSE", "TO"), ("TSXV", "XTSX", "V"), ("NEO", "NEOE", "NE"), ("BMV", "XMEX", "MX"),
    ("BMFBOVESPA", "BVMF", "SA"), ("BYMA", "XBUE", "BA"),
    ("LSE", "XLON", "L"), ("XETR", "XETR", "DE"), ("FWB", "XFRA", "F"),
    ("EURONEXT", "XPAR", "PA"), ("EURONEXT", "XAMS", "AS"), ("EURONEXT", "XBRU", "BR"),
    ("EURONEXT", "XLIS", "LS"), ("EURONEXT", "XDUB", "IR"), ("EURONEXT", "XOSL", "OL"),
    ("MIL", "XMIL", "MI"), ("BME", "XMAD", "MC"), ("SIX", "XSWX", "SW"), ("VIE", "XWBO", "VI"),
    ("OMXSTO", "XSTO", "ST"), ("OMXCOP", "XCSE", "CO"), ("OMXHEX", "XHEL", "HE"),
    ("GPW", "XWAR", "WA"), ("BIST", "XIST", "IS"), ("TASE", "XTAE", "TA"), ("JSE", "XJSE", "JO"),
    ("TADAWUL", "XSAU", "SR"), ("NSE", "XNSE", "NS"), ("BSE", "XBOM", "BO"), ("PSX", "XKAR", "KA"),
    ("TSE", "XTKS", "T"), ("HKEX", "XHKG", "HK"), ("SSE", "XSHG", "SS"), ("SZSE", "XSHE", "SZ"),
    ("KRX", "XKRX", "KS"), ("TWSE", "XTAI", "TW"), ("SGX", "XSES", "SI"), ("IDX", "XIDX", "JK"),
    ("MYX", "XKLS", "KL"), ("SET", "XBKK", "BK"), ("ASX", "XASX", "AX"), ("NZX", "XNZE", "NZ"),
)  # fmt: skip
"""TradingView's prefix, the MIC (ISO 10383; `OTC` has none) and Yahoo's suffix."""

_PREFIXES: Final = {**{mic: prefix for prefix, mic, _ in _EXCHANGES}, "ARCX": "AMEX"}
_UNDERSCORED: Final = frozenset({"XNSE", "XBOM", "XSTO", "XCSE"})
"""Where TradingView writes `M_M` and `VOLV_B` for what is `M.M` and `VOLV.B` here."""

_SUFFIXES: Final = {suffix: mic for _, mic, suffix in _EXCHANGES if suffix}


def _exchanges() -> dict[str, frozenset[str]]:
    """The MICs that each prefix, and each MIC, may stand for."""
    found: dict[str, frozenset[str]] = {"BATS": UNITED_STATES}
    for prefix, mic, _ in _EXCHANGES:
        same = UNITED_STATES if mic in UNITED_STATES else frozenset({mic})
        found[mic] = same
        found[prefix] = found.get(prefix, frozenset()) | same
    return found


EXCHANGES: Final = _exchanges()


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
        raise ApiError("bad_request", "The list names no symbol.")
    if len(found) > MOST_LISTED:
        raise ApiError("bad_request", f"A list names at most {MOST_LISTED:,} symbols.")
    return list(found)


def _of_table(lines: Sequence[str]) -> Iterator[str] | None:
    """The symbols of a table, each behind its exchange if a column states it; None if it is none.

    Between cells is a tab, a semicolon, a bar or a comma, whichever the head has most of.
    """
    for at, line in enumerate(lines[:MOST_PREAMBLE]):
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
            yield f"{stated}:{symbol}" if symbol and stated in EXCHANGES else symbol


def _of_pieces(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for piece in re.split("[,;]", line):
            if not piece.lstrip().startswith("#"):
                yield from piece.split()


def meaning(listed: str, directory: Directory, is_known: Callable[[str], bool]) -> str | None:
    """The symbol of a night that a symbol of a list certainly means; None without one.

    `BRK-B` and `BRK/B` mean `BRK.B`, and `BTC-USD` the pair `BTCUSD`. An exchange in front or
    behind must be one of the country where the night has the symbol: `LSE:AAL` is not `AAL` of
    New York.
    """
    exchange, _, ticker = listed.rpartition(":")
    dotted, joined = (re.sub("[-/_&]", between, ticker) for between in (".", ""))
    base, _, suffix = dotted.rpartition(".")
    tried = [(ticker, exchange), (dotted, exchange)]
    tried += [(f"{dotted}.{end}", "") for end in _suffixes(exchange)]
    if not exchange and suffix in _SUFFIXES:
        tried.append((base, _SUFFIXES[suffix]))
    entry = directory.entry(joined) or {}
    if entry.get("asset_type") == "crypto":
        tried.append((joined, exchange))
    for symbol, on in tried:
        if is_known(symbol) and _is_listed(directory, symbol, on):
            return symbol
    return None


def _suffixes(exchange: str) -> list[str]:
    mics = EXCHANGES.get(exchange, frozenset())
    return [suffix for suffix, mic in _SUFFIXES.items() if mic in mics]


def _is_listed(directory: Directory, symbol: str, exchange: str) -> bool:
    """Whether a symbol may be of an exchange; any that is not in the table is one of crypto."""
    entry = directory.entry(symbol) or {}
    if not exchange or entry.get("asset_type") == "crypto":
        return exchange not in EXCHANGES
    if not directory.has_exchanges:
        return exchange in EXCHANGES
    # Where a table of symbols says nothing of one, it is of New York.
    return (entry.get("exchange") or "XNYS") in EXCHANGES.get(exchange, ())


def tradingview_text(symbols: Iterable[str], directory: Directory) -> str:
    """Symbols as TradingView imports them: in one line, behind the exchange if it is known."""
    return ",".join(_prefixed(symbol, directory.entry(symbol) or {}) for symbol in symbols) + "\n"


def _prefixed(symbol: str, entry: Entry) -> str:
    exchange = entry.get("exchange") or ""
    base, _, suffix = symbol.rpartition(".")
    plain = base if _SUFFIXES.get(suffix) == exchange else symbol
    if exchange in _UNDERSCORED:
        plain = plain.replace(".", "_")
    return f"{_PREFIXES[exchange]}:{plain}" if exchange in _PREFIXES else symbol


def table_text(symbols: Iterable[str], directory: Directory) -> str:
    """Symbols as CSV of symbol, exchange (MIC) and name, as far as known."""
    entries = ((symbol, directory.entry(symbol) or {}) for symbol in symbols)
    rows = ((s, entry.get("exchange") or "", directory.name(s)) for s, entry in entries)
    return csv_text([("Symbol", "Exchange", "Name"), *rows])


WRITERS: Final = {"tradingview": tradingview_text, "csv": table_text}
"""The forms of a list that is written, by name."""
