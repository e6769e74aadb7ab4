"""Consent: a form approves once, and an account approves so many apps, so often."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest
import sqlalchemy as sa

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.audit import Actor
from store.accounts.grants import GRANTS_PER_HOUR, MAX_GRANTS, ConsentForm, Grants
from store.database import tables
from store.database.database import Database
from store.errors import AccountError, TooManyError, TooOftenError, UsedFormError
from tests.accounts import CALLBACK, new_code, swept
from tests.clocks import SetClock

START = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
OWNER = Actor("owner", "192.0.2.1", "a browser")


@pytest.fixture
async def grants(database: Database, clock: SetClock) -> Grants:
    for name in ("ada", "eve"):
        await Accounts(database).add(f"{name}@example.com", AccountPlan.PREMIUM)
    grants = Grants(database, clock=clock)
    await grants.add_client("host", "A host", (CALLBACK,))
    return grants


async def approve(grants: Grants, form: str, account_id: int = 1) -> str:
    used = ConsentForm(form, START + 2 * HOUR)
    return await new_code(grants, account_id, form=used, actor=OWNER)


async def test_a_form_approves_once(grants: Grants) -> None:
    await approve(grants, "a form")

    for account_id in (1, 2):
        with pytest.raises(UsedFormError, match="used already"):
            await approve(grants, "a form", account_id)
    await approve(grants, "another form")

    assert len(await grants.all_grants()) == 2


async def test_a_form_by_which_nothing_was_approved_may_be_used(grants: Grants) -> None:
    await grants.delete_client("host")
    with pytest.raises(Exception, match="no longer registered"):
        await approve(grants, "a form")
    await grants.add_client("host", "A host", (CALLBACK,))

    await approve(grants, "a form")

    assert len(await grants.all_grants()) == 1


async def test_of_two_processes_one_approves_by_a_form(
    grants: Grants, database: Database, clock: SetClock
) -> None:
    other = Database(database.url)
    processes = [grants, Grants(other, clock=clock)]
    for number in range(5):
        answers = await asyncio.gather(
            *(approve(process, f"form {number}") for process in processes * 2),
            return_exceptions=True,
        )
        assert sorted(type(answer).__name__ for answer in answers) == [
            *("UsedFormError",) * 3,
            "str",
        ]
    await other.close()

    assert len(await grants.all_grants()) == 5


async def test_what_is_kept_of_a_form_is_not_its_token(grants: Grants, database: Database) -> None:
    await approve(grants, "the token")

    [row] = await database.rows(sa.select(tables.used_forms))
    assert "the token" not in str(row)


async def test_an_account_approves_so_many_apps_within_an_hour(
    grants: Grants, database: Database, clock: SetClock
) -> None:
    for number in range(GRANTS_PER_HOUR):
        clock.now = START + dt.timedelta(minutes=number)
        await approve(grants, f"form {number}")
        await swept(database, clock)  # what was approved and not redeemed counts too

    with pytest.raises(TooOftenError) as refused:
        await approve(grants, "too often")
    await approve(grants, "somebody else's", 2)
    clock.now = START + HOUR
    await approve(grants, "too often")

    assert refused.value.wait == (60 - GRANTS_PER_HOUR + 1) * 60
    with pytest.raises(TooOftenError):
        await approve(grants, "too often again")


async def test_an_account_with_very_many_apps_revokes_one_first(
    grants: Grants, clock: SetClock
) -> None:
    for number in range(MAX_GRANTS):
        clock.now += HOUR
        await approve(grants, f"form {number}")

    with pytest.raises(TooManyError, match="50 apps; revoke one"):
        await approve(grants, "one more")
    await approve(grants, "somebody else's", 2)
    first, *_ = await grants.unrevoked(1)
    await grants.revoke_grant(1, first.prefix)
    await approve(grants, "one more")

    assert len(await grants.unrevoked(1)) == MAX_GRANTS


async def test_an_account_that_was_deleted_meanwhile_approves_nothing(
    grants: Grants, database: Database
) -> None:
    await Accounts(database).delete("ada@example.com")

    with pytest.raises(AccountError, match="deleted"):
        await approve(grants, "a form")
    assert await grants.all_grants() == []
