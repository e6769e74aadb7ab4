"""The routes of the pages: where each is, and who may open it and send its form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from mcp_server.presentation.offer import PRIVACY_PATH, TERMS_PATH
from store.accounts.accounts import Account
from web.about import connect, docs, robots
from web.account import account
from web.account.consent import AUTHORIZE, ConsentPage
from web.account.keys import KeysPage
from web.account.sign_in import Password, SignIn, SignUp
from web.market import (
    changes,
    charts,
    families,
    home,
    method,
    scan_query,
    screen,
    status,
    symbol,
    watchlist,
)
from web.site import assets, live
from web.site.access import sees_scan
from web.site.pages import Context, Page
from web.site.site import Site
from web.site.visit import Visit
from web.site.visits import Endpoint, Visits


def web_routes(site: Site, reference: Callable[[], str]) -> list[Route]:
    """Every page, and the documentation rendered from the agent reference."""
    visits, offer = Visits(site), site.services.offer
    anyone, members, parts = visits.anyone, visits.members, visits.parts
    return [
        Route(home.PATH, anyone(home.show)),
        Route(scan_query.PATH, anyone(screen.show)),
        Route(symbol.SEARCH_PATH, anyone(symbol.find)),
        _form(symbol.PATH, anyone(symbol.show), members(symbol.change)),
        Route(symbol.TRADE_PATH, anyone(symbol.trade)),
        Route(charts.PNG_PATH, parts(charts.png)),
        Route(charts.DATA_PATH, parts(charts.data)),
        Route(families.PATH, anyone(families.show_all)),
        Route(families.ONE_PATH, anyone(families.show)),
        Route(changes.PATH, anyone(changes.show)),
        Route(status.PATH, anyone(status.show)),
        _form(watchlist.PATH, members(watchlist.show), members(watchlist.change)),
        Route(live.PATH, anyone(_news)),
        Route(method.PATH, partial(method.show, site=site)),
        _fixed(site, connect.PATH, "connect.html", partial(connect.connect_page, offer)),
        _fixed(site, docs.PATH, "docs.html", partial(docs.docs_page, offer, reference)),
        _text(site, PRIVACY_PATH, "Privacy", site.policies.privacy),
        _text(site, TERMS_PATH, "Terms", site.policies.terms),
        Route(robots.PATH, robots.robots),
        Route(assets.PATH, assets.load_assets().respond),
        *_account_routes(site, visits),
    ]


async def _news(visit: Visit, site: Site) -> Page:
    return site.news.open(visit.network, sees_scan=sees_scan(visit, site))


def _form(path: str, show: Endpoint, change: Endpoint) -> Route:
    """A page, and what takes the form on it."""

    async def respond(request: Request) -> Page:
        return await (change if request.method == "POST" else show)(request)

    return Route(path, respond, methods=["GET", "POST"])


def _fixed(site: Site, path: str, template: str, make: Callable[[], Context]) -> Route:
    """A page that changes with the program and its settings alone."""

    async def respond(request: Request) -> HttpResponse:
        return site.pages.public(template, request, PUBLIC_HOUR, make)

    return Route(path, respond)


def _text(site: Site, path: str, title: str, source: str) -> Route:
    return _fixed(site, path, "text.html", partial(docs.text_page, title, source))


def _account_routes(site: Site, visits: Visits) -> list[Route]:
    """The pages of accounts, whose handlers have the site by themselves."""
    pages = site.pages
    own, keys = account.AccountPage(site, pages), KeysPage(site, pages)
    consent, password = ConsentPage(site, pages), Password(site, pages, visits)
    sign_in, sign_up = SignIn(site, pages, visits), SignUp(site, pages, visits)

    def anyone(handler: Callable[[Visit], Awaitable[Page]]) -> Endpoint:
        async def show(visit: Visit, _site: Site) -> Page:
            return await handler(visit)

        return visits.anyone(show)

    def members(
        handler: Callable[[Visit, Account], Awaitable[Page]], *, once: bool = False
    ) -> Endpoint:
        async def show(visit: Visit, _site: Site, owner: Account) -> Page:
            return await handler(visit, owner)

        return visits.members(show, once=once)

    routes = [
        _form(AUTHORIZE, anyone(consent.show), members(consent.decide, once=True)),
        _form("/keys", members(keys.show), members(keys.change)),
        _form(account.PATH, members(own.show), members(own.change)),
        Route("/usage", members(account.Usage(site, pages).show)),
        Route(account.ACTIVITY, members(account.Activity(site, pages).show)),
        _form("/sign-in", anyone(sign_in.show), anyone(sign_in.submit)),
        Route("/sign-out", anyone(sign_in.leave), methods=["POST"]),
        _form("/account/password", members(password.show), members(password.change)),
    ]
    if site.sign_up:
        routes.append(_form("/sign-up", anyone(sign_up.show), anyone(sign_up.submit)))
    return routes
