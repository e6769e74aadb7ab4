"""Visits: finds the visitor's account, accepts only checked forms, turns refusals into pages."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from mcp_server.operations.errors import ApiError
from store.accounts.accounts import Account, hash_secret
from store.accounts.sessions import BROWSER_LIFETIME, TOKEN_BYTES
from store.errors import (
    AccountError,
    DatabaseUnavailableError,
    SignedOutError,
    StalePasswordError,
)
from web.cookies import cookies_of
from web.fetch_metadata import is_loaded_by_another_site
from web.forms import check_form, read_form
from web.pages import Page, Pages
from web.refusals import Refusal
from web.return_paths import sign_in_address
from web.site import Site
from web.visit import Visit

NO_ACCOUNTS = Refusal(
    503,
    "The service cannot read or change its accounts right now. Wait a moment and try again.",
    retry_after=2,
)
ELSEWHERE = Refusal(403, "Pages of other sites cannot load this. Follow a link to it instead.")
NO_STORE = {"Cache-Control": "no-store"}
SIGNED_OUT = Refusal(403, str(SignedOutError()))

R = TypeVar("R")
"""The response of a handler."""

Endpoint = Callable[[Request], Awaitable[Page]]
"""What the routes of the pages call."""
Handler = Callable[[Visit], Awaitable[Page]]
MemberHandler = Callable[[Visit, Account], Awaitable[Page]]
Count = Callable[[str, str | None], Awaitable[None]]
"""Counts a request of a network and a session."""
OnRefusal = Callable[[Visit, Refusal], Response]


class Visits:
    """Turns handlers that take a visit into endpoints."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages
        self._url = site.services.offer.public_url
        lifetimes = (site.sessions.lifetime, BROWSER_LIFETIME)
        self._cookies = cookies_of(self._url, *(int(one.total_seconds()) for one in lifetimes))

    def anyone(self, handler: Handler) -> Endpoint:
        """An endpoint for every visitor."""

        async def work(visit: Visit) -> Page:
            return await handler(await self._read(visit))

        return self._guarded(work)

    def members(self, handler: MemberHandler, *, once: bool = False) -> Endpoint:
        """An endpoint for signed-in visitors; others sign in first and come back.

        With `once`, its form is one that works once.
        """

        async def work(visit: Visit) -> Page:
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            return await handler(await self._read(visit, once=once), visit.account)

        return self._guarded(work)

    def parts(
        self, handler: Callable[[Visit], Awaitable[R]]
    ) -> Callable[[Request], Awaitable[R | Response]]:
        """An endpoint for what a page loads: pictures and data. It refuses in one line of text."""
        return self._guarded(handler, self._site.services.limiter.count_picture, self._said)

    def set_visit_cookie(self, response: Response, visit: Visit) -> None:
        """Tie the forms of a page to the anonymous browser that it goes to."""
        self._cookies.visit.set(response, visit.secret)

    async def start_session(
        self, visit: Visit, account: Account, password_hash: str, target: str
    ) -> Response:
        """Start a session under a new token, remember the browser, and go on to a page.

        The session that the browser had before ends.

        Raises:
            Refusal: the password was changed, or the account deleted, since it was proven.
        """
        owner = visit.actor._replace(name="owner")
        try:
            token = await self._site.sessions.start(
                account.id,
                password_hash,
                replacing=visit.secret if visit.account else None,
                actor=owner,
            )
            browser = await self._site.browsers.remember(visit.browser, account.id)
        except (AccountError, StalePasswordError) as error:
            raise Refusal(400, str(error)) from error
        response = RedirectResponse(target, 303)
        self._cookies.session.set(response, token)
        self._cookies.browser.set(response, browser)
        self._cookies.visit.drop(response)
        return response

    async def end_session(self, visit: Visit) -> Response:
        """End the session."""
        if visit.account is not None:
            await self._site.sessions.end(visit.secret, actor=visit.actor)
        response = RedirectResponse("/", 303)
        self._cookies.session.drop(response)
        return response

    def _guarded(
        self,
        work: Callable[[Visit], Awaitable[R]],
        count: Count | None = None,
        refused: OnRefusal | None = None,
    ) -> Callable[[Request], Awaitable[R | Response]]:
        counted = count or self._site.services.limiter.count_page
        shown = refused or self._shown

        async def respond(request: Request) -> R | Response:
            visit = Visit(request, secrets.token_urlsafe(TOKEN_BYTES))
            if is_loaded_by_another_site(request.headers):
                # Not counted: else any site could use up what its reader has here.
                return self._said(visit, ELSEWHERE)
            try:
                visit = await self._find(visit)
                await _count(visit, counted)
                return await work(visit)
            except Refusal as refusal:
                return shown(visit, refusal)
            except (AccountError, SignedOutError):
                # The session or the whole account has ended since the visit began.
                return shown(replace(visit, account=None), SIGNED_OUT)
            except DatabaseUnavailableError:
                return shown(visit, NO_ACCOUNTS)

        return respond

    def _shown(self, visit: Visit, refusal: Refusal) -> Response:
        return self._pages.respond("message.html", visit, refusal=refusal)

    def _said(self, _visit: Visit, refusal: Refusal) -> Response:
        response = PlainTextResponse(refusal.message + "\n", refusal.status, NO_STORE)
        if refusal.retry_after:
            response.headers["Retry-After"] = str(refusal.retry_after)
        return response

    async def _find(self, visit: Visit) -> Visit:
        visit = replace(visit, browser=self._cookies.browser.read(visit.request))
        session = self._cookies.session.read(visit.request)
        account = await self._site.sessions.account(session) if session else None
        if session and account:
            return replace(visit, secret=session, account=account)
        return replace(visit, secret=self._cookies.visit.read(visit.request) or visit.secret)

    async def _read(self, visit: Visit, *, once: bool = False) -> Visit:
        if visit.request.method != "POST":
            return visit
        form = await read_form(visit.request)
        now = self._site.clock() if once else None
        check_form(visit.request, form, visit.secret, self._url, once=now)
        return replace(visit, form=form)


async def _count(visit: Visit, count: Count) -> None:
    # By session and not by account: a thief's must not keep the owner from ending it.
    session = hash_secret(visit.secret) if visit.account else None
    try:
        await count(visit.network, session)
    except ApiError as error:
        wait = (error.details or {})["retry_after_seconds"]
        if error.code == "unavailable":
            words = f"The service cannot show pages right now. Wait {wait} s and try again."
            raise Refusal(503, words, wait) from error
        raise Refusal(429, f"Too many pages. Wait {wait} s and try again.", wait) from error
