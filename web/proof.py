"""Proof: whoever is at the browser knows an account's password; a new one is hashed here too.

It is asked for at sign-in, and before what a stolen session must not do.
"""

from __future__ import annotations

from store.accounts import Account, hash_secret
from store.errors import (
    DatabaseUnavailableError,
    PasswordsBusyError,
    SignedOutError,
    WeakPasswordError,
)
from store.passwords import Asker, check_strength
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

WRONG = "The current password is not right."

WAIT_SECONDS = 3
"""After which a full queue of hashes has room again, unless more come."""


class BusyRefusal(Refusal):
    """No password was hashed: too many are being hashed at this moment."""

    def __init__(self) -> None:
        message = f"Many people are signing in. Wait {WAIT_SECONDS} s and try again."
        super().__init__(503, message, WAIT_SECONDS)


async def verify_password(site: Site, visit: Visit, email: str, password: str) -> str | None:
    """The hash that a password matches; None if it is wrong, which is recorded.

    Neither the time nor the number of writes depends on whether the account exists.

    Raises:
        Refusal: 429, there were too many attempts.
        BusyRefusal: too many passwords are being hashed.
    """
    browser = await _known_browser(site, visit, email)
    attempt = site.throttle.count(email, visit.network, browser)
    try:
        encoded = await site.accounts.password_hash(email)
        asker = Asker(visit.network, browser is not None)
        right = await site.passwords.verify(encoded, password, asker)
    except PasswordsBusyError as error:
        site.throttle.give_back(attempt)
        raise BusyRefusal from error
    except DatabaseUnavailableError:
        site.throttle.give_back(attempt)
        raise
    if not right:
        await site.sessions.note_failure(email, visit.actor)
        return None
    site.throttle.succeed(attempt)
    return encoded


async def check_password(site: Site, visit: Visit, account: Account, password: str) -> str:
    """Check the password of the account, and return the hash that it fits.

    Raises:
        Refusal: it is another password, or as `verify_password`.
    """
    encoded = await verify_password(site, visit, account.email, password)
    if encoded is None:
        raise Refusal(400, WRONG)
    return encoded


async def check_owner(site: Site, visit: Visit, account: Account) -> None:
    """Let pass who proved the password a short while ago, or proves it with the form.

    Raises:
        Refusal: as `check_password`.
        SignedOutError: the session has ended.
    """
    if await site.sessions.is_proven(visit.secret):
        return
    await check_password(site, visit, account, visit.form.get("password", ""))
    if not await site.sessions.prove(visit.secret):
        raise SignedOutError


async def hash_new(site: Site, visit: Visit, password: str) -> str:
    """The hash of a newly chosen password.

    Raises:
        Refusal: 400, it is too short or too long.
        BusyRefusal: too many passwords are being hashed.
    """
    try:
        check_strength(password)
        return await site.passwords.hash(password, Asker(visit.network, visit.account is not None))
    except WeakPasswordError as error:
        raise Refusal(400, str(error)) from error
    except PasswordsBusyError as error:
        raise BusyRefusal from error


async def _known_browser(site: Site, visit: Visit, email: str) -> str | None:
    """The hash of what only a browser of this account holds: its session, or its own token."""
    if visit.account is not None and visit.account.email == email:
        return hash_secret(visit.secret)
    if visit.browser is not None and await site.browsers.knows(visit.browser, email):
        return hash_secret(visit.browser)
    return None
