"""Sources: how bars are found, read and identified."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.errors import SourceError
from screener.nightly.reading.source import BarSource, Loaded, Outline
from screener.nightly.reading.table import TableSource
from tests.screener.nightly.nights import source_of

DAYS = [dt.date(2024, 1, 2), dt.date(2024, 1, 3), dt.date(2024, 1, 4)]
HEADER = "date,open,high,low,close,volume"
LINES = [
    "2024-01-02,10,12,9,11,100",
    "2024-01-03,11,13,10,12,200",
    "2024-01-04,12,14,11,13,300",
]
CSV = "\n".join([HEADER, *LINES]) + "\n"


def table(symbols: list[str], days: list[dt.date] = DAYS) -> pl.DataFrame:
    """A long table, sorted by symbol; the close identifies symbol and day."""
    rows = [
        (symbol, day, 10.0, 20.0, 5.0, 11.0 + number + place / 100, 100.0)
        for number, symbol in enumerate(symbols)
        for place, day in enumerate(days)
    ]
    names = ["symbol", "date", "open", "high", "low", "close", "volume"]
    return pl.DataFrame(rows, schema=names, orient="row")


def one(source: BarSource, name: str = "ACME") -> Loaded:
    (loaded,) = source.load([name])
    return loaded


def folder(tmp_path: Path, text: str, name: str = "ACME.csv") -> BarSource:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return source_of(tmp_path)


def dates(bars: Bars) -> list[dt.date]:
    return [to_date(day) for day in bars.date]


def test_a_csv_file_becomes_bars_of_the_declared_types(tmp_path: Path) -> None:
    bars = one(folder(tmp_path, CSV)).bars
    assert dates(bars) == DAYS
    assert bars.date.dtype == np.int32
    assert {column.dtype.str for column in list(bars.columns())[1:]} == {"<f8"}
    assert [column[1] for column in list(bars.columns())[1:]] == [11, 13, 10, 12, 200]


def test_a_datetime_has_the_date_of_its_own_zone(tmp_path: Path) -> None:
    late = dt.datetime(2024, 1, 3, 2, tzinfo=dt.UTC)  # the evening before in New York
    frame = table(["ACME"], [dt.date(2024, 1, 3)]).with_columns(
        pl.lit(late).dt.convert_time_zone("America/New_York").alias("date")
    )
    frame.write_parquet(tmp_path / "bars.parquet")
    bars = one(TableSource(tmp_path / "bars.parquet")).bars
    assert dates(bars) == [dt.date(2024, 1, 2)]


@example([17 * row % 61 for row in range(182)])
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=120).filter(
        lambda days: len(days) < 3 * len(set(days))  # as many are bars within the day
    )
)
def test_however_rows_lie_the_last_of_each_date_is_kept(
    tmp_path_factory: pytest.TempPathFactory, days: list[int]
) -> None:
    first = dt.date(2024, 1, 1)
    frame = table(["ACME"], [first + dt.timedelta(day) for day in days])
    frame = frame.with_columns(close=pl.lit(11.0), volume=frame["close"])
    path = tmp_path_factory.mktemp("rows") / "bars.parquet"
    frame.write_parquet(path)
    loaded = one(TableSource(path))
    newest = dict(zip(days, frame["volume"].to_list(), strict=True))
    assert loaded.bars.volume.tolist() == [newest[day] for day in sorted(newest)]
    assert loaded.findings.get("repeated_date", 0) == len(days) - len(newest)


def test_a_time_beyond_the_calendar_is_no_date(tmp_path: Path) -> None:
    rows = ["1704153600000000000", "900000000000000000000", "-90000000000000000000"]
    text = "\n".join([HEADER, *(f"{time},10,12,9,11,100" for time in rows)])
    loaded = one(folder(tmp_path, text))
    assert loaded.refusal is not None
    assert loaded.refusal.code == "undated_rows"
    assert "2 rows have no date" in loaded.refusal.reason


def test_files_that_are_no_bars_are_no_symbols(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".hidden.csv").write_text(CSV)
    (tmp_path / "deeper").mkdir()
    assert folder(tmp_path, CSV).names() == ["ACME"]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_long_table_gives_each_name_its_own_bars(
    tmp_path: Path, suffix: str, shuffled: bool
) -> None:
    frame = table(["A", "B", "C", "D"])
    frame = frame.sample(fraction=1, shuffle=True, seed=3) if shuffled else frame
    path = tmp_path / f"bars.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path, row_group_size=4)
    source = source_of(path)
    assert source.names() == ["A", "B", "C", "D"]
    assert source.outlines() == dict.fromkeys("ABCD", Outline(to_day(DAYS[-1])))
    loaded = list(source.load(["C", "A"]))
    assert [item.name for item in loaded] == ["C", "A"]
    assert [item.bars.close.tolist() for item in loaded] == [
        [13.0, 13.01, 13.02],
        [11.0, 11.01, 11.02],
    ]


def test_a_table_of_categories_reads_like_one_of_strings(tmp_path: Path) -> None:
    frame = table(["A", "B"]).with_columns(pl.col("symbol").cast(pl.Categorical))
    frame.write_parquet(tmp_path / "bars.parquet")
    source = source_of(tmp_path / "bars.parquet")
    assert source.names() == ["A", "B"]
    assert len(one(source, "B").bars) == 3


def test_a_name_that_the_source_lacks_is_a_refusal(tmp_path: Path) -> None:
    table(["A"]).write_parquet(tmp_path / "bars.parquet")
    for source in (TableSource(tmp_path / "bars.parquet"), source_of(tmp_path)):
        refusal = one(pickle.loads(pickle.dumps(source)), "NONE").refusal  # noqa: S301 - our own
        assert refusal is not None
        assert refusal.code == "no_bars"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bars.parquet", b"no parquet", r"can be read\. bars\.parquet"),
        ("bars.csv", b"", "bars.csv is empty"),
        ("bars.txt", b"x", r"can be read\. bars\.txt"),
        ("bars.csv", b"symbol,date,open,high,low,volume\n", "no row"),
        ("bars.csv", b"symbol,date,open,high,low\nA,2024-01-02,1,1,1\n", "no column for close"),
        ("bars.csv", f"symbol,{HEADER}\n".encode(), "no symbol"),
        ("bars.csv", f"symbol,{HEADER}\n$VIX,{LINES[0]}\n".encode(), "no symbol"),
    ],
)
def test_a_table_that_cannot_be_used_is_an_error_of_one_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message) as caught:
        source_of(path)
    assert "\n" not in str(caught.value)


def test_the_digest_changes_with_the_content_and_the_names_and_nothing_else(
    tmp_path: Path,
) -> None:
    first = folder(tmp_path, CSV).digest()
    (tmp_path / "README.md").write_text("about")
    assert source_of(tmp_path).digest() == first
    changed = folder(tmp_path, CSV + LINES[0]).digest()
    assert changed != first
    (tmp_path / "ACME.csv").rename(tmp_path / "OTHER.csv")
    assert source_of(tmp_path).digest() not in (first, changed)


def test_the_digest_of_a_table_is_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert TableSource(path).digest() == known
