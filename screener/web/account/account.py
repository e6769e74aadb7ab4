"""Account: who is signed in where, what gives access, how it was used, and what happened."""

from __future__ import annotations

import re

from starlette.responses import RedirectResponse, Response

from mcp_server.calls.errors import PageRefusal
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account
from store.accounts.audit import EventKind
from store.accounts.sessions import handle_of

PATH, USAGE, ACTIVITY = "/account", "/usage", "/account/activity"

NOTICES = {
    "ended": "That browser is signed out.",
    "everything": "Every other browser is signed out, and every key and app is revoked.",
}

MAX_OPERATIONS = 100
"""Most lines of the table, since a client may state another name with every call."""

EVENTS_A_PAGE = 50

NEWEST = 2**31 - 1
"""The largest id that an event can have."""

WORDS = {
    EventKind.SIGN_IN: "Signed in",
    EventKind.SIGN_IN_FAILED: "Sign-in failed",
    EventKind.SIGN_OUT: "Signed out",
    EventKind.SESSION_ENDED: "Signed out elsewhere",
    EventKind.PASSWORD_CHANGED: "Password changed",
    EventKind.KEY_CREATED: "Key created",
    EventKind.KEY_REVOKED: "Key revoked",
    EventKind.APP_APPROVED: "App approved",
    EventKind.TOKENS_ISSUED: "App connected",
    EventKind.APP_REVOKED: "App disconnected",
    EventKind.TOKEN_REUSED: "App disconnected: it sent a token that had already been used",
    EventKind.FEED_CREATED: "Feed of a screen created",
    EventKind.FEED_ENDED: "Feed of a screen ended",
    EventKind.ACCOUNT_ADDED: "Account created",
    EventKind.ACCOUNT_DEACTIVATED: "Account deactivated",
    EventKind.ACCOUNT_REACTIVATED: "Account reactivated",
    EventKind.ACCOUNT_DELETED: "Account deleted",
    EventKind.PLAN_CHANGED: "Plan changed",
    EventKind.CLIENT_DELETED: "App deleted",
    EventKind.RESTORED: "Restored from a backup",
}
"""What happened, by kind."""

ALARMING = frozenset({EventKind.SIGN_IN_FAILED, EventKind.TOKEN_REUSED})
"""What the owner should have a look at."""

MAX_LETTERS = 60
"""Characters that are shown of what a program calls itself."""

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


async def show(
    visit: Visit, web: WebServices, account: Account, refusal: PageRefusal | None = None
) -> Response:
    """The browsers, and the number of keys and apps."""
    return web.pages.respond(
        "account.html",
        visit,
        refusal=refusal,
        notice=NOTICES.get(visit.request.query_params.get("done", "")),
        account=account,
        sessions=await web.sessions.of_account(account.id),
        this_browser=handle_of(visit.secret),
        browser_of=browser_of,
        keys=sum(key.is_live(web.clock()) for key in await web.keys.unrevoked(account.id)),
        apps=len(await web.grants.unrevoked(account.id)),
    )


async def change(visit: Visit, web: WebServices, account: Account) -> Response:
    """End one browser's session, or all access but this browser's."""
    form = visit.form
    if "everything" in form:
        await web.accounts.end_access(
            account.id, but=visit.secret, browser=visit.browser, actor=visit.actor
        )
        return RedirectResponse(f"{PATH}?done=everything", 303)
    if await web.sessions.end_own(account.id, form.get("end", ""), actor=visit.actor):
        return RedirectResponse(f"{PATH}?done=ended", 303)
    raise PageRefusal(404, "No such browser is signed in, so nothing was changed.")


async def usage(visit: Visit, web: WebServices, account: Account) -> Response:
    """Today's calls by key and app, and by operation, compared with the limits."""
    now, log = web.clock(), web.services.usage
    today = now.date()
    calls = await log.calls_by_key(account.id, today)
    keys = await web.keys.unrevoked(account.id, calls)
    return web.pages.respond(
        "usage.html",
        visit,
        today=today,
        quotas=web.services.limiter.quotas,
        calls=calls,
        keys=[key for key in keys if key.is_live(now) or key.prefix in calls],
        apps=await web.grants.unrevoked(account.id, calls),
        operations=await log.calls_by_operation(account.id, today, MAX_OPERATIONS),
    )


async def activity(visit: Visit, web: WebServices, account: Account) -> Response:
    """What happened to the account, newest first; `before` names the id below which it begins."""
    before = _before(visit.request.query_params.get("before"))
    events = await web.audit.events(account.id, before=before, limit=EVENTS_A_PAGE + 1)
    page = events[:EVENTS_A_PAGE]
    return web.pages.respond(
        "activity.html",
        visit,
        events=page,
        older=page[-1].id if len(events) > EVENTS_A_PAGE else None,
        paged=before is not None,
        words=WORDS,
        alarming=ALARMING,
        agent_name=agent_name,
        days=web.audit_days,
    )


def _before(value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 10 or int(value) > NEWEST:
        raise PageRefusal(404, "Your activity has no such page.")
    return int(value)


def browser_of(agent: str) -> str:
    """The browser and the system that a User-Agent names, in plain words."""
    browser, system = _first(BROWSERS, agent), _first(SYSTEMS, agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "An unknown browser"


def agent_name(agent: str) -> str:
    """The browser and the system; of what is no browser, the beginning of its own words."""
    return browser_of(agent) if agent.startswith("Mozilla/") else agent[:MAX_LETTERS]


def _first(patterns: dict[str, str], agent: str) -> str | None:
    return next((name for name, pattern in patterns.items() if re.search(pattern, agent)), None)
