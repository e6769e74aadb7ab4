"""Reauthentication: the person at a browser proves a password; new ones are hashed here too.

It is asked for at sign-in, and before what a stolen session must not do.
"""

from __future__ import annotations

from mcp_server.calls.errors import PageRefusal
from screener.web.site.login_limits import Guess, TooManyRefusal
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account, hash_secret
from store.accounts.audit import Actor
from store.accounts.passwords import Asker, check_strength
from store.errors import (
    DatabaseUnavailableError,
    PasswordsBusyError,
    SignedOutError,
    WeakPasswordError,
)

WRONG = "The current password is not right."

REFUSED = "refused: too many attempts"
"""What the log says of an attempt whose password was not verified."""

SIGNED_IN = "signed in"
"""The name of every session of an account whose browser is not known by a token."""

WAIT_SECONDS = 3
"""After which a full queue of hashes has room again, unless more come."""


class BusyRefusal(PageRefusal):
    """No password was hashed: too many are being hashed at this moment."""

    def __init__(self) -> None:
        message = f"Many people are signing in. Wait {WAIT_SECONDS} s and try again."
        super().__init__(503, message, WAIT_SECONDS)


async def verify_password(web: WebServices, visit: Visit, email: str, password: str) -> str | None:
    """The hash that a password matches; None if it is wrong, which is recorded.

    Neither the time nor the number of writes depends on whether the account exists.

    Raises:
        PageRefusal: 429, there were too many attempts.
        BusyRefusal: too many passwords are being hashed.
    """
    email = email.strip().lower()
    browser = await _known_browser(web, visit, email)
    attempt = await _count(web, visit, email, browser)
    try:
        encoded = await web.accounts.password_hash(email)
        asker = Asker(visit.network, None if browser is None else email)
        right = await web.passwords.verify(encoded, password, asker)
    except PasswordsBusyError as error:
        await web.throttle.give_back(attempt)
        raise BusyRefusal from error
    except DatabaseUnavailableError:
        await web.throttle.give_back(attempt)
        raise
    if not right:
        await web.sessions.note_failure(email, _actor(visit, email))
        return None
    await web.throttle.succeed(attempt)
    return encoded


async def check_password(web: WebServices, visit: Visit, account: Account, password: str) -> str:
    """Check the password of the account, and return the hash that it fits.

    Raises:
        PageRefusal: it is another password, or as `verify_password`.
    """
    encoded = await verify_password(web, visit, account.email, password)
    if encoded is None:
        raise PageRefusal(400, WRONG)
    return encoded


async def check_owner(web: WebServices, visit: Visit, account: Account) -> None:
    """Let pass who proved the password a short while ago, or proves it with the form.

    Raises:
        PageRefusal: as `check_password`.
        SignedOutError: the session has ended.
    """
    if await web.sessions.is_proven(visit.secret):
        return
    await check_password(web, visit, account, visit.form.get("password", ""))
    if not await web.sessions.prove(visit.secret):
        raise SignedOutError


async def hash_new(
    web: WebServices, visit: Visit, password: str, account: Account | None = None
) -> str:
    """The hash of a newly chosen password, for an account that proved its old one, or a new one.

    Raises:
        PageRefusal: 400, it is too short or too long.
        BusyRefusal: too many passwords are being hashed.
    """
    try:
        check_strength(password)
        asker = Asker(visit.network, account.email if account else None)
        return await web.passwords.hash(password, asker)
    except WeakPasswordError as error:
        raise PageRefusal(400, str(error)) from error
    except PasswordsBusyError as error:
        raise BusyRefusal from error


async def _count(web: WebServices, visit: Visit, email: str, browser: str | None) -> Guess:
    """Count an attempt; the first that its bucket refuses is recorded, for any address alike."""
    try:
        return await web.throttle.count(email, visit.network, browser)
    except TooManyRefusal as refusal:
        if refusal.first:
            await web.sessions.note_failure(email, _actor(visit, email), REFUSED)
        raise


async def _known_browser(web: WebServices, visit: Visit, email: str) -> str | None:
    """What names a browser of this account, which it proves by its own token or a session.

    Sessions are as many as one likes, so they have one name.
    """
    if visit.browser is not None and await web.browsers.knows(visit.browser, email):
        return hash_secret(visit.browser)
    return SIGNED_IN if _is_own(visit, email) else None


def _actor(visit: Visit, email: str) -> Actor:
    """The actor of an attempt: a visitor who tries another account's password is a stranger."""
    return visit.actor if _is_own(visit, email) else visit.actor._replace(name="stranger")


def _is_own(visit: Visit, email: str) -> bool:
    return visit.account is not None and visit.account.email == email
