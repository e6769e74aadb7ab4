"""The nightly as a scheduler runs it: exit codes, dry runs, what it says of bars."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from screener.nightly.cleaning.sessions import settled_at
from screener.nightly.memo import SymbolMemo
from screener.settings import console
from store.folder.checkpoints import Checkpoints
from store.folder.files import DRAFT
from store.folder.lock import locked
from store.nights.nights import Nights
from tests.contract.market import active_book
from tests.screener import command
from tests.screener.market import BARS, SYMBOLS, book_of, patterned
from tests.screener.market import bars as bars
from tests.screener.market import data as data
from tests.screener.market import first as first
from tests.screener.market import sealed as sealed
from tests.screener.nightly.series import walk, write_csv

PUBLISHED, USAGE, BUSY, HELD_BACK, NOTHING_NEW, DRIFT, WORKERS_DIED = 0, 2, 3, 4, 5, 6, 7
ROOT = Path(__file__).parents[4]


def run(data: Path, *arguments: str) -> tuple[int, str, str]:
    done = command.run(data, "nightly", "--jobs", "1", *arguments)
    return done.returncode, done.stdout, done.stderr


def contents(data: Path) -> set[str]:
    return {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}


def test_the_same_bars_again_are_nothing_new_and_what_a_killed_run_left_is_removed(
    bars: Path, sealed: Path
) -> None:
    left = sealed / "nights" / f".killed{DRAFT}"
    left.touch()
    code, _, errors = run(sealed, "--bars", str(bars))

    assert not left.exists()
    assert code == NOTHING_NEW
    assert "Nothing new: the night of" in errors


def test_a_second_run_on_a_folder_is_told_of_the_first(bars: Path, tmp_path: Path) -> None:
    with locked(tmp_path, dt.datetime.now(dt.UTC)):
        code, _, errors = run(tmp_path, "--bars", str(bars))

    assert code == BUSY
    assert f"process {os.getpid()}, since" in errors


def test_names_that_cannot_be_symbols_are_told_and_stop_no_other(tmp_path: Path) -> None:
    names = ["The Price History of Apple", "[bold]", "S" * 200]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"\xff"))  # a name in another encoding than the machine's
    for name in ["GOOD", *names]:
        write_csv(tmp_path / "bars" / f"{name}.csv", walk(BARS, seed=125))

    code, output, errors = run(tmp_path / "data", "--bars", str(tmp_path / "bars"))

    assert code == PUBLISHED, errors
    assert "symbols covered 1," in output
    (line,) = (line for line in output.splitlines() if line.startswith("Left out"))
    names[0] += ".csv"  # of such a name no part is the symbol
    told = {name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names}
    assert set(line.removeprefix("Left out, bad_symbol: ").removesuffix(".").split(", ")) == told
    nights = Nights(tmp_path / "data")
    refused = nights.report(nights.check_active())["refused"]
    assert set(refused["bad_symbol"]) == told
    assert "24 at most; rename it." in refused["bad_symbol"]["S" * 200]


def test_a_night_tells_who_is_behind_its_session_who_ahead_and_who_in_days_to_come(
    tmp_path: Path,
) -> None:
    ends = {f"S{number:02}": "2024-03-27" for number in range(16)}
    ends |= {"LATE": "2024-03-25", "EARLY": "2024-03-28", "AHEAD": "2099-03-27"}
    for symbol, last in ends.items():
        bars = walk(BARS, seed=125, last=dt.date.fromisoformat(last))
        write_csv(tmp_path / "bars" / f"{symbol}.csv", bars)

    code, output, errors = run(tmp_path / "data", "--bars", str(tmp_path / "bars"))

    assert code == PUBLISHED, errors
    assert "session 2024-03-27: symbols covered 17" in output
    assert "Left out, too_few_bars: AHEAD." in output
    assert "Found, future_date: bars 1, symbols 1." in output
    assert "Left out, behind: LATE." in output
    assert re.search(r"Warning: later bars of 1 symbol are not used, .* \(EARLY\)", output)


def test_a_night_that_falls_far_behind_is_held_back_and_a_dry_run_says_so(
    bars: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fewer = tmp_path_factory.mktemp("fewer") / bars.name
    shutil.copytree(bars, fewer, ignore=shutil.ignore_patterns("S[0-4].csv"))
    before = contents(data)

    tried = run(data, "--bars", str(fewer), "--dry-run")
    code, _, errors = run(data, "--bars", str(fewer))

    assert (tried[0], code) == (HELD_BACK, HELD_BACK)
    assert "would be held back" in tried[2]
    assert "--accept-fall" in errors
    assert contents(data) == before


def test_a_dry_run_says_what_changes_and_whom_it_leaves_out_and_leaves_no_file(
    bars: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one_less = tmp_path_factory.mktemp("less") / bars.name
    shutil.copytree(bars, one_less, ignore=shutil.ignore_patterns("S7.csv"))
    write_csv(one_less / "S6.csv", walk(50, seed=6))
    write_csv(one_less / "NEW.csv", patterned(1))
    before = contents(data)

    code, output, errors = run(data, "--bars", str(one_less), "--dry-run")

    assert code == 0, errors
    (changes,) = (line for line in output.splitlines() if line.startswith("Changed since "))
    assert re.search(r"new \(found\) \d+: [^;]*NEW", changes)
    assert "Left out, too_few_bars: S6." in output
    assert "symbols covered 7," in output
    assert output.splitlines()[-1] == "Nothing was published."
    assert contents(data) == before


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2024-03-08T15:00", "2024-03-08T22:00"),  # while the exchange is open
        ("2024-03-08T21:30", "2024-03-08T22:00"),  # after its close
        ("2024-03-08T13:00", "2024-03-07T22:00"),  # before it opens
        ("2024-03-09T18:00", "2024-03-08T22:00"),  # on a Saturday
        ("2024-07-03T16:00", "2024-07-03T18:00"),  # before a holiday it closes early
        ("2024-07-04T16:00", "2024-07-03T18:00"),  # on a holiday
    ],
)
def test_a_session_is_settled_so_long_after_its_close(now: str, until: str) -> None:
    moment = dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC)

    settled = settled_at(moment, dt.timedelta(hours=1))

    assert settled == dt.datetime.fromisoformat(until).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--executor", "ray://here", "dask://HOST:PORT"),
        ("--executor", "dask://127.0.0.1:9", "Dask"),
        ("--bars", "s3://", "needs a bucket"),
        ("--bars", "gs://me:secret@bucket/bars", "needs a bucket"),
        ("--reference", "s3://bucket/r.csv", "takes a file of this machine; copy the table here"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(
    option: str, given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screener.nightly.workers.cluster.CONNECT_SECONDS", 1)

    done = command.run(tmp_path, "nightly", option, given)

    command.check_refusal(done, said, USAGE)
    assert "secret" not in done.stderr


def spoil(data: Path, symbol: str) -> None:
    """Let the walk that was kept of a symbol differ a little from what its bars give."""
    checkpoints = Checkpoints(data)
    names = [f"S{number}" for number in range(SYMBOLS)]
    kept = dict(checkpoints.read(names))
    memo = SymbolMemo.decoded(kept[symbol])
    assert memo is not None
    assert memo.newest is not None
    state = memo.newest.walk.state.copy()
    state["lineage_count"] += 1
    drifted = replace(memo.newest, walk=replace(memo.newest.walk, state=state))
    kept[symbol] = replace(memo, newest=drifted).encoded()
    with checkpoints.replacing() as keep:
        for name, body in kept.items():
            keep(name, body)


def test_a_full_run_raises_the_alarm_on_a_resumed_walk_that_drifted(
    bars: Path, data: Path, sealed: Path
) -> None:
    spoil(data, "S5")

    code, _, errors = run(data, "--bars", str(bars), "--full")

    assert code == DRIFT
    assert "1 of the stored walks (S5)" in errors
    assert book_of(data) == book_of(sealed)
    assert run(data, "--bars", str(bars), "--full")[0] == PUBLISHED


def test_every_exit_code_is_documented_and_those_that_pass_by_themselves_are_tried_again() -> None:
    page = (ROOT / "docs" / "operate.md").read_text()
    unit = (ROOT / "deploy" / "systemd" / "screener-nightly.service").read_text()

    codes = {PUBLISHED, console.USAGE, console.DRIFT, *console.EXITS.values()}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)} == codes
    told = dict(re.findall(r"^(\w+ExitStatus)=(.+)$", unit, re.MULTILINE))
    assert told["SuccessExitStatus"] == str(NOTHING_NEW)
    settled = {int(code) for code in told["RestartPreventExitStatus"].split()}
    assert codes - settled == {PUBLISHED, NOTHING_NEW, WORKERS_DIED}


def test_the_minimum_quality_is_chosen_by_option_or_setting_and_sealed_with_the_night(
    bars: Path, tmp_path: Path
) -> None:
    def sealed_at(folder: str, *arguments: str, **settings: str) -> tuple[str, Any, set[float]]:
        data = tmp_path / folder
        done = command.run(
            data, "nightly", "--jobs", "1", "--bars", str(bars), *arguments, **settings
        )
        assert done.returncode == PUBLISHED, done.stderr
        manifest = Nights(data).check_active()
        with closing(active_book(data)) as book:
            told = {view.quality_pct for view in book.scan.rows if view.quality_pct is not None}
        return manifest.data_version, manifest.inputs.parameters["quality_min"], told

    usual, default, told = sealed_at("usual")
    strict, at_98, few = sealed_at("strict", "--min-quality", "98", SCREENER_MIN_QUALITY="20")
    lax, at_20, _ = sealed_at("lax", SCREENER_MIN_QUALITY="20")

    assert (at_98, at_20) == (98.0, 20.0)
    assert default not in (at_98, at_20)
    assert len({usual, strict, lax}) == 3
    assert told
    assert max(told) < 98
    assert not few
    code, _, errors = run(tmp_path / "bad", "--bars", str(bars), "--min-quality", "101")
    assert code == USAGE
    assert "--min-quality" in errors
