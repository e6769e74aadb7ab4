"""The command line: what it prints, what it exits with, and that a failure loses nothing.

Over 400 lines, because one night is sealed for all commands.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import socket
import sqlite3
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import get_args

import anyio
import pytest
from typer.testing import CliRunner

from nightly.bars import to_date
from nightly.parameters import DETECTORS
from nightly.sessions import closed_days
from screener.account import PlanName
from screener.cli import app
from screener.settings import Settings
from store.accounts import Plan
from store.passwords import Passwords
from telemetry.version import VERSION
from tests.screener.command import check_refusal, run
from tests.service import copy_night

FIELDS = {
    *("symbol", "detector", "family", "pattern_type", "direction", "lineage", "attempt"),
    "quality",
    *("first_served", "last_served", "end_reason", "status", "pattern_start", "pattern_end"),
    *("upper", "lower", "trigger_date", "entry_price", "stop_price", "target_price"),
    *("outcome", "exit_date", "exit_price"),
}


def test_a_key_s_secret_alone_goes_to_stdout(tmp_path: Path) -> None:
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium_plus")
    created = run(tmp_path, "key", "create", "ada@example.com", "--name", "laptop")
    prefix = created.stdout.strip()[:16]

    listed = run(tmp_path, "key", "list", "ada@example.com")
    replaced = run(tmp_path, "key", "replace", prefix)
    revoked = run(tmp_path, "key", "revoke", replaced.stdout.strip()[:16])

    assert len(created.stdout.strip().splitlines()) == 1
    assert created.stdout.startswith("ps_live_")
    assert prefix in listed.stdout
    assert created.stdout.strip() not in listed.stdout + listed.stderr
    assert replaced.stdout != created.stdout
    assert revoked.returncode == 0


def test_accounts_are_listed_changed_and_silenced(tmp_path: Path) -> None:
    added = run(
        tmp_path,
        *("account", "add", "ada@example.com", "--plan", "premium", "--password-stdin"),
        stdin="correct horse battery\n",
    )
    run(tmp_path, "account", "plan", "ada@example.com", "none")
    run(tmp_path, "account", "deactivate", "ada@example.com")
    listed = run(tmp_path, "account", "list").stdout

    assert added.returncode == 0
    assert "ada@example.com" in listed
    assert "none" in listed
    assert "no" in listed
    assert "correct horse" not in listed + added.stdout + added.stderr
    assert run(tmp_path, "account", "reactivate", "ada@example.com").returncode == 0


def test_a_short_password_stores_nothing(tmp_path: Path) -> None:
    arguments = ("account", "add", "ada@example.com", "--plan", "premium", "--password-stdin")
    check_refusal(run(tmp_path, *arguments, stdin="short\n"), "12 to 256 characters")
    assert "ada@" not in run(tmp_path, "account", "list").stdout


def test_a_new_password_signs_an_account_out_everywhere(tmp_path: Path) -> None:
    arguments = ("account", "password", "ada@example.com", "--password-stdin")
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium")
    first = run(tmp_path, *arguments, stdin="correct horse battery\n")
    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as connection, connection:
        connection.execute(
            "INSERT INTO sessions (token_hash, account_id, created_at, seen_at)"
            " VALUES ('x', 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
        )
    second = run(tmp_path, *arguments, stdin="a staple for the horse\n")

    assert first.stderr == "ada@example.com has a new password; browser sessions ended: 0.\n"
    assert second.stderr == "ada@example.com has a new password; browser sessions ended: 1.\n"
    assert (second.returncode, second.stdout) == (0, "")
    assert password_fits(tmp_path, "a staple for the horse")
    assert not password_fits(tmp_path, "correct horse battery")


def password_fits(data: Path, password: str) -> bool:
    with closing(sqlite3.connect(data / "accounts.sqlite")) as connection:
        ((encoded,),) = connection.execute("SELECT password_hash FROM accounts").fetchall()
    return anyio.run(Passwords().verify, encoded, password)


def test_a_new_password_may_be_typed_twice_and_is_not_shown(tmp_path: Path) -> None:
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium")
    command, environment = (
        ["account", "password", "ada@example.com"],
        {"SCREENER_DATA_DIR": str(tmp_path)},
    )
    typed = "correct horse battery\n"

    differing = CliRunner().invoke(app, command, input=typed + "other\n", env=environment)
    same = CliRunner().invoke(app, command, input=typed * 2, env=environment)

    assert differing.exit_code == 1
    assert same.exit_code == 0
    assert "correct horse" not in differing.output + same.output
    assert password_fits(tmp_path, "correct horse battery")


@pytest.mark.parametrize("password", ["elevenchars", "x" * 257, ""])
def test_a_weak_new_password_changes_nothing(tmp_path: Path, password: str) -> None:
    arguments = ("account", "password", "ada@example.com", "--password-stdin")
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium")
    run(tmp_path, *arguments, stdin="correct horse battery\n")

    check_refusal(run(tmp_path, *arguments, stdin=f"{password}\n"), "12 to 256 characters")
    assert password_fits(tmp_path, "correct horse battery")
    absent = ("account", "password", "no@example.com", "--password-stdin")
    check_refusal(run(tmp_path, *absent, stdin="correct horse battery\n"), "no account")


def test_unknown_accounts_and_keys_are_one_line(tmp_path: Path) -> None:
    check_refusal(run(tmp_path, "key", "create", "no@example.com", "--name", "x"), "no account")
    check_refusal(run(tmp_path, "key", "revoke", "ps_live_nothing1"), "No live key")
    check_refusal(run(tmp_path, "night", "activate", "20200101-000000000000"), "no night")
    check_refusal(run(tmp_path, "night", "verify"), "run `screener nightly` first")


def test_bars_that_cannot_be_used_are_one_line_and_leave_the_active_night(data_dir: Path) -> None:
    before = (data_dir / "manifest.json").read_bytes()
    bad = data_dir.parent / "bad"
    (bad / "empty").mkdir(parents=True)
    (bad / "table.csv").write_text("symbol,date,open,high,low\nA,2024-01-02,1,2,1\n")
    (bad / "text.parquet").write_text("this is no parquet file")

    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "nowhere")), "does not exist")
    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "empty")), "no CSV or Parquet")
    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "table.csv")), "close")
    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "text.parquet")), "can be read")
    check_refusal(run(data_dir, "nightly", "--session", "tomorrow"), "not a date")
    check_refusal(run(data_dir, "nightly", "--session", "1999-01-04"), "None of")
    check_refusal(run(data_dir, "nightly", "--adjustment", "some"), "split+div")

    assert (data_dir / "manifest.json").read_bytes() == before


def test_a_damaged_night_is_not_served(data_dir: Path) -> None:
    book = next((data_dir / "nights").glob("*.book"))
    book.write_bytes(book.read_bytes()[:-100])

    check_refusal(run(data_dir, "serve"), "not the one that was sealed")
    check_refusal(run(data_dir, "night", "verify"), "not the one that was sealed")


def test_a_taken_port_is_one_line(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run(data_dir, "serve", "--port", str(taken.getsockname()[1]))

    check_refusal(result, "--port")


def test_a_data_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    check_refusal(run(tmp_path / "file" / "data", "nightly"), "SCREENER_DATA_DIR")


def test_a_bad_setting_is_named(tmp_path: Path) -> None:
    check_refusal(
        run(tmp_path, "settings", SCREENER_KEY_PER_MINUTE="many"), "SCREENER_KEY_PER_MINUTE"
    )
    check_refusal(run(tmp_path, "settings", SCREENER_KEY_PREFIX="short"), "SCREENER_KEY_PREFIX")
    check_refusal(run(tmp_path, "settings", SCREENER_KEY_PREFIX="pso_keys"), "sign-in")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql+asyncpg://ada:hunter2@db/screener",
            "postgresql+asyncpg://ada:***@db/screener",
        ),
        ("postgres://ada:hunter2@db/x?sslmode=require", "postgres://ada:***@db/x?sslmode=require"),
        ("postgresql://ada@db/x?sslpassword=hunter2", "postgresql://ada@db/x?sslpassword="),
        (
            "postgresql+asyncpg://ada@db/x?password=hunter2",
            "postgresql+asyncpg://ada@db/x?password=",
        ),
        ("postgresql+asyncpg://ada:a@hunter2/b@db/x", "***"),
        ("postgresql+asyncpg://ada:x@db:hunter2/x", "***"),
        ("hunter2", "***"),
    ],
)
def test_the_password_of_the_database_is_not_shown(tmp_path: Path, url: str, shown: str) -> None:
    listed = run(tmp_path, "settings", SCREENER_DATABASE_URL=url).stdout

    assert f"SCREENER_DATABASE_URL={shown}" in listed
    assert "hunter2" not in listed


@pytest.mark.parametrize("setting", ["SCREENER_NIGHTS_URL", "SCREENER_SCRATCH_URL"])
@pytest.mark.parametrize(
    "url", ["s3://AKIA:hunter2@nights", "az://nights?sig=hunter2", "s3://a:hunter2@[nights"]
)
def test_a_credential_in_the_address_of_a_store_is_not_shown(
    tmp_path: Path, setting: str, url: str
) -> None:
    listed = run(tmp_path, "settings", **{setting: url}).stdout

    assert f"{setting}=***\n" in listed
    assert "hunter2" not in listed


@pytest.mark.parametrize(
    "url", ["hunter2", "postgresql+asyncpg://a:b@db:hunter2/x", "x://a:hunter2@d/x"]
)
def test_an_address_of_no_database_is_named_without_what_it_holds(tmp_path: Path, url: str) -> None:
    refused = run(tmp_path, "account", "list", SCREENER_DATABASE_URL=url)

    check_refusal(refused, "SCREENER_DATABASE_URL")
    assert "hunter2" not in refused.stderr


def test_every_setting_is_listed(tmp_path: Path) -> None:
    listed = run(tmp_path, "settings").stdout

    for name in Settings.model_fields:
        assert f"SCREENER_{name.upper()}=" in listed


def test_nights_are_shown_rolled_back_and_pruned(product_night: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    copy_night(product_night, data_dir)
    later = run(data_dir, "nightly", "--session", "2012-10-10")
    first = run(data_dir, "night", "list").stdout
    versions = sorted(path.stem for path in (data_dir / "nights").glob("*.json"))
    rolled = run(data_dir, "night", "activate", versions[0])
    shown = json.loads(run(data_dir, "night", "show").stdout)
    pruned = run(data_dir, "night", "prune", "--keep", "1")

    assert later.returncode == 0
    assert all(version in first for version in versions)
    assert rolled.returncode == 0
    assert shown["data_version"] == versions[0]
    assert shown["report"]["covered"] == 5
    assert "found" not in shown["report"]
    assert "Removed 0" in pruned.stdout


def test_a_night_reports_what_was_found_in_each_symbols_bars(tmp_path: Path) -> None:
    bars = tmp_path / "bars"
    bars.mkdir()
    closed = set(map(to_date, closed_days(2024)))
    year = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(140)]
    days = [day for day in year if day not in closed]
    rows = [f"{day},100,106,98,{101 + day.day % 4},1000" for day in days]
    head = "Date,Open,High,Low,Close,Volume"
    sound = [row for day, row in zip(days, rows, strict=True) if day.weekday() < 5]
    (bars / "GOOD.csv").write_text("\n".join([head, *sound]))
    saturdays = [row for day, row in zip(days, rows, strict=True) if day.weekday() < 6]
    (bars / "BAD.csv").write_text("\n".join([head, *saturdays]))
    (bars / "FEW.csv").write_text("\n".join([head, *sound[-5:]]))
    sealed = run(tmp_path, "nightly", "--bars", str(bars))
    shown = run(tmp_path, "night", "report")
    told = json.loads(run(tmp_path, "night", "report", "--json").stdout)
    alone = run(tmp_path, "night", "report", "--symbol", "few", "--csv").stdout

    assert sealed.returncode == shown.returncode == 0
    assert "No pattern is forming as of" in sealed.stdout
    totals = {total["rule"]: (total["symbols"], total["bars"]) for total in told["totals"]}
    assert totals == {"weekend": (1, 19), "bad_bars": (1, None), "too_few_bars": (1, None)}
    assert [(f["symbol"], f["rule"]) for f in told["findings"]] == [
        ("BAD", "weekend"),
        ("BAD", "bad_bars"),
        ("FEW", "too_few_bars"),
    ]
    assert alone.splitlines()[1:] == ["FEW,too_few_bars,,left out,5 bars are left; 60 are needed."]
    assert shown.stdout.index("found") < shown.stdout.index("\nsymbol  ")
    assert "contradict themselves (weekend 19)." in shown.stdout
    check_refusal(run(tmp_path, "night", "report", "--json", "--csv"), "one of them")
    check_refusal(run(tmp_path, "night", "report", "20200101-000000000000"), "no night")


def test_a_finding_of_a_vendors_symbol_is_no_formula_to_a_spreadsheet(tmp_path: Path) -> None:
    bars = tmp_path / "bars"
    bars.mkdir()
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(140)]
    closed = set(map(to_date, closed_days(2024)))
    open_days = [day for day in days if day not in closed and day.weekday() < 5]
    rows = [f"{day},100,106,98,{101 + day.day % 4},1000" for day in open_days]
    for name in ("GOOD", "=HYPERLINK", "@SUM(A1)"):
        (bars / f"{name}.csv").write_text("\n".join(["Date,Open,High,Low,Close,Volume", *rows]))
    run(tmp_path, "nightly", "--bars", str(bars))

    printed = run(tmp_path, "night", "report", "--csv").stdout

    symbols = [row["symbol"] for row in csv.DictReader(io.StringIO(printed))]
    assert sorted(symbols) == ["'=HYPERLINK", "'@SUM(A1)"]


SHOWN = {
    "default": {("MSFT", "rising_wedge", "forming"), ("MSFT", "triangle", "in_progress")},
    "reference": {
        ("AAPL", "triangle", "in_progress"),
        ("MSFT", "triangle", "in_progress"),
        ("MSFT", "triangle", "forming"),
    },
}
"""What is shown on the session of the sample by each detector."""


@pytest.mark.parametrize("detector", SHOWN)
def test_detect_writes_every_version_with_the_agreed_fields(detector: str, tmp_path: Path) -> None:
    target = tmp_path / "versions.json"
    chosen = ("--detector", detector) if detector != "default" else ()
    result = run(tmp_path, "detect", "--bars", "sample", "--out", str(target), *chosen)

    versions = json.loads(target.read_text())
    assert result.returncode == 0
    assert set(versions[0]) == FIELDS
    assert {v["detector"] for v in versions} == {DETECTORS[detector].detector}
    shown = {(v["symbol"], v["family"], v["status"]) for v in versions if v["status"]}
    assert shown == SHOWN[detector]
    for version in versions:
        assert version["first_served"] <= version["last_served"]
        assert (version["status"] == "forming") == (version["end_reason"] is None)
        assert (version["outcome"] is not None) == (version["end_reason"] == "triggered")


def test_detect_with_the_reference_detector_writes_other_versions(tmp_path: Path) -> None:
    target = tmp_path / "versions.json"
    names = ("default", "reference")
    counts = {}
    for name in names:
        done = run(tmp_path, "detect", "--bars", "sample", "--out", str(target), "--detector", name)
        assert done.returncode == 0
        counts[name] = len(json.loads(target.read_text()))
    unknown = run(tmp_path, "detect", "--bars", "sample", "--out", str(target), "--detector", "x")

    assert counts["reference"] > counts["default"]
    check_refusal(unknown, "default, reference")


def test_what_was_never_signed_in_is_listed_as_nothing_and_purged_as_nothing(
    tmp_path: Path,
) -> None:
    for kind in ("session", "grant", "client"):
        assert run(tmp_path, kind, "list").returncode == 0
    assert "0 grants, 0 hosts, 0 keys, 0 sessions" in run(tmp_path, "purge").stderr
    check_refusal(run(tmp_path, "grant", "revoke", "pso_app_nothing1"), "no grant")
    check_refusal(run(tmp_path, "client", "delete", "nobody"), "no client")
    check_refusal(run(tmp_path, "session", "end", "no@example.com"), "no account")


def test_the_plans_of_the_command_line_are_the_plans_there_are() -> None:
    assert get_args(PlanName) == tuple(Plan)


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"{VERSION}\n"
    assert metadata.version("pattern-screener") == VERSION
