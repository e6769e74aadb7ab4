"""Entry: what the pages have in common on which a visitor becomes a signed-in account."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.responses import RedirectResponse, Response

from store.accounts import Account
from web.door import Door, Visit
from web.pages import Pages
from web.refusals import Refusal
from web.returns import safe_target
from web.site import Site


class Entry(ABC):
    """A form that lets a visitor in, and then on to where they came from."""

    def __init__(self, site: Site, pages: Pages, door: Door) -> None:
        self._site = site
        self._pages = pages
        self._door = door

    async def show(self, visit: Visit) -> Response:
        """The form, or straight on for who is signed in already."""
        target = safe_target(visit.request.query_params.get("next", ""))
        if visit.account is not None:
            return RedirectResponse(target, 303)
        return self._answer(visit, target)

    async def enter(self, visit: Visit) -> Response:
        """Let the visitor in, or show the form again with what is wrong."""
        target = safe_target(visit.form.get("next", ""))
        try:
            account, password_hash = await self._prove(visit)
            return await self._door.admit(account, password_hash, target)
        except Refusal as refusal:
            return self._answer(visit, target, refusal)

    def _answer(self, visit: Visit, target: str, refusal: Refusal | None = None) -> Response:
        response = self._form(visit, target, refusal)
        self._door.keep_visit(response, visit)
        return response

    @abstractmethod
    async def _prove(self, visit: Visit) -> tuple[Account, str]:
        """The account that the form opens and the password hash it met; else a Refusal."""

    @abstractmethod
    def _form(self, visit: Visit, target: str, refusal: Refusal | None) -> Response:
        """The page with the form."""
