"""Keys: the API keys and the connected apps, which give programs access to an account."""

from __future__ import annotations

import datetime as dt

from starlette.responses import RedirectResponse, Response

from mcp_server.calls.errors import PageRefusal
from screener.web.account.reauthentication import check_owner
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account
from store.accounts.keys import Key
from store.errors import AccountError, TooManyError, TooOftenError

PATH = "/keys"

NOTICES = {
    "revoked": "Revoked. It no longer gives access.",
    "password": "Your password is changed, and every other browser is signed out.",
}

ENDS = {"": None, "30": 30, "90": 90, "365": 365}
"""The days after which a new key ends, by what the form says; None if it has no end."""

KEYS_PER_HOUR = 20
"""Keys that the owner of an account may make within an hour."""


async def show(
    visit: Visit,
    web: WebServices,
    account: Account,
    refusal: PageRefusal | None = None,
    created: tuple[Key, str] | None = None,
) -> Response:
    """List the keys and the apps; show a key that was `created`, with its secret."""
    return web.pages.respond(
        "keys.html",
        visit,
        refusal=refusal,
        notice=NOTICES.get(visit.request.query_params.get("done", "")),
        created=created,
        keys=await web.keys.unrevoked(account.id),
        apps=await web.grants.unrevoked(account.id),
        uses=await web.services.usage.last_uses(account.id),
        offer=web.services.offer,
        proven=await web.sessions.is_proven(visit.secret),
        now=web.clock(),
    )


async def change(visit: Visit, web: WebServices, account: Account) -> Response:
    """Revoke a key or an app, or create a key and show its secret, which is shown only once."""
    if "revoke" in visit.form:
        await _revoke(visit, web, account)
        return RedirectResponse(f"{PATH}?done=revoked", 303)
    await check_owner(web, visit, account)
    try:
        created = await _create(visit, web, account)
    except TooOftenError as error:
        raise PageRefusal(429, str(error), error.wait) from error
    except (AccountError, TooManyError) as error:
        raise PageRefusal(400, str(error)) from error
    return await show(visit, web, account, created=created)


async def _create(visit: Visit, web: WebServices, account: Account) -> tuple[Key, str]:
    form = visit.form
    ends = form.get("ends", "")
    if ends not in ENDS:
        raise PageRefusal(400, "Choose when the key expires.")
    days = ENDS[ends]
    return await web.keys.create(
        account.email,
        form.get("name", ""),
        expires_at=web.clock() + dt.timedelta(days=days) if days else None,
        read_only="read_only" in form,
        per_hour=KEYS_PER_HOUR,
        session=visit.secret,
        actor=visit.actor,
    )


async def _revoke(visit: Visit, web: WebServices, account: Account) -> None:
    prefix = visit.form["revoke"]
    if await web.keys.revoke_own(account.id, prefix, actor=visit.actor):
        return
    if not await web.grants.revoke_grant(account.id, prefix, actor=visit.actor):
        raise PageRefusal(404, "You have no such key, so nothing was changed.")
