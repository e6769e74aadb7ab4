"""Families: files and folders of one symbol are one series, or refused by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screener.nightly.kinds import HEADER, LAST, kept, lines, look, sessions, write


@pytest.mark.parametrize(
    "files",
    [
        ["symbol=IBM/part-00000-1f2e.snappy.parquet.csv"],
        ["IBM/table.csv"],
        ["IBM/daily/data_0.csv"],
        ["year=2023/IBM.csv", "year=2024/IBM.csv"],
        ["IBM_2023.csv", "IBM_2024.csv"],
        ["IBM/2023.csv", "IBM/2024.csv"],
        ["IBM.csv", "IBM_update.csv"],
        ["IBM_1.csv", "IBM_2.csv"],
        ["IBM-2023-06-05-2023-12-29.csv", "IBM-2024-01-02-2024-06-14.csv"],
        ["IBM_2023H2.csv", "IBM_2024H1.csv"],
        ["IBM.csv/part-00000-1f2e.csv", "IBM.csv/part-00001-1f2e.csv"],
    ],
)
def test_folders_and_years_are_one_series(files: list[str], tmp_path: Path) -> None:
    rows = lines(sessions())
    cut = next(place for place, row in enumerate(rows) if row.startswith("2024"))
    for name, some in zip(files, (rows[:cut], rows[cut:]) if files[1:] else (rows,), strict=True):
        write(tmp_path / "bars" / name, some)
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


@pytest.mark.parametrize("ratio", [3 / 2, 5 / 4, 4 / 3, 2 / 3, 2, 1.17, 0.87])
@pytest.mark.parametrize("common", [0, 3])
def test_years_of_other_shares_are_refused_with_the_names_of_their_files(
    ratio: float, common: int, tmp_path: Path
) -> None:
    rows, other = lines(sessions()), lines(sessions(), scale=ratio)
    cut = next(place for place, row in enumerate(rows) if row.startswith("2024"))
    write(tmp_path / "bars" / "IBM_2023.csv", rows[:cut])
    write(tmp_path / "bars" / "IBM_2024.csv", other[cut - common :])
    checked = look(tmp_path / "bars")
    reason = checked.refused["parted_files"]["IBM"]
    assert "IBM_2023.csv" in reason
    assert "IBM_2024.csv" in reason
    assert kept(checked) == {}


def test_parts_that_take_turns_are_one_series(tmp_path: Path) -> None:
    rows = lines(sessions())
    rows[130:] = lines(sessions(), scale=1.4)[130:]
    write(tmp_path / "bars" / "symbol=IBM" / "part-0.csv", rows[::2])
    write(tmp_path / "bars" / "symbol=IBM" / "part-1.csv", rows[1::2])
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


def test_years_with_common_dates_that_agree_are_one_series(tmp_path: Path) -> None:
    rows = lines(sessions())
    write(tmp_path / "bars" / "IBM_2023.csv", rows[:150])
    write(tmp_path / "bars" / "IBM_2024.csv", rows[140:])
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


def test_a_leap_that_a_stock_is_used_to_is_no_seam(tmp_path: Path) -> None:
    rows = lines(sessions(), scale=3)
    for place in (40, 80, 120, 160):
        rows[place:] = lines(sessions(), scale=3 * 1.2 ** (place / 40))[place:]
    write(tmp_path / "bars" / "IBM_2023.csv", rows[:80])
    write(tmp_path / "bars" / "IBM_2024.csv", rows[80:])
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}


def test_a_newer_file_with_other_prices_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "bars" / "IBM.csv", lines(sessions())[:-9])
    write(tmp_path / "bars" / "IBM_new.csv", lines(sessions(), scale=0.5))
    checked = look(tmp_path / "bars")
    reason = checked.refused["parted_files"]["IBM"]
    assert "IBM_new.csv ends later than IBM.csv" in reason
    assert kept(checked) == {}


def test_a_folder_may_name_the_date_of_its_rows(tmp_path: Path) -> None:
    for row in lines(sessions()):
        day, _, numbers = row.partition(",")
        header = f"symbol,{HEADER.partition(',')[2]}"
        write(tmp_path / "bars" / f"date={day}" / "part-0.csv", [f"IBM,{numbers}"], header)
    assert kept(look(tmp_path / "bars")) == {"IBM": (260, LAST)}
