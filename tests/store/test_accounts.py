"""Accounts and keys."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from store.accounts import Accounts, Plan
from store.database import HEAD, Database
from store.errors import AccountError, DatabaseError
from store.tables import metadata


@pytest.fixture
async def accounts(database: Database) -> Accounts:
    return Accounts(database)


async def test_a_new_key_opens_its_account(accounts: Accounts) -> None:
    await accounts.add("Ada@Example.com ", Plan.PREMIUM)
    key, secret = await accounts.create_key("ada@example.com", "laptop")

    holder = await accounts.principal(secret)

    assert holder is not None
    assert holder.account.email == "ada@example.com"
    assert holder.account.plan is Plan.PREMIUM
    assert holder.key == key
    assert secret.startswith("ps_live_")
    assert secret[:16] == key.prefix


async def test_a_secret_is_nowhere_in_the_database(accounts: Accounts, database: Database) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    _, secret = await accounts.create_key("ada@example.com", "laptop")

    async with database.read() as connection:
        rows = [
            str(row)
            for table in metadata.sorted_tables
            for row in await connection.execute(table.select())
        ]

    assert not any(secret[16:] in row for row in rows)
    assert any(secret[:16] in row for row in rows)


async def test_a_revoked_key_opens_nothing(accounts: Accounts) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    key, secret = await accounts.create_key("ada@example.com", "laptop")

    await accounts.revoke_key(key.prefix)

    assert await accounts.principal(secret) is None
    with pytest.raises(AccountError, match="No live key"):
        await accounts.revoke_key(key.prefix)


async def test_replacing_a_key_keeps_its_name_and_kills_the_old_secret(accounts: Accounts) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    key, old = await accounts.create_key("ada@example.com", "laptop")

    after, new = await accounts.replace_key(key.prefix)

    assert after.name == "laptop"
    assert await accounts.principal(old) is None
    assert await accounts.principal(new) is not None


async def test_an_inactive_account_silences_its_keys_until_it_is_reactivated(
    accounts: Accounts,
) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    _, secret = await accounts.create_key("ada@example.com", "laptop")

    await accounts.set_active("ada@example.com", active=False)
    silenced = await accounts.principal(secret)
    await accounts.set_active("ada@example.com", active=True)

    assert silenced is None
    assert await accounts.principal(secret) is not None


async def test_an_address_is_taken_only_once(accounts: Accounts) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)

    with pytest.raises(AccountError, match="already"):
        await accounts.add("ADA@example.com", Plan.NONE)


@pytest.mark.parametrize("email", ["", "ada", "a b@example.com", "@example.com"])
async def test_a_malformed_address_is_refused(accounts: Accounts, email: str) -> None:
    with pytest.raises(AccountError, match="not an e-mail address"):
        await accounts.add(email, Plan.NONE)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb"])
async def test_a_key_needs_a_printable_name(accounts: Accounts, name: str) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)

    with pytest.raises(AccountError, match="printable"):
        await accounts.create_key("ada@example.com", name)


async def test_migrating_an_up_to_date_database_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    for _ in range(2):
        database = Database(f"sqlite+aiosqlite:///{path}")
        await database.migrate()
        await database.close()

    with sqlite3.connect(path) as connection:
        revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    connection.close()
    assert revisions == [(HEAD,)]


async def test_a_database_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    database = Database(f"sqlite+aiosqlite:///{path}")
    await database.migrate()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    with pytest.raises(DatabaseError, match="newer"):
        await database.migrate()
    await database.close()


async def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 20)
    database = Database(f"sqlite+aiosqlite:///{path}")

    with pytest.raises(DatabaseError, match="cannot be opened"):
        await database.migrate()
    await database.close()
