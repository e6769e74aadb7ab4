"""The routes of the pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from mcp_server.presentation.offer import PRIVACY_PATH, TERMS_PATH
from web.about.connect import PATH as CONNECT
from web.about.connect import connect_page
from web.about.docs import PATH as DOCS
from web.about.docs import docs_page
from web.about.markdown import rendered
from web.about.robots import PATH as ROBOTS
from web.about.robots import robots
from web.account.account import ACTIVITY, AccountPage, Activity, Usage
from web.account.account import PATH as ACCOUNT
from web.account.consent import AUTHORIZE, ConsentPage
from web.account.keys import KeysPage
from web.account.sign_in import Password, SignIn, SignUp
from web.market.changes import PATH as CHANGES
from web.market.changes import ChangesPage
from web.market.charts import DATA_PATH, PNG_PATH, SetupCharts
from web.market.families import ONE_PATH as FAMILY
from web.market.families import PATH as FAMILIES
from web.market.families import FamilyPages
from web.market.home import Home
from web.market.method import PATH as METHOD
from web.market.method import MethodPage
from web.market.scan_query import PATH as SCREEN
from web.market.screen import ScreenPage
from web.market.status import PATH as STATUS
from web.market.status import StatusPage
from web.market.symbol import PATH as SYMBOL
from web.market.symbol import SEARCH_PATH, SymbolPage
from web.market.symbol import TRADE_PATH as TRADE
from web.market.watchlist import PATH as WATCHLIST
from web.market.watchlist import WatchlistPage
from web.site.access import Access
from web.site.assets import load_assets
from web.site.events import PATH as EVENTS
from web.site.events import Events
from web.site.night_head import NightPages
from web.site.pages import Context, Page, Pages
from web.site.site import Site
from web.site.visits import Endpoint, Visits


def web_routes(site: Site, reference: str) -> list[Route]:
    """Every page, and the documentation rendered from the agent reference."""
    assets = load_assets()
    pages = NightPages(site, assets)
    visits, access = Visits(site, pages), Access(site)
    home, usage = Home(site, pages), Usage(site, pages)
    keys, watchlist = KeysPage(site, pages), WatchlistPage(site, pages)
    account = AccountPage(site, pages)
    families = FamilyPages(site, pages)
    consent = ConsentPage(site, pages)
    charts, symbol = SetupCharts(site, access), SymbolPage(site, pages, access)
    return [
        *assets.routes(),
        _fixed(pages, DOCS, "docs.html", docs_page, site.services.offer, reference),
        _fixed(pages, PRIVACY_PATH, "text.html", _text, "Privacy", site.policies.privacy),
        _fixed(pages, TERMS_PATH, "text.html", _text, "Terms", site.policies.terms),
        Route(METHOD, MethodPage(site, pages).respond),
        Route(ROBOTS, robots),
        _fixed(pages, CONNECT, "connect.html", connect_page, site.services.offer),
        Route(STATUS, visits.anyone(StatusPage(site, pages).show)),
        Route("/", visits.anyone(home.show)),
        Route(SCREEN, visits.anyone(ScreenPage(site, pages).show)),
        Route(FAMILIES, visits.anyone(families.show_all)),
        Route(FAMILY, visits.anyone(families.show)),
        Route(SEARCH_PATH, visits.anyone(symbol.find)),
        _page(SYMBOL, visits.anyone(symbol.show), visits.members(symbol.change)),
        Route(TRADE, visits.anyone(symbol.trade)),
        Route(PNG_PATH, visits.parts(charts.png)),
        Route(DATA_PATH, visits.parts(charts.data)),
        Route(EVENTS, visits.anyone(Events(access, site.news).open)),
        _page(AUTHORIZE, visits.anyone(consent.show), visits.members(consent.decide, once=True)),
        _page("/keys", visits.members(keys.show), visits.members(keys.change)),
        _page(WATCHLIST, visits.members(watchlist.show), visits.members(watchlist.change)),
        Route(CHANGES, visits.anyone(ChangesPage(site, pages).show)),
        _page(ACCOUNT, visits.members(account.show), visits.members(account.change)),
        Route("/usage", visits.members(usage.show)),
        Route(ACTIVITY, visits.members(Activity(site, pages).show)),
        *_sign_in_routes(site, pages, visits),
    ]


def _fixed(
    pages: Pages, path: str, template: str, make: Callable[..., Context], *settings: object
) -> Route:
    """A page that changes with the program and its settings alone."""
    made = partial(make, *settings)

    async def respond(request: Request) -> HttpResponse:
        return pages.public(template, request, PUBLIC_HOUR, made)

    return Route(path, respond)


def _text(title: str, source: str) -> Context:
    return {"title": title, "source": source, "text": rendered(source).html}


def _sign_in_routes(site: Site, pages: Pages, visits: Visits) -> list[Route]:
    sign_in, sign_up = SignIn(site, pages, visits), SignUp(site, pages, visits)
    password = Password(site, pages, visits)
    routes = [
        _page("/sign-in", visits.anyone(sign_in.show), visits.anyone(sign_in.submit)),
        Route("/sign-out", visits.anyone(sign_in.leave), methods=["POST"]),
        _page("/account/password", visits.members(password.show), visits.members(password.change)),
    ]
    if site.sign_up:
        routes.append(_page("/sign-up", visits.anyone(sign_up.show), visits.anyone(sign_up.submit)))
    return routes


def _page(path: str, show: Endpoint, change: Endpoint) -> Route:
    async def respond(request: Request) -> Page:
        return await (change if request.method == "POST" else show)(request)

    return Route(path, respond, methods=["GET", "POST"])
