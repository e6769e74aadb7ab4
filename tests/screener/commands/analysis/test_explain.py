"""`screener detect SYMBOL`: what is served and what is not, by rule, value and bound."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from screener.commands.analysis.explain import rule_cells
from screener.nightly.bars import to_date
from screener.nightly.detector.events import Rule
from screener.nightly.detector.kernel.naming import Finding
from screener.nightly.reading.opening import open_symbol
from tests.screener.command import Finished, check_refusal, run, succeed
from tests.screener.nightly.series import weekdays, write_csv
from tests.screener.nightly.shapes import wedge_or_triangle

TRIANGLE = wedge_or_triangle(-0.3, 0.3, approach=1, broken=-1)
BREAK = TRIANGLE.break_bar(-1)


OPENED = weekdays(400, dt.date(2022, 9, 23))
DAYS = [str(to_date(day)) for day in OPENED]
"""400 days on which New York opened."""


BARS = replace(TRIANGLE.bars, date=OPENED[: len(TRIANGLE.bars)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A triangle on two symbols, one of which has too few bars."""
    made = tmp_path_factory.mktemp("bars")
    write_csv(made / "TRI.csv", BARS)
    write_csv(made / "BRK-B.csv", BARS)
    write_csv(made / "FEW.csv", BARS.take(slice(0, 30)))
    return made


def told(data: Path, bars: Path, *arguments: str, **settings: str) -> Finished:
    return run(data, "detect", "--bars", str(bars), *arguments, **settings)


def explained(data: Path, bars: Path, session: str, *arguments: str, **settings: str) -> str:
    done = told(data, bars, "TRI", "--session", session, *arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_served_pattern_has_its_score_and_its_lines(tmp_path: Path, folder: Path) -> None:
    text = explained(tmp_path, folder, DAYS[BREAK - 1])

    assert text.startswith(f"TRI on {DAYS[BREAK - 1]}: 1 pattern served, ")
    assert "Served: symmetrical triangle, bullish, forming" in text
    assert re.search(r"when it was drawn on \d{4}-\d\d-\d\d its score was \d\d\.\d%", text)
    assert re.search(r"Upper line [-\d]+ to \$[\d.]+; lower line [-\d]+ to \$[\d.]+\.", text)
    assert "passes every rule, but a better drawing of the same formation is served" in text


def test_pairs_that_are_fitted_to_the_same_lines_are_told_once(tmp_path: Path) -> None:
    done = told(tmp_path, Path("sample"), "MSFT", "--session", "2012-08-24")

    table = done.stdout[done.stdout.index("came furthest") :].splitlines()[2:]
    rows = [line.split(maxsplit=1) for line in table]
    assert len({row[1] for row in rows}) == len(rows) == 10
    assert max(int(row[0]) for row in rows) > 1


def test_the_newest_session_is_explained_if_none_is_named(tmp_path: Path, folder: Path) -> None:
    done = told(tmp_path, folder, "tri")

    assert done.stdout.startswith(f"TRI on {DAYS[len(TRIANGLE.bars) - 1]}: ")


def test_a_day_without_a_bar_is_explained_as_of_the_bar_before(
    tmp_path: Path, folder: Path
) -> None:
    friday = next(d for d in map(dt.date.fromisoformat, DAYS[80:]) if d.weekday() == 4)
    saturday = friday + dt.timedelta(days=1)
    text = explained(tmp_path, folder, str(saturday))

    assert text.startswith(f"TRI on {friday}: ")
    assert f"There is no bar for {saturday}" in text


def test_a_symbol_may_be_written_as_its_source_writes_it(tmp_path: Path, folder: Path) -> None:
    for name in ("BRK-B", "BRK.B"):
        done = told(tmp_path, folder, name)
        assert done.stdout.startswith("BRK.B on "), done.stderr


def test_of_a_folder_and_of_a_table_only_the_symbol_is_read(tmp_path: Path, folder: Path) -> None:
    rows = [
        pl.read_csv(folder / f"{name}.csv").select(pl.lit(name).alias("symbol"), pl.all())
        for name in ("TRI", "FEW")
    ]
    pl.concat(rows).write_parquet(tmp_path / "table.parquet")

    for bars in (folder, tmp_path / "table.parquet"):
        source = open_symbol(bars, tmp_path / "work" / bars.name, "tri")
        assert source is not None
        assert source.names() == ["TRI"]
        (loaded,) = source.load(["TRI"])
        assert len(loaded.bars) == len(TRIANGLE.bars)


def test_a_symbol_in_a_table_in_a_folder_is_explained(tmp_path: Path, folder: Path) -> None:
    bars = tmp_path / "bars"
    bars.mkdir()
    rows = pl.read_csv(folder / "TRI.csv").with_columns(pl.lit("TRI").alias("symbol"))
    rows.write_csv(bars / "everything.csv")

    assert explained(tmp_path / "data", bars, DAYS[89]) == explained(tmp_path, folder, DAYS[89])


def test_without_a_pair_of_lines_it_says_so(tmp_path: Path, folder: Path) -> None:
    text = explained(tmp_path, folder, DAYS[62])

    assert "0 pairs of lines judged" in text
    assert "there is nothing to judge" in text


def test_a_pair_that_is_not_served_is_told_with_its_rule_its_value_and_its_bound(
    tmp_path: Path, folder: Path
) -> None:
    lines = explained(tmp_path, folder, DAYS[86], SCREENER_MIN_QUALITY="90").splitlines()

    assert (
        "The best drawing, a symmetrical triangle, has quality 74.5%, and a setup needs 90%"
        in " ".join(lines)
    )
    head = next(line for line in lines if line.startswith("pairs"))
    first = lines[lines.index(head) + 1]
    cells = [first[head.index(name) :].split("  ")[0] for name in ("what it fails", "is", "needs")]
    assert cells == ["score, in percent", "74.5", "at least 90"]


@pytest.mark.parametrize(
    ("finding", "cells"),
    [
        (Finding(Rule.LENGTH, 12.0, 15.0), ("length, in bars", "12", "at least 15")),
        (Finding(Rule.LENGTH, 131.0, 130.0), ("length, in bars", "131", "at most 130")),
        (Finding(Rule.SCORE, 79.9998, 80.0), ("score, in percent", "79.9998", "at least 80")),
        (Finding(Rule.CONVERGENCE, 4.0, 0.2), ("the lines part", "4", "-")),
    ],
)
def test_a_value_is_never_rounded_onto_its_bound(
    finding: Finding, cells: tuple[str, str, str]
) -> None:
    assert rule_cells(finding) == cells


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "either --out FILE or a SYMBOL"),
        (("--out", "x.json", "TRI"), "either --out FILE or a SYMBOL"),
        (("NVDA",), "has no bars of NVDA; name one of its symbols"),
        (("FEW", "--session", DAYS[20]), "21 bars are left; 60 are needed"),
        (("TRI", "--session", "2021-02-19"), "choose such a --session"),
        (("TRI", "--session", "2024-02-19"), "choose such a --session"),
        (("TRI", "--session", "1900-01-01"), "choose such a --session"),
        (("TRI", "--session", "1899-12-31"), "is before 1900"),
        (("TRI", "--session", "soon"), "is not a date"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_one_line(
    tmp_path: Path, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    check_refusal(told(tmp_path, folder, *arguments), said)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A data folder with a night of a session before the last of its bars, and the bars."""
    bars, data = tmp_path / "bars", tmp_path / "data"
    write_csv(bars / "TRI.csv", BARS)
    write_csv(bars / "RAW.csv", BARS)
    succeed(data, "nightly", "--bars", str(bars), "--session", DAYS[89])
    return data, bars


def test_the_active_night_is_explained_without_naming_its_bars(made: tuple[Path, Path]) -> None:
    data, bars = made
    done = run(data, "detect", "TRI")

    assert done.stdout == explained(data, bars, DAYS[89])
    assert "changed" not in done.stderr
    assert told(data, bars, "TRI").stdout == done.stdout
    assert str(bars) not in (data / "manifest.json").read_text()
    assert (data / "origin.json").stat().st_mode & 0o777 == 0o600


def test_bars_that_changed_since_the_night_or_are_gone_are_told(made: tuple[Path, Path]) -> None:
    data, bars = made
    write_csv(bars / "RAW.csv", BARS.take(slice(0, 100)))
    changed = run(data, "detect", "TRI")
    shutil.rmtree(bars)

    made_from = f"The night of {DAYS[89]} was made from {bars}, which"
    assert changed.stdout.startswith(f"TRI on {DAYS[89]}: ")
    assert f"{made_from} has changed since" in " ".join(changed.stderr.split())
    check_refusal(run(data, "detect", "TRI"), f"{made_from} is gone; name other bars with --bars.")


@pytest.mark.parametrize("damage", ["{", "{}", None])
def test_a_night_of_unknown_bars_asks_for_them(made: tuple[Path, Path], damage: str | None) -> None:
    data, bars = made
    noted = data / "origin.json"
    if damage is None:
        noted.write_text(noted.read_text().replace(DAYS[89].replace("-", ""), "20200102"))
    else:
        noted.write_text(damage)

    check_refusal(
        run(data, "detect", "MSFT"),
        f"The bars of the night of {DAYS[89]} are not on record; name them with --bars.",
    )
    assert told(data, bars, "TRI").returncode == 0
