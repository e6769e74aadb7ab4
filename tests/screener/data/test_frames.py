"""A night in Python: its frames hold what was sealed, and what is damaged or missing is told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import cast

import pandas as pd
import polars as pl
import pytest

from screener.data.columns import TABLES, TableName, tables
from screener.data.frames import PANDAS
from screener.data.night import open_night
from store.errors import BookError, ManifestError
from tests.books import Content
from tests.conftest import NIGHT_SESSION
from tests.resealed import reseal


@pytest.mark.parametrize("table", TABLES)
def test_both_libraries_hold_the_same_cells_with_the_types_that_columns_name(
    night: Path, table: TableName
) -> None:
    with open_night(night) as opened:
        polars, pandas = opened.polars(table), opened.pandas(table)
        columns = opened.columns(table)

    assert polars.columns == list(pandas.columns) == [column.name for column in columns]
    for column in columns:
        expected = {
            "text": pl.String,
            "date": pl.Date,
            "number": pl.Float64,
            "integer": pl.Int64,
            "boolean": pl.Boolean,
        }
        assert polars.schema[column.name] == expected[column.type]
        assert str(pandas[column.name].dtype) == PANDAS[column.type]
        cells = [None if pd.isna(cell) else cell for cell in pandas[column.name]]
        if column.type == "date":
            cells = [cell and cast("pd.Timestamp", cell).date() for cell in cells]
        assert cells == polars[column.name].to_list()


def test_a_night_says_which_it_is_and_one_that_was_sealed_before_opens_by_name(night: Path) -> None:
    with open_night(str(night)) as active, open_night(night, active.data_version) as named:
        assert active.session == NIGHT_SESSION == dt.date(2012, 10, 3)
        assert named.data_version == active.data_version
        assert "not investment advice" in named.disclaimer


def test_a_night_without_any_row_keeps_the_columns_and_their_types(data_dir: Path) -> None:
    def empty(content: Content) -> None:
        for kept in (content.scan, content.evidence, content.histories):
            kept.clear()

    reseal(data_dir, empty)

    with open_night(data_dir) as opened:
        for table in ("setups", "trades", "features"):
            assert opened.polars(table).shape == (0, len(tables()[table]))
            assert opened.pandas(table).shape == (0, len(tables()[table]))


def test_a_chart_is_a_picture_of_the_first_setup_or_of_past_trades(night: Path) -> None:
    with open_night(night) as opened:
        best = opened.polars("setups").row(0, named=True)
        first, named = opened.chart(best["symbol"]), opened.chart(best["symbol"], best["setup_id"])
        quiet = opened.chart("fb")

        assert first == named
        assert first.startswith(b"\x89PNG")
        assert quiet.startswith(b"\x89PNG")
        assert quiet != first
        with pytest.raises(BookError, match="AAPL has no setup"):
            opened.chart("AAPL", "x")
        with pytest.raises(BookError, match="stores no prices of ZZZZ"):
            opened.chart("ZZZZ")


def test_a_night_that_is_not_there_or_not_what_was_sealed_does_not_open(
    data_dir: Path, tmp_path: Path
) -> None:
    with pytest.raises(ManifestError, match="does not exist"):
        open_night(tmp_path / "none")
    for version in ("20121003-000000000000", "../manifest", ""):
        with pytest.raises(ManifestError, match="There is no night"):
            open_night(data_dir, version)
    with open_night(data_dir) as opened, pytest.raises(ValueError, match="no table 'prices'"):
        opened.polars("prices")  # type: ignore[arg-type]

    (book,) = (data_dir / "nights").glob("*.book")
    book.write_bytes(book.read_bytes() + b"x")
    with pytest.raises(ManifestError, match="not the one that was sealed"):
        open_night(data_dir)
