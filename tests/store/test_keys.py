"""API keys: how they are made, what they open, and how they end."""

from __future__ import annotations

import pytest

from store.accounts import Accounts, Plan
from store.database import Database
from store.errors import AccountError
from store.keys import Keys
from store.tables import metadata


@pytest.fixture
async def accounts(database: Database) -> Accounts:
    return Accounts(database)


@pytest.fixture
async def keys(database: Database) -> Keys:
    return Keys(database)


async def test_a_new_key_opens_its_account(accounts: Accounts, keys: Keys) -> None:
    await accounts.add("Ada@Example.com ", Plan.PREMIUM)
    key, secret = await keys.create("ada@example.com", "laptop")

    holder = await keys.principal(secret)

    assert holder is not None
    assert holder.account.email == "ada@example.com"
    assert holder.account.plan is Plan.PREMIUM
    assert holder.key == key
    assert secret.startswith("ps_live_")
    assert secret[:16] == key.prefix


async def test_a_secret_is_nowhere_in_the_database(
    accounts: Accounts, keys: Keys, database: Database
) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    _, secret = await keys.create("ada@example.com", "laptop")

    async with database.read() as connection:
        rows = [
            str(row)
            for table in metadata.sorted_tables
            for row in await connection.execute(table.select())
        ]

    assert not any(secret[16:] in row for row in rows)
    assert any(secret[:16] in row for row in rows)


async def test_a_revoked_key_opens_nothing(accounts: Accounts, keys: Keys) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    key, secret = await keys.create("ada@example.com", "laptop")

    await keys.revoke(key.prefix)

    assert await keys.principal(secret) is None
    with pytest.raises(AccountError, match="No live key"):
        await keys.revoke(key.prefix)


async def test_replacing_a_key_keeps_its_name_and_kills_the_old_secret(
    accounts: Accounts, keys: Keys
) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    key, old = await keys.create("ada@example.com", "laptop")

    after, new = await keys.replace(key.prefix)

    assert after.name == "laptop"
    assert await keys.principal(old) is None
    assert await keys.principal(new) is not None


async def test_an_inactive_account_silences_its_keys_until_it_is_reactivated(
    accounts: Accounts, keys: Keys
) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)
    _, secret = await keys.create("ada@example.com", "laptop")

    await accounts.set_active("ada@example.com", active=False)
    silenced = await keys.principal(secret)
    await accounts.set_active("ada@example.com", active=True)

    assert silenced is None
    assert await keys.principal(secret) is not None


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb"])
async def test_a_key_needs_a_printable_name(accounts: Accounts, keys: Keys, name: str) -> None:
    await accounts.add("ada@example.com", Plan.PREMIUM)

    with pytest.raises(AccountError, match="printable"):
        await keys.create("ada@example.com", name)


async def test_an_account_revokes_its_own_keys_alone(database: Database) -> None:
    accounts, keys = Accounts(database), Keys(database)
    ada = await accounts.add("ada@example.com", Plan.PREMIUM)
    eve = await accounts.add("eve@example.com", Plan.PREMIUM)
    key, secret = await keys.create("ada@example.com", "laptop")

    assert not await keys.revoke_own(eve.id, key.prefix)
    assert await keys.principal(secret) is not None
    assert await keys.revoke_own(ada.id, key.prefix)
    assert not await keys.revoke_own(ada.id, key.prefix)
    assert await keys.principal(secret) is None
