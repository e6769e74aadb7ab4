"""Endpoints: finds the visitor's account, accepts only checked forms, turns refusals into pages."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from mcp_server.calls.errors import ApiError, PageRefusal
from screener.web.site.forms import check_form, read_form
from screener.web.site.pages import Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, sign_in_address
from store.accounts.accounts import Account, hash_secret
from store.accounts.sessions import TOKEN_BYTES
from store.errors import AccountError, DatabaseUnavailableError, SignedOutError

NO_ACCOUNTS = PageRefusal(
    503,
    "The service cannot read or change its accounts right now. Wait a moment and try again.",
    retry_after=2,
)
ELSEWHERE = PageRefusal(403, "Pages of other sites cannot load this. Follow a link to it instead.")
NO_STORE = {"Cache-Control": "no-store"}
SIGNED_OUT = PageRefusal(403, str(SignedOutError()))

NESTED = frozenset({"embed", "fencedframe", "frame", "iframe", "object"})
"""Destinations of navigations within a page; no page of this site may be framed anyway."""

Endpoint = Callable[[Request], Awaitable[Page]]
"""What the routes of the pages call."""
Handler = Callable[[Visit, WebServices], Awaitable[Page]]
MemberHandler = Callable[[Visit, WebServices, Account], Awaitable[Page]]
FormPage = Callable[..., Awaitable[Page]]
"""Handles a member's visit too; it may be given a refusal, which it shows above its form."""
Count = Callable[[str, str | None], Awaitable[None]]
"""Counts a request of a network and a session."""


class PageEndpoints:
    """Turns handlers that take a visit into endpoints."""

    def __init__(self, web: WebServices) -> None:
        self._web = web
        self._limiter = web.services.limiter

    def anyone(self, handler: Handler) -> Endpoint:
        """An endpoint for every visitor."""

        async def work(visit: Visit) -> Page:
            return await handler(await self._read(visit), self._web)

        return self._guarded(work, self._limiter.count_page, self._shown)

    def members(
        self, handler: MemberHandler, page: FormPage | None = None, *, once: bool = False
    ) -> Endpoint:
        """An endpoint for signed-in visitors; others sign in first and come back.

        What the handler refuses is shown on the `page`, or else on one of its own. With `once`, its
        form is one that works once.
        """

        async def work(visit: Visit) -> Page:
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            account, visit = visit.account, await self._read(visit, once=once)
            try:
                return await handler(visit, self._web, account)
            except PageRefusal as refusal:
                if page is None:
                    raise
                return await page(visit, self._web, account, refusal)

        return self._guarded(work, self._limiter.count_page, self._shown)

    def parts(self, handler: Handler, count: Count | None = None) -> Endpoint:
        """An endpoint for what a page or a program loads: pictures, data, feeds. Its errors are one
        line of text. It counts as a picture unless `count` is given.
        """

        async def work(visit: Visit) -> Page:
            return await handler(visit, self._web)

        return self._guarded(work, count or self._limiter.count_picture, _said)

    def _guarded(
        self,
        work: Callable[[Visit], Awaitable[Page]],
        count: Count,
        refuse: Callable[[Visit, PageRefusal], Response],
    ) -> Endpoint:
        async def respond(request: Request) -> Page:
            visit = Visit(request, secrets.token_urlsafe(TOKEN_BYTES))
            if is_loaded_by_another_site(request.headers):
                # Not counted: else any site could use up what its reader has here.
                return _said(visit, ELSEWHERE)
            try:
                visit = await self._find(visit)
                await _count(visit, count)
                return await work(visit)
            except PageRefusal as refusal:
                return refuse(visit, refusal)
            except (AccountError, SignedOutError):
                # The session or the whole account has ended since the visit began.
                return refuse(replace(visit, account=None), SIGNED_OUT)
            except DatabaseUnavailableError:
                return refuse(visit, NO_ACCOUNTS)

        return respond

    def _shown(self, visit: Visit, refusal: PageRefusal) -> Response:
        return self._web.pages.respond("message.html", visit, refusal=refusal)

    async def _find(self, visit: Visit) -> Visit:
        visit = replace(visit, browser=self._web.cookies.browser.read(visit.request))
        session = self._web.cookies.session.read(visit.request)
        account = await self._web.sessions.account(session) if session else None
        if session and account:
            return replace(visit, secret=session, account=account)
        return replace(visit, secret=self._web.cookies.visit.read(visit.request) or visit.secret)

    async def _read(self, visit: Visit, *, once: bool = False) -> Visit:
        if visit.request.method != "POST":
            return visit
        form = await read_form(visit.request)
        now = self._web.clock() if once else None
        check_form(visit.request, form, visit.secret, self._web.services.offer.public_url, now=now)
        return replace(visit, form=form)


def is_loaded_by_another_site(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site loads this as its part: a picture, a script, a frame.

    A link or a form that leads a person here does not. Browsers say so (W3C Fetch Metadata Request
    Headers) to https and to loopback; programs and old browsers send none of these fields.
    """
    if headers.get("sec-fetch-site") != "cross-site":
        return False
    is_navigation = headers.get("sec-fetch-mode", "navigate") == "navigate"
    return not is_navigation or headers.get("sec-fetch-dest") in NESTED


def _said(_visit: Visit, refusal: PageRefusal) -> Response:
    response = PlainTextResponse(refusal.message + "\n", refusal.status, NO_STORE)
    if refusal.retry_after:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


async def _count(visit: Visit, count: Count) -> None:
    # By session and not by account: a thief's must not keep the owner from ending it.
    session = hash_secret(visit.secret) if visit.account else None
    try:
        await count(visit.network, session)
    except ApiError as error:
        wait = error.retry_after
        if error.code == "unavailable":
            words = f"The service cannot show pages right now. Wait {wait} s and try again."
            raise PageRefusal(503, words, wait) from error
        raise PageRefusal(429, f"Too many pages. Wait {wait} s and try again.", wait) from error
