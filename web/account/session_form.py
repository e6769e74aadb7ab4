"""Session form: the common part of sign-in and sign-up, which both start a session."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.responses import RedirectResponse, Response

from store.accounts.accounts import Account
from web.site.pages import Pages
from web.site.refusals import Refusal
from web.site.return_paths import safe_target
from web.site.site import Site
from web.site.visit import Visit
from web.site.visits import Visits


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
        try:
            account, password_hash = await self._authenticate(visit)
            return await self._visits.start_session(visit, account, password_hash, target)
        except Refusal as refusal:
            return await self._respond(visit, target, refusal)

    async def _respond(self, visit: Visit, target: str, refusal: Refusal | None = None) -> Response:
        response = await self._form(visit, target, refusal)
        self._visits.set_visit_cookie(response, visit)
        return response

    @abstractmethod
    async def _authenticate(self, visit: Visit) -> tuple[Account, str]:
        """The account that the form proves, and its password hash.

        Raises:
            Refusal: the form proves no account.
        """

    @abstractmethod
    async def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        """The page with the form."""
