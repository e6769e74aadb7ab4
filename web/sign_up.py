"""Making an account, if the operator lets visitors do so."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts.accounts import Account, AccountPlan
from store.errors import AccountError
from web.proof import BusyRefusal, hash_new
from web.refusals import Refusal
from web.session_form import SessionForm
from web.visit import Visit

UNUSABLE = "That address cannot be used: it is not an e-mail address or has an account already."


class SignUp(SessionForm):
    """The sign-up page."""

    async def _authenticate(self, visit: Visit) -> tuple[Account, str]:
        # The service sends no e-mail, so this form must refuse a taken address and thereby reveals
        # that it is taken. It reveals no more than that: the response costs one hash either way and
        # is the same for an invalid address. Every attempt counts, even a successful one, so that
        # accounts cannot be made in bulk.
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        attempt = await self._site.sign_up_throttle.count(email, visit.network)
        try:
            encoded = await hash_new(self._site, visit, password)
        except BusyRefusal:
            await self._site.sign_up_throttle.give_back(attempt)
            raise
        plan = AccountPlan.PREMIUM if self._site.services.offer.beta else AccountPlan.NONE
        try:
            owner = visit.actor._replace(name="owner")
            return await self._site.accounts.add(email, plan, encoded, actor=owner), encoded
        except AccountError as error:
            raise Refusal(400, UNUSABLE) from error

    async def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        return self._pages.respond("sign_up.html", visit, refusal=refusal, target=target)
