"""Signing in and out, making an account, and changing its password: what starts a session."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.responses import RedirectResponse, Response

from store.accounts.accounts import FIRST_EMAIL, Account, AccountPlan
from store.errors import AccountError, StalePasswordError
from web.account.consent import AUTHORIZE
from web.account.proof import BusyRefusal, check_password, hash_new, verify_password
from web.site.access import is_open
from web.site.pages import Pages
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit, safe_target
from web.site.visits import Visits

WRONG = "The e-mail address or the password is not right."
UNUSABLE = "That address cannot be used: it is not an e-mail address or has an account already."


class SessionForm(ABC):
    """A form that starts a session and then leads back to where the visitor came from."""

    def __init__(self, site: Site, pages: Pages, visits: Visits) -> None:
        self._site = site
        self._pages = pages
        self._visits = visits

    async def show(self, visit: Visit) -> Response:
        """The form; a visitor who is signed in already is redirected at once."""
        target = safe_target(visit.request.query_params.get("next", ""))
        if visit.account is not None:
            return RedirectResponse(target, 303)
        return await self._respond(visit, target)

    async def submit(self, visit: Visit) -> Response:
        """Start a session, or show the form again with the refusal."""
        target = safe_target(visit.form.get("next", ""))
        email, password = visit.form.get("email", ""), visit.form.get("password", "")
        try:
            account, password_hash = await self._authenticate(visit, email, password)
            return await self._visits.start_session(visit, account, password_hash, target)
        except Refusal as refusal:
            return await self._respond(visit, target, refusal)

    async def _respond(self, visit: Visit, target: str, refusal: Refusal | None = None) -> Response:
        response = await self._form(visit, target, refusal)
        self._visits.set_visit_cookie(response, visit)
        return response

    @abstractmethod
    async def _authenticate(self, visit: Visit, email: str, password: str) -> tuple[Account, str]:
        """The account that the form proves, and its password hash.

        Raises:
            Refusal: the form proves no account.
        """

    @abstractmethod
    async def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        """The page with the form."""


class SignIn(SessionForm):
    """The sign-in page; its responses do not depend on whether an account exists."""

    async def leave(self, visit: Visit) -> Response:
        """End the session."""
        return await self._visits.end_session(visit)

    async def _authenticate(self, visit: Visit, email: str, password: str) -> tuple[Account, str]:
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
            local=FIRST_EMAIL if is_open(visit, self._site) else None,
        )


class SignUp(SessionForm):
    """The sign-up page, if the operator lets visitors make accounts."""

    async def _authenticate(self, visit: Visit, email: str, password: str) -> tuple[Account, str]:
        # The service sends no e-mail, so this form must refuse a taken address and thereby reveals
        # that it is taken. It reveals no more than that: the response costs one hash either way and
        # is the same for an invalid address. Every attempt counts, even a successful one, so that
        # accounts cannot be made in bulk.
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


class Password:
    """The password page; a change ends every session of the account, and this browser gets a new
    one."""

    def __init__(self, site: Site, pages: Pages, visits: Visits) -> None:
        self._site = site
        self._pages = pages
        self._visits = visits

    async def show(self, visit: Visit, _account: Account) -> Response:
        """The form."""
        return self._pages.respond("password.html", visit)

    async def change(self, visit: Visit, account: Account) -> Response:
        """Set the new password, and start a new session."""
        site, form = self._site, visit.form
        try:
            encoded = await check_password(site, visit, account, form.get("current", ""))
            new = await hash_new(site, visit, form.get("new", ""), account)
            await site.accounts.set_password(
                account.email,
                new,
                replacing=encoded,
                end_access="end_access" in form,
                actor=visit.actor,
            )
            return await self._visits.start_session(visit, account, new, "/keys?done=password")
        except StalePasswordError as error:
            return self._pages.respond("password.html", visit, refusal=Refusal(400, str(error)))
        except Refusal as refusal:
            return self._pages.respond("password.html", visit, refusal=refusal)
