"""Account: who is signed in where, what gives access, and how to end it."""

from __future__ import annotations

import re

from starlette.responses import RedirectResponse, Response

from store.accounts import Account
from store.sessions import handle_of
from web.keys import live_credentials
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

PATH = "/account"

NOTICES = {
    "ended": "That browser is signed out.",
    "everything": "Every other browser is signed out, and every key and app is revoked.",
}

BROWSERS = {
    "Edge": r"\bEdg(A|iOS)?/",
    "Opera": r"\bOPR/",
    "Samsung Internet": r"\bSamsungBrowser/",
    "Firefox": r"\b(Firefox|FxiOS)/",
    "Chrome": r"\b(Chrome|Chromium|CriOS)/",
    "Safari": r"\bSafari/",
}
"""What the User-Agent of each browser has, the first that fits: most name others beside it."""

SYSTEMS = {
    "iPhone": r"\biPhone\b",
    "iPad": r"\biPad\b",
    "Android": r"\bAndroid\b",
    "Windows": r"\bWindows\b",
    "ChromeOS": r"\bCrOS\b",
    "macOS": r"\bMacintosh\b",
    "Linux": r"\bLinux\b",
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
            await site.accounts.end_access(account.id, but=visit.secret, actor=visit.actor)
            return RedirectResponse(f"{PATH}?done=everything", 303)
        if await site.sessions.end_own(account.id, form.get("end", ""), actor=visit.actor):
            return RedirectResponse(f"{PATH}?done=ended", 303)
        refusal = Refusal(404, "You have no such browser signed in, so nothing was changed.")
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
            keys=live_credentials(await site.keys.of_account(account.email), {}),
            apps=live_credentials(await site.grants.of_account(account.id), {}),
        )


def browser_of(agent: str) -> str:
    """The browser and the system that a User-Agent names, in plain words."""
    browser, system = _first(BROWSERS, agent), _first(SYSTEMS, agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "An unknown browser"


def _first(patterns: dict[str, str], agent: str) -> str | None:
    return next((name for name, pattern in patterns.items() if re.search(pattern, agent)), None)
