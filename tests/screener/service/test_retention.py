"""Retention: what is expired or old is removed, each kind by itself."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from screener.service.parts import AccountStore
from screener.settings.settings import Settings, SettingsError, load_settings
from store.accounts.accounts import AccountPlan, Accounts, utc_now
from store.accounts.audit import OPERATOR, EventKind, add_event
from store.accounts.retention import Sweeper
from store.database import tables
from store.database.database import Database
from tests.accounts import PERIODS, accounts_in
from tests.screener.command import check_refusal, run
from tests.screener.process import until
from tests.service import at_database, serving

DAY = dt.timedelta(days=1)
SETTINGS = {"SCREENER_AUDIT_DAYS": "30", "SCREENER_USAGE_DAYS": "10"}


def furnish(folder: Path) -> None:
    """An account with rows of the kinds that settings keep, one too old and one that is not."""

    async def work(database: Database) -> None:
        await database.migrate()
        now = utc_now()
        account = await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
        async with database.write() as connection:
            for age in (29, 31):
                at = now - age * DAY
                await add_event(
                    connection, EventKind.PLAN_CHANGED, OPERATOR, at, account.id, f"{age}"
                )
            for age in (9, 12):
                use = {"key_prefix": "k", "operation": "me", "client": "", "host": "", "calls": 1}
                day = {"day": (now - age * DAY).date(), "last_at": now, "account_id": account.id}
                await connection.execute(tables.usage.insert().values(**use, **day))
            for hours in (-1, 1):
                expires_at = now + dt.timedelta(hours=hours)
                await connection.execute(
                    tables.used_forms.insert().values(form_hash=f"{hours}", expires_at=expires_at)
                )
                await connection.execute(
                    tables.sessions.insert().values(
                        token_hash=f"{hours}",
                        account_id=account.id,
                        created_at=now,
                        seen_at=expires_at - 7 * DAY,
                    )
                )

    at_database(Settings(data_dir=folder).accounts_url, work)


SWEPT = {
    "audit": 2,  # the newest event is that the account was added
    "usage": 1,
    "used_forms": 1,
    "sessions": 1,
}
"""How many rows of each table a sweep keeps."""


def kept(folder: Path) -> dict[str, int]:
    async def work(database: Database) -> dict[str, int]:
        async with database.read() as connection:
            counts = {}
            for name in SWEPT:
                query = sa.select(sa.func.count()).select_from(tables.metadata.tables[name])
                counts[name] = await connection.scalar(query) or 0
            return counts

    return at_database(Settings(data_dir=folder).accounts_url, work)


def test_purge_removes_what_is_too_old_and_says_what(tmp_path: Path) -> None:
    furnish(tmp_path)
    said = run(tmp_path, "purge", **SETTINGS).stderr
    again = run(tmp_path, "purge", **SETTINGS).stderr

    for what in ("sessions", "used forms", "lines of usage", "events"):
        assert f"1 {what}" in said
        assert f"0 {what}" in again
    assert kept(tmp_path) == SWEPT


def test_purge_says_that_a_part_failed_and_does_the_others(tmp_path: Path) -> None:
    furnish(tmp_path)
    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as connection:
        connection.execute("DROP TABLE codes")

    done = run(tmp_path, "purge", **SETTINGS)

    assert done.returncode == 2
    assert "1 events" in done.stderr


def test_the_service_sweeps_all_of_it_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.accounts.retention.START_SECONDS", 0)
    furnish(tmp_path)
    assert all(kept(tmp_path)[name] > count for name, count in SWEPT.items())

    with serving(tmp_path, audit_days=30, usage_days=10):
        # The account and the key of a served folder are two events more.
        until(lambda: kept(tmp_path) == SWEPT | {"audit": 4})


async def test_a_sweep_that_fails_is_logged_and_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    furnish(tmp_path)
    settings = Settings(data_dir=tmp_path, audit_days=30)
    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as connection:
        connection.execute("DROP TABLE used_forms")
        refusal = "BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'kept'); END"
        connection.execute(f"CREATE TRIGGER keep_sessions {refusal}")

    async with Database(settings.accounts_url) as database:
        rows, failures = await AccountStore(settings, database).sweeper.sweep()

    assert (rows["events"], failures) == (1, 2)
    logged = [(one.levelname, bool(one.exc_info), one.getMessage()) for one in caplog.records]
    assert [one[:2] for one in logged] == [("ERROR", True), ("WARNING", False)]
    assert "sessions" in logged[0][2]
    assert "used forms" in logged[1][2]


async def test_a_process_sweeps_every_hour_from_a_moment_of_its_own(tmp_path: Path) -> None:
    done = list[float | str]()

    async def pause(seconds: float) -> None:
        done.append(seconds)
        if len(done) == 5:
            raise StopAsyncIteration

    def clock() -> dt.datetime:
        done.append("swept")
        return utc_now()

    async with accounts_in(tmp_path) as database:
        sweeper = Sweeper(database, PERIODS, clock=clock, pause=pause, chance=lambda: 0.5)
        with pytest.raises(StopAsyncIteration):
            await sweeper.keep_sweeping()

    assert done == [150, "swept", 3600, "swept", 3600]


@pytest.mark.parametrize("name", ["audit_days", "usage_days", "session_days", "session_idle_days"])
async def test_a_retention_is_a_hundred_years_at_most(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=f"SCREENER_{name.upper()}: .*36500"):
        load_settings(**{name: 36_501})

    furnish(tmp_path)
    settings = load_settings(data_dir=tmp_path, **{name: 36_500})
    async with Database(settings.accounts_url) as database:
        assert (await AccountStore(settings, database).sweeper.sweep()).failures == 0


def test_the_audit_command_filters_pages_and_prints_json(tmp_path: Path) -> None:
    furnish(tmp_path)
    run(tmp_path, "account", "add", "[/x][2J@example.com", "--plan", "none")
    lines = run(tmp_path, "audit").stdout.splitlines()
    as_json = [json.loads(line) for line in run(tmp_path, "audit", "--json").stdout.splitlines()]
    below = run(tmp_path, "audit", "--json", "--before", str(as_json[0]["id"]), "--limit", "2")

    assert len(lines) == 5
    assert lines[0].split() == [
        *("id", "time", "kind", "account", "actor", "network", "subject", "agent")
    ]
    assert "[/x][2j@example.com" in lines[1]
    assert as_json[0]["account"] == "[/x][2j@example.com"
    assert [event["subject"] for event in as_json] == ["none", "31", "29", "premium"]
    assert [json.loads(line) for line in below.stdout.splitlines()] == as_json[1:3]

    def subjects(*options: str) -> list[str]:
        done = run(tmp_path, "audit", "--json", *options)
        assert done.returncode == 0
        return [json.loads(line)["subject"] for line in done.stdout.splitlines()]

    assert subjects("ada@example.com", "--kind", "account_added") == ["premium"]
    assert subjects("--since", "30d") == ["none", "29", "premium"]
    assert subjects("--since", (utc_now() + DAY).date().isoformat()) == []
    assert subjects("--limit", "1") == ["none"]


def test_the_audit_command_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    check_refusal(run(tmp_path, "audit", "nobody@example.com"), "no account")
    check_refusal(run(tmp_path, "audit", "--kind", "nothing"), "sign_in_failed")
    for since in ("", "yesterday", "7", "999999d", "2026-13-01"):
        check_refusal(run(tmp_path, "audit", "--since", since), "such as 7d, or a date")
    assert run(tmp_path, "audit", "--limit", "0").returncode == 2
    assert run(tmp_path, "audit", "--limit", "10001").returncode == 2
