"""The directory: which symbols a text means, and which one an unknown symbol was meant to be."""

from __future__ import annotations

import pytest

from mcp_server.filters.symbol_search import VAGUE, SymbolSearch

NAMES = {
    "A": "Agilent Technologies Inc. Common Stock",
    "AAPL": "Apple Inc. Common Stock",
    "AMAT": "Applied Materials Inc. Common Stock",
    "APLE": "Apple Hospitality REIT Inc. Common Shares",
    "APP": "AppLovin Corporation Class A Common Stock",
    "ATAUSDT": "ATA",
    "BHLB": "Berkshire Hills Bancorp Inc. Common Stock",
    "BRK.B": "Berkshire Hathaway Inc. New",
    "BTCUSDT": "BTC",
    "BTCUSDT.P": "BTC",
    "ETHUSDT": "ETH",
    "KO": "Coca-Cola Company (The) Common Stock",
    "MCD": "McDonald's Corporation Common Stock",
    "MSFT": "Microsoft Corporation Common Stock",
    "NSRGY": "Nestlé S.A.",
    "SPY": "S&P 500 SPDR",
    "TSLA": "Tesla Inc. Common Stock",
    "XOM": None,
}

WITH_NAMES = SymbolSearch({"symbol": symbol, "name": name} for symbol, name in NAMES.items())
WITHOUT_NAMES = SymbolSearch({"symbol": symbol} for symbol in NAMES)


def found(text: str, directory: SymbolSearch = WITH_NAMES) -> list[str]:
    return [entry["symbol"] for entry in directory.search(text)]


@pytest.mark.parametrize("symbol", NAMES)
def test_a_symbol_is_found_first_in_any_case_and_with_its_exchange(symbol: str) -> None:
    for text in (symbol, symbol.lower(), f" {symbol} ", f"NASDAQ:{symbol}", f"${symbol}"):
        assert found(text)[0] == symbol
        assert found(text, WITHOUT_NAMES)[0] == symbol


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("BTC/USDT", ["BTCUSDT", "BTCUSDT.P"]),
        ("btc-usdt.p", ["BTCUSDT.P"]),
        ("brk-b", ["BRK.B"]),
        ("BRK B", ["BRK.B"]),
        ("BRKB", ["BRK.B"]),
    ],
)
def test_a_symbol_is_found_however_its_parts_are_separated(text: str, symbols: list[str]) -> None:
    assert found(text) == symbols
    assert found(text, WITHOUT_NAMES) == symbols


def test_the_symbol_itself_goes_before_one_that_is_written_otherwise() -> None:
    directory = SymbolSearch({"symbol": symbol} for symbol in ("BRK.B", "BRKB", "BRKB.X"))

    assert found("BRKB", directory) == ["BRKB", "BRK.B", "BRKB.X"]
    assert found("brk.b", directory) == ["BRK.B", "BRKB", "BRKB.X"]


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("Apple", ["AAPL", "APLE"]),
        ("hathaway BERKSHIRE", ["BRK.B"]),
        ("berk", ["BRK.B", "BHLB"]),
        ("coca cola", ["KO"]),
        ("mcdonalds", ["MCD"]),
        ("McDonald\N{RIGHT SINGLE QUOTATION MARK}s", ["MCD"]),
        ("nestle", ["NSRGY"]),
        ("s&p 500", ["SPY"]),
        ("apple aapl", ["AAPL"]),
        ("app", ["APP", "AAPL", "AMAT", "APLE"]),
    ],
)
def test_a_name_is_found_by_beginnings_of_its_words_in_any_order(
    text: str, symbols: list[str]
) -> None:
    assert found(text) == symbols


@pytest.mark.parametrize(
    ("text", "symbol"),
    [("micorsoft", "MSFT"), ("TESLA", "TSLA"), ("Tsal", "TSLA"), ("MSTF", "MSFT")],
)
def test_what_is_misspelt_is_found_if_nothing_else_is(text: str, symbol: str) -> None:
    assert found(text) == [symbol]


@pytest.mark.parametrize("text", ["", " ", "///", "ZZZZZ", "XYZ", "apple microsoft", "\ufdfa" * 64])
def test_what_nothing_is_like_finds_nothing(text: str) -> None:
    assert found(text) == []
    assert WITH_NAMES.nearest(text) == []


@pytest.mark.parametrize(
    ("symbol", "first"),
    [
        ("AALP", "AAPL"),
        ("BTC/USDT", "BTCUSDT"),
        ("BTC-USD", "BTCUSDT"),
        ("Apple", "AAPL"),
        ("TESLA", "TSLA"),
        ("BRK", "BRK.B"),
        ("BRK-B", "BRK.B"),
        ("BTC", "BTCUSDT"),
        ("ETH", "ETHUSDT"),
    ],
)
def test_the_symbol_that_was_meant_is_the_nearest(symbol: str, first: str) -> None:
    assert WITH_NAMES.nearest(symbol)[0] == first


@pytest.mark.parametrize(
    ("symbol", "nearest"),
    [
        ("APPL", ["AAPL"]),
        ("AAPLL", ["AAPL"]),
        ("TESLA", ["TSLA"]),
        ("MFST", ["MSFT"]),
        ("BTC/USDT", ["BTCUSDT"]),
        ("BTC", ["BTCUSDT", "BTCUSDT.P"]),
        ("Microsoft", []),
    ],
)
def test_a_night_without_names_compares_symbols_alone(symbol: str, nearest: list[str]) -> None:
    assert WITHOUT_NAMES.nearest(symbol) == nearest


@pytest.mark.parametrize(
    "symbol", ["ADAUSDT", "LTCUSDT", "XON", "XMO", "MSF", "AMAD", "KA", "B", "stock"]
)
def test_another_coin_or_company_and_what_would_fit_many_suggests_nothing(symbol: str) -> None:
    assert WITH_NAMES.nearest(symbol) == []


def test_a_slip_that_may_come_from_two_symbols_suggests_neither() -> None:
    directory = SymbolSearch({"symbol": symbol} for symbol in ("AMGN", "MAGN"))

    assert directory.nearest("AMGNN") == ["AMGN"]
    assert directory.nearest("AMMGN") == ["AMGN"]
    assert directory.nearest("AMAGN") == []


def test_what_a_symbol_begins_with_is_its_coin_or_its_class_and_no_other_company() -> None:
    symbols = ("ETHUSDT", "ETHFIUSDT", "ETH-USD", "META", "METB.A")
    directory = SymbolSearch({"symbol": symbol} for symbol in symbols)

    assert directory.nearest("ETH") == ["ETH-USD", "ETHUSDT"]
    assert directory.nearest("MET") == []
    assert directory.nearest("METB") == ["METB.A"]


def test_what_is_equally_near_to_many_symbols_suggests_none() -> None:
    def banks(number: int) -> SymbolSearch:
        return SymbolSearch({"symbol": f"B{n}X", "name": "Bank of America"} for n in range(number))

    assert len(banks(VAGUE).nearest("america")) == 3
    assert banks(VAGUE + 1).nearest("america") == []


def test_a_name_that_shortens_words_of_the_text_is_found_if_nothing_else_is() -> None:
    names = {
        "GOV": "Govt Bond ETF",
        "TLT": "20+ Year Treas Bond ETF",
        "TRSY": "Treasury Wines",
        "US": "US T Bond ETF",
    }
    directory = SymbolSearch({"symbol": symbol, "name": name} for symbol, name in names.items())

    assert found("treasury bonds", directory) == found("Treasury bond", directory) == ["TLT"]
    assert found("treasury", directory) == ["TRSY"]
    assert found("tomato bond", directory) == []


def test_an_industry_or_a_sector_is_found_after_the_names() -> None:
    directory = SymbolSearch(
        [
            {"symbol": "BANK", "name": "Ledger Holdings", "industry": None},
            {"symbol": "BBB", "name": "Big Bank", "industry": "Banks"},
            {"symbol": "CCC", "name": "Coast Savings", "industry": "Banks"},
            {"symbol": "DDD", "name": "Deep Trust", "industry": None, "sector": "Bank Finance"},
            {"symbol": "EEE", "name": "Estate of Real Art", "industry": "Retail & E-Commerce"},
            {"symbol": "FFF", "name": "Fox Towers", "industry": "Real Estate", "sector": None},
        ]
    )

    assert found("bank", directory) == ["BANK", "BBB", "DDD", "CCC"]
    assert found("real estate", directory) == ["EEE", "FFF"]


def test_words_of_a_name_and_of_a_type_are_found_together() -> None:
    fund, coin = {"asset_type": "etf", "industry": "Funds"}, {"asset_type": "crypto"}
    directory = SymbolSearch(
        [
            {"symbol": "GLD", "name": "Gold SPDR", **fund},
            {"symbol": "GOLD", "name": "Barrick", "asset_type": "stock"},
            {"symbol": "PAXGUSDT", "name": "PAXG", **coin},
            {"symbol": "SPY", "name": "S&P 500 SPDR", **fund},
        ]
    )

    assert found("gold etf", directory) == ["GLD"]
    assert found("spdr funds", directory) == ["GLD", "SPY"]
    assert found("crypto", directory) == ["PAXGUSDT"]
    assert found("barrick stock", directory) == ["GOLD"]
    assert found("cr", directory) == found("sto", directory) == [], "a type is a whole word"


def test_a_name_is_found_wherever_its_spaces_are_and_whether_and_is_a_word_or_a_sign() -> None:
    directory = SymbolSearch(
        [
            {"symbol": "JNJ", "name": "Johnson & Johnson", "industry": "Drugs"},
            {"symbol": "JPM", "name": "JP Morgan Chase & Co.", "industry": "Banks"},
            {"symbol": "NOG", "name": "Northern", "industry": "Oil & Gas"},
            {"symbol": "WMT", "name": "Walmart Inc.", "industry": None},
        ]
    )

    assert found("JPMorgan", directory) == found("jpmorgan chase", directory) == ["JPM"]
    assert found("Wal-Mart", directory) == found("wal mart", directory) == ["WMT"]
    assert found("johnson and johnson", directory) == ["JNJ"]
    assert found("oil and gas", directory) == found("oil & gas", directory) == ["NOG"]
    assert found("and", directory) == []
