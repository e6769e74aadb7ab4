"""`screener account` and `screener key`: ends, rights, and the end of an account."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from store.accounts.accounts import utc_now
from tests.screener.command import Finished, check_refusal, run
from tests.screener.web.browser import Browser
from tests.screener.web.people import authorize_address, grants_of, new_app, new_member
from tests.service import Service

EMAIL = "ada@example.com"


def add(data: Path, email: str = EMAIL) -> None:
    assert run(data, "account", "add", email, "--plan", "premium").returncode == 0


def create(data: Path, *options: str) -> Finished:
    return run(data, "key", "create", EMAIL, "--name", "laptop", *options)


def test_a_key_ends_after_days_or_on_a_day(tmp_path: Path) -> None:
    add(tmp_path)
    today = utc_now()

    for options in (("--expires", "90d"), ("--expires", f"{today.year + 1}-01-31"), ()):
        assert create(tmp_path, *options, "--read-only").returncode == 0
    listed = run(tmp_path, "key", "list", EMAIL).stdout.splitlines()

    head, *rows = (re.split(r" {2,}", line) for line in listed)
    assert head == ["prefix", "name", "may", "created", "ends", "revoked"]
    assert [row[2] for row in rows] == ["read"] * 3
    ends = [row[4] if len(row) > 4 else "" for row in rows]
    assert ends[0] in {f"{today + dt.timedelta(days=90 + n):%Y-%m-%d}" for n in (0, 1)}
    assert ends[1:] == [f"{today.year + 1}-01-31", ""]


@pytest.mark.parametrize(
    "end", ["soon", "0d", "-1d", "3651d", "99999d", "2020-01-01", "9999-12-31", "90", "2027-13-01"]
)
def test_an_end_that_is_none_is_one_line(tmp_path: Path, end: str) -> None:
    add(tmp_path)

    check_refusal(create(tmp_path, f"--expires={end}"), "--expires ")
    assert len(run(tmp_path, "key", "list", EMAIL).stdout.splitlines()) == 1


def test_a_new_password_ends_the_keys_if_asked(tmp_path: Path) -> None:
    add(tmp_path)
    create(tmp_path)
    word = ("account", "password", EMAIL, "--password-stdin")

    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as connection, connection:
        connection.execute(
            "INSERT INTO sessions (token_hash, account_id, created_at, seen_at)"
            " VALUES ('x', 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
        )
    kept = run(tmp_path, *word, stdin="a long enough password\n")
    ended = run(tmp_path, *word, "--end-keys", stdin="a long enough password\n")

    assert kept == (0, "", f"{EMAIL} has a new password; browser sessions ended: 1.\n")
    assert "browser sessions ended: 0." in ended.stderr
    assert "Keys revoked: 1; apps revoked: 0." in ended.stderr


def test_an_account_is_deleted_under_a_running_service(service: Service) -> None:
    account, browser = new_member(service)
    _, secret = service.keys(lambda keys: keys.create(account.email, "laptop"))
    browser.submit(browser.form(authorize_address(new_app(service))), decision="approve")
    before = service.get("/me", key=secret).status_code  # and pending in the usage log

    done = run(service.settings.data_dir, "account", "delete", account.email, "--yes")
    after = service.get("/me", key=secret)

    assert before == 200
    assert done.returncode == 0
    assert done.stderr.startswith(f"Deleted {account.email}, and with it 1 key, 1 connected app")
    assert (after.status_code, after.json()["error"]) == (401, "invalid_api_key")
    assert browser.get("/keys").status_code == 303
    assert Browser(service).sign_in(account.email).status_code == 400
    assert grants_of(service, account) == []
    assert service.get("/me").status_code == 200
    assert account.email not in run(service.settings.data_dir, "account", "list").stdout


def test_an_account_is_deleted_only_after_a_yes(tmp_path: Path) -> None:
    add(tmp_path)

    refused = [
        run(tmp_path, "account", "delete", EMAIL, stdin=answer) for answer in ("n\n", "\n", "")
    ]
    kept = run(tmp_path, "account", "list").stdout
    done = run(tmp_path, "account", "delete", EMAIL, stdin="y\n")

    assert all(answer.returncode != 0 for answer in refused)
    assert EMAIL in kept
    assert done.returncode == 0
    assert EMAIL not in run(tmp_path, "account", "list").stdout
