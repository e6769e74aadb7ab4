"""Making an account, where the operator lets visitors do so."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts import Account, Plan
from store.errors import AccountError
from web.door import Visit
from web.entry import Entry
from web.password import check_password
from web.refusals import Refusal

UNUSABLE = "That address cannot be used: it is no e-mail address, or it has an account already."


class SignUp(Entry):
    """The sign-up page."""

    async def _account(self, visit: Visit) -> Account:
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

    def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        return self._pages.answer("sign_up.html", visit, refusal=refusal, target=target)
