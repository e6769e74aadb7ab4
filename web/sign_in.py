"""Signing in and out."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from store.accounts import Account
from web.consent import AUTHORIZE
from web.door import Door, Visit
from web.pages import Pages
from web.refusals import Refusal
from web.returns import safe_target
from web.site import Site

WRONG = "The e-mail address or the password is not right."


class SignIn:
    """The sign-in page; what it says does not depend on whether an account exists."""

    def __init__(self, site: Site, pages: Pages, door: Door) -> None:
        self._site = site
        self._pages = pages
        self._door = door

    async def show(self, visit: Visit) -> Response:
        """The form, or straight on for who is signed in already."""
        target = safe_target(visit.request.query_params.get("next", ""))
        if visit.account is not None:
            return RedirectResponse(target, 303)
        return self._form(visit, target)

    async def enter(self, visit: Visit) -> Response:
        """Check the password and go on to where the visitor came from."""
        target = safe_target(visit.form.get("next", ""))
        try:
            account = await self._account(visit)
        except Refusal as refusal:
            return self._form(visit, target, refusal)
        return await self._door.admit(account, target)

    async def leave(self, visit: Visit) -> Response:
        """End the session."""
        return await self._door.dismiss(visit)

    async def _account(self, visit: Visit) -> Account:
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        self._site.throttle.count(email, visit.address)
        encoded = await self._site.accounts.password_hash(email)
        if not await self._site.passwords.verify(encoded, password):
            raise Refusal(400, WRONG)
        self._site.throttle.give_back(email, visit.address)
        return await self._site.accounts.get(email)

    def _form(self, visit: Visit, target: str, refusal: Refusal | None = None) -> Response:
        # A faulty request of an app goes back to the app once the visitor has signed in.
        connecting = target.startswith(AUTHORIZE)
        response = self._pages.answer(
            "sign_in.html",
            visit,
            refusal=refusal,
            leaves=connecting,
            target=target,
            connecting=connecting,
        )
        self._door.keep_visit(response, visit)
        return response
