"""Reading: dates, numbers, intervals and prices of one file, and what decides between readings."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from screener.nightly.bars import to_date, to_day
from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.reading import opening
from screener.nightly.reading.formats import read_bars
from screener.nightly.reading.source import to_bars
from screener.nightly.reading.table import TableSource
from screener.nightly.tables.layout import BarsTable
from screener.nightly.tables.names import read_name
from screener.nightly.tables.spacing import other_interval
from tests.screener.nightly.vendor_files import READ

TITLED = "Date,Open,High,Low,Close,Volume"


def read(rows: list[str], header: str = TITLED) -> BarsTable:
    return read_bars("\n".join([header, *rows]).encode(), label="ACME.csv")


def read_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """What is read of a frame that was written to Parquet."""
    out = io.BytesIO()
    frame.write_parquet(out)
    return read_bars(out.getvalue(), label="ACME.parquet").frame


def dates(rows: list[str]) -> list[dt.date]:
    """The dates of rows that begin with these texts."""
    found = read([f"{row},1,2,1,2,5" for row in rows])
    return [to_date(day) for day in found.frame["date"]]


def closes(cells: list[str], separator: str = ";", volume: str = "5") -> list[float]:
    header = TITLED.replace(",", separator)
    rows = [separator.join([f"2024-01-{2 + n:02}", *[c] * 4, volume]) for n, c in enumerate(cells)]
    return read(rows, header).frame["close"].to_list()


_FORMS = ["%m/%d/%Y", "%d/%m/%Y", "%m-%d-%y", "%d/%m/%Y 16:00", "%y-%m-%d", "%y.%m.%d"]
JANUARY = [dt.date(2024, 1, day) for day in (2, 3, 4, 5, 8, 9, 10, 11)]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("form", _FORMS)
def test_weekdays_in_order_show_whether_the_day_or_the_month_comes_first(
    form: str, newest_first: bool
) -> None:
    days = JANUARY[::-1] if newest_first else JANUARY
    assert dates([f"{day:{form}}" for day in days]) == days


@pytest.mark.parametrize("form", ["%m/%d/%Y", "%d/%m/%Y"])
def test_one_number_over_twelve_decides_for_the_whole_column(form: str) -> None:
    days = [dt.date(2024, 2, 3), dt.date(2024, 5, 31), dt.date(2024, 4, 2)]  # in no order
    assert dates([f"{day:{form}}" for day in days]) == days


@pytest.mark.parametrize(
    "written",
    [
        *("2024/01/02", "2024.1.2", "2024-1-2 00:00", "20240102 000000", "45293", "02Jan2024"),
        *("Jan 2 2024", "Tue Jan 02 2024", "January 2nd 2024", "2. Januar 2024", "2 févr. 2024"),
        *("02-dic-23", "13.01.2024 00:00:00.000 GMT+0100", "1/13/2024 4:00:00 PM"),
        *("2024-01-02T14:30:00Z", "2024-01-02 00:00:00-05:00", "20240102", "1704239999"),
        *("1704153600.0", "1704153600000", "1704153600000000", "1704153600000000000"),
    ],
)
def test_a_date_is_read_as_people_write_it(written: str) -> None:
    others = {"févr": (2, 2), "dic": (12, 2), "13": (1, 13)}
    month, day = next((found for word, found in others.items() if word in written), (1, 2))
    year = 2023 if "dic" in written else 2024
    assert dates([written]) == [dt.date(year, month, day)]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1234.5", "x"], [1234.5, None]),
        (["1,234.50", "2.5"], [1234.5, 2.5]),
        (["1.234,50", "2,5"], [1234.5, 2.5]),
        (["1 234,5", "1.234.567"], [1234.5, 1234567]),
        (["1'234.5", "-"], [1234.5, None]),
        (["1 205,03", "1\N{NARROW NO-BREAK SPACE}310,50"], [1205.03, 1310.5]),
        (["$1.25", "1,23,456.75"], [1.25, 123456.75]),
        (["1,5 €", "USD 2,25"], [1.5, 2.25]),
        (["1.5M", "2.25K", "3.5B"], [1.5e6, 2250, 3.5e9]),
        (["1,5 Mio.", "1.000"], [1.5e6, 1000]),
        (["1.5e-05", "1,000.5"], [1.5e-05, 1000.5]),
    ],
)
def test_a_number_is_read_as_people_write_it(cells: list[str], numbers: list[float]) -> None:
    assert closes(cells) == numbers


def test_the_volume_or_a_share_shows_the_decimal_mark_of_prices() -> None:
    price = ['"10,074"']
    assert closes(price, ",", '"10,36M"') == [10.074]
    assert closes(price, ",", "10.36M") == [10074]
    header = f'{TITLED},"Var. %"'
    row = '2024-01-02,"1,234","1,234","1,234","1,234",5,"-0,08%"'
    assert read([row], header).frame["close"].to_list() == [1.234]


def test_prices_and_volumes_may_have_marks_of_their_own() -> None:
    assert closes(["1234.5"], ",", '"1,234"') == [1234.5]


def at(month: int, day: int) -> dt.datetime:
    return dt.datetime(2024, month, day, tzinfo=dt.UTC)


def daily_stamps(form: str, first: dt.datetime, count: int, hours: int = 24) -> list[str]:
    stamps = [first + dt.timedelta(hours=hours * number) for number in range(count)]
    return [f"{stamp:{form}},1,2,1,2,5" for stamp in stamps]


def refused(rows: list[str]) -> RefusedInput | None:
    return to_bars(read(rows).frame)[2]


@pytest.mark.parametrize("hours", [1, 4, 12])
def test_several_times_on_one_date_are_bars_within_the_day(hours: int) -> None:
    refusal = refused(daily_stamps("%Y-%m-%d %H:%M", at(1, 2), 40, hours))
    assert refusal is not None
    assert refusal.code == "other_interval"
    assert "the first open" in refusal.reason


def test_a_day_s_bar_may_have_a_time_that_moves_with_the_clocks() -> None:
    rows = daily_stamps("%Y-%m-%dT14:30Z", at(3, 1), 9)
    rows += daily_stamps("%Y-%m-%dT13:30Z", at(3, 10), 9)
    frame = read(rows).frame
    bars, findings, refusal = to_bars(frame)
    assert "time" in frame.columns
    assert (len(bars), findings, refusal) == (18, {}, None)


def test_one_time_for_all_days_is_carried_nowhere() -> None:
    frame = read(daily_stamps("%Y-%m-%d 16:00:00", at(3, 1), 9)).frame
    assert frame.columns == ["date", "open", "high", "low", "close", "volume"]


def test_a_last_day_that_is_written_twice_is_no_interval() -> None:
    rows = daily_stamps("%Y-%m-%d 00:00", at(3, 1), 20)
    rows.append(rows[-1].replace("00:00", "15:42"))
    bars, findings, refusal = to_bars(read(rows).frame)
    assert (len(bars), findings, refusal) == (20, {"repeated_date": 1}, None)


def spaced(steps: list[int]) -> RefusedInput | None:
    days = np.cumsum([to_day(dt.date(2020, 1, 1)), *steps]).astype(np.int32)
    return other_interval(len(days), days)


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([3] * 20, "three-day"),
        ([7, 7, 6, 8] * 5, "weekly"),
        ([31, 29, 31, 30] * 3, "monthly"),
        ([90, 91, 92, 92] * 3, "quarterly"),
        ([365, 366, 365, 365] * 3, "yearly"),
    ],
)
def test_longer_intervals_are_told_by_their_steps(steps: list[int], name: str) -> None:
    refusal = spaced(steps)
    assert refusal is not None
    assert (refusal.code, name in refusal.reason) == ("other_interval", True)


@pytest.mark.parametrize(
    "steps",
    [
        [1, 1, 1, 1, 3] * 10,
        [1, 2, 9, 3, 14, 7, 1, 5, 11, 2, 7, 30] * 3,  # illiquid
        [1, 1, 1, 400, 1, 1, 1, 1],  # halted
        [30] * 40 + [1] * 60,  # old months, then days
        [7] * 6,  # too few to decide
    ],
)
def test_daily_bars_with_holes_are_daily(steps: list[int]) -> None:
    assert spaced(steps) is None


def test_each_symbol_of_a_table_has_its_own_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = at(1, 2)
    rows = [f"{n},{row}" for n, hours in (("DAY", 24), ("HOUR", 1), ("WEEK", 168))
            for row in daily_stamps("%m/%d/%Y %H:%M", first, 40, hours)]  # fmt: skip
    random.Random(1).shuffle(rows)  # noqa: S311 - no secret
    path = tmp_path / "bars.csv"
    path.write_text("\n".join([f"Symbol,{TITLED}", *rows]))
    plain = list(TableSource(path).load(["DAY", "HOUR", "WEEK"]))
    monkeypatch.setattr(opening, "SMALL", 0)
    opened = opening.open_source(path, tmp_path / "work")
    for day, hour, week in (plain, opened.source.load(["DAY", "HOUR", "WEEK"])):
        assert (len(day.bars), day.refusal) == (40, None)
        for other, word in ((hour, "intraday"), (week, "weekly")):
            assert len(other.bars) == 0
            assert other.refusal is not None
            assert word in other.refusal.reason


def test_an_adjusted_close_scales_the_raw_prices_of_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder, and in one table, whether it is read as it lies or sorted first."""
    header = "Symbol,Date,Open,High,Low,Close,Adjusted_close,Volume,Currency"
    rows = ["A,2024-01-02,40,48,32,40,10,5,usd", "A,2024-01-03,10,12,8,10,10,5,usd"]
    folder = tmp_path / "bars"
    folder.mkdir()
    (folder / "A.csv").write_text("\n".join([header, *rows]))
    roads = [("files", folder, 0), ("table", folder / "A.csv", 1 << 20)]
    for work, path, small in [*roads, ("sorted", folder / "A.csv", 0)]:
        monkeypatch.setattr(opening, "SMALL", small)
        (found,) = opening.open_source(path, tmp_path / work).source.load(["A"])
        prices = [column.tolist() for column in list(found.bars.columns())[1:5]]
        assert prices == [[10, 10], [12, 12], [8, 8], [10, 10]], work
        assert (found.adjustment, found.currency) == ("split+div", "USD"), work


def test_a_column_of_names_gives_symbols_only_if_they_look_like_tickers() -> None:
    for name, symbol in (("AAPL", "AAPL"), ("Apple Inc.", None), ("2781", None)):
        found = read([f"2024-01-02,1,2,1,2,5,{name}"], f"{TITLED},Name")
        assert found.symbol == symbol


def test_a_currency_counts_if_it_is_the_only_one() -> None:
    header = f"{TITLED},quote currency"
    one, other = (f"2024-01-0{n},1,2,1,2,5,{word}" for n, word in ((2, "usd"), (3, "EUR")))
    assert read([one, one], header).currency == "USD"
    assert read([one, other], header).currency is None


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("close", [{"a": 1}]),
        ("close", [[1]]),
        ("close", [b"1"]),
        ("date", [{"a": 1}]),
        ("date", [True]),
        ("symbol", [b"A"]),
        ("symbol", [["A"]]),
    ],
)
def test_a_column_of_an_odd_type_is_refused_by_its_name(column: str, values: list[object]) -> None:
    row: dict[str, list[object]] = {name: [1.0] for name in ("open", "high", "low", "close")}
    frame = pl.DataFrame(row | {"date": [dt.date(2024, 1, 2)]} | {column: values})
    with pytest.raises(SourceError, match=rf"ACME\.parquet: the column {column} holds no "):
        read_frame(frame)


def test_decimals_and_numbers_as_texts_are_read_from_parquet() -> None:
    frame = pl.DataFrame({"date": ["2024-01-02"], "open": ["1,234.5"], "high": ["2.5"]})
    price = pl.lit("2.25").cast(pl.Decimal(10, 2))
    found = read_frame(frame.with_columns(price.alias("low"), price.alias("close"))).row(0)
    assert found[1:5] == (1234.5, 2.5, 2.25, 2.25)


def test_tickers_side_by_side_may_lack_days_and_fields() -> None:
    pairs = [(field, name) for name in ("A", "B") for field in ("Open", "High", "Low", "Close")]
    frame = pl.DataFrame({f"('{field}', '{name}')": [1.5, 2.5] for field, name in pairs})
    new = pl.when(pl.int_range(2) > 0)
    frame = frame.with_columns(
        *(new.then(2).alias(f"('{field}', 'B')") for field, name in pairs if name == "B"),
        pl.Series("Date", JANUARY[:2]),
        pl.lit(7).alias("('Volume', 'C')"),
    )
    found = read_frame(frame)
    assert found["symbol"].to_list() == ["A", "A", "B"]
    assert found["close"].to_list() == [1.5, 2.5, 2]


def test_a_first_row_without_prices_is_no_second_header() -> None:
    found = read(["2024-01-02,null,null,null,null,null", "2024-01-03,1,2,1,2,5"]).frame
    assert found["close"].to_list() == [None, 2]


def test_a_row_that_is_no_bar_is_no_finding_but_a_bad_bar_stays() -> None:
    frame = read(["2024-01-02,1,2,1,2,5", "Total,,,,,", "2024-01-03,1", "soon,,,,,5"]).frame
    bars, findings, _ = to_bars(frame)
    assert findings == {}
    assert len(bars) == 2
    assert np.isnan(bars.close[1])


@pytest.mark.parametrize("seed", range(6))
def test_no_damaged_file_ends_in_anything_but_bars_or_one_sentence(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(60):
        data = bytearray(chance.choice(READ).data[:2000])
        for _ in range(chance.randint(1, 10)):
            place = chance.randrange(len(data) + 1)
            noise = bytes(chance.choice(b'",;\t\n\r\0 .-/:$%0123abc\xff#') for _ in range(3))
            data[place : place + chance.randint(0, 30)] = noise
        try:
            to_bars(read_bars(bytes(data), label="ACME.csv").frame)
        except SourceError as error:
            assert str(error).startswith("ACME.csv")
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "symbol", "interval"),
    [
        ("CME_MINI_ES1!, 1W.csv", "ES1!", "1W"),
        ("AAPL_H4.csv", "AAPL", "H4"),
        ("AAPL_D1.csv", "AAPL", "1d"),
        ("EURUSD60.csv", "EURUSD", "60"),
        ("ES1.csv", "ES1", "1d"),
        ("BTC-USD.CC.csv", "BTC-USD", "1d"),
        ("Gemini_BTCUSD_1h.csv", "BTCUSD", "1h"),
        ("aapl_weekly_historical-data-11-21-2024.csv", "aapl", "weekly"),
        ("intraday_5min_IBM.csv", "IBM", "intraday_5min"),
        ("BTC_USD Bitfinex Historical Data (1).csv", "BTC_USD", "1d"),
        ("Apple Stock Price History.csv", "", "1d"),
        ("S&P 500 Historical Data.csv", "", "1d"),
        ("aapl_us_w.csv", "aapl", "w"),
        ("7203.jp.txt", "7203.jp", "1d"),
        ("AAPL (2).csv", "AAPL", "1d"),
        ("BF_B.csv", "BF_B", "1d"),
        ("google_stock_price_GOOG_2019.csv", "GOOG", "1d"),
        ("brk-b_daily.csv", "brk-b", "1d"),
        ("stooq-aapl-ohlcv-5yr.csv", "aapl", "1d"),
        ("1INCH-USDT.csv", "1INCH-USDT", "1d"),
        ("ALL_daily.csv", "ALL", "1d"),
        ("DATA.csv", "DATA", "1d"),
        ("prices.csv", "", "1d"),
        ("full.history.csv", "", "1d"),
        ("AAPL-MSFT.csv", "", "1d"),
        ("BTC_USDT-1d.feather", "BTC_USDT", "1d"),
        ("BTC_USDT_USDT-1d-futures.feather", "BTC_USDT.P", "1d"),
        ("aapl_us_d.csv", "aapl", "1d"),
        ("BTCUSDT-1d-2024-01.zip", "BTCUSDT", "1d"),
        ("brk-b.us.txt", "brk-b", "1d"),
        ("BSE_TCS.csv", "XBOM:TCS", "1d"),
        ("ASX_daily.csv", "ASX", "1d"),
        ("%5EFTSE.csv", "^FTSE", "1d"),
        ("IBM_2024Q3.csv", "IBM", "1d"),
    ],
)
def test_a_file_s_name_gives_symbol_and_interval(name: str, symbol: str, interval: str) -> None:
    named = read_name(f"some/folder/{name}")
    assert named is not None
    assert (named.symbol, named.interval) == (symbol, interval)
    assert named.unnamed.startswith(name if not symbol else "")
    assert bool(named.unnamed) == (not symbol)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
def test_one_table_is_read_in_any_usual_encoding(tmp_path: Path, encoding: str) -> None:
    text = "Symbol;Datum;Eröffnung;Hoch;Tief;Schluss\nA;13.01.2024;1,5;2,5;1,5;2,25\n"
    path = tmp_path / "bars.csv"
    path.write_bytes(text.encode(encoding))
    (loaded,) = TableSource(path).load(["A"])
    assert (to_date(loaded.bars.date[0]), loaded.bars.close[0]) == (dt.date(2024, 1, 13), 2.25)
    (tmp_path / "bars.csv.gz").write_bytes(gzip.compress(text.encode()))
    (packed,) = TableSource(tmp_path / "bars.csv.gz").load(["A"])
    assert packed.bars.close.tolist() == [2.25]


def test_numbers_with_both_decimal_marks_are_refused() -> None:
    with pytest.raises(SourceError, match=r"^ACME\.csv writes numbers with decimal points and w"):
        read(["2024-01-02;1,5;2.5;1,5;2,5;5"], TITLED.replace(",", ";"))


def test_an_epoch_in_numbers_is_told_by_its_magnitude() -> None:
    days = [dt.date(1975, 1, 1), dt.date(2024, 1, 2), dt.date(2199, 12, 31)]
    for unit in (1, 10**3, 10**6, 10**9):
        times = {"time": [(to_day(day) * 86_400 + 86_399) * unit for day in days]}
        prices = dict.fromkeys(("open", "high", "low", "close"), [1.0] * 3)
        found = read_frame(pl.DataFrame(times | prices))["date"]
        assert [to_date(number) for number in found] == days


def test_the_unit_of_epochs_may_change_within_a_file() -> None:
    """As in Binance's archives, which went from milliseconds to microseconds with 2025."""
    found = dates(["1735603200000", "1735689600000000"])
    assert found == [dt.date(2024, 12, 31), dt.date(2025, 1, 1)]


def test_databento_s_whole_numbers_are_billionths() -> None:
    header = "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol"
    found = read(["1704153600000000000,35,1,38,1500000000,2500000000,1000000000,2e9,5,A"], header)
    assert found.frame.row(0)[2:6] == (1.5, 2.5, 1, 2)
