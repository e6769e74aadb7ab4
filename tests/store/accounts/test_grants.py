"""Clients and grants, and when they are swept."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa

from store.accounts import clients, retention
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.grants import Grants
from store.accounts.tokens import TokenPair, Tokens
from store.database import tables
from store.database.database import Database
from store.errors import UnknownClientError
from tests.accounts import CALLBACK, count_of, new_code, new_tokens, swept
from tests.clocks import SetClock

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


class House:
    """Grants and tokens under one clock, with one account and one client."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = SetClock(START)
        self.grants = Grants(database, clock=self.clock)
        self.tokens = Tokens(database, clock=self.clock)
        self.account_id = 0

    async def furnish(self) -> None:
        account = await Accounts(self.database).add("ada@example.com", AccountPlan.PREMIUM)
        self.account_id = account.id
        await self.grants.add_client("host", "A host", (CALLBACK,))

    async def approve(self) -> str:
        return await new_code(self.grants, self.account_id)

    async def connect(self, client_id: str = "host") -> TokenPair:
        """The tokens of a new approval."""
        return await new_tokens(self.grants, self.tokens, self.account_id, client_id)

    async def sweep(self) -> tuple[int, int]:
        """How many grants, and how many clients, a sweep removes."""
        rows = await swept(self.database, self.clock)
        return rows["grants"], rows["hosts"]


@pytest.fixture
async def house(database: Database) -> House:
    house = House(database)
    await house.furnish()
    return house


async def test_a_client_is_found_as_it_was_registered(house: House) -> None:
    uris = (CALLBACK, "cursor://x/cb")
    added = await house.grants.add_client(
        "other", "名前", uris, auth_method="client_secret_post", secret="s"
    )

    assert await house.grants.client("other") == added
    assert added.redirect_uris == uris
    assert added.secret_hash not in (None, "s")
    assert await house.grants.client("unknown") is None
    assert [client.client_id for client in await house.grants.clients()] == ["host", "other"]


async def test_an_approval_is_a_grant_of_the_account_named_after_the_host(house: House) -> None:
    await house.approve()
    house.clock.now += DAY
    await house.approve()

    first, second = await house.grants.all_grants()
    client = await house.grants.client("host")

    assert (first.name, first.client_id, first.account_id) == ("A host", "host", house.account_id)
    assert (first.created_at, first.revoked_at) == (START, None)
    assert first.prefix != second.prefix
    assert client is not None
    assert client.approved_at == START


async def test_an_unknown_client_cannot_be_approved(house: House) -> None:
    await house.grants.delete_client("host")

    with pytest.raises(UnknownClientError):
        await house.approve()
    assert await house.grants.all_grants() == []


async def test_only_its_own_account_revokes_a_grant(house: House) -> None:
    await house.approve()
    [grant] = await house.grants.all_grants()
    other = await Accounts(house.database).add("eve@example.com", AccountPlan.PREMIUM)

    assert not await house.grants.revoke_grant(other.id, grant.prefix)
    assert not await house.grants.revoke_grant(house.account_id, "unknown")
    assert await house.grants.all_grants() == [grant]
    for _ in range(2):
        assert await house.grants.revoke_grant(house.account_id, grant.prefix)
        house.clock.now += DAY
    [revoked] = await house.grants.all_grants()
    assert revoked.revoked_at == START, "its first revocation"


async def test_a_deleted_client_leaves_nothing_behind(house: House) -> None:
    pair = await house.connect()

    assert await house.grants.delete_client("host")
    assert not await house.grants.delete_client("host")
    assert await house.tokens.principal(pair.access) is None
    for table in (tables.clients, tables.grants, tables.codes, tables.tokens):
        assert await count_of(house.database, table) == 0


async def test_clients_nobody_approved_are_swept_after_a_day(house: House) -> None:
    await house.grants.add_client("visitor", "Visitor", (CALLBACK,))
    await house.connect()
    house.clock.now += DAY - dt.timedelta(seconds=1)
    early = await house.sweep()
    house.clock.now += dt.timedelta(seconds=1)

    assert early == (0, 0)
    assert await house.sweep() == (0, 1)
    assert [client.client_id for client in await house.grants.clients()] == ["host"]


async def test_an_approved_client_goes_with_its_tokens_180_days_after_its_last_use(
    house: House,
) -> None:
    pair = await house.connect()
    house.clock.now += 60 * DAY
    assert await house.tokens.rotate(pair.refresh, "host")
    house.clock.now += 180 * DAY - dt.timedelta(seconds=1)
    early = await house.sweep()
    house.clock.now += dt.timedelta(seconds=1)

    assert early == (1, 0)
    assert await house.sweep() == (0, 1)
    for table in (tables.clients, tables.grants, tables.codes, tables.tokens):
        assert await count_of(house.database, table) == 0


async def test_of_a_code_that_nobody_redeemed_the_grant_goes_with_it_and_the_app_after_a_day(
    house: House,
) -> None:
    await house.approve()
    house.clock.now += dt.timedelta(seconds=60)
    assert await house.sweep() == (1, 0)
    house.clock.now = START + DAY - dt.timedelta(seconds=1)
    assert await house.sweep() == (0, 0)
    house.clock.now += dt.timedelta(seconds=1)
    assert await house.sweep() == (0, 1)


async def test_of_apps_that_were_revoked_an_account_keeps_so_many(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Approving and revoking new apps over and over fills no disk."""
    monkeypatch.setattr(retention, "REVOKED_KEPT", 2)
    await house.connect()
    [live] = await house.grants.all_grants()
    for number in range(4):
        await house.grants.add_client(f"app{number}", "An app", (CALLBACK,))
        await house.connect(f"app{number}")
        grant = (await house.grants.all_grants())[-1]
        await house.grants.revoke_grant(house.account_id, grant.prefix)
        house.clock.now += DAY

    swept = await house.sweep()

    assert swept == (2, 2)
    assert await client_ids(house) == ["host", "app2", "app3"]
    assert live in await house.grants.all_grants()
    assert await count_of(house.database, tables.tokens) == 6
    house.clock.now += 90 * DAY
    assert (await house.sweep())[0] == 3


async def test_an_app_whose_tokens_expired_stays_registered(house: House) -> None:
    await house.connect()
    house.clock.now += 90 * DAY

    assert await house.sweep() == (1, 0)
    house.clock.now += 90 * DAY - dt.timedelta(seconds=1)
    assert await house.sweep() == (0, 0)


async def test_what_is_held_is_what_was_not_revoked_and_what_is_asked_for(house: House) -> None:
    for _ in range(3):
        await house.approve()
    first, second, third = await house.grants.all_grants()
    for one in (first, second):
        await house.grants.revoke_grant(house.account_id, one.prefix)

    assert await house.grants.unrevoked(house.account_id) == [third]
    held = await house.grants.unrevoked(house.account_id, [second.prefix])
    assert [one.prefix for one in held] == [second.prefix, third.prefix]


async def client_ids(house: House) -> list[str]:
    """The clients, oldest first."""
    return [client.client_id for client in await house.grants.clients()]


async def test_a_network_with_too_many_new_clients_loses_its_oldest(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PER_NETWORK", 2)
    await house.approve()
    for n in range(4):
        house.clock.now += dt.timedelta(seconds=1)
        await house.grants.add_client(f"flood{n}", "X", (CALLBACK,), network="192.0.2.1")
        await house.grants.add_client(
            f"other{n % 2}-{n}", "X", (CALLBACK,), network=f"203.0.113.{n}"
        )

    assert await client_ids(house) == [
        *("host", "other0-0", "other1-1"),
        *("flood2", "other0-2", "flood3", "other1-3"),
    ]


async def test_of_too_many_new_clients_the_network_with_most_loses_its_oldest(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IN_ALL", 3)
    await house.approve()
    for n, network in enumerate(["198.51.100.1", *["192.0.2.1"] * 3, "203.0.113.1"]):
        house.clock.now += dt.timedelta(seconds=1)
        await house.grants.add_client(f"new{n}", "X", (CALLBACK,), network=network)

    assert await client_ids(house) == ["host", "new0", "new3", "new4"]


async def test_an_approved_client_never_gives_way_and_keeps_no_network(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PER_NETWORK", 0)
    await house.approve()

    await house.grants.add_client("new", "X", (CALLBACK,))

    assert await client_ids(house) == ["host"]
    assert await house.database.scalar(sa.select(tables.clients.c.network)) == ""


async def test_used_rows_stay_as_long_as_anything_they_issued_can_live(house: House) -> None:
    first = await house.connect()
    house.clock.now += 80 * DAY
    second = await house.tokens.rotate(first.refresh, "host")
    house.clock.now += 89 * DAY
    assert second is not None
    await house.sweep()

    kept = [await count_of(house.database, table) for table in (tables.codes, tables.tokens)]
    house.clock.now += DAY
    swept = await house.sweep()

    assert kept == [1, 3]
    assert swept == (1, 0)
    for table in (tables.grants, tables.codes, tables.tokens):
        assert await count_of(house.database, table) == 0


async def test_what_a_document_says_now_replaces_what_it_said(house: House) -> None:
    client_id, later = "https://app.example.com/client.json", "com.example.app:/cb"
    first = await house.grants.keep_document(client_id, "Before", (CALLBACK,), START + DAY)
    await new_code(house.grants, house.account_id, client_id)
    house.clock.now += 2 * DAY
    second = await house.grants.keep_document(client_id, "After", (later,), START + 3 * DAY)

    assert await house.grants.client(client_id) == second
    assert (first.name, first.fresh_until) == ("Before", START + DAY)
    assert (second.name, second.redirect_uris) == ("After", (later,))
    assert (second.created_at, second.approved_at) == (START, START)
    assert second.fresh_until == START + 3 * DAY
    assert (second.auth_method, second.secret_hash) == ("none", None)


async def test_a_document_client_that_nobody_approved_is_swept_like_any_other(
    house: House,
) -> None:
    client_id = "https://app.example.com/client.json"
    await house.grants.keep_document(client_id, "Host", (CALLBACK,), START + DAY)
    await house.connect()
    house.clock.now += DAY - dt.timedelta(seconds=1)
    kept = await house.sweep()
    await house.grants.keep_document(client_id, "Host", (CALLBACK,), START + 2 * DAY)
    house.clock.now += dt.timedelta(seconds=1)

    assert (kept, await house.sweep()) == ((0, 0), (0, 1))
