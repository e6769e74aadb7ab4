"""Making an account, where the operator lets visitors do so."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from store.accounts import Account, Plan
from store.errors import AccountError
from web.door import Door, Visit
from web.pages import Pages
from web.password import check_password
from web.refusals import Refusal
from web.returns import safe_target
from web.site import Site

UNUSABLE = "That address cannot be used: it is no e-mail address, or it has an account already."


class SignUp:
    """The sign-up page."""

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
        """Make the account, and go on signed in."""
        target = safe_target(visit.form.get("next", ""))
        try:
            account = await self._make(visit)
        except Refusal as refusal:
            return self._form(visit, target, refusal)
        return await self._door.admit(account, target)

    async def _make(self, visit: Visit) -> Account:
        # Every attempt stays counted: a success is as good to somebody who makes accounts in bulk.
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        self._site.throttle.count(email, visit.address)
        check_password(password)
        encoded = await self._site.passwords.hash(password)
        plan = Plan.PREMIUM if self._site.services.offer.beta else Plan.NONE
        try:
            return await self._site.accounts.add(email, plan, encoded)
        except AccountError as error:
            raise Refusal(400, UNUSABLE) from error

    def _form(self, visit: Visit, target: str, refusal: Refusal | None = None) -> Response:
        response = self._pages.answer("sign_up.html", visit, refusal=refusal, target=target)
        self._door.keep_visit(response, visit)
        return response
