"""Making an account, where the operator lets visitors do so."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts import Account, Plan
from store.errors import AccountError
from web.password import hash_new
from web.refusals import Refusal
from web.session_form import SessionForm
from web.visit import Visit

UNUSABLE = "That address cannot be used: it is no e-mail address, or it has an account already."


class SignUp(SessionForm):
    """The sign-up page."""

    async def _prove(self, visit: Visit) -> tuple[Account, str]:
        # Without e-mail a form cannot say yes to a taken address, so it can be asked which are
        # taken. What is left: the answer costs one hash either way, is the same for an address
        # that is none, and every attempt counts, a success too: accounts are not made in bulk.
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        self._site.sign_up_throttle.count(email, visit.address)
        encoded = await hash_new(self._site.passwords, password)
        plan = Plan.PREMIUM if self._site.services.offer.beta else Plan.NONE
        try:
            return await self._site.accounts.add(email, plan, encoded), encoded
        except AccountError as error:
            raise Refusal(400, UNUSABLE) from error

    def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        return self._pages.respond("sign_up.html", visit, refusal=refusal, target=target)
