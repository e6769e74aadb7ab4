"""The routes of the pages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from web.assets import load_assets
from web.consent import AUTHORIZE, Consent
from web.docs import DocsPage
from web.door import Door, Endpoint
from web.home import Home
from web.keys import Keys
from web.method import PATH as METHOD
from web.method import MethodPage
from web.pages import Pages
from web.password import Password
from web.sign_in import SignIn
from web.sign_up import SignUp
from web.site import Site
from web.usage import Usage
from web.watchlist import WatchlistPage


def web_routes(site: Site, reference: str) -> list[Route]:
    """Every page, and the documentation rendered from the agent reference."""
    assets = load_assets()
    pages = Pages(assets, sign_up=site.sign_up)
    door = Door(site, pages)
    home, usage = Home(site, pages), Usage(site, pages)
    keys, watchlist = Keys(site, pages), WatchlistPage(site, pages)
    consent = Consent(site, pages, door)
    return [
        *assets.routes(),
        Route("/docs", DocsPage(pages, reference).answer),
        Route(METHOD, MethodPage(pages, site.services.active_night).answer),
        Route("/", door.anyone(home.show)),
        _page(AUTHORIZE, door.anyone(consent.show), door.members(consent.decide)),
        _page("/keys", door.members(keys.show), door.members(keys.change)),
        _page("/watchlist", door.members(watchlist.show), door.members(watchlist.change)),
        Route("/usage", door.members(usage.show)),
        *_sign_in_routes(site, pages, door),
    ]


def _sign_in_routes(site: Site, pages: Pages, door: Door) -> list[Route]:
    sign_in, sign_up = SignIn(site, pages, door), SignUp(site, pages, door)
    password = Password(site, pages, door)
    routes = [
        _page("/sign-in", door.anyone(sign_in.show), door.anyone(sign_in.enter)),
        Route("/sign-out", door.anyone(sign_in.leave), methods=["POST"]),
        _page("/account/password", door.members(password.show), door.members(password.change)),
    ]
    if site.sign_up:
        routes.append(_page("/sign-up", door.anyone(sign_up.show), door.anyone(sign_up.enter)))
    return routes


def _page(path: str, show: Endpoint, change: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        return await (change if request.method == "POST" else show)(request)

    return Route(path, answer, methods=["GET", "POST"])
