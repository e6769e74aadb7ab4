"""Activity: the part of the audit log that concerns an account, for its owner to read."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts.accounts import Account
from store.accounts.audit import EventKind
from web.agents import agent_name
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

PATH = "/account/activity"

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


class Activity:
    """The page of what happened to an account."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages

    async def show(self, visit: Visit, account: Account) -> Response:
        """A page of events, newest first; `before` names the id below which it begins."""
        before = _before(visit.request.query_params.get("before"))
        events = await self._site.audit.events(account.id, before=before, limit=EVENTS_A_PAGE + 1)
        shown = events[:EVENTS_A_PAGE]
        return self._pages.respond(
            "activity.html",
            visit,
            events=shown,
            older=shown[-1].id if len(events) > EVENTS_A_PAGE else None,
            paged=before is not None,
            words=WORDS,
            alarming=ALARMING,
            agent_name=agent_name,
            days=self._site.audit_days,
        )


def _before(value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 10 or int(value) > NEWEST:
        raise Refusal(404, "Your activity has no such page.")
    return int(value)
