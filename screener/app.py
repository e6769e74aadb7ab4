"""The composition root: builds every part once and joins them into one ASGI app."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from mcp_server.charts import Charts
from mcp_server.limits import Limiter
from mcp_server.pages import Pages
from mcp_server.server import Endpoint, build_server
from mcp_server.services import Services
from oauth.authorization import Authorization
from oauth.bearer import BearerMiddleware
from oauth.guard import Guard
from oauth.metadata import ProtectedResource
from oauth.routes import oauth_routes
from rest_facade.facade import Facade
from screener.settings import Settings
from store.accounts import Accounts
from store.database import Database
from store.grants import Grants
from store.sessions import Sessions
from store.shelf import Shelf
from store.tokens import Tokens
from store.usage import UsageLog
from store.watchlist import Watchlist
from web.errors import with_pages
from web.routes import web_routes
from web.site import Site

LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")


def build_app(settings: Settings) -> ASGIApp:
    """The whole service as one ASGI app; it opens what it needs when its lifespan starts."""
    database = Database(settings.accounts_url)
    accounts = Accounts(database, key_prefix=settings.key_prefix)
    leeway = dt.timedelta(seconds=settings.refresh_leeway_seconds)
    grants, tokens = Grants(database), Tokens(database, leeway=leeway)
    services = _services(settings, database)
    offer = services.offer
    resource = ProtectedResource(offer.mcp_url, offer.public_url, offer.docs_url)
    site = Site(
        services=services,
        accounts=accounts,
        sessions=sessions_of(settings, database),
        grants=grants,
        authorization=Authorization(grants, resource),
        sign_up=settings.sign_up,
    )
    security = _security(settings)
    full = Endpoint(build_server(services), security)
    keyless = Endpoint(build_server(services, keyless=True), security)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await database.migrate()
            stack.push_async_callback(database.close)
            await services.shelf.look()
            stack.callback(services.shelf.close)
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(services.usage.keep_writing)
            group.start_soon(grants.keep_sweeping)
            await stack.enter_async_context(full.running())
            await stack.enter_async_context(keyless.running())
            yield

    facade = Facade(services, resource)
    reference = facade.documents["/llms.txt"]
    routes = [
        Route("/mcp", Guard(full, resource, docs_url=offer.docs_url)),
        Route("/mcp/demo", Guard(keyless, resource, docs_url=offer.docs_url, keyless=True)),
        *oauth_routes(
            grants, tokens, resource, registrations_per_minute=settings.registrations_per_minute
        ),
        Route("/llms.txt", facade.document(reference)),
        *web_routes(site, reference.body.decode()),
        *facade.routes("/api/v1"),
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers=with_pages(facade.exception_handlers())
    )
    served: ASGIApp = BareSlashes(BearerMiddleware(app, accounts, tokens))
    if settings.trusted_proxies:
        served = ProxyHeadersMiddleware(served, list(settings.trusted_proxies))  # type: ignore[arg-type, assignment]
    return served


class BareSlashes:
    """Makes trailing slashes optional without a redirect, which would drop a PUT's body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)


def _services(settings: Settings, database: Database) -> Services:
    return Services(
        offer=settings.offer,
        shelf=Shelf(settings.data_dir, source=settings.source, disclaimer=settings.disclaimer),
        watchlist=Watchlist(database),
        usage=UsageLog(database),
        limiter=Limiter(settings.quotas),
        charts=Charts(settings.data_dir / "charts"),
        pages=Pages(),
    )


def sessions_of(settings: Settings, database: Database) -> Sessions:
    """The sign-ins of browsers, as long as the settings let them last."""
    return Sessions(
        database,
        idle=dt.timedelta(days=settings.session_idle_days),
        lifetime=dt.timedelta(days=settings.session_days),
    )


def _security(settings: Settings) -> TransportSecuritySettings:
    """The Host and Origin headers that the MCP endpoints accept, against DNS rebinding."""
    host = urlsplit(settings.url).netloc
    origins = [f"http://{name}" for name in LOOPBACK]
    return TransportSecuritySettings(
        allowed_hosts=[host, *LOOPBACK, *settings.allowed_hosts],
        allowed_origins=[settings.url, *origins, *settings.allowed_origins],
    )
