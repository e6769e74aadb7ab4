"""The routes of the pages: where each is, and who may open it and send its form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from mcp_server.operations import screens
from mcp_server.presentation.offer import PRIVACY_PATH, TERMS_PATH, Offer
from screener.web.about import connect, docs, robots
from screener.web.account import account, consent, keys, sign_in
from screener.web.market import (
    changes,
    charts,
    families,
    home,
    method,
    screen,
    status,
    symbol,
    watchlist,
)
from screener.web.screens import saved_screens, screen_feed
from screener.web.site import assets, live
from screener.web.site.access import sees_scan
from screener.web.site.endpoints import Endpoint, FormPage, MemberHandler, PageEndpoints
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit


def web_routes(web: WebServices, reference: Callable[[Offer], str]) -> list[Route]:
    """Every page, and the documentation rendered from the agent reference."""
    visits = PageEndpoints(web)
    anyone, members, parts = visits.anyone, visits.members, visits.parts

    def own(path: str, show: FormPage, change: MemberHandler) -> Route:
        """A page of a member, which also shows what is refused of the form on it."""
        return _form(path, members(show), members(change, show))

    routes = [
        Route(home.PATH, anyone(home.show)),
        Route(screens.PATH, anyone(screen.show)),
        Route(screen.CSV_PATH, anyone(screen.sheet)),
        own(saved_screens.PATH, saved_screens.show_all, saved_screens.change),
        own(saved_screens.ONE_PATH, saved_screens.show, saved_screens.feed),
        Route(screen_feed.PATH, parts(screen_feed.show, web.services.limiter.count_page)),
        Route(symbol.SEARCH_PATH, anyone(symbol.find)),
        Route(symbol.SUGGEST_PATH, parts(symbol.suggest)),
        _form(symbol.PATH, anyone(symbol.show), members(symbol.change)),
        Route(symbol.TRADE_PATH, anyone(symbol.trade)),
        Route(charts.PNG_PATH, parts(charts.png)),
        Route(charts.DATA_PATH, parts(charts.data)),
        Route(families.PATH, anyone(families.show_all)),
        Route(families.ONE_PATH, anyone(families.show)),
        Route(changes.PATH, anyone(changes.show)),
        Route(status.PATH, anyone(status.show)),
        own(watchlist.PATH, watchlist.show, watchlist.change),
        Route(watchlist.EXPORT_PATH, members(watchlist.export)),
        Route(live.PATH, anyone(_news)),
        Route(method.PATH, partial(method.show, web=web)),
        _with_example(web, connect.PATH, "connect.html", connect.connect_page),
        _with_example(web, docs.PATH, "docs.html", partial(docs.docs_page, reference=reference)),
        _text(web, PRIVACY_PATH, "Privacy", web.policies.privacy),
        _text(web, TERMS_PATH, "Terms", web.policies.terms),
        Route(robots.PATH, robots.robots),
        Route(assets.PATH, assets.load_assets().respond),
        _form(consent.AUTHORIZE, anyone(consent.show), members(consent.decide, once=True)),
        own(keys.PATH, keys.show, keys.change),
        own(account.PATH, account.show, account.change),
        Route(account.USAGE, members(account.usage)),
        Route(account.ACTIVITY, members(account.activity)),
        _form(sign_in.SIGN_IN, anyone(sign_in.show), anyone(sign_in.sign_in)),
        Route(sign_in.SIGN_OUT, anyone(sign_in.sign_out), methods=["POST"]),
        own(sign_in.PASSWORD, sign_in.show_password, sign_in.change_password),
    ]
    if web.sign_up:
        sign_up = _form(sign_in.SIGN_UP, anyone(sign_in.show_sign_up), anyone(sign_in.sign_up))
        routes.append(sign_up)
    return routes


async def _news(visit: Visit, web: WebServices) -> Page:
    return web.news.open(visit.network, sees_scan=sees_scan(visit, web))


def _form(path: str, show: Endpoint, change: Endpoint) -> Route:
    """A page, and what takes the form on it."""

    async def respond(request: Request) -> Page:
        return await (change if request.method == "POST" else show)(request)

    return Route(path, respond, methods=["GET", "POST"])


def _with_example(
    web: WebServices, path: str, template: str, make: Callable[[Offer], Context]
) -> Route:
    """A page whose examples follow the night."""

    async def respond(request: Request) -> HttpResponse:
        offer = web.services.offer_of_night
        chosen = partial(make, offer)
        return web.pages.public(template, request, PUBLIC_HOUR, chosen, example=offer.example)

    return Route(path, respond)


def _text(web: WebServices, path: str, title: str, source: str) -> Route:
    """A page that changes with the program and its settings alone."""
    make = partial(docs.text_page, title, source)

    async def respond(request: Request) -> HttpResponse:
        return web.pages.public("text.html", request, PUBLIC_HOUR, make)

    return Route(path, respond)
