"""People and apps for the tests of the pages."""

from __future__ import annotations

import datetime as dt
import itertools
from urllib.parse import urlencode

from store import tables
from store.accounts import Account, Plan, utc_now
from store.database import Database
from store.grants import Grant, Grants
from store.watchlist import Watchlist
from tests.service import Service, on_database
from tests.web.browser import PASSWORD_HASH, Browser

CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""The pair of RFC 7636, appendix B."""

_numbers = itertools.count()


def new_person(
    service: Service, plan: Plan = Plan.PREMIUM_PLUS, tracked: tuple[str, ...] = ()
) -> Account:
    """A new account with the password of the tests."""
    email = f"person{next(_numbers)}@example.com"
    account = service.accounts(lambda accounts: accounts.add(email, plan, PASSWORD_HASH))
    on_database(service, lambda database: Watchlist(database).replace(account.id, tracked, 200))
    return account


def signed_in(service: Service, account: Account) -> Browser:
    """A browser in which an account is signed in."""
    browser = Browser(service)
    assert browser.sign_in(account.email).status_code == 303
    return browser


def new_app(service: Service, name: str = "Test host", redirect_uri: str = CALLBACK) -> str:
    """The id of an app that has registered itself."""
    client_id = f"app-{next(_numbers)}"

    async def add(database: Database) -> None:
        await Grants(database).add_client(client_id, name, (redirect_uri,))

    on_database(service, add)
    return client_id


def grants_of(service: Service, account: Account) -> list[Grant]:
    """The apps that an account has approved."""
    return on_database(service, lambda database: Grants(database).of_account(account.id))


def authorize_address(client_id: str, /, **changes: str) -> str:
    """The address to which an app sends a browser."""
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "xyz",
    }
    return "/oauth/authorize?" + urlencode({**query, **changes})


def age_sign_in(service: Service, account: Account, minutes: int) -> None:
    """Let the account's last proof of the password be some minutes old."""
    sessions, then = tables.sessions, utc_now() - dt.timedelta(minutes=minutes)

    async def age(database: Database) -> None:
        async with database.write() as connection:
            await connection.execute(
                sessions.update().where(sessions.c.account_id == account.id).values(proven_at=then)
            )

    on_database(service, age)
