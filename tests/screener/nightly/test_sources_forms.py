"""Forms: the same bars give the same night in every file form."""

from __future__ import annotations

import datetime as dt
import gzip
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from screener.nightly.bars import Bars, to_date
from screener.nightly.errors import SourceError
from screener.nightly.reading import opening, sorting
from screener.nightly.reading import pieces as piecemeal
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.source import BarSource, Loaded
from screener.nightly.symbols import resolve
from tests.screener.nightly import shelves
from tests.screener.nightly.shelves import SHAPES, Series

STOCKS = ("AAPL", "BRK.B", "MSFT")
COINS = ("BTCUSDT", "ETHUSDT")
FIRST = dt.date(2024, 10, 28)


def series(*, crypto: bool) -> Series:
    """Ten weeks that include a clock change, a new year, and Binance's change of unit."""
    days = [FIRST + dt.timedelta(day) for day in range(70)]
    if not crypto:
        days = [day for day in days if day.weekday() < 5]
    found = {}
    for number, symbol in enumerate(COINS if crypto else STOCKS):
        random = np.random.default_rng(number)
        close = np.round(100 * np.exp(np.cumsum(random.normal(0, 0.02, len(days)))), 4)
        found[symbol] = pl.DataFrame(
            {
                "date": days,
                "open": np.round(close * 1.001, 4),
                "high": np.round(close * 1.02, 4),
                "low": np.round(close * 0.98, 4),
                "close": close,
                "volume": np.round(random.uniform(1e3, 1e6, len(days))),
            }
        )
    return found


def night_input(source: BarSource) -> dict[str, Loaded]:
    """The bars of every symbol, as a night reads them."""
    resolved = resolve(source.names())
    raws = {raw: symbol for symbol, raw in resolved.raw_of.items()}
    return {raws[item.name]: item for item in source.load(list(raws))}


def check_same(bars: Bars, frame: pl.DataFrame) -> None:
    assert [to_date(day) for day in bars.date] == frame["date"].to_list()
    for name in shelves.NUMBERS:
        assert getattr(bars, name).tolist() == frame[name].to_list()


@pytest.mark.parametrize("name", SHAPES)
def test_the_same_bars_give_the_same_night_in_every_form(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SMALL", 0)
    shape = SHAPES[name]
    expected = series(crypto=shape.crypto)
    path = shape.write(tmp_path / "bars", expected)
    one_run = open_source(path, tmp_path / "one run")
    monkeypatch.setattr(sorting, "RUN_ROWS", 100)
    many_runs = open_source(path, tmp_path / "many runs")
    for opened in (one_run, many_runs):
        assert opened.told["forms"].keys() == {shape.form}
    for source in (one_run.source, many_runs.source):
        found = night_input(pickle.loads(pickle.dumps(source)))  # noqa: S301 - our own bytes
        assert list(found) == list(expected)
        assert source.names() == one_run.source.names()
        assert source.outlines() == one_run.source.outlines()
        assert source.digest() == one_run.source.digest()
        for symbol, loaded in found.items():
            assert (loaded.refusal, loaded.findings) == (None, {})
            check_same(loaded.bars, expected[symbol])
            assert source.outlines()[loaded.name].last_day == loaded.bars.date[-1]


def test_an_adjusted_close_is_told_as_ignored_and_never_read(tmp_path: Path) -> None:
    path = shelves.yahoo(tmp_path / "bars", series(crypto=False))
    told = open_source(path, tmp_path / "work").told
    assert told["forms"] == {"CSV": 3}
    assert told["columns"] == {
        "Adj Close": "ignored: prices come from Close, adjusted for splits and not for dividends"
    }


def one(path: Path, work: Path, name: str) -> Loaded:
    source = open_source(path, work).source
    (loaded,) = source.load([name])
    return loaded


def test_a_date_on_which_a_month_and_a_day_of_it_differ_is_used_from_neither(
    tmp_path: Path,
) -> None:
    path = shelves.binance(tmp_path / "bars", series(crypto=True))
    folder = path / "data/spot/monthly/klines/BTCUSDT/1d"
    later = series(crypto=True)["BTCUSDT"].filter(pl.col("date") == dt.date(2024, 11, 5))
    later = later.with_columns(pl.lit(1234.5).alias("close"))
    shelves.kline_zip(folder / "BTCUSDT-1d-2024-11-05.zip", shelves.kline_rows(later))

    loaded = one(path, tmp_path / "work", "BTCUSDT")

    assert loaded.findings == {"differing_date": 2}
    assert 1234.5 not in loaded.bars.close
    assert len(loaded.bars) == 69


def test_bars_within_a_day_are_refused_and_left_alone_beside_daily_ones(tmp_path: Path) -> None:
    path = shelves.binance(tmp_path / "bars", series(crypto=True))
    rows = shelves.kline_rows(series(crypto=True)["BTCUSDT"])
    shelves.kline_zip(path / "BTCUSDT-1h-2024-11.zip", rows)
    shelves.kline_zip(path / "SOLUSDT-5m-2024-11.zip", rows)
    source = open_source(path, tmp_path / "work").source
    coin, other = source.load(["BTCUSDT", "SOLUSDT"])
    assert (coin.refusal, coin.findings) == (None, {"other_interval": 1})
    assert other.refusal is not None
    assert other.refusal.code == "other_interval"
    assert "only 1d" in other.refusal.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BTCUSDT.csv", "1704067200000,1,2,1,2,5,1704067499999,5,5,5,5,0\n"),
        ("BTCUSDT.csv", f"{shelves.KLINE_HEADER}\n1704067200000,1,2,1,2,5,1704070799999,5,5,5,5,0"),
        ("aapl.us.txt", "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
         "AAPL.US,5,20240102,153000,1,2,1,2,5,0\n"),
    ],
)  # fmt: skip
def test_bars_within_a_day_are_told_by_what_they_hold(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "bars"
    shelves.yahoo(folder, series(crypto=False))
    (folder / name).write_text(text)
    loaded = one(folder, tmp_path / "work", name.split(".", 1)[0].upper().replace("AAPL", "aapl"))
    assert loaded.refusal is not None
    assert loaded.refusal.code == "other_interval"
    assert "not daily" in loaded.refusal.reason


def test_a_listing_of_an_unknown_country_is_refused_and_a_coin_kept_as_it_is(
    tmp_path: Path,
) -> None:
    stocks = series(crypto=False)
    path = shelves.stooq(tmp_path / "bars", stocks)
    text = "\n".join(shelves.stooq_lines("AAPL", stocks["AAPL"]))
    for name in ("7203.jp", "btc.v", "x.zz"):
        (path / f"{name}.txt").write_text(text.replace("AAPL.US", name.upper()))
    source = open_source(path, tmp_path / "work").source
    japan, coin, other = source.load(["7203.jp", "btc.v", "x.zz"])
    assert other.refusal is not None
    assert (other.refusal.code, len(other.bars)) == ("foreign_listing", 0)
    assert japan.refusal is None
    assert coin.refusal is None
    assert resolve(["btc.v"]).raw_of == {"BTC.V": "btc.v"}
    assert source.outlines().keys() >= {"7203.jp", "btc.v"}
    assert "x.zz" not in source.outlines()


def test_a_day_file_without_its_place_in_new_york_is_dated_by_utc_for_coins(
    tmp_path: Path,
) -> None:
    midnight = (dt.date(2024, 7, 4) - dt.date(1970, 1, 1)).days * 86_400 * 10**9
    text = (
        "ticker,volume,open,close,high,low,window_start,transactions\n"
        f"X:BTC-USD,1,2,3,4,1,{midnight},9\nAAPL,1,2,3,4,1,{midnight + 4 * 3600 * 10**9},9\n"
    )
    path = tmp_path / "bars" / "2024-07-04.csv.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(text.encode()))
    source = open_source(path.parent, tmp_path / "work").source
    assert source.names() == ["AAPL", "BTC-USD"]
    assert {to_date(known.last_day) for known in source.outlines().values()} == {
        dt.date(2024, 7, 4)
    }


def test_a_broken_day_file_is_named_and_the_other_days_are_read(tmp_path: Path) -> None:
    path = shelves.massive(tmp_path / "bars", series(crypto=False))
    (path / "2024" / "12" / "2024-12-02.csv.gz").write_bytes(b"\x1f\x8bcut short")
    opened = open_source(path, tmp_path / "work")
    assert opened.source.names() == list(STOCKS)
    ((label, refusal),) = opened.skipped.items()
    assert (label, refusal.code) == ("2024/12/2024-12-02.csv.gz", "unreadable_file")
    assert "cannot be read" in refusal.reason
    assert refusal.reason.endswith("Its days are missing for every symbol.")
    whole = series(crypto=False)
    for loaded in opened.source.load(STOCKS):
        days = whole[loaded.name].filter(pl.col("date") != dt.date(2024, 12, 2))
        check_same(loaded.bars, days)


def test_tables_of_many_symbols_and_files_of_one_are_read_from_one_folder(tmp_path: Path) -> None:
    stocks = series(crypto=False)
    days = shelves.massive(tmp_path / "days", stocks)
    (tmp_path / "one.csv").write_bytes(
        (shelves.yahoo(tmp_path / "one", stocks) / "AAPL.csv").read_bytes()
    )
    for name in ("ZZZ", "MSFT"):
        shutil.copy(tmp_path / "one.csv", days / f"{name}.csv")

    opened = open_source(days, tmp_path / "work")

    assert opened.source.names() == [*STOCKS, "ZZZ"]
    other, own = opened.source.load(["MSFT", "ZZZ"])
    check_same(own.bars, stocks["AAPL"])
    check_same(other.bars, stocks["MSFT"])
    assert opened.skipped.keys() == {"MSFT.csv"}
    assert opened.skipped["MSFT.csv"].code == "duplicate_symbol"
    assert opened.told["forms"] == {"CSV": 1, "Massive day file": 50}


def test_a_symbol_with_a_file_before_a_table_is_read_from_its_file(tmp_path: Path) -> None:
    stocks = series(crypto=False)
    files = shelves.yahoo(tmp_path / "files", {"AAPL": stocks["AAPL"]})
    table = shelves.long_csv(tmp_path / "table", {"AAPL": stocks["MSFT"], "MSFT": stocks["MSFT"]})
    table.rename(files / "MANY.csv")

    opened = open_source(files, tmp_path / "work")

    own, other = opened.source.load(["AAPL", "MSFT"])
    check_same(own.bars, stocks["AAPL"])
    check_same(other.bars, stocks["MSFT"])
    assert "AAPL: files of their own are read" in opened.skipped["MANY.csv"].reason


def test_what_files_tell_of_their_prices_is_kept_unless_they_differ(tmp_path: Path) -> None:
    rows = series(crypto=False)["AAPL"]
    sort = sorting.ExternalSort(tmp_path / "sorted")
    for symbol, adjustment, currency in (
        ("A", "none", "EUR"),
        ("A", "split", "EUR"),
        ("B", "none", None),
        ("C", None, None),
    ):
        named = rows.with_columns(pl.lit(symbol).alias("symbol"), pl.col("date").cast(pl.Int32))
        sort.add(named, adjustment, currency)  # type: ignore[arg-type]
    loaded = sort.finish("digest").load("ABC")
    told = [(item.adjustment, item.currency) for item in loaded]
    assert told == [(None, "EUR"), ("none", None), (None, None)]


GOOD = "\n".join(shelves.stooq_lines("GOOD", series(crypto=False)["AAPL"])).encode()


def test_a_member_that_unpacks_beyond_bounds_is_a_refusal_of_its_symbol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = b"<TICKER>" + bytes(piecemeal.MAX_BYTES)
    packed = gzip.compress(bomb)
    path = shelves.zipped(
        tmp_path / "bars.zip",
        {"a/good.us.txt": GOOD, "a/bomb.us.txt": bomb, "a/deep.csv.gz": packed},
    )
    assert path.stat().st_size < 1 << 20
    source = open_source(path, tmp_path / "work").source
    bombed, deep, good = source.load(["bomb", "deep", "good"])
    for loaded in (bombed, deep):
        assert loaded.refusal is not None
        assert "larger than 64 MiB" in loaded.refusal.reason
    assert good.refusal is None
    monkeypatch.setattr(piecemeal, "MAX_TOTAL", 1 << 20)
    with pytest.raises(SourceError, match="unpacks to more"):
        open_source(path, tmp_path / "again")


def test_a_damaged_or_locked_member_is_a_refusal_of_its_symbol(tmp_path: Path) -> None:
    path = shelves.zipped(tmp_path / "bars.zip", {"good.us.txt": GOOD})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("torn.us.txt", GOOD)
        archive.writestr("locked.us.txt", GOOD)
    content = bytearray(path.read_bytes())
    start = content.index(b"torn.us.txt") + 200
    content[start : start + 8] = b"damaged!"
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"locked.us.txt"))
    content[entry + 8] |= 1  # the flag of an encrypted member
    local = content.rindex(b"PK\x03\x04", 0, content.rindex(b"locked.us.txt", 0, entry))
    content[local + 6] |= 1
    path.write_bytes(bytes(content))

    source = open_source(path, tmp_path / "work").source

    good, locked, torn = source.load(["good", "locked", "torn"])
    assert good.refusal is None
    assert locked.refusal is not None
    assert "encrypted" in locked.refusal.reason
    assert torn.refusal is not None
    assert torn.refusal.code == "unreadable_file"


PLAIN = b"date,open,high,low,close\n2024-01-02,1,1,1,1\n"


def test_nothing_is_written_where_a_member_s_name_points(tmp_path: Path) -> None:
    names = ["../../evil.us.txt", "/etc/evil2.us.txt", "..\\evil3.us.txt", "good.us.txt"]
    path = shelves.zipped(tmp_path / "in" / "bars.zip", dict.fromkeys(names, PLAIN))
    source = open_source(path, tmp_path / "work").source
    assert {"evil", "evil2", "good"} <= set(source.names())
    written = {file for file in tmp_path.rglob("*") if file.is_file() and file != path}
    assert written
    assert all(file.is_relative_to(tmp_path / "work") for file in written)


def test_a_file_is_read_by_what_it_holds_whatever_its_suffix(tmp_path: Path) -> None:
    frame = series(crypto=False)["AAPL"]
    folder = tmp_path / "bars"
    folder.mkdir()
    frame.write_parquet(folder / "A.csv")
    frame.write_ipc(folder / "B.parquet")
    frame.write_csv(folder / "C.parquet")
    (folder / "D.csv").write_text("\n".join(shelves.stooq_lines("D", frame)))
    opened = open_source(folder, tmp_path / "work")
    for loaded in opened.source.load(["A", "B", "C", "D"]):
        check_same(loaded.bars, frame)
    assert opened.told["forms"] == {"Parquet": 1, "Arrow (feather)": 1, "CSV": 1, "Stooq": 1}
