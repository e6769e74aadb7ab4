"""Retention: what is expired or old is removed, each kind by itself."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa

from screener.settings import Settings, SettingsError, load_settings
from screener.sweeping import Sweeper, counted, sweeper_of
from store import tables
from store.accounts import Accounts, Plan, utc_now
from store.audit import OPERATOR, Kind, note
from store.database import Database
from store.errors import DatabaseUnavailableError
from tests.screener.command import check_refusal, run
from tests.service import apart

DAY = dt.timedelta(days=1)
SETTINGS = {"SCREENER_AUDIT_DAYS": "30", "SCREENER_USAGE_DAYS": "10"}


def furnish(folder: Path) -> None:
    """An account with rows of every kind, one that is too old and one that is not."""

    async def work() -> None:
        database = Database(Settings(data_dir=folder).accounts_url)
        await database.migrate()
        now = utc_now()
        account = await Accounts(database).add("ada@example.com", Plan.PREMIUM)
        async with database.write() as connection:
            for age in (29, 31):
                at = now - age * DAY
                await note(connection, Kind.PLAN_CHANGED, OPERATOR, at, account.id, f"{age}")
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
        await database.close()

    apart(work)


def kept(folder: Path) -> dict[str, int]:
    async def work() -> dict[str, int]:
        database = Database(Settings(data_dir=folder).accounts_url)
        swept = (tables.audit, tables.usage, tables.used_forms, tables.sessions)
        async with database.read() as connection:
            counts = {
                table.name: await connection.scalar(sa.select(sa.func.count()).select_from(table))
                or 0
                for table in swept
            }
        await database.close()
        return counts

    return apart(work)


def test_purge_removes_what_is_too_old_and_says_what(tmp_path: Path) -> None:
    furnish(tmp_path)
    said = run(tmp_path, "purge", **SETTINGS).stderr
    again = run(tmp_path, "purge", **SETTINGS).stderr

    for what in ("1 sessions", "1 used forms", "1 lines of usage", "1 events"):
        assert what in said
        assert what.replace("1", "0", 1) in again
    # The newest event is that the account was added.
    assert kept(tmp_path) == {"audit": 2, "usage": 1, "used_forms": 1, "sessions": 1}


def test_purge_says_that_a_part_failed_and_does_the_others(tmp_path: Path) -> None:
    furnish(tmp_path)

    async def drop() -> None:
        database = Database(Settings(data_dir=tmp_path).accounts_url)
        async with database.write() as connection:
            await connection.execute(sa.text("DROP TABLE codes"))
        await database.close()

    apart(drop)
    done = run(tmp_path, "purge", **SETTINGS)

    assert done.returncode == 2
    assert "1 events" in done.stderr
    assert kept(tmp_path) == {"audit": 2, "usage": 1, "used_forms": 1, "sessions": 1}


async def test_the_service_sweeps_all_of_it_by_itself(tmp_path: Path) -> None:
    furnish(tmp_path)
    settings = Settings(data_dir=tmp_path, audit_days=30, usage_days=10)
    database = Database(settings.accounts_url)

    rows, failures = await sweeper_of(settings, database).sweep()
    await database.close()

    assert failures == 0
    assert {what: count for what, count in rows.items() if count} == dict.fromkeys(
        ("sessions", "used forms", "lines of usage", "events"), 1
    )


async def test_a_sweep_that_fails_is_logged_and_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def busy() -> Mapping[str, int]:
        raise DatabaseUnavailableError("The account database does not answer; try again.")

    async def broken() -> Mapping[str, int]:
        raise ZeroDivisionError

    async def two() -> int:
        return 2

    with caplog.at_level(logging.WARNING):
        removed = await Sweeper(busy, broken, counted("events", two)).sweep()

    assert removed == ({"events": 2}, 2)
    assert [(one.levelname, bool(one.exc_info)) for one in caplog.records] == [
        ("WARNING", False),
        ("ERROR", True),
    ]


async def test_a_process_sweeps_every_hour_from_a_moment_of_its_own() -> None:
    done = list[float | str]()

    async def pause(seconds: float) -> None:
        done.append(seconds)
        if len(done) == 5:
            raise StopAsyncIteration

    async def sweep() -> int:
        done.append("swept")
        return 0

    sweeper = Sweeper(counted("events", sweep), pause=pause, chance=lambda: 0.5)
    with pytest.raises(StopAsyncIteration):
        await sweeper.keep_sweeping()

    assert done == [150, "swept", 3600, "swept", 3600]


@pytest.mark.parametrize("name", ["audit_days", "usage_days", "session_days", "session_idle_days"])
async def test_a_retention_is_a_hundred_years_at_most(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=f"SCREENER_{name.upper()}: .*36500"):
        load_settings(**{name: 36_501})

    furnish(tmp_path)
    settings = load_settings(data_dir=tmp_path, **{name: 36_500})
    database = Database(settings.accounts_url)
    assert (await sweeper_of(settings, database).sweep()).failures == 0
    await database.close()


def test_the_audit_command_filters_pages_and_prints_json(tmp_path: Path) -> None:
    furnish(tmp_path)
    run(tmp_path, "account", "add", "[/x]\x1b[2J@example.com", "--plan", "none")
    lines = run(tmp_path, "audit").stdout.splitlines()
    as_json = [json.loads(line) for line in run(tmp_path, "audit", "--json").stdout.splitlines()]
    below = run(tmp_path, "audit", "--json", "--before", str(as_json[0]["id"]), "--limit", "2")

    assert len(lines) == 5
    assert lines[0].split() == [
        *("id", "time", "kind", "account", "actor", "network", "subject", "agent")
    ]
    assert "[/x]\N{REPLACEMENT CHARACTER}[2j@example.com" in lines[1]
    assert as_json[0]["account"] == "[/x]\x1b[2j@example.com"
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
        check_refusal(run(tmp_path, "audit", "--since", since), "as 7d, or a date")
    assert run(tmp_path, "audit", "--limit", "0").returncode == 2
    assert run(tmp_path, "audit", "--limit", "10001").returncode == 2
