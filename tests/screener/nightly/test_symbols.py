"""Symbols: the symbol for a raw name, and which of two names keeps it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screener.nightly.symbols import normalise, quote_of, resolve


@pytest.mark.parametrize(
    ("raw", "symbol"),
    [
        ("AAPL", "AAPL"),
        (" aapl ", "AAPL"),
        ("BRK-B", "BRK.B"),
        ("BRK/B", "BRK.B"),
        ("brk.b", "BRK.B"),
        ("BTC-USD", "BTCUSD"),
        ("BTC/USD", "BTCUSD"),
        ("BTCUSDT", "BTCUSDT"),
        ("BTC_USDT", "BTCUSDT"),
        ("BTC_USDT.P", "BTCUSDT.P"),
        ("BTC-USDT.P", "BTCUSDT.P"),
        ("1000PEPEUSDT.P", "1000PEPEUSDT.P"),
        ("#IBM", "IBM"),
        ("BRK-B.US", "BRK.B"),
        ("BF/B US Equity", "BF.B"),
    ],
)
def test_a_name_becomes_the_symbol_that_is_served(raw: str, symbol: str) -> None:
    assert normalise(raw) == symbol


@pytest.mark.parametrize(
    "raw",
    [
        *("", ".", "$SPX", "EURUSD=X", "BAC$L", "A..B", "-B", "币安USDT.P"),
        *("Apple Stock Price History", "A" * 25, "A" * 10_000),
    ],
)
def test_a_name_that_is_no_symbol_has_none(raw: str) -> None:
    assert normalise(raw) is None


def test_a_symbol_has_as_many_characters_as_an_answer_may_carry() -> None:
    assert normalise("A" * 24) == "A" * 24
    assert normalise("A" * 22 + "-USD") is None


@given(st.text(max_size=30))
def test_a_symbol_has_only_letters_digits_and_inner_dots_and_stays_itself(raw: str) -> None:
    symbol = normalise(raw)
    if symbol is not None:
        assert re.fullmatch(r"[A-Z0-9]+(\.[A-Z0-9]+)*", symbol)
        assert len(symbol) <= 24
        assert normalise(symbol) == symbol


def test_the_first_of_two_names_keeps_the_symbol_and_the_other_is_told_why() -> None:
    resolved = resolve(["BRK-B", "BRK.B", "$VIX", "IBM"])
    assert resolved.raw_of == {"BRK.B": "BRK-B", "IBM": "IBM"}
    assert {raw: refusal.code for raw, refusal in resolved.refused.items()} == {
        "BRK.B": "duplicate_symbol",
        "$VIX": "bad_symbol",
    }
    assert "BRK-B" in resolved.refused["BRK.B"].reason


@pytest.mark.parametrize(
    ("raw", "quote"),
    [
        ("BTC-EUR", "EUR"),
        ("ETH/BTC", "BTC"),
        ("BTCEUR", "EUR"),
        ("ETHBTC", "BTC"),
        ("BTCUSDT", "USDT"),
        ("BTCUSDT.P", "USDT"),
        ("GBTC", None),
        ("AAPL", None),
        ("BRK-B", None),
    ],
)
def test_the_quote_currency_of_a_pair_is_in_its_name(raw: str, quote: str | None) -> None:
    assert quote_of(raw) == quote
