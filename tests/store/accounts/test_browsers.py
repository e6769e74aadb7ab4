"""Browsers in which an account signed in before."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.sessions import BROWSERS_PER_ACCOUNT, Browsers
from store.database import tables
from store.database.database import Database
from tests.accounts import swept

NOW = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
ADA, EVE = "ada@example.com", "eve@example.com"


class Home:
    """Two accounts, and their browsers at a time that a test sets."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now = NOW
        self.browsers = Browsers(database, clock=lambda: self.now)
        self.ids = dict[str, int]()

    async def rows(self) -> list[str]:
        async with self.database.read() as connection:
            return list(await connection.scalars(sa.select(tables.browsers.c.token_hash)))


@pytest.fixture
async def home(on_sqlite: Database) -> Home:
    found = Home(on_sqlite)
    for email in (ADA, EVE):
        found.ids[email] = (await Accounts(on_sqlite).add(email, AccountPlan.PREMIUM)).id
    return found


async def test_a_browser_is_known_for_the_account_that_signed_in_alone(home: Home) -> None:
    token = await home.browsers.remember(None, home.ids[ADA])

    assert await home.browsers.knows(token, ADA)
    assert await home.browsers.knows(token, " Ada@Example.com ")
    assert not await home.browsers.knows(token, EVE)
    assert not await home.browsers.knows(token, "nobody@example.com")
    assert not await home.browsers.knows(token[:-1], ADA)
    assert len(token) == 43
    assert token not in await home.rows()


async def test_a_known_browser_keeps_its_token_and_any_other_gets_a_new_one(home: Home) -> None:
    token = await home.browsers.remember(None, home.ids[ADA])

    assert await home.browsers.remember(token, home.ids[ADA]) == token
    planted = await home.browsers.remember("planted", home.ids[ADA])
    others = await home.browsers.remember(token, home.ids[EVE])

    assert len({token, planted, others, "planted"}) == 4
    assert len(await home.rows()) == 3


async def test_a_browser_unseen_for_a_year_is_unknown_and_swept(home: Home) -> None:
    old = await home.browsers.remember(None, home.ids[ADA])
    used = await home.browsers.remember(None, home.ids[ADA])
    home.now += 364 * DAY
    await home.browsers.remember(used, home.ids[ADA])
    assert await home.browsers.knows(old, ADA)
    assert (await swept(home.database, lambda: home.now))["known browsers"] == 0

    home.now += DAY

    assert not await home.browsers.knows(old, ADA)
    assert await home.browsers.knows(used, ADA)
    assert (await swept(home.database, lambda: home.now))["known browsers"] == 1
    assert len(await home.rows()) == 1


async def test_one_browser_too_many_takes_the_place_of_the_one_unseen_for_longest(
    home: Home,
) -> None:
    other = await home.browsers.remember(None, home.ids[EVE])
    tokens = []
    for _ in range(BROWSERS_PER_ACCOUNT):
        home.now += DAY
        tokens.append(await home.browsers.remember(None, home.ids[ADA]))
    home.now += DAY
    await home.browsers.remember(tokens[0], home.ids[ADA])

    newest = await home.browsers.remember(None, home.ids[ADA])

    known = [token for token in [*tokens, newest] if await home.browsers.knows(token, ADA)]
    assert known == [tokens[0], *tokens[2:], newest]
    assert await home.browsers.knows(other, EVE)
