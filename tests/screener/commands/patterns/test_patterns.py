"""`screener scan`, `show` and `chart`: the patterns of a night without server or account.

Over 400 lines, because the three commands are compared over one night.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mcp_server.filters.scan_order import COLUMNS, RANK
from screener.commands.patterns.setups import print_forming
from screener.settings.settings import Settings
from tests.books import Content
from tests.resealed import leave_out, name_all, reseal
from tests.screener.command import Finished, check_refusal, environment, run, succeed
from tests.service import Service
from tests.zygote import start

SESSION = "2012-10-03"
DISCLAIMER = Settings().disclaimer
FULL = Path("/dev/full")


def words(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def rows_of(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    answer = json.loads(run(folder, "scan", *arguments, "--json").stdout)
    return list(answer["setups"])


def process(folder: Path, home: Path, *arguments: str) -> tuple[bytes, bytes]:
    """The bytes that a command writes as a process, on stdout and stderr."""
    streams = home / "stdout", home / "stderr"
    ended = start(*arguments, environment=environment(folder), stdout=streams[0], stderr=streams[1])
    ended.join(120)
    assert ended.exitcode == 0
    return streams[0].read_bytes(), streams[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("", {}),
        ("--status all --limit 2 --offset 1", {"status": "all", "limit": 2, "offset": 1}),
        (
            "--family triangle --status in_progress",
            {"family": "triangle", "status": "in_progress"},
        ),
        (
            "--direction bearish --max-distance 5",
            {"direction": "bearish", "max_distance_pct": 5},
        ),
        ("--limit 999", {"limit": 999}),
    ],
)
def test_the_scan_as_json_is_what_the_api_answers(
    service: Service, night: Path, arguments: str, sent: dict[str, Any]
) -> None:
    typed = succeed(night, "scan", *arguments.split(), "--json")

    assert json.loads(typed.stdout) == service.get("/scan", params=sent).json()


def test_the_scan_lists_forming_setups_with_the_sample_and_the_loss_of_their_record(
    night: Path,
) -> None:
    listed = run(night, "scan", COLUMNS="160")

    assert words(listed.stdout).startswith(f"As of {SESSION}. This is the sample night")
    for row in rows_of(night):
        (line,) = (line for line in listed.stdout.splitlines() if f" {row['symbol']} " in line)
        record = row["track_record"]["family"]
        record = record["by_direction"][row["direction"]] if record["by_direction"] else record
        won, lost = f"{row['win_rate_pct']:.2f}%", f"{record['avg_loss_pct']:.2f}%"
        assert f"{won} {record['sample_size']} {lost}" in words(line)
    assert listed.stdout.count(DISCLAIMER) == 1
    assert listed.stdout.endswith(f"{DISCLAIMER}\n")
    assert "--status in_progress" in listed.stdout


def test_forming_setups_come_before_running_ones_and_pages_follow_each_other(night: Path) -> None:
    first = run(night, "scan", "--status", "all", "--limit", "2").stdout
    second = run(night, "scan", "--status", "all", "--limit", "9", "--offset", "2").stdout
    listed = run(night, "scan", "--status", "all").stdout

    assert re.search(r"1 to 2 of 6\b.*--offset 2\b", first)
    assert "--offset" not in second + listed
    assert listed.index("Forming:") < listed.index("Triggered:")
    for row in rows_of(night, "--status", "all"):
        assert row["symbol"] in first + second


@pytest.mark.parametrize("columns", [60, 80, 120, 160, 220])
def test_tables_fit_the_terminal_and_break_no_word(night: Path, columns: int) -> None:
    for arguments in (("scan", "--status", "all"), ("show", "MSFT"), ("scan", "--kinds")):
        whole = run(night, *arguments, COLUMNS="1000").stdout
        shown = run(night, *arguments, COLUMNS=str(columns)).stdout

        assert max(map(len, shown.splitlines())) <= columns
        ended = {word.strip(".;") for word in whole.split()}
        assert {word.strip(".;") for word in shown.split()} <= {
            *ended,
            "side",
            "bull",
            "bear",
            "Triangle",
            "…",
        }


def test_a_narrow_terminal_shows_no_win_rate_without_its_trades_and_loss(night: Path) -> None:
    for columns in range(40, 130):
        heads = next(
            line.split()
            for line in run(night, "scan", COLUMNS=str(columns)).stdout.splitlines()
            if "symbol" in line
        )
        assert ("win" in heads) == ("trades" in heads) == ("avg" in heads)
        assert {"symbol", "distance", "trigger"} <= set(heads)
        assert columns < 66 or ("stop" in heads and {"side", "direction"} & set(heads))
        assert columns < 76 or {"target", "r/r"} <= set(heads)


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ('=cmd("x")\x1b[31m\x9b2J\u202e,\nsecond', "'=cmd("),
        *((name, "'") for name in (" =1+1", "\uff1d1", "  \uff0b1", "-1")),
    ],
)
def test_a_name_of_a_file_steers_neither_terminal_nor_spreadsheet(
    data_dir: Path, name: str, begins: str
) -> None:
    reseal(data_dir, lambda content: name_all(content, name))

    for arguments in (("scan",), ("scan", "--csv"), ("scan", "--json"), ("show", "GOOG")):
        printed = run(data_dir, *arguments).stdout
        assert all(c.isprintable() or c in "\r\n" for c in printed)
        assert begins.lstrip("'") in printed or "--json" in arguments
    sheet = io.StringIO(run(data_dir, "scan", "--csv").stdout)
    assert all(row["name"].startswith(begins) for row in csv.DictReader(sheet))


def test_a_long_name_is_cut_with_an_ellipsis(data_dir: Path) -> None:
    reseal(data_dir, lambda content: name_all(content, "x" * 5_000))

    heading = run(data_dir, "show", "GOOG", COLUMNS="1000").stdout.splitlines()[0]

    assert heading.startswith(f"GOOG; {'x' * 79}…; ")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no file that is always full")
@pytest.mark.parametrize("form", ["--csv", "--json", "--limit=9"])
def test_output_for_which_there_is_no_room_is_one_line(
    night: Path, tmp_path: Path, form: str
) -> None:
    said = tmp_path / "stderr"
    ended = start("scan", form, environment=environment(night), stdout=FULL, stderr=said)
    ended.join(120)

    assert ended.exitcode is not None
    refused = Finished(ended.exitcode, "", said.read_text())
    check_refusal(refused, "the output cannot be written")


def test_a_csv_has_as_many_rows_as_asked_for_and_says_where_it_goes_on(night: Path) -> None:
    printed = run(night, "scan", "--status", "all", "--csv", "--limit", "3")

    assert len(printed.stdout.splitlines()) == 4
    assert "--offset 3" in printed.stderr


def test_the_lines_of_a_csv_end_as_the_standard_says(night: Path, tmp_path: Path) -> None:
    printed, _ = process(night, tmp_path, "scan", "--csv")

    assert printed.count(b"\r\n") == printed.count(b"\n") == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--family", "wedge"), "family must be"),
        (("--direction", "up"), "direction must be bullish or bearish"),
        (("--status", "won"), "status must be forming, in_progress or all"),
        (("--max-distance", "near"), "--max-distance must be a number of at least 0"),
        (("--json", "--csv"), "exclude each other"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_sentence(
    night: Path, arguments: tuple[str, ...], told: str
) -> None:
    check_refusal(run(night, "scan", *arguments), told)


def test_a_scan_that_finds_nothing_says_how_many_setups_there_are(night: Path) -> None:
    printed = run(night, "scan", "--filter", "price>1e9").stdout

    assert "Setups forming: 0." in printed
    assert "6 setups" in words(printed)


@pytest.mark.parametrize("command", [("scan",), ("show", "AAPL"), ("chart", "AAPL")])
def test_without_a_night_each_command_says_how_to_make_one(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    printed = run(tmp_path / "none", *command)

    assert printed.returncode == 1
    assert "`screener nightly --bars PATH`" in printed.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_symbol_is_shown_with_its_setups_records_and_past_trades(
    service: Service, night: Path
) -> None:
    printed = words(run(night, "show", "msft").stdout)
    patterns = service.get("/tickers/MSFT/patterns").json()
    record = service.get("/tickers/MSFT/record").json()

    assert printed.startswith(
        f"MSFT; Microsoft Corporation; stock, XNAS, Software, US As of {SESSION}."
    )
    for setup in patterns["setups"]:
        line = setup["lines"]["upper"]
        assert setup["trigger_rule"] in printed
        assert f"{line['start']['date']} at ${line['start']['price']:.2f} to" in printed
        assert f"broke out {setup['sessions_since_trigger']} sessions ago" in printed
        assert setup["track_record"]["family"]["summary"] in printed
    for own in record["records"]:
        assert own["summary"] in printed
    assert printed.count(DISCLAIMER) == 1


def test_a_symbol_as_json_is_what_the_api_answers(service: Service, night: Path) -> None:
    printed = json.loads(run(night, "show", "AAPL", "--json", "--history", "4").stdout)

    assert printed == {
        "patterns": service.get("/tickers/AAPL/patterns").json(),
        "record": service.get("/tickers/AAPL/record").json(),
        "history": service.get("/tickers/AAPL/history", params={"limit": 4}).json(),
    }


def test_past_trades_are_the_newest_and_as_many_as_asked_for(service: Service, night: Path) -> None:
    rows = service.get("/tickers/MSFT/history").json()["occurrences"]
    shown = run(night, "show", "MSFT", "--history", "3").stdout

    start = shown.splitlines().index(f"Past trades: {len(rows)}, the newest 3.") + 2
    for line, row in zip(shown.splitlines()[start:], rows[:3], strict=False):
        assert line.startswith(row["entry_date"])
        assert row["outcome"] in line
    assert "`screener show MSFT --history 100`" in shown
    assert "--history 100" not in run(night, "show", "MSFT", "--history", "100").stdout


def test_an_unknown_symbol_is_refused_with_the_nearest_ones(night: Path) -> None:
    for command in ("show", "chart"):
        check_refusal(run(night, command, "AALP"), "did you mean AAPL?")
        check_refusal(run(night, command, "\x1b[2J"), "has no symbol")


def test_a_symbol_that_is_not_covered_is_shown_with_the_reason(data_dir: Path) -> None:
    sentence = "The last usable bar is of 2012-10-01."
    reseal(data_dir, lambda content: leave_out(content, "FB", "behind", sentence))

    printed = words(run(data_dir, "show", "FB").stdout)
    assert re.search(r"\bFB \(rule behind\).*2012-10-01", printed)
    check_refusal(run(data_dir, "chart", "FB", "--setup", "x"), "FB has no setup")


def test_a_chart_is_drawn_of_the_best_setup_into_a_file_that_is_never_overwritten(
    night: Path, tmp_path: Path
) -> None:
    target = tmp_path / "picture.png"
    best = next(row for row in rows_of(night, "--status", "all") if row["symbol"] == "GOOG")

    drawn = succeed(night, "chart", "goog", "--out", str(target))

    assert drawn.stdout.splitlines()[0] == str(target)
    assert best["trigger_rule"] in words(drawn.stdout)
    assert words(drawn.stdout).endswith(DISCLAIMER)
    assert drawn.stdout.count(DISCLAIMER) == 1
    first = target.read_bytes()
    assert Image.open(io.BytesIO(first)).size == (1200, 675)
    target.write_bytes(b"mine")
    check_refusal(run(night, "chart", "GOOG", "--out", str(target)), "--force")
    assert target.read_bytes() == b"mine"
    assert run(night, "chart", "GOOG", "--out", str(target), "--force").returncode == 0
    assert target.read_bytes() == first


def test_a_past_trade_is_drawn_from_the_bars_where_the_night_keeps_none_so_old(
    night: Path, tmp_path: Path
) -> None:
    """With its lines at their prices, whether its bars are in the night or only in the source."""
    rows = json.loads(run(night, "show", "MSFT", "--history", "100", "--json").stdout)
    newest, *_, oldest = (r for r in rows["history"]["occurrences"] if r["outcome"] != "open")
    for row in (newest, oldest):
        target = tmp_path / f"{row['entry_date']}.png"
        arguments = ("--trade", row["entry_date"], "--bars", "sample", "--out", str(target))
        drawn = succeed(night, "chart", "MSFT", *arguments)
        assert f"stop ${row['stop_price']:.2f}" in words(drawn.stdout)
        assert Image.open(io.BytesIO(target.read_bytes())).size == (1200, 675)
    check_refusal(run(night, "chart", "MSFT", "--trade", "2001-01-01"), "has no past trade of")
    check_refusal(run(night, "chart", "MSFT", "--trade", "x", "--setup", "y"), "exclude each other")


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "--force"])
def test_a_chart_never_takes_the_place_of_a_link_a_pipe_or_a_folder(
    night: Path, tmp_path: Path, force: tuple[str, ...]
) -> None:
    mine = tmp_path / "mine.png"
    mine.write_bytes(b"mine")
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "dangling").symlink_to("absent")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}

    for name in ("link", "dangling", "folder", "pipe"):
        refused = run(night, "chart", "GOOG", "--out", str(tmp_path / name), *force)
        check_refusal(refused, f"{name} is not a regular file")

    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before
    assert mine.read_bytes() == b"mine"


def test_a_chart_may_be_of_one_setup_and_go_to_stdout(
    night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setups = [row for row in rows_of(night, "--status", "all") if row["symbol"] == "MSFT"]
    pictures = [
        process(night, tmp_path, "chart", "MSFT", "--setup", row["setup_id"], "--out", "-")
        for row in setups
    ]

    assert len({picture for picture, _ in pictures}) == len(setups) == 3
    for (picture, said), setup in zip(pictures, setups, strict=True):
        assert picture.startswith(b"\x89PNG")
        assert setup["trigger_rule"] in words(said.decode())
    monkeypatch.chdir(tmp_path)
    assert run(night, "chart", "MSFT").returncode == 0
    assert (tmp_path / "MSFT.png").read_bytes() == pictures[0][0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--theme", "blue"), "--theme"),
        (("--width", "31"), "'320', '720', '1200'"),
        (("--setup", "nope"), "Ids change every night"),
        (("--out", "no/such/folder/x.png"), "cannot be written"),
        (("--out", "x" * 300), "cannot be written"),
        (("--out", ""), "--out names no file"),
    ],
)
def test_a_chart_that_cannot_be_drawn_is_one_sentence(
    night: Path, arguments: tuple[str, ...], told: str
) -> None:
    check_refusal(run(night, "chart", "MSFT", *arguments), told)


def test_a_symbol_without_a_setup_is_drawn_with_its_past_trades(
    night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = run(night, "chart", "FB", "--width", "720")

    assert (tmp_path / "FB.png").read_bytes().startswith(b"\x89PNG")
    assert "FB: Past trades" in words(drawn.stdout)


def test_a_night_without_prices_says_which_setting_keeps_them(data_dir: Path) -> None:
    reseal(data_dir, lambda content: content.prices.clear())

    check_refusal(run(data_dir, "chart", "MSFT"), "SCREENER_CHART_SYMBOLS")


def test_a_nightly_ends_with_the_forming_setups_in_the_order_of_the_pages_and_what_shows_more(
    night: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")

    print_forming(Settings(data_dir=night))

    printed = capsys.readouterr().out
    best = rows_of(night, "--sort", "nearness")
    assert str(SESSION) in printed
    assert [row["symbol"] for row in best] == ["GOOG", "IBM"]
    assert printed.index("GOOG ") < printed.index("IBM ")
    assert "Google Inc" in printed
    assert "`screener scan`, `screener show GOOG`, `screener chart GOOG`" in printed
    assert "`screener scan --status in_progress`" in printed
    assert printed.count(DISCLAIMER) == 1


def test_a_nightly_without_a_forming_setup_says_how_many_are_running(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def keep_running(content: Content) -> None:
        content.evidence["status"] = ["in_progress"] * len(content.scan)

    reseal(data_dir, keep_running)

    print_forming(Settings(data_dir=data_dir))

    printed = words(capsys.readouterr().out)
    assert printed.startswith("No pattern is forming")
    assert re.search(r"\b6\b.*`screener scan --status in_progress`", printed)


def test_the_help_of_the_scan_lists_every_order() -> None:
    help_text = " ".join(run(Path(), "scan", "--help").stdout.replace("│", " ").split())

    for name in (RANK, *COLUMNS):
        assert re.search(rf"\b{name}\b", help_text), name
