"""Odd files: whatever lies in a folder is read or named, and never stops, or holds up, the rest."""

from __future__ import annotations

import datetime as dt
import os
import socket
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from screener.nightly.bars import to_date
from screener.nightly.errors import SourceError
from screener.nightly.reading.opening import Opened, open_source
from screener.nightly.reading.source import Loaded
from tests.screener.nightly.nights import source_of
from tests.screener.nightly.shelves import NUMBERS, zipped

CSV = "date,open,high,low,close,volume\n2024-01-02,10,12,9,11,100\n2024-01-03,11,13,10,12,200\n"
DAYS = [dt.date(2024, 1, 2), dt.date(2024, 1, 3)]
LONG = "symbol," + CSV.replace("\n2024", "\nMSFT,2024")

OUT = "is a link that leads out of the folder; put what it leads to in its place."

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def parquet(path: Path, **columns: object) -> None:
    plain = {"date": "2024-01-02", **dict.fromkeys(NUMBERS, 1.0), **columns}
    pl.DataFrame({name: [value] for name, value in plain.items()}).write_parquet(path)


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path may not be long
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


def broken_zip(path: Path) -> None:
    path.with_suffix(".zip").write_bytes(b"PK\x03\x04 cut short")


def nested_zip(path: Path) -> None:
    zipped(path.with_name("outer.zip"), {"ODD.zip": b"PK"})


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to nothing": (lambda path: path.symlink_to("absent"), "does not exist"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "leads back to itself"),
    "a pipe": (os.mkfifo, "named pipe"),
    "a socket": (socket_at, "is a socket"),
    "a folder": (lambda path: path.mkdir(), "empty folder"),
    "an empty file": (lambda path: path.touch(), "is empty"),
    "no closes": (lambda path: path.write_text("date,open\n2024-01-02,1\n"), "no column for high"),
    "no gzip": (lambda path: path.with_suffix(".csv.gz").write_bytes(b"no gzip"), "ODD.csv.gz"),
    "a struct": (lambda path: parquet(path, close={"last": 1.0}), "column close"),
    "dates in a struct": (lambda path: parquet(path, date={"day": "2024-01-02"}), "holds no dates"),
    "a list": (lambda path: parquet(path, volume=[1.0, 2.0]), "ODD.csv"),
    "a torn table": (lambda path: path.write_bytes(b"PAR1" + b"\xfe" * 99 + b"PAR1"), "ODD.csv"),
    "a broken zip": (broken_zip, "not a readable zip"),
    "a zip in a zip": (nested_zip, "ODD.zip is a zip inside a zip"),
}


@pytest.fixture
def bars(tmp_path: Path) -> Path:
    folder = tmp_path / "bars"
    folder.mkdir()
    return folder


def refusal_of(opened: Opened, name: str) -> tuple[str, str]:
    (loaded,) = opened.source.load([name])
    assert loaded.refusal is not None
    return loaded.refusal.code, loaded.refusal.reason


@posix
@pytest.mark.parametrize("beside", [CSV, LONG], ids=["files", "tables"])
@pytest.mark.parametrize(("make", "words"), ODD.values(), ids=ODD.keys())
def test_an_odd_file_is_named_and_the_others_are_read(
    bars: Path, tmp_path: Path, make: Callable[[Path], object], words: str, beside: str
) -> None:
    (bars / "GOOD.csv").write_text(beside.replace("MSFT", "GOOD"))
    make(bars / "ODD.csv")

    opened = open_source(bars, tmp_path / "work")

    (good,) = opened.source.load(["GOOD"])
    code, reason = refusal_of(opened, "ODD")
    assert (good.refusal, len(good.bars), code) == (None, 2, "unreadable_file")
    assert words in reason
    assert opened.source.outlines().keys() == {"GOOD"}


@posix
@pytest.mark.parametrize(("make", "words"), ODD.values(), ids=ODD.keys())
def test_an_odd_file_given_alone_is_an_error_that_names_it(
    bars: Path, tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(bars / "ODD.csv")
    (odd,) = bars.iterdir()
    with pytest.raises(SourceError) as caught:
        open_source(odd, tmp_path / "work")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@posix
def test_a_device_given_alone_is_an_error_that_names_it(bars: Path, tmp_path: Path) -> None:
    (bars / "ODD.csv").symlink_to("/dev/zero")
    with pytest.raises(SourceError, match="is a device"):
        open_source(bars / "ODD.csv", tmp_path / "work")


@posix
def test_a_linked_folder_is_read_once_and_a_loop_of_links_ends(bars: Path, tmp_path: Path) -> None:
    inner = bars / ".kept"
    inner.mkdir()
    (inner / "FAR.csv").write_text(CSV)
    (bars / "far").symlink_to(inner)
    (bars / "loop").symlink_to(bars)
    (bars / "NEAR.csv").write_text(CSV)

    opened = open_source(bars, tmp_path / "work")

    assert opened.source.names() == ["FAR", "NEAR"]
    assert opened.skipped.keys() == {"loop"}
    assert "already been read" in opened.skipped["loop"].reason


@posix
def test_a_link_that_leads_out_of_the_folder_is_named_and_nothing_behind_it_is_read(
    bars: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "bars-outside"
    outside.mkdir()
    (outside / "FAR.csv").write_text(CSV)
    (outside / "secret").write_text("root:x:0\ndaemon:x:1\n")
    (bars / "GOOD.csv").write_text(CSV)
    (bars / "NEAR.csv").symlink_to("GOOD.csv")
    (bars / "OUT.csv").symlink_to(outside / "secret")
    (bars / "far").symlink_to("../bars-outside")

    opened = open_source(bars, tmp_path / "work")

    assert opened.source.outlines().keys() == {"GOOD", "NEAR"}
    out = refusal_of(opened, "OUT")
    assert out == ("unreadable_file", f"OUT.csv {OUT}")
    assert {label: refusal.reason for label, refusal in opened.skipped.items()} == {
        "far": f"far {OUT}"
    }
    (outside / "secret").write_text("other")
    again = open_source(bars, tmp_path / "again")
    assert again.source.digest() == opened.source.digest()


@posix
def test_a_link_given_itself_is_read(bars: Path, tmp_path: Path) -> None:
    (bars / "GOOD.csv").write_text(CSV)
    (tmp_path / "link").symlink_to(bars)
    (tmp_path / "FILE.csv").symlink_to(bars / "GOOD.csv")
    for name, symbol in (("link", "GOOD"), ("FILE.csv", "FILE")):
        opened = open_source(tmp_path / name, tmp_path / "work" / name)
        assert opened.source.names() == [symbol]


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_what_this_user_may_not_read_is_named(bars: Path, tmp_path: Path) -> None:
    for name in ("GOOD", "LOCKED"):
        (bars / f"{name}.csv").write_text(CSV)
    (bars / "LOCKED.csv").chmod(0)
    (bars / "shut").mkdir(mode=0)
    opened = open_source(bars, tmp_path / "work")
    assert "change its permissions" in refusal_of(opened, "LOCKED")[1]
    assert "change its permissions" in opened.skipped["shut"].reason


def test_a_table_of_structs_is_one_line(tmp_path: Path) -> None:
    parquet(tmp_path / "long.parquet", symbol="A", close={"a": "b"})
    with pytest.raises(SourceError, match=r"long\.parquet.* column close"):
        open_source(tmp_path / "long.parquet", tmp_path / "work")


def test_if_every_file_fails_the_error_names_the_first_and_counts_the_rest(
    bars: Path, tmp_path: Path
) -> None:
    for name in "ABCDE":
        (bars / f"{name}.csv").write_text("date,open\n2024-01-02,1\n")

    with pytest.raises(SourceError) as caught:
        open_source(bars, tmp_path / "work")

    said = str(caught.value)
    assert [f"{name}.csv" in said for name in "ABCDE"] == [True] * 3 + [False] * 2
    assert "no column" in said
    assert "high" in said
    assert "And 2 more." in said
    assert "columns date, open, high, low, close, volume" in said
    assert f"`screener bars check {bars}`" in said
    opened = open_source(bars, tmp_path / "again", unusable=True)
    assert [refusal_of(opened, name)[0] for name in "ABCDE"] == ["unreadable_file"] * 5


@pytest.mark.parametrize("name", ["absent", "x" * 300, "nul\0"])
def test_a_path_that_cannot_be_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_source(tmp_path / name, tmp_path / "work")


def test_a_name_that_is_no_symbol_is_told_beside_the_shape_of_one(
    bars: Path, tmp_path: Path
) -> None:
    (bars / "$VIX.csv").write_text(CSV)
    with pytest.raises(SourceError, match=r"no symbol .letters, digits and dots"):
        open_source(bars, tmp_path / "work")
    with pytest.raises(SourceError, match="no symbol"):
        source_of(bars)


def one(opened: Opened, name: str) -> Loaded:
    assert opened.source.names() == [name]
    (loaded,) = opened.source.load([name])
    return loaded


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".txt", ".csv.gz", ".parquet", ".pq", ".zip"])
def test_one_file_of_one_symbol_is_read_by_its_name_alone_and_in_a_folder(
    bars: Path, tmp_path: Path, suffix: str
) -> None:
    path = bars / f"AAPL{suffix}"
    frame = pl.read_csv(CSV.encode(), try_parse_dates=True)
    if suffix in (".parquet", ".pq"):
        frame.write_parquet(path)
    elif suffix == ".zip":
        zipped(path, {"AAPL.csv": CSV}, zipfile.ZIP_STORED)
    else:
        frame.write_csv(path, compression="gzip" if suffix.endswith("gz") else "uncompressed")
    for number, given in enumerate((path, bars)):
        loaded = one(open_source(given, tmp_path / f"work {number}"), "AAPL")
        assert loaded.bars.close.tolist() == [11, 12]
        assert [to_date(day) for day in loaded.bars.date] == DAYS


@pytest.mark.parametrize("name", ["my download! (3).csv", "HistoricalData_1699.csv"])
def test_a_symbol_given_for_one_series_names_it_in_place_of_its_file(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text(CSV)
    with pytest.raises(SourceError, match="--symbol"):
        open_source(path, tmp_path / "none")
    opened = open_source(path, tmp_path / "work", symbol="AAPL")
    assert len(one(opened, "AAPL").bars) == 2
    other = open_source(path, tmp_path / "other", symbol="MSFT")
    assert other.source.digest() != opened.source.digest()


def test_a_column_with_one_symbol_counts_more_than_the_name_of_its_file(
    bars: Path, tmp_path: Path
) -> None:
    for name, symbol in {
        "HistoricalData_1.csv": "MSFT",
        "2024.csv": "AAPL",
        "ibm.csv": "IBM",
        "BRK-B.csv": "BRK.B",
        "T.csv": "not a symbol!",
    }.items():
        (bars / name).write_text(LONG.replace("MSFT", symbol))
    (bars / "HistoricalData_2.csv").write_text(CSV)

    opened = open_source(bars, tmp_path / "work")
    assert opened.source.names() == ["AAPL", "BRK-B", "MSFT", "T", "ibm"]
    assert [len(found.bars) for found in opened.source.load(opened.source.names())] == [2] * 5
    ((label, refusal),) = opened.skipped.items()
    assert (label, refusal.code) == ("HistoricalData_2.csv", "bad_symbol")
    assert refusal.reason.startswith("HistoricalData_2.csv gives no symbol; rename it")


def test_a_table_whose_column_says_that_it_is_not_daily_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "bars").mkdir()
    weekly = "<TICKER>,<PER>,<DATE>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\n" + "".join(
        f"{name}.US,W,20240105,1,1,1,1,1\n" for name in ("AAPL", "MSFT")
    )
    (tmp_path / "bars" / "weeks.txt").write_text(weekly)
    (tmp_path / "bars" / "T.csv").write_text(CSV)
    opened = open_source(tmp_path / "bars", tmp_path / "work")
    assert opened.source.names() == ["T"]
    assert opened.skipped["weeks.txt"].code == "other_interval"


@pytest.mark.parametrize("suffix", [".csv", ".zip"])
def test_a_symbol_for_bars_that_give_their_own_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"long{suffix}"
    if suffix == ".csv":
        path.write_text(LONG)
    else:
        zipped(path, {"long.csv": LONG})
    with pytest.raises(SourceError, match="has a column symbol, so --symbol"):
        open_source(path, tmp_path / "work", symbol="AAPL")


def test_a_symbol_for_several_files_is_an_error_and_for_one_in_a_folder_none(
    bars: Path, tmp_path: Path
) -> None:
    (bars / "x y.csv").write_text(CSV)
    one(open_source(bars, tmp_path / "one", symbol="AAPL"), "AAPL")
    (bars / "B.csv").write_text(CSV)
    with pytest.raises(SourceError, match=r"names one series, but .* holds 2 files"):
        open_source(bars, tmp_path / "work", symbol="AAPL")
    with pytest.raises(SourceError, match="cannot be a symbol"):
        open_source(bars / "B.csv", tmp_path / "odd", symbol="A?")


def test_a_second_file_of_a_symbol_is_named_and_the_first_that_can_be_read_counts(
    bars: Path, tmp_path: Path
) -> None:
    (bars / "a").mkdir()
    (bars / "a" / "AAPL.csv").write_text("torn")
    (bars / "b").mkdir()
    (bars / "b" / "AAPL.csv").write_text(CSV)
    (bars / "c").mkdir()
    (bars / "c" / "AAPL.csv").write_text(CSV.replace("11", "12"))

    opened = open_source(bars, tmp_path / "work")

    loaded = one(opened, "AAPL")
    assert loaded.bars.close.tolist() == [11, 12]
    assert loaded.findings == {"second_file": 2}
    codes = {label: refusal.code for label, refusal in opened.skipped.items()}
    assert codes == {"a/AAPL.csv": "unreadable_file", "c/AAPL.csv": "duplicate_symbol"}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_of_a_table_that_name_no_symbol_are_counted(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"long.{suffix}"
    frame = pl.read_csv(f"{LONG},2024-01-02,1,1,1,1,1\n".encode())
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    opened = open_source(path, tmp_path / "work")
    assert opened.source.names() == ["MSFT"]
    assert opened.skipped[path.name].reason.startswith("1 of its rows name no symbol")
