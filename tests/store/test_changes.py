"""What is kept of the account database holds until something changes, and not a call longer."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from store.accounts import Accounts, Plan
from store.changes import Changes, Kept
from store.database import Database
from store.holders import Holders
from store.tokens import Tokens
from store.usage import UsageLog
from store.watchlist import Watchlist


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "accounts.sqlite"


async def migrated(path: Path) -> Database:
    database = Database(f"sqlite+aiosqlite:///{path}")
    await database.migrate()
    return database


async def test_every_change_that_decides_who_may_call_is_counted(path: Path) -> None:
    database = await migrated(path)
    changes = Changes(database.url)
    changes.open()
    accounts, watchlist = Accounts(database), Watchlist(database)
    counts = [changes.count()]

    account = await accounts.add("ada@example.com", Plan.PREMIUM)
    counts.append(changes.count())
    key, _secret = await accounts.create_key("ada@example.com", "laptop")
    counts.append(changes.count())
    await watchlist.replace(account.id, ["AAPL"], 5)
    counts.append(changes.count())
    await accounts.set_plan("ada@example.com", Plan.NONE)
    counts.append(changes.count())
    await accounts.revoke_key(key.prefix)
    counts.append(changes.count())

    assert None not in counts
    assert counts == sorted(set(counts), key=lambda count: count or 0)
    changes.close()
    await database.close()


async def test_writing_the_usage_log_changes_nothing_that_is_kept(path: Path) -> None:
    database = await migrated(path)
    account = await Accounts(database).add("ada@example.com", Plan.PREMIUM)
    changes, usage = Changes(database.url), UsageLog(database)
    changes.open()
    before = changes.count()

    usage.record(account.id, "ps_live_12345678", "scan", "curl")
    await usage.flush()

    assert changes.count() == before
    changes.close()
    await database.close()


async def test_a_revocation_from_elsewhere_ends_a_kept_key_at_once(path: Path) -> None:
    database, elsewhere = await migrated(path), await migrated(path)
    accounts = Accounts(database)
    await accounts.add("ada@example.com", Plan.PREMIUM)
    key, secret = await accounts.create_key("ada@example.com", "laptop")
    changes = Changes(database.url)
    changes.open()
    holders = Holders(accounts, Tokens(database), changes)
    found, kept = await holders.find(secret), Kept[str, object]()
    kept.put("key", found.changes, found.holder)
    assert kept.get("key", holders.changes()) is not None

    await Accounts(elsewhere).revoke_key(key.prefix)

    assert kept.get("key", holders.changes()) is None
    assert (await holders.find(secret)).holder is None
    changes.close()
    await database.close()
    await elsewhere.close()


async def test_a_change_by_hand_in_the_database_is_noticed_too(path: Path) -> None:
    database = await migrated(path)
    accounts = Accounts(database)
    await accounts.add("ada@example.com", Plan.PREMIUM)
    _key, secret = await accounts.create_key("ada@example.com", "laptop")
    changes = Changes(database.url)
    changes.open()
    holders = Holders(accounts, Tokens(database), changes)
    found, kept = await holders.find(secret), Kept[str, object]()
    kept.put("key", found.changes, found.holder)

    with sqlite3.connect(path) as shell:
        shell.execute("UPDATE accounts SET active = 0")
    shell.close()

    assert found.holder is not None
    assert kept.get("key", holders.changes()) is None
    changes.close()
    await database.close()


def test_a_database_that_cannot_be_asked_cheaply_keeps_nothing() -> None:
    changes, kept = Changes("postgresql+asyncpg://somewhere/else"), Kept[str, int]()
    changes.open()

    kept.put("a", changes.count(), 1)

    assert changes.count() is None
    assert kept.get("a", changes.count()) is None


def test_what_is_kept_is_bounded() -> None:
    kept = Kept[int, int](limit=10)
    for number in range(25):
        kept.put(number, 0, number)

    assert sum(kept.get(number, 0) is not None for number in range(25)) <= 10
