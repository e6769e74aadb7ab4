"""A database of any older schema: it is migrated with its rows, and its backup is restored."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from screener.settings.settings import Settings, load_settings
from store.accounts.accounts import AccountPlan, Accounts, hash_secret, utc_now
from store.accounts.keys import Keys
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.database.database import Database
from store.database.migration import HEAD, OLDEST, tables_of, upgrade
from tests.screener.command import check_refusal, run
from tests.screener.installation import new_url as new_url
from tests.screener.installation import options
from tests.service import at_database

REVISIONS = [f"{number:04}" for number in range(int(OLDEST), int(HEAD) + 1)]
SECRET = "ps_live_" + "k" * 40


async def furnish(revision: str, database: Database) -> None:
    """A database of a revision, with an account, its key, its list and its calls of today."""
    now = utc_now()
    used = {"operation": "scan", "client": "c", "host": "", "calls": 7, "last_at": now}
    rows: dict[str, dict[str, Any]] = {
        "accounts": {"id": 41, "email": "ada@example.com", "plan": "premium", "active": True},
        "keys": {"id": 5, "account_id": 41, "secret_hash": hash_secret(SECRET), "name": "laptop"},
        "watchlist": {"account_id": 41, "symbol": "AAPL", "position": 0},
        "usage": {"account_id": 41, "day": now.date(), "key_prefix": SECRET[:16], **used},
    }
    rows["accounts"]["created_at"] = rows["keys"]["created_at"] = now
    rows["keys"]["prefix"] = SECRET[:16]
    async with database.write() as connection:
        await connection.run_sync(upgrade, revision)
        found = (await connection.run_sync(tables_of)).tables
        for name, row in rows.items():
            await connection.execute(found[name].insert().values(row))


async def check_works(database: Database) -> None:
    """Check that the account, its key, its list and its calls are there."""
    assert await database.revision() == HEAD
    assert await database.faults() == []
    holder = await Keys(database).principal(SECRET)
    assert holder is not None
    assert (holder.account.id, holder.key.read_only) == (41, False)
    assert list(await Watchlist(database).symbols(41)) == ["AAPL"]
    assert await UsageLog(database).calls_today() == [(41, SECRET[:16], 7)]


async def check_goes_on(database: Database) -> None:
    """Check that an account that is added after a restore has a number of its own."""
    assert (await Accounts(database).add("grace@example.com", AccountPlan.PREMIUM)).id > 41


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_any_older_schema_and_its_backup_are_upgraded_with_their_rows(
    revision: str, tmp_path: Path, new_url: Callable[[], str | None]
) -> None:
    url_of_old = new_url()
    old = load_settings(data_dir=tmp_path / "old", database_url=url_of_old)
    given = options(url_of_old)
    old.data_dir.mkdir()
    at_database(old.accounts_url, partial(furnish, revision))
    done = run(old.data_dir, "backup", str(tmp_path / "b"), **given)
    assert f"schema {revision}" in done.stdout, done.stderr

    for name, url in (("to-sqlite", None), ("to-same", new_url())):
        new = load_settings(data_dir=tmp_path / name, database_url=url)
        restored = run(new.data_dir, "restore", str(tmp_path / "b"), **options(url))
        assert restored.returncode == 0, restored.stderr
        at_database(new.accounts_url, check_works)
        at_database(new.accounts_url, check_goes_on)

    before = run(old.data_dir, "db", "check", **given)
    assert before.returncode == (0 if revision == HEAD else 1)
    assert revision == HEAD or "screener db upgrade" in before.stderr
    upgraded = run(old.data_dir, "db", "upgrade", **given)
    assert upgraded.returncode == 0, upgraded.stderr
    assert run(old.data_dir, "db", "check", **given).returncode == 0
    at_database(old.accounts_url, check_works)


UNKNOWN = {
    "UPDATE alembic_version SET version_num = '0999'": "run the newer version",
    "UPDATE alembic_version SET version_num = '0006'": "an earlier version",
}


def test_a_check_finds_rows_that_belong_to_nothing_and_schemas_that_are_not_known(
    tmp_path: Path,
) -> None:
    url = Settings(data_dir=tmp_path).accounts_url
    empty = run(tmp_path, "db", "check")
    at_database(url, partial(furnish, HEAD))
    statements(tmp_path, "PRAGMA foreign_keys = OFF", "DELETE FROM accounts")
    dangling = run(tmp_path, "db", "check")

    assert empty.returncode == dangling.returncode == 1
    assert "there are no tables yet" in empty.stderr
    assert "rows of keys without their accounts: 1" in dangling.stderr
    for statement, words in UNKNOWN.items():
        statements(tmp_path, statement)
        assert words in run(tmp_path, "db", "check").stderr
        check_refusal(run(tmp_path, "db", "upgrade"), words)
        check_refusal(run(tmp_path, "backup", str(tmp_path / "b")), words)


def statements(data: Path, *texts: str) -> None:
    with closing(sqlite3.connect(data / "accounts.sqlite")) as connection, connection:
        for text in texts:
            connection.execute(text)
