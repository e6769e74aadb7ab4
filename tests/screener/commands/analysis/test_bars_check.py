"""`screener bars check`: what it says of bars is what a night of them then says."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from screener.commands.analysis.quality import MAX_LISTED
from screener.commands.nights.night import MAX_FINDINGS
from store.nights.nights import Nights
from tests.screener.command import Finished, check_refusal, run, succeed
from tests.screener.nightly.series import walk, write_csv

BARS = 600
SHORT = [f"T{number:02}" for number in range(MAX_LISTED + 3)]


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bars that a night serves, finds something in, or leaves out for many reasons."""
    folder = tmp_path_factory.mktemp("check") / "market"
    for number in range(20):
        write_csv(folder / f"S{number:02}.csv", walk(BARS, seed=number))
    for symbol in SHORT:
        write_csv(folder / f"{symbol}.csv", walk(20, seed=1))
    write_csv(folder / "~VIX.csv", walk(BARS, seed=2))
    (folder / "GONE.csv").symlink_to("absent")
    (folder / "ODD.csv").write_text("date,open\n2024-01-02,1\n")
    (folder / "again").mkdir()
    (folder / "again" / "S00.csv").write_text((folder / "S00.csv").read_text())
    head, *late = (folder / "S01.csv").read_text().splitlines()[:-2]
    (folder / "S01.csv").write_text("\n".join([head, "soon,1,1,1,1,1", *late, late[-1]]) + "\n")
    return folder


def check(data: Path, bars: Path, *options: str) -> Finished:
    return run(data, "bars", "check", str(bars), "--jobs", "1", *options)


def test_the_check_and_the_night_after_it_say_the_same(bars: Path, tmp_path: Path) -> None:
    checked = check(tmp_path / "checked", bars, "--json")
    made = run(tmp_path / "data", "nightly", "--bars", str(bars), "--jobs", "1")

    assert (checked.returncode, made.returncode) == (0, 0), checked.stderr + made.stderr
    said: dict[str, Any] = json.loads(checked.stdout)
    nights = Nights(tmp_path / "data")
    manifest = nights.check_active()
    report = nights.report(manifest)
    same = ("bars", "covered", "refused", "found", "source")
    assert {name: said[name] for name in same} == {name: report[name] for name in same}
    assert said["session"] == manifest.as_of_session.isoformat()
    assert list(said["refused"]["behind"]) == ["S01"]
    codes = ["bad_symbol", "behind", "duplicate_symbol", "too_few_bars", "unreadable_file"]
    assert list(said["refused"]) == codes
    assert said["refused"]["unreadable_file"].keys() == {"GONE", "ODD"}


def check_short(lines: list[str]) -> None:
    """That the short series are counted, with the figures of the first one and others by name."""
    start = next(at for at, line in enumerate(lines) if f"too_few_bars: {len(SHORT)}" in line)
    assert re.match(r" +T00: .*20 .*60 .*T01, ", lines[start + 1])
    assert not lines[start + 2].startswith(" "), "one sentence for all of them"


def test_the_text_has_the_figures_of_the_json_and_bounded_lists(bars: Path, tmp_path: Path) -> None:
    said = json.loads(check(tmp_path, bars, "--json").stdout)
    shown = check(tmp_path, bars)

    assert shown.returncode == 0
    text = shown.stdout
    usable = f"usable bars {said['bars']:,}."
    assert f"symbols {said['symbols']}, rows {said['rows']:,}, {usable}" in " ".join(text.split())
    counts = {line[:19].strip(): line[19:].split()[:2] for line in text.splitlines()}
    assert counts["read"] == ["-", f"{said['read']['CSV']:,}"]
    assert counts["usable bars"] == [str(20 + len(SHORT)), f"{said['bars']:,}"]
    for rule, lost in said["lost"].items():
        assert counts[rule] == [str(lost["symbols"]), f"{lost['rows']:,}"]
    covered = f"{said['covered']} of {said['symbols']} symbols"
    assert f"session {said['session']} would cover {covered}" in text
    served = re.search(r"symbols with ([\d,]+) bars; the other ([\d,]+)", " ".join(text.split()))
    assert served is not None
    assert sum(int(each.replace(",", "")) for each in served.groups()) == said["bars"]
    assert re.search(r"behind: 1\n +S01: ", text)
    lines = text.splitlines()
    check_short(lines)
    series = said["series"]
    assert len(series) == 20 + len(SHORT)
    assert sum(one["bars"] for one in series.values()) == said["bars"]
    assert (series["S00"]["last"], series["S00"]["left_out"]) == (said["session"], None)
    assert series["S01"]["left_out"] == "behind"
    assert re.search(rf" S00: {series['S00']['bars']} .*{series['S00']['first']}", text)
    first = next(line for line in lines if line.startswith("    S"))
    assert re.match(r" +S01: 598 .*600 ", first), "the one that lost most is the first"
    assert re.search(rf"\b{len(series) - MAX_LISTED} .*--json", text)
    for rule in ("repeated_date", "undated_row"):
        assert any(line.split()[:2] == [rule, "1"] for line in lines), rule


def test_what_nothing_tells_is_named_as_assumed(bars: Path, tmp_path: Path) -> None:
    assumed = json.loads(check(tmp_path, bars, "--json").stdout)["assumed"]
    assert (assumed["adjustment"], assumed["currency"]) == ("split", "USD")
    assert assumed["adjustment_symbols"] == assumed["currency_symbols"] == 20 + len(SHORT)
    known = tmp_path / "known.csv"
    known.write_text("symbol,adjustment,currency\nS00,split,USD\n")
    less = json.loads(check(tmp_path, bars, "--json", "--reference", str(known)).stdout)["assumed"]
    assert less["adjustment_symbols"] == less["currency_symbols"] == 19 + len(SHORT)
    text = check(tmp_path, bars, "--adjustment", "split+div").stdout
    assert re.search(rf"{20 + len(SHORT)} symbols.*dividends", text)


def test_a_check_leaves_no_file(
    bars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    assert check(tmp_path / "data", bars).returncode == 0
    assert list(tmp_path.rglob("*")) == [work]


def test_bars_that_are_all_dated_ahead_are_no_crash(tmp_path: Path) -> None:
    ahead = walk(BARS, seed=1, last=dt.date(2199, 3, 27))
    write_csv(tmp_path / "bars" / "A.csv", ahead)
    shown = check(tmp_path / "data", tmp_path / "bars")
    assert shown.returncode == 2
    assert "No night can be made" in shown.stdout


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("nothing", "is not a table"),
        (
            "".join(f"\n2024-01-0{1 + hour // 24} {hour % 24:02}:00,1,1,1,1" for hour in range(99)),
            "T: The bars are intraday",
        ),
        ("".join(f"\n0{day}/0{day}/2024,1,1,1,1" for day in range(1, 9)), "is ambiguous"),
    ],
    ids=["no table", "hourly", "ambiguous"],
)
def test_every_command_names_the_reasons_if_nothing_can_be_used(
    tmp_path: Path, rows: str, words: str
) -> None:
    bars = tmp_path / "bars"
    bars.mkdir()
    header = "date,open,high,low,close" if rows.startswith("\n") else ""
    for name in "TUVWXY":
        (bars / f"{name}.csv").write_text(header + rows)
    for command in (["nightly"], ["nightly", "--dry-run"]):
        refused = run(tmp_path, *command, "--bars", str(bars), "--jobs", "1")
        check_refusal(refused, words)
        assert "And 3 more. " in refused.stderr
        assert "screener bars check" in refused.stderr
    found = tmp_path / "found.json"
    detected = run(tmp_path, "detect", "--bars", str(bars), "--jobs", "1", "--out", str(found))
    checked = check(tmp_path, bars)
    assert (detected.returncode, checked.returncode, found.exists()) == (2, 2, False)
    assert words in detected.stderr
    assert words in checked.stdout


def test_a_symbol_may_be_given_for_one_series(tmp_path: Path) -> None:
    path = tmp_path / "my download! (1).csv"
    write_csv(path, walk(BARS, seed=1))
    check_refusal(run(tmp_path, "nightly", "--bars", str(path)), "--symbol")
    named = check(tmp_path, path, "--symbol", "brk-b", "--json")
    assert json.loads(named.stdout)["covered"] == 1
    made = run(tmp_path, "nightly", "--bars", str(path), "--symbol", "BRK.B", "--jobs", "1")
    assert "symbols covered 1," in made.stdout
    check_refusal(run(tmp_path, "nightly", "--symbol", "A"), "leave --symbol out")


def test_names_of_strangers_are_printed_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "bars"
    write_csv(folder / "GOOD.csv", walk(BARS, seed=1))
    write_csv(folder / "\x1b[2J\nred.csv", walk(BARS, seed=1))
    if os.name == "posix":
        write_csv(folder / os.fsdecode(b"\xff.csv"), walk(BARS, seed=1))
    shown = check(tmp_path, folder)
    assert shown.returncode == 0
    assert all(line.isprintable() for line in shown.stdout.splitlines())
    assert "bad_symbol: 2" in shown.stdout


def test_detect_says_whom_it_left_out_and_why(bars: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    done = run(
        *(tmp_path, "detect", "--bars", str(bars), "--out", str(target), "--jobs", "1"),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    check_short(lines)
    assert any(line.endswith("unreadable_file: 2") for line in lines)
    assert any(line.startswith("    again/S00.csv ") for line in lines)


def test_the_check_says_that_a_night_would_be_held_back(tmp_path: Path) -> None:
    for number in range(8):
        rows = walk(100, seed=number).take(slice(0, 97 if number == 3 else 100))
        write_csv(tmp_path / "bars" / f"S{number}.csv", rows)
    shown = check(tmp_path / "data", tmp_path / "bars")
    nightly = ("nightly", "--bars", str(tmp_path / "bars"), "--jobs", "1")
    tried, made = (run(tmp_path / "data", *nightly, *dry) for dry in (["--dry-run"], []))

    assert (shown.returncode, tried.returncode, made.returncode) == (0, 4, 4)
    assert "would be held back" in tried.stderr
    assert not (tmp_path / "data" / "manifest.json").exists()
    assert "held back: 1 of 8 symbols" in shown.stdout
    assert "1 of 8 symbols" in made.stderr


def test_where_newer_bars_of_a_few_make_the_others_stale_the_session_of_most_is_named(
    tmp_path: Path,
) -> None:
    """Eight series end together, and one goes on for two years."""
    stale, data, said = tmp_path / "bars", tmp_path / "data", "`--session 2022-05-13`"
    for number in range(8):
        write_csv(stale / f"S{number}.csv", walk(100, seed=number, last=dt.date(2022, 5, 13)))
    write_csv(stale / "NEW.csv", walk(600, seed=9, last=dt.date(2024, 3, 28)))

    checked = check(tmp_path, stale)
    made = run(data, "nightly", "--bars", str(stale), "--jobs", "1")
    report = run(data, "night", "report")
    asked = run(data, *("nightly", "--bars", str(stale), "--session", "2022-05-13", "--jobs", "1"))

    assert re.search(r"2024-03-28 .*1 of 9 symbols", checked.stdout)
    assert all(said in done.stdout for done in (checked, made, report))
    assert "symbols covered 9" in asked.stdout
    assert "Few symbols" not in asked.stdout


def test_no_line_of_the_check_or_of_a_report_is_wider_than_the_terminal(
    bars: Path, tmp_path: Path
) -> None:
    run(tmp_path, "nightly", "--bars", str(bars), "--jobs", "1")
    check = ["bars", "check", "market", "--jobs", "1"]
    for columns in (60, 80, 120):
        for command in (check, ["night", "report", "--all"]):
            with contextlib.chdir(bars.parent):
                shown = succeed(tmp_path, *command, COLUMNS=str(columns))
            assert max(map(len, shown.stdout.splitlines())) <= columns


def test_a_night_reports_what_was_found_in_each_symbols_bars(bars: Path, tmp_path: Path) -> None:
    run(tmp_path, "nightly", "--bars", str(bars), "--jobs", "1")
    shown = run(tmp_path, "night", "report").stdout
    told = json.loads(run(tmp_path, "night", "report", "--json").stdout)
    alone = run(tmp_path, "night", "report", "--symbol", "t00", "--csv").stdout

    totals = {total["rule"]: (total["symbols"], total["bars"]) for total in told["totals"]}
    assert (totals["undated_row"], totals["too_few_bars"]) == ((1, 1), (len(SHORT), None))
    assert [found["rule"] for found in told["findings"] if found["symbol"] == "S01"] == [
        *("undated_row", "repeated_date", "behind")
    ]
    assert alone.splitlines()[1:] == ["T00,too_few_bars,,left out,20 bars are left; 60 are needed."]
    assert shown.index("found") < shown.index("\nsymbol  ")
    without = run(tmp_path, "show", "S01").stdout
    assert "no resolved trade yet" not in without
    check_refusal(run(tmp_path, "night", "report", "--json", "--csv"), "one of them")
    check_refusal(run(tmp_path, "night", "report", "20200101-000000000000"), "no night")


def test_a_report_shows_the_first_findings_and_counts_the_others(tmp_path: Path) -> None:
    for number in range(MAX_FINDINGS + 5):
        write_csv(tmp_path / "bars" / f"F{number:02}.csv", walk(20, seed=1))
    write_csv(tmp_path / "bars" / "GOOD.csv", walk(BARS, seed=1))
    run(tmp_path, "nightly", "--bars", str(tmp_path / "bars"), "--jobs", "1")

    shown = run(tmp_path, "night", "report").stdout
    everything = run(tmp_path, "night", "report", "--all").stdout

    assert re.search(r"\b5 more.*--all", shown)
    assert shown.count("20 bars are left") == MAX_FINDINGS
    assert everything.count("20 bars are left") == MAX_FINDINGS + 5
    assert "--all" not in everything
