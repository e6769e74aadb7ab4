"""Codes and tokens: their lifetimes, and that each can be used only once.

Over 400 lines, because each way to misuse a credential is tried on the same grants.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import AccountPlan, Accounts, hash_secret
from store.accounts.audit import Actor, AuditLog, EventKind
from store.accounts.credentials import (
    LIFETIMES,
    PREFIXES,
    CredentialKind,
    new_credential,
    new_seed,
    successor,
)
from store.accounts.grants import Grants
from store.accounts.keys import Key
from store.accounts.tokens import TokenPair, Tokens
from store.database import tables
from store.database.database import Database
from store.errors import TooOftenError
from tests.accounts import CALLBACK, new_code, new_tokens
from tests.postgres import ON_SQLITE

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


def at(database: Database, now: dt.datetime) -> Tokens:
    return Tokens(database, clock=lambda: now)


async def approve(database: Database) -> str:
    """A code from the start of time, for the client `host`."""
    return await new_code(Grants(database, clock=lambda: START))


async def redeemed(database: Database) -> TokenPair:
    return await new_tokens(Grants(database, clock=lambda: START), at(database, START))


async def revoke_all(database: Database) -> None:
    [account] = await Accounts(database).all()
    for grant in await Grants(database).all_grants():
        await Grants(database).revoke_grant(account.id, grant.prefix)


@pytest.fixture(autouse=True)
async def furnished(database: Database) -> None:
    await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    await Grants(database, clock=lambda: START).add_client("host", "A host", (CALLBACK,))


@pytest.fixture
async def second_process(database: Database) -> AsyncIterator[Database]:
    """The same database with its own connections, like those of another process."""
    async with Database(database.engine.url.render_as_string(hide_password=False)) as other:
        yield other


def test_lifetimes_are_those_that_clients_were_promised() -> None:
    assert LIFETIMES[CredentialKind.CODE] <= dt.timedelta(seconds=60)
    assert LIFETIMES[CredentialKind.ACCESS] == dt.timedelta(days=7)
    assert LIFETIMES[CredentialKind.REFRESH] == dt.timedelta(days=90)


@pytest.mark.parametrize(("before_end", "live"), [(SECOND, True), (0 * SECOND, False)])
@pytest.mark.proves("LIM-refresh-token")
async def test_each_credential_lives_until_its_end(
    database: Database, before_end: dt.timedelta, live: bool
) -> None:
    code, pair = await approve(database), await redeemed(database)

    def then(kind: CredentialKind) -> Tokens:
        return at(database, START + LIFETIMES[kind] - before_end)

    redeemed_then = await then(CredentialKind.CODE).redeem(code, "host", "challenge", None)
    assert (redeemed_then is not None) is live
    assert (await then(CredentialKind.ACCESS).principal(pair.access) is not None) is live
    assert (await then(CredentialKind.REFRESH).rotate(pair.refresh, "host") is not None) is live


async def test_an_expired_credential_shown_again_revokes_nothing(database: Database) -> None:
    late, pair = await approve(database), await redeemed(database)
    tokens = at(database, START + LIFETIMES[CredentialKind.CODE])

    assert await tokens.redeem(late, "host", "challenge", None) is None
    assert await tokens.principal(pair.access) is not None


@ON_SQLITE
@pytest.mark.parametrize("client", ["host", "foreign"])
async def test_a_guess_and_a_credential_of_another_client_or_a_revoked_grant_wait_for_no_writer(
    database: Database, client: str
) -> None:
    code, pair, tokens = await approve(database), await redeemed(database), at(database, START)
    if client == "host":
        await revoke_all(database)

    async with asyncio.timeout(5), database.write():
        assert await tokens.redeem(code, client, "challenge", None) is None
        assert await tokens.rotate(pair.refresh, client) is None
        await tokens.revoke(pair.access, client)
        assert await tokens.redeem("guess", "host", "challenge", None) is None
        assert await tokens.rotate("guess", "host") is None


async def test_a_grant_that_is_revoked_while_its_client_waits_for_the_writer_gives_nothing(
    database: Database, second_process: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, pair, tokens = await approve(database), await redeemed(database), at(database, START)
    write = database.write

    @asynccontextmanager
    async def later() -> AsyncIterator[AsyncConnection]:
        await revoke_all(second_process)
        async with write() as connection:
            yield connection

    monkeypatch.setattr(database, "write", later)

    assert await tokens.redeem(code, "host", "challenge", None) is None
    assert await tokens.rotate(pair.refresh, "host") is None


async def test_who_got_tokens_for_which_account_is_in_the_audit_log(database: Database) -> None:
    await redeemed(database)

    [account] = await Accounts(database).all()
    [grant] = await Grants(database).all_grants()
    [event] = await AuditLog(database).events(kind=EventKind.TOKENS_ISSUED)
    assert (event.account_id, event.subject) == (account.id, f"{grant.prefix} A host")


async def run(database: Database, statement: str) -> None:
    async with database.write() as connection:
        await connection.execute(sa.text(statement))


@ON_SQLITE
async def test_a_failure_between_consuming_and_issuing_costs_no_credential(
    database: Database,
) -> None:
    code, pair, tokens = await approve(database), await redeemed(database), at(database, START)
    refuse = "BEFORE INSERT ON tokens WHEN NEW.kind = 'refresh' BEGIN SELECT RAISE(ABORT, 'x'); END"

    await run(database, f"CREATE TRIGGER full {refuse}")
    for exchange in (
        tokens.redeem(code, "host", "challenge", None),
        tokens.rotate(pair.refresh, "host"),
    ):
        with pytest.raises(IntegrityError):
            await exchange
    await run(database, "DROP TRIGGER full")

    assert await tokens.principal(pair.access) is not None
    assert await tokens.redeem(code, "host", "challenge", None) is not None
    assert await tokens.rotate(pair.refresh, "host") is not None


async def test_of_two_processes_exactly_one_redeems_a_code_and_one_rotates_a_token(
    database: Database, second_process: Database
) -> None:
    code, old = await approve(database), await redeemed(database)
    processes = [at(database, START), at(second_process, START)] * 6

    redeemed_by = await asyncio.gather(
        *(tokens.redeem(code, "host", "challenge", None) for tokens in processes)
    )
    rotated_by = await asyncio.gather(*(tokens.rotate(old.refresh, "host") for tokens in processes))

    for pairs in (redeemed_by, rotated_by):
        assert sum(pair is not None for pair in pairs) == 1


LEEWAY = dt.timedelta(seconds=30)


def lenient(database: Database, now: dt.datetime = START) -> Tokens:
    return Tokens(database, clock=lambda: now, leeway=LEEWAY)


async def test_within_the_leeway_a_refresh_gives_the_same_pair_again(database: Database) -> None:
    old = await redeemed(database)
    new = await lenient(database).rotate(old.refresh, "host")
    again = await lenient(database, START + LEEWAY - SECOND).rotate(old.refresh, "host")

    assert new is not None
    assert again == new
    assert await at(database, START).principal(old.access) is None
    assert await at(database, START).principal(new.access) is not None


@ON_SQLITE
@pytest.mark.parametrize("at_its_end", [True, False])
async def test_at_the_end_of_the_leeway_and_without_one_a_replay_revokes_everything(
    database: Database, at_its_end: bool
) -> None:
    old = await redeemed(database)
    new = await lenient(database).rotate(old.refresh, "host")
    late = lenient(database, START + LEEWAY) if at_its_end else at(database, START)

    assert new is not None
    assert await late.rotate(old.refresh, "host") is None
    assert await late.principal(new.access) is None
    assert await late.rotate(new.refresh, "host") is None


@ON_SQLITE
async def test_a_grandparent_revokes_everything_even_within_the_leeway(database: Database) -> None:
    old, tokens = await redeemed(database), lenient(database)
    parent = await tokens.rotate(old.refresh, "host")
    assert parent is not None
    child = await tokens.rotate(parent.refresh, "host")
    assert child is not None

    assert await tokens.rotate(old.refresh, "host") is None
    assert await tokens.principal(child.access) is None
    assert await tokens.rotate(child.refresh, "host") is None


async def test_the_leeway_is_for_the_client_of_a_live_grant_alone(database: Database) -> None:
    old, tokens = await redeemed(database), lenient(database)
    await Grants(database).add_client("foreign", "Another", (CALLBACK,))
    new = await tokens.rotate(old.refresh, "host")
    assert new is not None

    assert await tokens.rotate(old.refresh, "foreign") is None
    assert await tokens.principal(new.access) is not None
    await tokens.revoke(new.access, "host")
    assert await tokens.rotate(old.refresh, "host") is None


@ON_SQLITE
async def test_within_the_leeway_each_refresh_gives_its_own_pair_again(database: Database) -> None:
    tokens = lenient(database)
    olds = [await redeemed(database) for _ in range(3)]
    news = [await tokens.rotate(old.refresh, "host") for old in olds]

    again = [await tokens.rotate(old.refresh, "host") for old in olds]

    assert None not in news
    assert again == news


async def test_an_inactive_account_gets_nothing_again_within_the_leeway(
    database: Database,
) -> None:
    old, tokens = await redeemed(database), lenient(database)
    await tokens.rotate(old.refresh, "host")
    await Accounts(database).set_active("ada@example.com", active=False)

    assert await tokens.rotate(old.refresh, "host") is None


async def test_a_principal_is_the_account_of_its_grant_until_its_token_ends(
    database: Database,
) -> None:
    code, moment = await approve(database), START + 10 * SECOND
    pair = await at(database, moment).redeem(code, "host", "challenge", CALLBACK)
    assert pair is not None
    await Accounts(database).add("eve@example.com", AccountPlan.NONE)
    [grant] = await Grants(database).all_grants()

    principal = await at(database, moment).principal(pair.access)

    assert principal is not None
    assert principal.account.email == "ada@example.com"
    assert principal.key == Key(grant.prefix, "A host", START, None)
    assert principal.expires_at == moment + LIFETIMES[CredentialKind.ACCESS]


async def test_a_rotation_ends_the_access_tokens_of_its_grant_alone(database: Database) -> None:
    rotated, other, tokens = await redeemed(database), await redeemed(database), at(database, START)

    new = await tokens.rotate(rotated.refresh, "host")

    assert new is not None
    assert await tokens.principal(rotated.access) is None
    assert await tokens.principal(new.access) is not None
    assert await tokens.principal(other.access) is not None
    assert await tokens.rotate(other.refresh, "host") is not None


async def test_a_replay_revokes_one_grant_and_is_logged_with_who_showed_it(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    tokens, code = at(database, START), await approve(database)
    thief = Actor("app", "198.51.100.9", "curl")
    by_code = await tokens.redeem(code, "host", "challenge", None)
    by_token, other = await redeemed(database), await redeemed(database)
    await tokens.rotate(by_token.refresh, "host")

    await tokens.redeem(code, "host", "challenge", None, actor=thief)
    await tokens.rotate(by_token.refresh, "host", actor=thief)
    await tokens.rotate("unknown", "host")

    assert by_code is not None
    assert await tokens.principal(by_code.access) is None
    assert await tokens.principal(other.access) is not None
    grants = await Grants(database).all_grants()
    ended = {grant.prefix for grant in grants if grant.revoked_at is not None}
    assert (len(grants), len(ended)) == (3, 2)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert messages[0].startswith("Client host reused a used code; ")
    assert messages[1].startswith("Client host reused a used refresh token; ")
    logged = {message.split("; ")[1] for message in messages}
    assert logged == {f"grant {prefix} is revoked." for prefix in ended}
    events = await AuditLog(database).events(kind=EventKind.TOKEN_REUSED)
    assert {event.subject for event in events} == {f"{prefix} A host" for prefix in ended}
    assert {(event.actor, event.network, event.agent) for event in events} == {thief}


async def test_what_is_revoked_already_is_neither_revoked_nor_told_again(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    code = await approve(database)
    pair = await at(database, START).redeem(code, "host", "challenge", None)
    assert pair is not None
    await at(database, START + SECOND).revoke(pair.access, "host")

    later = at(database, START + 2 * SECOND)
    await later.revoke(pair.access, "host")
    await later.redeem(code, "host", "challenge", None)

    [grant] = await Grants(database).all_grants()
    assert grant.revoked_at == START + SECOND
    assert caplog.records == []


async def test_of_two_processes_all_get_the_same_pair_within_the_leeway(
    database: Database, second_process: Database
) -> None:
    old = await redeemed(database)
    processes = [lenient(database), lenient(second_process)]

    pairs = await asyncio.gather(*(tokens.rotate(old.refresh, "host") for tokens in processes * 6))

    assert len(set(pairs)) == 1
    assert pairs[0] is not None
    assert await processes[0].principal(pairs[0].access) is not None


@ON_SQLITE
async def test_a_dump_does_not_lead_to_what_was_derived(database: Database) -> None:
    """With the seed and every hash, but without the old token."""
    old = await redeemed(database)
    new = await lenient(database).rotate(old.refresh, "host")
    assert new is not None
    rows = list(await database.rows(tables.tokens.select()))
    [seed] = [row.seed for row in rows if row.seed]
    stored = {str(value) for row in rows for value in row}
    pairs = {old.access, old.refresh, new.access, new.refresh}

    assert successor(CredentialKind.REFRESH, old.refresh, seed) == new.refresh
    assert stored.isdisjoint(pairs)
    derived = {successor(kind, value, seed) for kind in CredentialKind for value in stored}
    assert derived.isdisjoint(pairs)
    assert hash_secret(new.refresh) in stored


async def test_without_a_leeway_no_token_is_derived_from_another(database: Database) -> None:
    old = await redeemed(database)
    assert await at(database, START).rotate(old.refresh, "host") is not None

    seeds = {row.seed for row in await database.rows(tables.tokens.select())}
    assert seeds == {None}


def test_successors_look_like_all_credentials_and_never_repeat() -> None:
    tokens = [new_credential(CredentialKind.REFRESH) for _ in range(20)]
    seeds = [new_seed() for _ in range(20)]
    everything = set[str]()
    for kind in (CredentialKind.ACCESS, CredentialKind.REFRESH):
        made = {successor(kind, token, seed) for token in tokens for seed in seeds}
        everything |= made
        assert {len(one) for one in made} == {len(new_credential(kind))}
        assert all(one.removeprefix(PREFIXES[kind]).isalnum() for one in made)
        assert all(one.startswith(PREFIXES[kind]) for one in made)

    assert len(everything) == 800


async def test_a_grant_is_refreshed_so_often_within_an_hour_and_its_token_stays_good(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.accounts.tokens.REFRESHES_AN_HOUR", 2)
    pair, now = await redeemed(database), START
    for _ in range(2):
        now += SECOND
        fresh = await at(database, now).rotate(pair.refresh, "host")
        assert fresh is not None
        used, pair = pair, fresh

    with pytest.raises(TooOftenError) as refusal:
        await at(database, now).rotate(pair.refresh, "host")

    assert refusal.value.wait == 3600
    assert await at(database, now).principal(pair.access) is not None
    assert await at(database, START + HOUR + SECOND).rotate(pair.refresh, "host") is not None
    # A token that was used before is never excused by the pace.
    assert await at(database, now).rotate(used.refresh, "host") is None
    [grant] = await Grants(database).all_grants()
    assert grant.revoked_at is not None


async def test_a_clock_that_was_ahead_for_once_holds_up_no_refresh(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.accounts.tokens.REFRESHES_AN_HOUR", 1)
    pair = await at(database, START + 24 * HOUR).rotate((await redeemed(database)).refresh, "host")
    assert pair is not None

    assert await at(database, START).rotate(pair.refresh, "host") is not None


async def test_of_the_used_tokens_of_a_grant_the_oldest_are_forgotten(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.accounts.tokens.REMEMBERED", 3)
    pair, other, now = await redeemed(database), await redeemed(database), START
    await at(database, now).rotate(other.refresh, "host")
    used = [other.refresh]
    for _ in range(6):
        now += SECOND
        used.append(pair.refresh)
        fresh = await at(database, now).rotate(pair.refresh, "host")
        assert fresh is not None
        pair = fresh

    tokens = tables.tokens
    query = sa.select(tokens.c.token_hash).where(tokens.c.consumed_at.is_not(None))
    remembered = {token_hash for (token_hash,) in await database.rows(query)}
    assert remembered == {hash_secret(token) for token in [used[0], *used[-3:]]}
