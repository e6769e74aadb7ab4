"""A night as files of tables: what was sealed, in three forms, whole or not at all."""

from __future__ import annotations

import csv
import shlex
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from screener.data.columns import TABLES, TableName, tables
from screener.data.files import FORMS, SQLITE_FILE, write_night
from screener.data.night import open_book
from screener.data.rows import cells_of, names_of, table_rows
from store.nights.book import Book
from store.wire.records import PastTrade, SideRecord, TrackRecord
from tests.books import Content
from tests.resealed import name_all, reseal
from tests.screener.command import COMMAND, check_refusal, environment, run
from tests.service import Service

READ: Mapping[str, Callable[[str], object]] = {
    "text": str,
    "date": str,
    "number": float,
    "integer": int,
    "boolean": {"true": True, "false": False}.__getitem__,
}
"""How a program reads a cell of CSV."""


SAME = (
    *("rank", "symbol", "setup_id", "lineage_id", "entry_price", "gain_pct", "gain_r"),
    *("expected_gain_pct", "win_rate_pct"),
)
"""Columns of setups that say what a row of the scan says under their name."""


@pytest.fixture(scope="module")
def book(night: Path) -> Any:
    with closing(open_book(night)) as opened:
        yield opened


def read(folder: Path, form: str, table: TableName) -> list[tuple[Any, ...]]:
    """The rows of a table as a program reads them, dates as text."""
    if form == "parquet":
        frame = pl.read_parquet(folder / f"{table}.parquet")
        return frame.with_columns(pl.selectors.date().dt.to_string("iso")).rows()
    if form == "csv":
        with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == names_of(table)
        return [
            tuple(
                READ[column.type](cell) if cell else None
                for column, cell in zip(tables()[table], row, strict=True)
            )
            for row in rows
        ]
    with closing(sqlite3.connect(folder / SQLITE_FILE)) as connection:
        return list(connection.execute(f"SELECT * FROM {table}"))  # noqa: S608


def fields(book: Book, table: TableName) -> list[dict[str, Any]]:
    return [dict(zip(names_of(table), row, strict=True)) for row in table_rows(book, table)]


@pytest.mark.parametrize("form", FORMS)
def test_a_program_reads_every_cell_of_an_export_as_it_was_sealed(
    night: Path, book: Book, tmp_path: Path, form: str
) -> None:
    printed = run(night, "export", str(tmp_path / "out"), "--format", form)

    assert (printed.returncode, printed.stderr) == (0, "")
    for table in TABLES:
        expected = list(map(tuple, table_rows(book, table)))
        assert read(tmp_path / "out", form, table) == expected
        assert expected


def test_setups_are_those_of_the_scan_and_keep_what_it_says(service: Service, book: Book) -> None:
    served = service.get("/scan", params={"status": "all", "limit": 200}).json()["setups"]
    rows = fields(book, "setups")

    assert len(rows) == len(served) == 6
    for row, setup in zip(rows, sorted(served, key=itemgetter("rank")), strict=True):
        plan = setup["plans"][0]
        for name in ("trigger_price", "stop_price", "target_price"):
            assert row[name] == plan[name]
        for name in SAME:
            assert row[name] == setup[name]
        assert (row["opposite_direction"] is None) == (len(setup["plans"]) == 1)
        assert row["lower_end_date"] == setup["lines"]["lower"]["end"]["date"]


def test_trades_are_the_history_of_every_symbol(service: Service, book: Book) -> None:
    rows = fields(book, "trades")
    left_out = {"family_label", "attempt"}

    for symbol in ("AAPL", "GOOG", "IBM", "MSFT"):
        history = service.get(f"/tickers/{symbol}/history").json()["occurrences"]
        mine = [row for row in rows if row["symbol"] == symbol]
        assert [row["attempts"] for row in mine] == [past["attempt"]["count"] for past in history]
        stored = book.history(symbol)
        assert stored is not None
        for row, past, sealed in zip(mine, history, stored.rows, strict=True):
            for name in past.keys() - left_out:
                assert row[name] == past[name], name
            upper = orjson.loads(sealed)["lines"]["upper"]
            ends = [row[f"upper_{end}_{name}"] for end in upper for name in ("date", "price")]
            assert ends == [value for point in upper.values() for value in point.values()]
    assert {row["symbol"] for row in rows} == {"AAPL", "GOOG", "IBM", "MSFT"}


def test_a_record_is_the_sealed_one_with_its_directions_below_it(
    service: Service, book: Book
) -> None:
    families = service.get("/families").json()["families"]
    rows = fields(book, "records")

    for family in (entry["track_record"] for entry in families if entry["track_record"]):
        whole, *sides = [
            row for row in rows if (row["scope"], row["family"]) == ("family", family["family"])
        ]
        assert [whole["first_date"], whole["last_date"]] == family["backtest_range"]
        assert [whole["win_rate_low_pct"], whole["win_rate_high_pct"]] == family["win_rate_ci95"]
        assert whole["avg_r_after_25bp"] == family["avg_r_after_costs"]["bp_25"]
        for name in ("sample_size", "avg_loss_pct", "placebo_avg_r", "lift_r", "verdict"):
            assert whole[name] == family[name]
        assert whole["summary"] == family["summary"]
        for side in sides:
            own = family["by_direction"][side["direction"]]
            for name in own.keys() - {"win_rate_ci95"}:
                assert side[name] == own[name], name
    own = service.get("/tickers/MSFT/record").json()["records"]
    assert [record["summary"] for record in own] == [
        row["summary"] for row in rows if row["symbol"] == "MSFT" and row["direction"] is None
    ]


def test_no_field_of_a_past_trade_or_a_record_is_left_out_unnoticed() -> None:
    trades, records = set(names_of("trades")), set(names_of("records"))
    split = {"win_rate_ci95", "avg_r_after_costs", "backtest_range", "by_direction"}

    assert PastTrade.model_fields.keys() - trades == {"family_label", "lines"}
    assert TrackRecord.model_fields.keys() - records == split
    assert SideRecord.model_fields.keys() - records == {"win_rate_ci95"}


def test_every_feature_is_a_column_of_the_nights_evidence(book: Book) -> None:
    sealed = {*book.features.numbers, *book.features.labels}

    assert {column.name for column in tables()["features"]} - sealed == {"setup_id"}
    for row, view in zip(fields(book, "features"), book.scan.rows, strict=True):
        assert row["setup_id"] == view.setup_id
        assert row["price"] == pytest.approx(view.last_close, rel=1e-6)
        assert isinstance(row["price_above_sma_20"], bool)


def test_what_nights_served_in_advance_is_a_record_of_its_own(data_dir: Path) -> None:
    served = {
        **dict.fromkeys(("sample_size", "wins", "losses", "open"), 40),
        **dict.fromkeys(("win_rate_pct", "avg_win_pct", "avg_loss_pct", "avg_r"), 1.5),
        "win_rate_ci95": [1.0, 2.0],
        "first_session": "2012-01-03",
        "last_session": "2012-10-03",
        "summary": "As served.",
    }

    def keep(content: Content) -> None:
        content.families["triangle"]["as_served"] = served

    reseal(data_dir, keep)

    with closing(open_book(data_dir)) as changed:
        (row,) = (row for row in fields(changed, "records") if row["scope"] == "as_served")
    assert (row["family"], row["symbol"], row["open"]) == ("triangle", None, 40)
    assert (row["first_date"], row["last_date"]) == ("2012-01-03", "2012-10-03")
    assert row["placebo_avg_r"] is None


def test_a_name_of_a_file_is_no_formula_in_a_sheet(data_dir: Path, tmp_path: Path) -> None:
    reseal(data_dir, lambda content: name_all(content, "=cmd|' /C calc'!A0"))
    run(data_dir, "export", str(tmp_path / "out"), "--format", "csv")

    cells = [
        row[names_of("setups").index("name")] for row in read(tmp_path / "out", "csv", "setups")
    ]
    assert set(cells) == {"'=cmd|' /C calc'!A0"}


def test_an_export_replaces_another_only_if_told_to_and_nothing_else(
    night: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    run(night, "export", str(target), "--format", "csv")

    check_refusal(run(night, "export", str(target)), "replace it with --force")
    assert not list(target.glob("*.parquet"))
    assert run(night, "export", str(target), "--format", "sqlite", "--force").returncode == 0
    assert [path.name for path in target.iterdir()] == [SQLITE_FILE]

    (target / "notes.txt").write_text("mine")
    check_refusal(run(night, "export", str(target), "--force"), "notes.txt is not of an export")
    check_refusal(run(night, "export", str(target / "notes.txt"), "--force"), "is not a folder")
    (tmp_path / "link").symlink_to(target)
    check_refusal(run(night, "export", str(tmp_path / "link"), "--force"), "is not a folder")
    check_refusal(run(night, "export", str(tmp_path / "no" / "out")), "cannot be written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]
    assert (target / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_fails_leaves_what_was_there(night: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    run(night, "export", str(target), "--format", "csv")
    before = {path: path.read_bytes() for path in target.iterdir()}
    closed = open_book(night)
    closed.close()

    with pytest.raises(sqlite3.ProgrammingError):
        write_night(closed, form, target, replace=True)
    assert {path: path.read_bytes() for path in target.iterdir()} == before
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("form", FORMS)
def test_an_export_for_which_there_is_no_room_is_one_line_and_leaves_nothing(
    night: Path, tmp_path: Path, form: str
) -> None:
    command = shlex.join([*COMMAND, "export", str(tmp_path / "out"), "--format", form])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; exec {command}"],
        # A file of bytecode would be cut short, too, and stay.
        env=environment(night, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode in (2, 8)
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written" in done.stderr or "The disk is full" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_export_of_a_named_night_and_what_cannot_be_exported(
    night: Path, book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(night, "export", "--night", str(book.data_version)).returncode == 0
    assert read(Path("night-2012-10-03"), "parquet", "night")[0][0] == book.data_version
    check_refusal(run(night, "export", "x", "--night", "../manifest"), "There is no night")
    check_refusal(run(night, "export", "x", "--format", "xls"), "one of 'parquet', 'csv', 'sqlite'")
    check_refusal(run(tmp_path / "none", "export", "x"), "make one with", 1)
    assert not Path("x").exists()


def test_columns_are_listed_with_their_units(night: Path) -> None:
    printed = run(night, "export", "--columns", COLUMNS="300").stdout.splitlines()

    for columns in tables().values():
        for column in columns:
            assert any(line.startswith(f"  {column.name} ({column.type}") for line in printed)
    assert "  stop_price (number, currency): Price at which the trade is lost." in printed


def test_cells_follow_the_columns_and_what_is_missing_is_null() -> None:
    row = next(iter(cells_of("columns", [{"meaning": "x", "table": "y"}])))

    assert row == ["y", None, None, None, "x"]
