"""People and apps for the tests of the pages."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any
from urllib.parse import urlencode

import httpx
import sqlalchemy as sa

from store.accounts.accounts import Account, AccountPlan, utc_now
from store.accounts.audit import AuditEvent, AuditLog
from store.accounts.grants import Grant, Grants
from store.accounts.watchlist import Watchlist
from store.database import tables
from store.database.database import Database
from tests.oauth.conversation import CALLBACK as CALLBACK
from tests.oauth.conversation import VERIFIER as VERIFIER
from tests.oauth.conversation import Host, answer_in, request_of
from tests.screener.web.browser import PASSWORD, PASSWORD_HASH, Browser
from tests.service import Service, on_database

_numbers = itertools.count()


def new_person(
    service: Service, plan: AccountPlan = AccountPlan.PREMIUM_PLUS, tracked: tuple[str, ...] = ()
) -> Account:
    """A new account with the password of the tests."""
    email = f"person{next(_numbers)}@example.com"
    account = service.accounts(lambda accounts: accounts.add(email, plan, PASSWORD_HASH))
    if tracked:
        on_database(service, lambda one: Watchlist(one).change(account.id, lambda _: tracked))
    return account


def signed_in(service: Service, account: Account, agent: str = "") -> Browser:
    """A browser, perhaps of some name, in which an account is signed in."""
    browser = Browser(service, headers={"User-Agent": agent} if agent else None)
    assert browser.sign_in(account.email).status_code == 303
    return browser


def new_member(
    service: Service, plan: AccountPlan = AccountPlan.PREMIUM_PLUS, tracked: tuple[str, ...] = ()
) -> tuple[Account, Browser]:
    """A new account, and a browser in which it is signed in."""
    account = new_person(service, plan, tracked)
    return account, signed_in(service, account)


def new_app(service: Service, name: str = "Test host", redirect_uri: str = CALLBACK) -> str:
    """The id of an app that has registered itself."""
    client_id = f"app-{next(_numbers)}"

    async def add(database: Database) -> None:
        await Grants(database).add_client(client_id, name, (redirect_uri,))

    on_database(service, add)
    return client_id


def grants_of(service: Service, account: Account) -> list[Grant]:
    """The apps that an account has approved."""
    grants = on_database(service, lambda database: Grants(database).all_grants())
    return [grant for grant in grants if grant.account_id == account.id]


def authorize_address(client_id: str, /, **changes: str) -> str:
    """The address to which an app sends a browser."""
    return "/oauth/authorize?" + urlencode(request_of(client_id, **changes))


def came_back(browser: Browser, asked: httpx.Response, account: Account) -> httpx.Response:
    """Sign in as an answer asks for, which leads back to the page that was wanted."""
    form = browser.form(asked.headers["location"], "/sign-in")
    return browser.submit(form, email=account.email, password=PASSWORD)


def tokens_of(service: Service, approved: httpx.Response, client_id: str) -> dict[str, Any]:
    """What an app gets for the code of an approval."""
    [code] = answer_in(approved.headers["location"])["code"]
    tokens: dict[str, Any] = Host(service, 0, client_id).exchange(code).json()
    return tokens


def tracked_by(service: Service, account: Account) -> list[str]:
    """The Main watchlist of an account."""
    return on_database(service, lambda database: Watchlist(database).symbols(account.id))


def events_of(service: Service, account: Account) -> list[AuditEvent]:
    """What is recorded of an account, newest first."""
    return on_database(service, lambda database: AuditLog(database).events(account.id, limit=1000))


def change_rows(service: Service, account: Account, table: sa.Table, **values: Any) -> None:
    """Change all rows of a table that are an account's."""
    changed = table.update().where(table.c.account_id == account.id).values(**values)

    async def change(database: Database) -> None:
        async with database.write() as connection:
            await connection.execute(changed)

    on_database(service, change)


def age_sign_in(service: Service, account: Account, minutes: int) -> None:
    """Let the account's last proof of the password be some minutes old."""
    then = utc_now() - dt.timedelta(minutes=minutes)
    change_rows(service, account, tables.sessions, proven_at=then)


def expire_keys(service: Service, account: Account) -> None:
    """Let all keys of an account have ended."""
    past = utc_now() - dt.timedelta(seconds=1)
    change_rows(service, account, tables.keys, expires_at=past)
