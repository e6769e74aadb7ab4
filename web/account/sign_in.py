"""Signing in and out."""

from __future__ import annotations

from starlette.responses import Response

from store.accounts.accounts import FIRST_EMAIL, Account
from store.errors import AccountError
from web.account.consent import AUTHORIZE
from web.account.proof import verify_password
from web.account.session_form import SessionForm
from web.site.access import Access
from web.site.refusals import Refusal
from web.site.visit import Visit

WRONG = "The e-mail address or the password is not right."


class SignIn(SessionForm):
    """The sign-in page; its responses do not depend on whether an account exists."""

    async def leave(self, visit: Visit) -> Response:
        """End the session."""
        return await self._visits.end_session(visit)

    async def _authenticate(self, visit: Visit) -> tuple[Account, str]:
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        encoded = await verify_password(self._site, visit, email, password)
        if encoded is None:
            raise Refusal(400, WRONG)
        try:
            return await self._site.accounts.get(email), encoded
        except AccountError as error:  # deleted meanwhile
            raise Refusal(400, WRONG) from error

    async def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        # After sign-in, a faulty request is redirected to its app, so the form may leave the site.
        connecting = target.startswith(AUTHORIZE)
        return self._pages.respond(
            "sign_in.html",
            visit,
            refusal=refusal,
            redirects_off_site=connecting,
            target=target,
            connecting=connecting,
            lacking=None if self._site.sign_up else await self._site.accounts.lacking(),
            local=FIRST_EMAIL if Access(self._site).is_open(visit) else None,
        )
