"""Other markets: bars as their vendors write them are read by the calendar of their exchange, and
one night holds several markets, each in its own currency.

Over 400 lines, because the markets are compared in nights that hold them together.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

import exchange_calendars  # type: ignore[import-untyped]
import numpy as np
import pytest

from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.check import Check, check
from screener.nightly.cleaning.gates import gap_days
from screener.nightly.cleaning.inference import fitting
from screener.nightly.cleaning.sessions import last_completed, next_session, settled_at, windows
from screener.nightly.markets.calendars import calendar_of
from screener.nightly.night import make_night
from screener.nightly.plan import Order, plan
from screener.nightly.reference.reference import read_reference
from screener.nightly.symbols import resolve
from store.nights.nights import Nights
from store.wire.currency import money
from store.wire.exchanges import (
    NEW_YORK,
    UTC_DAYS,
    currency_code,
    customary_currency,
    exchange_named,
    exchange_of,
    exchanges,
)
from store.wire.labels import EXCHANGES, EXCHANGES_ABROAD
from store.wire.records import ScanSetup
from tests.screener.nightly.nights import book_of, order_of
from tests.screener.nightly.series import walk

LAST = dt.date(2024, 3, 27)
NOW = dt.datetime(2024, 4, 1, 12, tzinfo=dt.UTC)
"""Easter Monday: all markets have closed since the last bars, most of them for days."""

Rows = list[tuple[dt.date, float, float, float, float, int]]
Vendor = Callable[[Path, Bars], None]


def series(calendar: str, length: int = 400, seed: int = 7, last: dt.date = LAST) -> Bars:
    """A random walk over the true sessions of an exchange, up to a date."""
    sessions = calendar_of(calendar, last).sessions
    days = sessions[: np.searchsorted(sessions, to_day(last), "right")][-length:]
    return replace(walk(length, seed), date=days)


def rows(bars: Bars, factor: float = 1.0) -> Rows:
    opened, high, low, close = (np.round(price * factor, 2).tolist() for price in bars.prices)
    days, volumes = map(to_date, bars.date.tolist()), bars.volume.astype(int).tolist()
    return list(zip(days, opened, high, low, close, volumes, strict=True))


def write(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def plain(file: Path, bars: Bars) -> None:
    """A file of no vendor, which says nothing of where it is from."""
    lines = (f"{day},{o},{h},{low},{c},{v}" for day, o, h, low, c, v in rows(bars))
    write(file, "Date,Open,High,Low,Close,Volume", *lines)


def indian(number: float) -> str:
    """A number with its digits grouped as in India: 12,34,567.80."""
    whole, part = f"{number:.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    groups = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
    return ",".join([*groups, tail]) + f".{part}"


def nse(folder: Path, bars: Bars) -> None:
    """The download of nseindia.com."""
    head = "Date ,series ,OPEN ,HIGH ,LOW ,PREV. CLOSE ,ltp ,close ,vwap ,VOLUME ,No of trades "
    lines = (
        f'"{day:%d-%b-%Y}","EQ",'
        + ",".join(f'"{indian(x)}"' for x in (o, h, low, c, c, c, c))
        + f',"{v:,}","{v // 7:,}"'
        for day, o, h, low, c, v in reversed(rows(bars, 2000))
    )
    write(folder / "Quote-Equity-MRF-EQ-01-04-2022-to-28-03-2024.csv", head, *lines)


def pence(folder: Path, bars: Bars) -> None:
    """A table with a column of currencies, as brokers write it."""
    lines = (f"{day:%d %b %Y},{o},{h},{low},{c},{v},GBp" for day, o, h, low, c, v in rows(bars))
    write(folder / "BT-A.L.csv", "Date,Open,High,Low,Close,Volume,Currency", *lines)


def tradingview(name: str) -> Vendor:
    def vendor(folder: Path, bars: Bars) -> None:
        lines = (
            f"{to_day(day) * 86_400 + 52_200},{o},{h},{low},{c},{v}"
            for day, o, h, low, c, v in rows(bars)
        )
        write(folder / f"{name}, 1D.csv", "time,open,high,low,close,Volume", *lines)

    return vendor


def globe(folder: Path, bars: Bars) -> None:
    """US order of dates with a dollar sign that is Canada's, under Yahoo's name of the ticker."""
    lines = (
        f'{day:%m/%d/%Y},"${o:,.2f}","${h:,.2f}","${low:,.2f}","${c:,.2f}","{v:,}"'
        for day, o, h, low, c, v in rows(bars, 30)
    )
    write(folder / "BBD-B.TO.csv", "Date,Open,High,Low,Close,Volume", *lines)


def named(name: str) -> Vendor:
    """A file of no vendor, whose name or folder tells its exchange."""
    return lambda folder, bars: plain(folder / name, bars)


VENDORS: Mapping[str, tuple[Vendor, str, str, str]] = {
    "a suffix of India": (named("BAJAJ-AUTO.NS.csv"), "BAJAJ.AUTO.NS", "XBOM", "INR"),
    "a folder of London": (named("XLON/VOD Historical Data.csv"), "VOD", "XLON", "GBX"),
    "a broker, London": (pence, "BT.A.L", "XLON", "GBX"),
    "a suffix of Frankfurt": (named("SAP.DE.csv"), "SAP.DE", "XETR", "EUR"),
    "stooq's suffix of Tokyo": (named("7203.jp.txt"), "7203.JP", "XTKS", "JPY"),
    "a suffix of Tokyo": (named("7203.T.csv"), "7203.T", "XTKS", "JPY"),
    "tradingview, Toronto": (tradingview("TSX_SHOP"), "SHOP", "XTSE", "CAD"),
    "tradingview, India": (tradingview("NSE_RELIANCE"), "RELIANCE", "XBOM", "INR"),
    "a Canadian site": (globe, "BBD.B.TO", "XTSE", "CAD"),
}


@pytest.mark.parametrize("what", VENDORS)
def test_a_vendor_s_file_of_another_market_is_covered_by_that_market_s_days(
    what: str, tmp_path: Path
) -> None:
    vendor, symbol, calendar, currency = VENDORS[what]
    vendor(tmp_path / "bars", series(calendar))
    checked = look(order_of(tmp_path / "bars"))

    (one,) = checked.symbols
    assert (one.symbol, one.refusal, one.lost, one.bars) == (symbol, None, {}, 400)
    assert one.currency == currency
    assert checked.chosen is not None
    assert checked.chosen.as_of == LAST
    assert checked.chosen.upcoming[0] == next_session(LAST, calendar)
    assert calendars(checked.order) == {symbol: calendar}


def test_the_download_of_the_exchange_itself_is_read_where_the_exchange_is_named(
    tmp_path: Path,
) -> None:
    """Digits in twos, days before months in words, and the newest row first."""
    nse(tmp_path / "bars", series("XBOM"))
    order = order_of(tmp_path / "bars", exchange=exchange_named("NSE"), currency="INR")
    checked = look(order)

    (one,) = checked.symbols
    assert (one.symbol, one.refusal, one.bars, one.currency) == ("MRF", None, 400, "INR")
    assert one.currency_known
    assert calendars(order) == {"MRF": "XBOM"}
    (loaded,) = order.source.load(["MRF"])
    assert loaded.bars.close.max() > 100_000


@pytest.mark.parametrize(
    ("calendar", "currency"),
    [("XBOM", "INR"), ("XLON", "GBX"), ("XETR", "EUR"), ("XTKS", "JPY"), ("XTSE", "CAD")],
)
def test_where_nothing_else_is_said_the_bars_tell_their_calendar(
    calendar: str, currency: str, tmp_path: Path
) -> None:
    for number in range(3):
        plain(tmp_path / "bars" / f"PLAIN{number}.csv", series(calendar, 700, number))
    checked = look(order_of(tmp_path / "bars"))

    facts = checked.as_dict()
    assert facts["covered"] == 3
    assert facts["assumed"]["markets"] == {calendar: ["PLAIN0", "PLAIN1", "PLAIN2"]}
    assert facts["assumed"]["currencies"] == {currency: 3}
    assert facts["assumed"]["currency_symbols"] == 0


def test_a_young_symbol_has_the_days_of_the_others_that_its_bars_fit(tmp_path: Path) -> None:
    plain(tmp_path / "bars" / "OLD.csv", series("XBOM", 700))
    plain(tmp_path / "bars" / "YOUNG.csv", series("XBOM", 70, 3))
    plain(tmp_path / "bars" / "AMERICAN.csv", series(NEW_YORK, 700, 4))

    order = order_of(tmp_path / "bars")
    assert calendars(order) == {"OLD": "XBOM", "YOUNG": "XBOM", "AMERICAN": NEW_YORK}


def test_american_bars_with_a_few_rows_on_holidays_stay_american(tmp_path: Path) -> None:
    bars = series(NEW_YORK, 700)
    closed = calendar_of(NEW_YORK, LAST).closed_until(LAST.year - 1)[-6:-2]
    days = np.sort(np.concatenate([bars.date, closed]))[-700:]
    plain(tmp_path / "bars" / "AMERICAN.csv", replace(bars, date=days))

    checked = look(order_of(tmp_path / "bars"))
    assert calendars(checked.order) == {"AMERICAN": NEW_YORK}
    assert checked.as_dict()["assumed"]["markets"] == {}
    assert checked.symbols[0].lost == {"holiday": len(closed)}
    assert checked.symbols[0].refusal is None


def test_bars_that_fit_no_calendar_are_refused_with_what_to_say(tmp_path: Path) -> None:
    """A file that repeats the last price on every weekday, holidays included."""
    bars = walk(400)
    days = np.arange(to_day(LAST) - 600, to_day(LAST) + 1, dtype=np.int32)
    days = days[(days + 3) % 7 < 5][-400:]
    plain(tmp_path / "bars" / "FILLED.csv", replace(bars, date=days))

    (one,) = look(order_of(tmp_path / "bars")).symbols
    assert one.refusal is not None
    assert one.refusal.code == "bad_bars"
    assert "--exchange" in one.refusal.reason


def test_two_calendars_that_fit_alike_decide_nothing() -> None:
    """A day in these 250 tells Milan from Frankfurt."""
    days = series("XETR", 250, last=dt.date(2024, 3, 1)).date
    known = {name: calendar_of(name, LAST).sessions for name in ("XETR", "XMIL", "XBOM")}

    assert fitting(days, known) == ["XETR", "XMIL"]
    assert fitting(days, known, clearly=1) == ["XETR"]
    assert fitting(days, {name: known[name] for name in ("XETR", "XBOM")}) == ["XETR"]


def test_calendars_of_one_currency_with_the_same_sessions_count_as_one() -> None:
    days = series("XPAR", 250, last=dt.date(2024, 3, 1)).date
    known = {name: calendar_of(name, LAST).sessions for name in ("XPAR", "XAMS", "XBOM")}
    assert fitting(days, known) == ["XPAR"]


def test_a_rare_session_abroad_that_no_calendar_has_is_a_bar(tmp_path: Path) -> None:
    """India's exchanges opened on four Saturdays and an evening of a holiday in a year."""
    bars = series("XBOM", 200)
    saturdays = [bars.date[place] for place in np.flatnonzero((bars.date + 3) % 7 == 4)[::40]]
    days = np.sort(np.concatenate([bars.date, np.array(saturdays, np.int32) + 1]))[-200:]
    plain(tmp_path / "bars" / "X.NS.csv", replace(bars, date=days))

    (one,) = look(order_of(tmp_path / "bars")).symbols
    assert one.refusal is None
    assert one.lost == {}
    assert one.findings["extra_session"] == len(saturdays)


def test_the_exchange_of_the_reference_decides_before_names_and_orders(tmp_path: Path) -> None:
    for name in ("AAA", "BBB", "CCC.NS"):
        plain(tmp_path / "bars" / f"{name}.csv", series("XTSE"))
    table = tmp_path / "reference.csv"
    write(table, "symbol,exchange,quote_currency", "AAA,XTSE,CAD", "CCC.NS,TSX,", "ZZZ,XNSE,INR")
    order = order_of(
        tmp_path / "bars", reference=read_reference(table), exchange=exchange_named("XLON")
    )
    assert calendars(order) == {"AAA": "XTSE", "BBB": "XLON", "CCC.NS": "XTSE"}


def test_a_ticker_of_two_exchanges_abroad_gets_its_suffix(tmp_path: Path) -> None:
    tradingview("NSE_INFY")(tmp_path / "bars", series("XBOM"))
    tradingview("NYSE_INFY")(tmp_path / "bars", series(NEW_YORK))
    tradingview("NSE_TCS")(tmp_path / "bars", series("XBOM"))

    order = order_of(tmp_path / "bars")
    assert calendars(order) == {"INFY": NEW_YORK, "INFY.NS": "XBOM", "TCS": "XBOM"}
    both = resolve(["NSE:ABC", "BSE:ABC", "XLON:ABC"]).raw_of
    assert both == {"ABC.NS": "NSE:ABC", "ABC.BO": "BSE:ABC", "ABC.L": "XLON:ABC"}


def test_a_reference_may_list_a_ticker_at_two_exchanges(tmp_path: Path) -> None:
    table = tmp_path / "reference.csv"
    write(table, "symbol,exchange", "INFY,NYSE", "INFY,XNSE", "INFY,XNSE", "TCS,XNSE")
    known = read_reference(table)

    assert {name: its.exchange for name, its in known.listings.items()} == {
        "INFY": "XNYS",
        "INFY.NS": "XNSE",
        "TCS": "XNSE",
    }
    tradingview("NSE_INFY")(tmp_path / "bars", series("XBOM"))
    order = order_of(tmp_path / "bars", reference=known)
    assert calendars(order) == {"INFY.NS": "XBOM"}, "the other INFY is listed too"


def test_a_night_of_two_markets_has_each_current_by_its_own_days(tmp_path: Path) -> None:
    """At noon of a Wednesday in London, India has closed and New York has not opened."""
    noon = dt.datetime(2024, 3, 27, 12, tzinfo=dt.UTC)
    for number in range(12):
        plain(tmp_path / "bars" / f"IN{number}.NS.csv", series("XBOM", 500, number))
        plain(tmp_path / "bars" / f"US{number}.csv", series(NEW_YORK, 500, 50 + number, LAST))
    nights = Nights(tmp_path / "data")
    manifest, report = make_night(order_of(tmp_path / "bars"), nights, now=noon)

    assert manifest.as_of_session == dt.date(2024, 3, 27)
    assert report.covered == 24
    assert manifest.inputs.parameters["XNYS_until"] == "2024-03-26"
    assert report.assumed_currencies == {"INR": 12}
    assert report.assumed_dollars == 12
    with book_of(nights, manifest) as book:
        setups = [ScanSetup.model_validate_json(body) for body in book.features.bodies]
        prices = book.features.numbers["price"].tolist()
        assert {book.currency(setup.symbol) for setup in setups} == {"USD", "INR"}
        for setup, price in zip(setups, prices, strict=True):
            indian_one = setup.symbol.endswith(".NS")
            assert setup.currency == book.currency(setup.symbol) == ("INR" if indian_one else "USD")
            assert setup.as_of_session == dt.date(2024, 3, 27 if indian_one else 26)
            assert ("₹" in setup.trigger_rule, "$" in setup.trigger_rule) == (
                indian_one,
                not indian_one,
            )
            assert np.isnan(price) == indian_one
    assert book.currencies.keys() == {f"IN{number}.NS" for number in range(12)}


def test_a_night_of_american_bars_stores_no_currency(tmp_path: Path) -> None:
    for number in range(3):
        plain(tmp_path / "bars" / f"US{number}.csv", series(NEW_YORK, 300, number))
    nights = Nights(tmp_path / "data")
    manifest, report = make_night(order_of(tmp_path / "bars"), nights, now=NOW)

    assert manifest.inputs.parameters.keys().isdisjoint({"exchange", "currency", "XNYS_until"})
    assert {"markets", "assumed_currencies"}.isdisjoint(report.as_dict())
    with book_of(nights, manifest) as book:
        assert book.currencies == {}
        assert book.currency("US0") == "USD"


def test_a_pair_in_euros_is_served_in_euros(tmp_path: Path) -> None:
    plain(tmp_path / "bars" / "BTC-EUR.csv", series(NEW_YORK))
    (one,) = look(order_of(tmp_path / "bars")).symbols
    assert (one.symbol, one.currency, one.refusal) == ("BTCEUR", "EUR", None)


def test_an_indian_word_is_no_pair_with_a_coin(tmp_path: Path) -> None:
    plain(tmp_path / "bars" / "HYUNDAI.csv", series("XBOM"))
    (one,) = look(order_of(tmp_path / "bars", exchange=exchange_named("XNSE"))).symbols
    assert one.currency == "INR"


def test_tokyo_is_over_before_the_day_of_new_york_begins() -> None:
    morning = dt.datetime(2024, 3, 27, 7, tzinfo=dt.UTC)
    found = windows(LAST, morning, ("XTKS", "XNYS", "XASX", UTC_DAYS))
    assert {name: str(window.last) for name, window in found.items()} == {
        "XTKS": "2024-03-27",
        "XASX": "2024-03-27",
        "XNYS": "2024-03-26",
        UTC_DAYS: "2024-03-26",
    }
    settled = settled_at(morning, dt.timedelta(hours=1), "XTKS")
    assert settled == dt.datetime(2024, 3, 27, 7, tzinfo=dt.UTC)
    # New Zealand opens on the UTC day before.
    late = dt.datetime(2024, 3, 27, 23, tzinfo=dt.UTC)
    assert last_completed(late, "XNZE") == dt.date(2024, 3, 27)
    assert settled_at(late, dt.timedelta(0), "XNZE").date() == dt.date(2024, 3, 28)


def test_days_beyond_what_a_calendar_knows_are_weekdays() -> None:
    friday = dt.date(2090, 3, 3)
    assert next_session(friday, "XBOM") == dt.date(2090, 3, 6)
    close = calendar_of("XBOM", friday).close(friday)
    assert close == dt.datetime(2090, 3, 3, 10, tzinfo=dt.UTC)
    assert next_session(dt.date(1990, 8, 14), "XBOM") == dt.date(1990, 8, 15)


def test_holidays_of_a_week_and_more_end_no_setup_abroad() -> None:
    golden_week = np.diff(calendar_of("XTKS", LAST).sessions).max()
    assert gap_days(NEW_YORK) < golden_week <= gap_days("XTKS")
    assert gap_days(UTC_DAYS) == 3


def test_every_exchange_has_a_calendar_and_a_label_and_names_of_its_own() -> None:
    known = exchange_calendars.get_calendar_names(include_aliases=False)
    assert {exchange.calendar for exchange in exchanges()} <= set(known)
    labels = {exchange.mic for exchange in exchanges()}
    assert labels == {*EXCHANGES, *EXCHANGES_ABROAD}
    assert all(exchange.abroad == (exchange.mic not in EXCHANGES) for exchange in exchanges())
    table = resources.files("store.wire") / "exchanges.csv"
    found = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    for columns in (("names",), ("suffixes", "class_suffixes")):
        words = [word for row in found for column in columns for word in row[column].split()]
        assert len(words) == len(set(words)), columns
    for exchange in exchanges():
        assert customary_currency(exchange.calendar) == exchange.currency
        assert not exchange.abroad or exchange.suffixes


@pytest.mark.parametrize("symbol", ["BRK.B", "MKC.V", "BF.A", "AAPL", "BAC.PRA", "ABC.WS", "X.U"])
def test_a_class_of_american_shares_names_no_exchange(symbol: str) -> None:
    assert exchange_of(symbol) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [("inr", "INR"), ("GBp", "GBX"), ("GBP", "GBP"), ("gbx", "GBX"), (" eur ", "EUR"), ("?", None)],
)
def test_a_currency_is_read_as_vendors_write_it(text: str, code: str | None) -> None:
    assert currency_code(text) == code


@pytest.mark.parametrize(
    ("price", "currency", "written"),
    [
        (1234.5, "USD", "$1,234.50"),
        (0.00123456, "USD", "$0.0012346"),
        (1234.5, "INR", "₹1,234.50"),
        (1234.5, "GBX", "1,234.50p"),
        (0.5, "EUR", "€0.50000"),
        (12.0, "CHF", "CHF 12.00"),
    ],
)
def test_an_amount_stands_with_its_currency(price: float, currency: str, written: str) -> None:
    assert money(price, currency) == written


def look(order: Order) -> Check:
    found = check(order, NOW)
    json.dumps(found.as_dict())
    return found


def calendars(order: Order) -> dict[str, str]:
    listings = [listing for task in plan(order, NOW).tasks for _, listing in task.symbols]
    return {listing.symbol: listing.calendar for listing in listings}
