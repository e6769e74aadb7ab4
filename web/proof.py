"""Proof: the password of whoever is signed in, before what a stolen session must not do."""

from __future__ import annotations

from store.accounts import Account
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

WRONG = "The current password is not right."


async def check_password(site: Site, visit: Visit, account: Account, password: str) -> str:
    """Check the password of the account, and return the hash that it fits.

    Raises:
        Refusal: it is another password, or there were too many attempts.
    """
    site.throttle.count(account.email, visit.address)
    encoded = await site.accounts.password_hash(account.email)
    if not await site.passwords.verify(encoded, password) or encoded is None:
        raise Refusal(400, WRONG)
    site.throttle.give_back(account.email, visit.address)
    return encoded


async def check_owner(site: Site, visit: Visit, account: Account) -> None:
    """Let pass who proved the password a short while ago, or proves it with the form.

    Raises:
        Refusal: as `check_password`, or the session has ended.
    """
    if await site.sessions.is_proven(visit.secret):
        return
    await check_password(site, visit, account, visit.form.get("password", ""))
    if not await site.sessions.prove(visit.secret):
        raise Refusal(403, "You have been signed out. Sign in and try again.")
