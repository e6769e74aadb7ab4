"""Changing a password, which ends every session of the account but the one it is changed in."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts import Account
from web.door import Door, Visit
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site

SHORTEST = 12
LONGEST = 256

WRONG = "The current password is not right."


class Password:
    """The password page."""

    def __init__(self, site: Site, pages: Pages, door: Door) -> None:
        self._site = site
        self._pages = pages
        self._door = door

    async def show(self, visit: Visit, _account: Account) -> Response:
        """The form."""
        return self._pages.answer("password.html", visit)

    async def change(self, visit: Visit, account: Account) -> Response:
        """Set the new password, and go on in a new session."""
        try:
            await self._change(visit, account)
        except Refusal as refusal:
            return self._pages.answer("password.html", visit, refusal=refusal)
        return await self._door.admit(account, "/keys?done=password")

    async def _change(self, visit: Visit, account: Account) -> None:
        site = self._site
        site.throttle.count(account.email, visit.address)
        encoded = await site.accounts.password_hash(account.email)
        if not await site.passwords.verify(encoded, visit.form.get("current", "")):
            raise Refusal(400, WRONG)
        site.throttle.give_back(account.email, visit.address)
        new = visit.form.get("new", "")
        check_password(new)
        await site.accounts.set_password(account.email, await site.passwords.hash(new))


def check_password(password: str) -> None:
    """Refuse a password that nobody should have.

    Raises:
        Refusal: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise Refusal(400, f"A password has {SHORTEST} to {LONGEST} characters.")
