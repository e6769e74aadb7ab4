"""Accounts and keys."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.database import tables
from store.database.database import Database
from store.errors import AccountError, DatabaseError
from tests.postgres import ON_SQLITE


@pytest.fixture
async def accounts(database: Database) -> Accounts:
    return Accounts(database)


async def test_an_address_is_taken_only_once(accounts: Accounts) -> None:
    await accounts.add("ada@example.com", AccountPlan.PREMIUM)

    with pytest.raises(AccountError, match="already"):
        await accounts.add("ADA@example.com", AccountPlan.NONE)


@ON_SQLITE
@pytest.mark.parametrize(
    "email",
    [
        *("", "ada", "a b@example.com", "@example.com", "a@b@example.com"),
        *("b\u200b@example.com", "\u202eb@example.com", "\uff42@example.com", "\u212a@example.com"),
        *("a@ex\xe4mple.com", "\x1b[31m@example.com", "a\x7f@example.com"),
        *("a" * 65 + "@example.com", "a@" + "b" * 190),
    ],
)
async def test_a_malformed_address_is_refused(accounts: Accounts, email: str) -> None:
    with pytest.raises(AccountError, match="not an e-mail address"):
        await accounts.add(email, AccountPlan.NONE)


async def test_an_address_with_other_characters_keeps_its_account(
    accounts: Accounts, database: Database
) -> None:
    await accounts.add("ada@xn--exmple-cua.com", AccountPlan.PREMIUM)
    async with database.write() as connection:
        await connection.execute(tables.accounts.update().values(email="ad\xe4@ex\xe4mple.com"))

    await accounts.set_password("ad\xe4@ex\xe4mple.com", "hash")

    assert await accounts.password_hash("Ad\xe4@ex\xe4mple.com") == "hash"


async def test_a_database_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()

        with pytest.raises(DatabaseError, match="newer"):
            await database.migrate()


async def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 20)
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        with pytest.raises(DatabaseError, match="file is not a database"):
            await database.migrate()


async def test_what_is_deleted_is_in_no_file_although_the_service_runs(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    service, command = (Database(f"sqlite+aiosqlite:///{path}") for _ in range(2))
    try:
        await service.migrate()
        for name in ("eve", "ada"):
            await Accounts(service).add(f"{name}@example.com", AccountPlan.PREMIUM)
        await Accounts(command).delete("ada@example.com")

        held = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    finally:
        await command.close()
        await service.close()

    assert "accounts.sqlite-wal" in held
    assert not any(b"ada@example.com" in content for content in held.values())
    assert b"eve@example.com" in held["accounts.sqlite"]
