"""Account: who is signed in where, what gives access, and how to end it."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from store.accounts.accounts import Account
from store.accounts.sessions import handle_of
from web.agents import browser_of
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

PATH = "/account"

NOTICES = {
    "ended": "That browser is signed out.",
    "everything": "Every other browser is signed out, and every key and app is revoked.",
}


class AccountPage:
    """The page of one's own account."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages

    async def show(self, visit: Visit, account: Account) -> Response:
        """List the browsers, and count the keys and apps."""
        return await self._page(visit, account)

    async def change(self, visit: Visit, account: Account) -> Response:
        """End one browser's session, or all access but this browser's."""
        form, site = visit.form, self._site
        if "everything" in form:
            await site.accounts.end_access(
                account.id, but=visit.secret, browser=visit.browser, actor=visit.actor
            )
            return RedirectResponse(f"{PATH}?done=everything", 303)
        if await site.sessions.end_own(account.id, form.get("end", ""), actor=visit.actor):
            return RedirectResponse(f"{PATH}?done=ended", 303)
        refusal = Refusal(404, "No such browser is signed in, so nothing was changed.")
        return await self._page(visit, account, refusal)

    async def _page(
        self, visit: Visit, account: Account, refusal: Refusal | None = None
    ) -> Response:
        site = self._site
        return self._pages.respond(
            "account.html",
            visit,
            refusal=refusal,
            notice=NOTICES.get(visit.request.query_params.get("done", "")),
            account=account,
            sessions=await site.sessions.of_account(account.id),
            this_browser=handle_of(visit.secret),
            browser_of=browser_of,
            keys=sum(key.is_live(site.clock()) for key in await site.keys.unrevoked(account.id)),
            apps=len(await site.grants.unrevoked(account.id)),
        )
