"""Changing a password, which ends every session of the account; this browser gets a new one."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts.accounts import Account
from store.errors import StalePasswordError
from web.account.proof import check_password, hash_new
from web.site.pages import Pages
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit
from web.site.visits import Visits


class Password:
    """The password page."""

    def __init__(self, site: Site, pages: Pages, visits: Visits) -> None:
        self._site = site
        self._pages = pages
        self._visits = visits

    async def show(self, visit: Visit, _account: Account) -> Response:
        """The form."""
        return self._pages.respond("password.html", visit)

    async def change(self, visit: Visit, account: Account) -> Response:
        """Set the new password, and start a new session."""
        try:
            encoded = await self._change(visit, account)
            return await self._visits.start_session(visit, account, encoded, "/keys?done=password")
        except Refusal as refusal:
            return self._pages.respond("password.html", visit, refusal=refusal)

    async def _change(self, visit: Visit, account: Account) -> str:
        site = self._site
        encoded = await check_password(site, visit, account, visit.form.get("current", ""))
        new = await hash_new(site, visit, visit.form.get("new", ""), account)
        try:
            await site.accounts.set_password(
                account.email,
                new,
                replacing=encoded,
                end_access="end_access" in visit.form,
                actor=visit.actor,
            )
        except StalePasswordError as error:
            raise Refusal(400, str(error)) from error
        return new
