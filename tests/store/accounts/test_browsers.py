"""Browsers in which an account signed in before."""

from __future__ import annotations

import datetime as dt

import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.sessions import BROWSERS_PER_ACCOUNT, Browsers
from store.database import tables
from store.database.database import Database
from tests.accounts import count_of, rows_of, swept
from tests.clocks import SetClock

DAY = dt.timedelta(days=1)
ADA, EVE = "ada@example.com", "eve@example.com"


@pytest.fixture
async def browsers(on_sqlite: Database, clock: SetClock) -> Browsers:
    """Browsers of two accounts, ada's with the number 1 and eve's with 2."""
    for email in (ADA, EVE):
        await Accounts(on_sqlite).add(email, AccountPlan.PREMIUM)
    return Browsers(on_sqlite, clock=clock)


async def test_a_browser_is_known_for_the_account_that_signed_in_alone(
    browsers: Browsers, on_sqlite: Database
) -> None:
    token = await browsers.remember(None, 1)

    assert await browsers.knows(token, ADA)
    assert await browsers.knows(token, " Ada@Example.com ")
    assert not await browsers.knows(token, EVE)
    assert not await browsers.knows(token, "nobody@example.com")
    assert not await browsers.knows(token[:-1], ADA)
    assert len(token) == 43
    assert token not in str(await rows_of(on_sqlite))


async def test_a_known_browser_keeps_its_token_and_any_other_gets_a_new_one(
    browsers: Browsers, on_sqlite: Database
) -> None:
    token = await browsers.remember(None, 1)

    assert await browsers.remember(token, 1) == token
    planted = await browsers.remember("planted", 1)
    others = await browsers.remember(token, 2)

    assert len({token, planted, others, "planted"}) == 4
    assert await count_of(on_sqlite, tables.browsers) == 3


async def test_a_browser_unseen_for_a_year_is_unknown_and_swept(
    browsers: Browsers, clock: SetClock, on_sqlite: Database
) -> None:
    old = await browsers.remember(None, 1)
    used = await browsers.remember(None, 1)
    clock.now += 364 * DAY
    await browsers.remember(used, 1)
    assert await browsers.knows(old, ADA)
    assert (await swept(on_sqlite, clock))["known browsers"] == 0

    clock.now += DAY

    assert not await browsers.knows(old, ADA)
    assert await browsers.knows(used, ADA)
    assert (await swept(on_sqlite, clock))["known browsers"] == 1
    assert await count_of(on_sqlite, tables.browsers) == 1


async def test_one_browser_too_many_takes_the_place_of_the_one_unseen_for_longest(
    browsers: Browsers, clock: SetClock
) -> None:
    other = await browsers.remember(None, 2)
    tokens = []
    for _ in range(BROWSERS_PER_ACCOUNT):
        clock.now += DAY
        tokens.append(await browsers.remember(None, 1))
    clock.now += DAY
    await browsers.remember(tokens[0], 1)

    newest = await browsers.remember(None, 1)

    known = [token for token in [*tokens, newest] if await browsers.knows(token, ADA)]
    assert known == [tokens[0], *tokens[2:], newest]
    assert await browsers.knows(other, EVE)
