"""The command line: what it prints, what it exits with, and that a failure loses nothing."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import get_args

import anyio
import pytest
from typer.testing import CliRunner

from screener.commands.accounts import PlanName
from screener.commands.cli import app
from screener.nightly.detector.parameters import DEFAULTS
from screener.settings.settings import Settings
from screener.telemetry.version import VERSION
from store.accounts.accounts import AccountPlan
from store.accounts.passwords import Passwords
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
    assert re.search(r"ada@example\.com +none +no\b", listed)
    assert "correct horse" not in listed + added.stdout + added.stderr
    assert run(tmp_path, "account", "reactivate", "ada@example.com").returncode == 0


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
    added = ("account", "add", "eve@example.com", "--plan", "premium", "--password-stdin")
    check_refusal(run(tmp_path, *added, stdin=f"{password}\n"), "12 to 256 characters")
    assert "eve@" not in run(tmp_path, "account", "list").stdout
    absent = ("account", "password", "no@example.com", "--password-stdin")
    check_refusal(run(tmp_path, *absent, stdin="correct horse battery\n"), "no account")


def test_unknown_accounts_and_keys_are_one_line(tmp_path: Path) -> None:
    check_refusal(run(tmp_path, "key", "create", "no@example.com", "--name", "x"), "no account")
    check_refusal(run(tmp_path, "account", "delete", "no@example.com", "--yes"), "no account no")
    check_refusal(run(tmp_path, "key", "revoke", "ps_live_nothing1"), "No live key")
    check_refusal(run(tmp_path, "night", "activate", "20200101-000000000000"), "no night")
    check_refusal(run(tmp_path, "night", "verify"), "run `screener nightly` first")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sacn", "Did you mean 'scan'? See `screener --help`."),
        ("bars chek", "Did you mean 'check'? See `screener bars --help`."),
        ("night prune", "Missing option '--keep'. See `screener night prune --help`."),
        ("night withdraw", "See `screener night withdraw --help`."),
        ("scan --limit many", "'--limit': must be a whole number. See `screener scan --help`."),
        ("scan --limit", "'--limit' requires an argument."),
        ("audit --limit 0", "must be at least 1."),
        ("account add a@b.c", "Choose from: premium_plus, premium, none. See `screener"),
        ("account add a@b.c --plan x", "'none'. See `screener account add --help`."),
        ("--nope", "No such option: --nope."),
    ],
)
def test_a_call_that_is_not_understood_is_one_line_that_shows_where_help_is(
    tmp_path: Path, line: str, words: str
) -> None:
    check_refusal(run(tmp_path, *line.split()), words)


def test_bars_that_cannot_be_used_are_one_line_and_leave_the_active_night(data_dir: Path) -> None:
    before = (data_dir / "manifest.json").read_bytes()
    bad = data_dir.parent / "bad"
    (bad / "empty").mkdir(parents=True)

    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "nowhere")), "does not exist")
    check_refusal(run(data_dir, "nightly", "--bars", str(bad / "empty")), "no CSV or Parquet")
    check_refusal(run(data_dir, "nightly", "--session", "tomorrow"), "not a date")
    check_refusal(run(data_dir, "nightly", "--session", "1999-01-04"), "None of")
    check_refusal(run(data_dir, "nightly", "--adjustment", "some"), "split+div")

    assert (data_dir / "manifest.json").read_bytes() == before


def test_a_damaged_night_is_not_served(data_dir: Path) -> None:
    book = next((data_dir / "nights").glob("*.book"))
    book.write_bytes(book.read_bytes()[:-100])

    check_refusal(run(data_dir, "serve"), "not the one that was sealed")
    check_refusal(run(data_dir, "night", "verify"), "not the one that was sealed")


def test_a_data_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    check_refusal(run(tmp_path / "file" / "data", "nightly"), "SCREENER_DATA_DIR")


def test_every_setting_is_listed(tmp_path: Path) -> None:
    listed = run(tmp_path, "settings").stdout

    for name in Settings.model_fields:
        assert f"SCREENER_{name.upper()}=" in listed


def test_the_example_in_the_help_of_a_group_works_on_the_sample(
    product_night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(product_night, data_dir)
    data_dir.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    run(data_dir, "account", "add", "me@localhost", "--plan", "premium_plus")
    groups = [group.name or "" for group in app.registered_groups]

    for name in (*groups, "audit", "backup", "restore"):
        help_text = run(data_dir, name, "--help").stdout
        examples = re.findall(rf"^ *screener ({name} .*)$", help_text, re.MULTILINE)
        assert len(examples) == 1, name
        done = run(data_dir, *examples[0].split())
        assert done.returncode == 0, done.stderr


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
    assert shown["report"]["covered"] == 4
    assert "found" not in shown["report"]
    assert "Removed 0" in pruned.stdout


def test_detect_writes_every_version_with_the_agreed_fields(tmp_path: Path) -> None:
    target = tmp_path / "versions.json"
    result = run(tmp_path, "detect", "--bars", "sample", "--out", str(target))

    versions = json.loads(target.read_text())
    assert result.returncode == 0
    assert set(versions[0]) == FIELDS
    assert {v["detector"] for v in versions} == {DEFAULTS.detector}
    shown = {(v["symbol"], v["family"], v["status"]) for v in versions if v["status"]}
    assert shown == {
        ("AAPL", "rising_wedge", "forming"),
        ("GOOG", "rising_wedge", "forming"),
        ("GOOG", "triangle", "in_progress"),
    }
    for version in versions:
        assert version["first_served"] <= version["last_served"]
        assert (version["status"] == "forming") == (version["end_reason"] is None)
        assert (version["outcome"] is not None) == (version["end_reason"] == "triggered")


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
    assert get_args(PlanName) == tuple(AccountPlan)


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"{VERSION}\n"
    assert metadata.version("pattern-screener") == VERSION
