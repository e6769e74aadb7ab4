"""Keys: the API keys and the connected apps, which give programs access to an account."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from store.accounts import Account, Key
from store.errors import AccountError
from store.grants import Grant
from store.usage import Entry
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit

NOTICES = {
    "revoked": "Revoked. It gives no access any more.",
    "password": "Your password is changed, and every other browser is signed out.",
}


@dataclass(frozen=True, slots=True)
class Credential:
    """A live key or grant, and the time and the client of its last use."""

    prefix: str
    name: str
    created_at: dt.datetime
    used_at: dt.datetime | None = None
    client: str = ""


class Keys:
    """The page of keys and connected apps."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages

    async def show(self, visit: Visit, account: Account) -> Response:
        """List the keys and the apps."""
        notice = NOTICES.get(visit.request.query_params.get("done", ""))
        return await self._page(visit, account, notice=notice)

    async def change(self, visit: Visit, account: Account) -> Response:
        """Revoke a key or an app, or create a key and show its secret, which is shown only once."""
        try:
            if "revoke" in visit.form:
                await self._revoke(visit, account, visit.form["revoke"])
                return RedirectResponse("/keys?done=revoked", 303)
            name = visit.form.get("name", "")
            key, secret = await self._site.accounts.create_key(
                account.email, name, actor=visit.actor
            )
        except AccountError as error:
            return await self._page(visit, account, refusal=Refusal(400, str(error)))
        except Refusal as refusal:
            return await self._page(visit, account, refusal=refusal)
        return await self._page(visit, account, created=key, secret=secret)

    async def _revoke(self, visit: Visit, account: Account, prefix: str) -> None:
        actor = visit.actor
        if await self._site.accounts.revoke_own_key(account.id, prefix, actor=actor):
            return
        if not await self._site.grants.revoke_grant(account.id, prefix, actor=actor):
            raise Refusal(404, "You have no such key, so nothing was changed.")

    async def _page(
        self,
        visit: Visit,
        account: Account,
        *,
        refusal: Refusal | None = None,
        notice: str | None = None,
        created: Key | None = None,
        secret: str = "",
    ) -> Response:
        uses = await self._site.services.usage.last_uses(account.id)
        return self._pages.respond(
            "keys.html",
            visit,
            refusal=refusal,
            notice=notice,
            created=created,
            secret=secret,
            keys=live_credentials(await self._site.accounts.keys(account.email), uses),
            apps=live_credentials(await self._site.grants.of_account(account.id), uses),
            offer=self._site.services.offer,
        )


def live_credentials(held: Iterable[Key | Grant], uses: Mapping[str, Entry]) -> list[Credential]:
    """The live keys or grants, newest first, each with its last use in the usage log."""
    live = [one for one in held if one.revoked_at is None]
    return [_credential(one, uses.get(one.prefix)) for one in reversed(live)]


def _credential(one: Key | Grant, used: Entry | None) -> Credential:
    if used is None:
        return Credential(one.prefix, one.name, one.created_at)
    client = used.use.host or used.use.client
    return Credential(one.prefix, one.name, one.created_at, used.last_at, client)
