"""Keys: the API keys and the connected apps, which give programs access to an account."""

from __future__ import annotations

import datetime as dt

from starlette.responses import RedirectResponse, Response

from screener.web.account.proof import check_owner
from screener.web.site.refusals import Refusal
from screener.web.site.site import Site
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


async def show(visit: Visit, site: Site, account: Account) -> Response:
    """List the keys and the apps."""
    notice = NOTICES.get(visit.request.query_params.get("done", ""))
    return await _page(visit, site, account, notice=notice)


async def change(visit: Visit, site: Site, account: Account) -> Response:
    """Revoke a key or an app, or create a key and show its secret, which is shown only once."""
    try:
        if "revoke" in visit.form:
            await _revoke(visit, site, account)
            return RedirectResponse(f"{PATH}?done=revoked", 303)
        await check_owner(site, visit, account)
        key, secret = await _create(visit, site, account)
    except TooOftenError as error:
        refusal = Refusal(429, str(error), error.wait)
    except (AccountError, TooManyError) as error:
        refusal = Refusal(400, str(error))
    except Refusal as error:
        refusal = error
    else:
        return await _page(visit, site, account, created=key, secret=secret)
    return await _page(visit, site, account, refusal=refusal)


async def _create(visit: Visit, site: Site, account: Account) -> tuple[Key, str]:
    form = visit.form
    ends = form.get("ends", "")
    if ends not in ENDS:
        raise Refusal(400, "Choose when the key expires.")
    days = ENDS[ends]
    return await site.keys.create(
        account.email,
        form.get("name", ""),
        expires_at=site.clock() + dt.timedelta(days=days) if days else None,
        read_only="read_only" in form,
        per_hour=KEYS_PER_HOUR,
        session=visit.secret,
        actor=visit.actor,
    )


async def _revoke(visit: Visit, site: Site, account: Account) -> None:
    prefix = visit.form["revoke"]
    if await site.keys.revoke_own(account.id, prefix, actor=visit.actor):
        return
    if not await site.grants.revoke_grant(account.id, prefix, actor=visit.actor):
        raise Refusal(404, "You have no such key, so nothing was changed.")


async def _page(
    visit: Visit,
    site: Site,
    account: Account,
    *,
    refusal: Refusal | None = None,
    notice: str | None = None,
    created: Key | None = None,
    secret: str = "",
) -> Response:
    return site.pages.respond(
        "keys.html",
        visit,
        refusal=refusal,
        notice=notice,
        created=created,
        secret=secret,
        keys=await site.keys.unrevoked(account.id),
        apps=await site.grants.unrevoked(account.id),
        uses=await site.services.usage.last_uses(account.id),
        offer=site.services.offer,
        proven=await site.sessions.is_proven(visit.secret),
        now=site.clock(),
    )
