"""Lists of symbols: as other programs write them, which symbols they mean, and writing them."""

from __future__ import annotations

import csv
import io
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_lists import (
    MAX_LIST,
    MAX_LISTED,
    WRITERS,
    meanings,
    read_list,
    text_of,
)
from mcp_server.filters.symbol_search import SymbolSearch

ENTRIES = (
    ("AC.PA", "XPAR", "stock", "Accor SA"),
    ("AAL", "XNAS", "stock", "American Airlines Group Inc. Common Stock"),
    ("AAPL", "XNAS", "stock", "Apple Inc. Common Stock"),
    ("BRK.B", "XNYS", "stock", "Berkshire Hathaway Inc. New"),
    ("BTCUSD", None, "crypto", "Bitcoin"),
    ("BTCUSDT.P", None, "crypto", "Bitcoin perpetual"),
    ("EMN", None, "stock", "Eastman Chemical Company"),
    ("GOOG", "XNAS", "stock", "=Alphabet"),
    ("INFY", "XNYS", "stock", "Infosys Limited ADR"),
    ("LIO", "XTSX", "stock", "Lion One Metals"),
    ("M.M", "XNSE", "stock", "Mahindra & Mahindra"),
    ("RELIANCE", "XNSE", "stock", "Reliance Industries"),
    ("SPY", "ARCX", "etf", "S&P 500 SPDR"),
    ("TCS.NS", "XNSE", "stock", "Tata Consultancy Services"),
)
NIGHT = SymbolSearch(
    {"symbol": symbol, "exchange": exchange, "asset_type": kind, "name": name}
    for symbol, exchange, kind, name in ENTRIES
)


def meant(listed: str) -> str | None:
    return next(filter(NIGHT.entry, meanings(listed, NIGHT)), None)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("NASDAQ:AAPL,NYSE:EMN", ["NASDAQ:AAPL", "NYSE:EMN"]),
        ("###TECH,NASDAQ:AAPL,###NEW ONES,nyse:emn,", ["NASDAQ:AAPL", "NYSE:EMN"]),
        ("###TECH\nNASDAQ:AAPL\r\n\r\nCOINBASE:BTCUSD\n", ["NASDAQ:AAPL", "COINBASE:BTCUSD"]),
        ("aapl msft;GOOG\tAAPL", ["AAPL", "MSFT", "GOOG"]),
        ("\"AAPL\", 'BRK-B', $EMN", ["AAPL", "BRK-B", "EMN"]),
        ('No.,Ticker,Company\n1,AAPL,"Apple, Inc."\n2,EMN,Eastman', ["AAPL", "EMN"]),
        ("No.\tTicker\tCompany\n1\tAAPL\tApple Inc.", ["AAPL"]),
        ('"Account X1"\nas of today\n\nSymbol;Exchange;Shares\nAAPL;NASDAQ;5', ["NASDAQ:AAPL"]),
        ("Name,BSE Code,NSE Code\nReliance,500325,RELIANCE\nTotal\n", ["RELIANCE"]),
        ("Symbol,Exchange\nAAPL,the big one\n,NYSE\n# none,NYSE", ["AAPL"]),
        ("\ufeffSymbol\nAAPL".removeprefix("\ufeff"), ["AAPL"]),
    ],
)
def test_a_list_is_read_as_each_program_writes_it(text: str, symbols: list[str]) -> None:
    assert read_list(text) == symbols


def test_a_file_is_text_in_utf_8_or_in_utf_16_as_it_says() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert read_list(text_of("Symbol\nAAPL\n".encode(encoding))) == ["AAPL"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no symbol"),
        ("###ONLY A HEADING\n , ;", "has no symbol"),
        ("A" * (MAX_LIST + 1), "at most 65,536 characters"),
        (" ".join(f"S{n}" for n in range(MAX_LISTED + 1)), "at most 1,000 symbols"),
    ],
)
def test_a_list_of_nothing_or_of_too_much_is_refused(text: str, said: str) -> None:
    with pytest.raises(ApiError, match=said) as refused:
        read_list(text)

    assert refused.value.code == "bad_request"


@pytest.mark.parametrize(
    ("listed", "symbol"),
    [
        ("AAPL", "AAPL"),
        ("NASDAQ:AAPL", "AAPL"),
        ("XNYS:AAPL", "AAPL"),  # of the same country: listings move
        ("BATS:SPY", "SPY"),
        ("NYSE:EMN", "EMN"),
        ("NYSE:BRK.B", "BRK.B"),
        ("BRK-B", "BRK.B"),
        ("BRK/B", "BRK.B"),
        ("COINBASE:BTCUSD", "BTCUSD"),
        ("BTC-USD", "BTCUSD"),
        ("BTC/USD", "BTCUSD"),
        ("BINANCE:BTCUSDT.P", "BTCUSDT.P"),
        ("NSE:RELIANCE", "RELIANCE"),
        ("RELIANCE.NS", "RELIANCE"),
        ("NSE:TCS", "TCS.NS"),
        ("NSE:M_M", "M.M"),
        ("M&M.NS", "M.M"),
        ("TCS.NS", "TCS.NS"),
        ("TCS.NSE", "TCS.NS"),
        ("National Stock Exchange of India:TCS", "TCS.NS"),  # as the bars of a night may name it
        ("NasdaqGS:AAPL", "AAPL"),
        ("EURONEXT:AC", "AC.PA"),
        ("LIO.V", "LIO"),
        ("OTC:AAPL", "AAPL"),
    ],
)
def test_an_exchange_and_a_separator_are_understood(listed: str, symbol: str) -> None:
    assert meant(listed) == symbol


@pytest.mark.parametrize(
    "listed",
    [
        "LSE:AAL",  # Anglo American
        "AAL.L",
        "GOOG.L",
        "NSE:INFY",  # the share and not its receipt of New York
        "BSE:RELIANCE",
        "LSE:EMN",
        "COINBASE:AAPL",
        "COINBASE:ORCL",
        "NASDAQ:BTCUSD",
        "AA-L",  # no pair, whose separator would mean nothing
        "APPL",
        "NASDAQ:",
        "",
    ],
)
def test_another_security_of_a_like_name_is_not_taken_for_one_of_the_night(listed: str) -> None:
    assert meant(listed) is None


@pytest.mark.parametrize(
    ("listed", "symbols"),
    [
        ("BINANCE:SOLUSDT", ["SOLUSDT"]),
        ("BYBIT:1000SATSUSDT.P", ["1000SATSUSDT.P"]),
        ("COINBASE:ORCL", []),
        ("NASDAQ:SOLUSDT", ["SOLUSDT"]),
    ],
)
def test_a_pair_that_the_night_does_not_cover_may_be_of_any_exchange_of_coins(
    listed: str, symbols: list[str]
) -> None:
    assert meanings(listed, NIGHT) == symbols


def test_a_night_that_knows_no_exchange_takes_the_one_of_the_list() -> None:
    bare = SymbolSearch({"symbol": symbol} for symbol in ("RELIANCE", "AAPL"))
    pairs = SymbolSearch([{"symbol": "BTCUSD", "asset_type": "crypto"}])

    def found(listed: str, night: SymbolSearch) -> str | None:
        return next(filter(night.entry, meanings(listed, night)), None)

    assert found("NSE:RELIANCE", bare) == found("RELIANCE.NS", bare) == "RELIANCE"
    assert found("NASDAQ:AAPL", bare) == "AAPL"
    assert found("COINBASE:AAPL", bare) is None
    assert found("COINBASE:BTCUSD", pairs) == "BTCUSD"
    assert found("NASDAQ:BTCUSD", pairs) is None


def test_a_list_is_written_for_tradingview_with_the_exchange_of_each_symbol() -> None:
    symbols = ["AAPL", "BRK.B", "SPY", "BTCUSD", "EMN", "TCS.NS", "M.M", "GONE"]

    text = WRITERS["tradingview"](symbols, NIGHT)

    assert text == "NASDAQ:AAPL,NYSE:BRK.B,AMEX:SPY,BTCUSD,EMN,NSE:TCS,NSE:M_M,GONE\n"
    assert [meant(listed) for listed in read_list(text)] == [*symbols[:-1], None]


def test_a_list_is_written_as_csv_in_which_no_name_is_a_formula() -> None:
    text = WRITERS["csv"](["GOOG", "EMN", "GONE"], NIGHT)

    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["Symbol", "Exchange", "Name"],
        ["GOOG", "XNAS", "'=Alphabet"],
        ["EMN", "", "Eastman Chemical Company"],
        ["GONE", "", ""],
    ]
    assert read_list(text) == ["XNAS:GOOG", "EMN", "GONE"]


@given(st.text(st.sampled_from(string.printable + '\0\ufeff\u2028é"'), max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        listed = read_list(text_of(text.encode()))
    except ApiError as error:
        assert error.code == "bad_request"
    else:
        assert all(listed)
        assert len(set(listed)) == len(listed)
        assert all(symbol is None or NIGHT.entry(symbol) for symbol in map(meant, listed))
