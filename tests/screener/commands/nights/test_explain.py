"""`screener detect --explain`: the words for what is served and what is not, errors and charts."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path

import pytest
from PIL import Image

from mcp_server.drawing import USUAL
from nightly.bars import Bars, to_date
from tests.nightly.series import weekdays
from tests.nightly.shapes import wedge_or_triangle
from tests.screener.command import Finished, check_refusal, run

TRIANGLE = wedge_or_triangle(-0.3, 0.3, approach=1, broken=-1)
BREAK = TRIANGLE.break_bar(-1)


DAYS = [str(to_date(day)) for day in weekdays(400, dt.date(2022, 9, 23))]
"""400 days on which New York opened."""


def write(folder: Path, name: str, bars: Bars) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Date", "Open", "High", "Low", "Close", "Volume"])
        prices = (bars.open, bars.high, bars.low, bars.close)
        for bar in range(len(bars)):
            writer.writerow([DAYS[bar], *(repr(float(p[bar])) for p in prices), 1000])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A triangle on two symbols, one of which has too few bars."""
    made = tmp_path_factory.mktemp("bars")
    write(made, "TRI", TRIANGLE.bars)
    write(made, "BRK-B", TRIANGLE.bars)
    write(made, "FEW", TRIANGLE.bars.take(slice(0, 30)))
    return made


def told(data: Path, bars: Path, *arguments: str) -> Finished:
    return run(data, "detect", "--bars", str(bars), *arguments)


def explained(data: Path, bars: Path, session: str, *arguments: str) -> str:
    done = told(data, bars, "--explain", "TRI", "--session", session, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_served_pattern_is_told_with_its_score_by_part(tmp_path: Path, folder: Path) -> None:
    text = explained(tmp_path, folder, DAYS[BREAK - 1])

    assert text.startswith(f"TRI on {DAYS[BREAK - 1]}: 1 pattern is served, ")
    assert "Served: symmetrical triangle, bullish, forming" in text
    for name in ("best score of the type", "white", "run_in", "a score of"):
        assert name in text
    assert "lines must not cut through prices" in text
    assert "passes every rule and is served" in text


def test_pairs_that_are_fitted_to_the_same_lines_are_told_once(tmp_path: Path) -> None:
    done = told(tmp_path, Path("sample"), "--explain", "MSFT", "--session", "2012-08-24")

    table = done.stdout[done.stdout.index("came furthest") :].splitlines()[2:]
    rows = [line.split(maxsplit=2) for line in table]
    assert [int(row[0]) for row in rows] == list(range(1, 11))
    assert len({row[2] for row in rows}) == 10
    assert max(int(row[1]) for row in rows) > 1


def test_the_newest_session_is_explained_if_none_is_named(tmp_path: Path, folder: Path) -> None:
    done = told(tmp_path, folder, "--explain", "tri")

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
        done = told(tmp_path, folder, "--explain", name)
        assert done.stdout.startswith("BRK.B on "), done.stderr


@pytest.mark.parametrize(
    ("bar", "shown"),
    [
        (BREAK - 1, "what is served"),
        (BREAK + 1, "what is served"),
        (89, "number 1, which is not served"),
    ],
)
def test_a_chart_shows_what_is_served_or_what_came_furthest(
    tmp_path: Path, folder: Path, bar: int, shown: str
) -> None:
    chart = tmp_path / "chart.png"
    done = told(tmp_path, folder, "--explain", "TRI", "--session", DAYS[bar], "--chart", str(chart))

    with Image.open(chart) as drawn:
        assert drawn.size == (USUAL.width, USUAL.height)
    assert shown in done.stderr


def test_without_a_pair_of_lines_there_is_no_chart_and_it_says_so(
    tmp_path: Path, folder: Path
) -> None:
    chart = tmp_path / "chart.png"
    done = told(tmp_path, folder, "--explain", "TRI", "--session", DAYS[62], "--chart", str(chart))

    assert done.returncode == 0
    assert "no pairs of lines were judged" in done.stdout
    assert "there is nothing to judge" in done.stdout
    assert "No chart" in done.stderr
    assert not chart.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "either --out FILE or --explain SYMBOL"),
        (("--out", "x.json", "--explain", "TRI"), "either --out FILE or --explain SYMBOL"),
        (("--out", "x.json", "--session", "2021-03-01"), "go with --explain"),
        (("--out", "x.json", "--chart", "x.png"), "go with --explain"),
        (("--explain", "NVDA"), "has no bars of NVDA; name one of its symbols"),
        (("--explain", "FEW", "--session", DAYS[20]), "21 bars are left; 60 are needed"),
        (("--explain", "TRI", "--session", "2021-02-19"), "choose such a --session"),
        (("--explain", "TRI", "--session", "2024-02-19"), "choose such a --session"),
        (("--explain", "TRI", "--session", "1900-01-01"), "choose such a --session"),
        (("--explain", "TRI", "--session", "soon"), "is not a date"),
        (
            ("--explain", "TRI", "--session", DAYS[89], "--chart", "/no/such/folder/x.png"),
            "choose another --chart",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused_in_one_line(
    tmp_path: Path, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    check_refusal(told(tmp_path, folder, *arguments), said)
