"""The composition root: builds every part once and joins them into one ASGI app."""

from __future__ import annotations

import datetime as dt
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from mcp_server.http.edge import Edge
from mcp_server.operations.charts import WARM_AFTER, Charts
from mcp_server.operations.counting import Counting
from mcp_server.operations.directory import Directory
from mcp_server.operations.limits import Limiter
from mcp_server.operations.services import Services
from mcp_server.surface.endpoint import McpEndpoint
from mcp_server.surface.server import build_server
from mcp_server.surface.toolsets import Toolset, toolsets
from oauth.authorization import Authorization
from oauth.bearer import Bearer
from oauth.challenge import Challenge
from oauth.client_documents import ClientDocuments
from oauth.clients import Clients
from oauth.fetching import Fetcher, Resolver
from oauth.metadata import resources_of
from oauth.quota import Quota
from oauth.routes import oauth_routes
from rest_facade.facade import Facade
from rest_facade.listing import listing_routes
from screener.service import proxy_echo
from screener.service.account_store import AccountStore
from screener.service.counting import Standing, counting_of, resume_days
from screener.service.health import LIVE, READY, Health, Probes
from screener.service.measuring import keep_measuring
from screener.service.origins import origins_of
from screener.service.policies import policies_of
from screener.service.sharing import follower_of
from screener.service.supervisor import Loop, Supervisor
from screener.settings.settings import Settings
from store.accounts.accounts import utc_now
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.principals import Principals
from store.accounts.tokens import Tokens
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.database.changes import feed_of
from store.database.database import Database
from store.errors import DatabaseUnavailableError
from store.folder.layout import DataFolder
from store.folder.progress import ProgressFile
from store.ledger.ledger import Ledger
from store.nights.active_night import ActiveNight
from store.nights.book import PerBook
from telemetry.metrics import record
from web.errors import exception_handlers
from web.news import News
from web.pages import compile_templates
from web.routes import web_routes
from web.site import Site
from web.throttle import SIGN_UPS, Throttle

log = logging.getLogger(__name__)

BASE = "/api/v1"
Clock = Callable[[], dt.datetime]


def build_app(
    settings: Settings,
    fetcher: Fetcher | None = None,
    counters: Path | None = None,
    clock: Clock = utc_now,
) -> ASGIApp:
    """The whole service as one ASGI app; it opens what it needs when its lifespan starts.

    Several processes that serve together count calls in files of one folder, `counters`.
    Documents of apps, where the settings let them be read, come from the Internet by default.
    Sign-ins, codes and tokens end by the clock, and pages and the map of links tell the age of the
    night by it.
    """
    database = settings.database()
    store = AccountStore(settings, database, clock)
    grants = store.grants
    counting = counting_of(settings, counters)
    quota = Quota(settings.registrations_per_minute, counting)
    clients = Clients(grants, _documents(settings, grants, quota, fetcher))
    services = services_of(settings, database, counting, clock)
    standing = Standing(counting, partial(resume_days, services.limiter, services.usage))
    supervisor = Supervisor()
    follower = follower_of(settings, clock)
    health = Health(services, database, supervisor, clock, follower)
    offer = services.offer
    resource, *others = resources_of(offer)
    origins = origins_of(settings)
    news = News(services.active_night, ProgressFile(settings.data_dir))
    site = Site(
        services=services,
        accounts=store.accounts,
        keys=store.keys,
        sessions=store.sessions,
        browsers=store.browsers,
        grants=grants,
        audit=store.audit,
        audit_days=settings.audit_days,
        policies=policies_of(settings),
        ledger=Ledger(settings.data_dir),
        news=news,
        origins=origins,
        authorization=Authorization(grants, resource, clients),
        throttle=Throttle(counting=counting),
        sign_up_throttle=Throttle(SIGN_UPS, counting, "sign-up"),
        sign_up=settings.sign_up,
        open_pages=settings.open_pages,
        behind_proxy=bool(settings.trusted_proxies),
        clock=clock,
        degraded=health.degraded,
    )
    named = {each.resource: each for each in (resource, *others)}
    bearer = Bearer(services.principals)

    def endpoint_of(toolset: Toolset) -> McpEndpoint:
        at = named.get(offer.mcp_url + toolset.path, resource)
        challenge = Challenge(bearer, at, services, keyless=toolset.keyless)
        return McpEndpoint(build_server(services, toolset), toolset, services, origins, challenge)

    endpoints = [endpoint_of(toolset) for toolset in toolsets(offer)]
    measured = settings.metrics_port is not None
    changes = services.principals.changes
    loops = [
        Loop("night", "that looks for a new night", services.active_night.keep_polling),
        Loop("news", "that looks for news of open pages", news.keep_looking),
        Loop("usage", "that writes the usage log", services.usage.keep_writing),
        Loop("expired", "that removes what is expired", store.sweeper.keep_sweeping),
        Loop("changes", "that watches for changes of accounts", changes.keep_watching),
        Loop("health", "that looks after the parts", health.keep_looking),
    ]
    if follower:
        loops.append(Loop("nights", "that follows the store of nights", follower.keep_following))
    loops += standing.loops
    if measured:
        measuring = partial(keep_measuring, services, settings.data_dir, clock)
        loops.append(Loop("metrics", "that measures the service", measuring))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await _migrate(database)
            stack.push_async_callback(database.close)
            stack.push_async_callback(counting.close)
            await standing.start()
            await services.active_night.poll()
            stack.callback(services.active_night.close)
            await health.look()
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            for loop in loops:
                group.start_soon(supervisor.keep_running, loop)
            if settings.charts_warm:
                group.start_soon(services.charts.warm, WARM_AFTER)
            # In a thread: it takes longer than a first answer should wait.
            group.start_soon(anyio.to_thread.run_sync, compile_templates)
            for endpoint in endpoints:
                await stack.enter_async_context(endpoint.running())
            # What was made by now lives as long as the process: nothing to look through again.
            gc.freeze()
            yield

    facade = Facade(services, bearer.identify, resource, BASE, clock)
    reference = facade.documents["/llms.txt"].body.decode()
    routes = [
        *oauth_routes(
            grants,
            _tokens(settings, database, clock),
            resource,
            others,
            clients,
            quota,
            services.limiter,
        ),
        *listing_routes(offer),
        *web_routes(site, reference),
        # With a slash, too: to lead from there to here would tell of it.
        *(
            Route(proxy_echo.PATH + end, proxy_echo.ProxyEcho(settings.data_dir))
            for end in ("", "/")
        ),
    ]
    handlers = exception_handlers(offer.docs_url, services.limiter)
    pages = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    probes = Probes(health, origins)
    app: ASGIApp = Edge(
        pages,
        facade,
        {f"/mcp{endpoint.toolset.path}": endpoint.respond for endpoint in endpoints},
        {LIVE: probes.respond, READY: probes.respond},
        at_once=settings.requests_at_once,
        is_https=offer.public_url.startswith("https:"),
        docs_url=offer.docs_url,
        record=record if measured else None,
    )
    if settings.trusted_proxies:
        app = ProxyHeadersMiddleware(app, list(settings.trusted_proxies))  # type: ignore[arg-type, assignment]
    return app


async def _migrate(database: Database) -> None:
    try:
        await database.migrate()
    except DatabaseUnavailableError as error:
        # `screener serve` has migrated it. A worker that is replaced while the database is away
        # must serve what needs no account.
        log.warning("Calls with a key get a 503 until the database answers: %s", error)


def services_of(
    settings: Settings, database: Database, counting: Counting | None, clock: Clock = utc_now
) -> Services:
    """Everything the operations use."""
    watchlist = Watchlist(database)
    directories = PerBook(Directory.of)
    return Services(
        offer=settings.offer,
        active_night=ActiveNight(
            settings.data_dir,
            source=settings.source,
            disclaimer=settings.disclaimer,
            prepare=directories.of,
        ),
        principals=Principals(
            _keys(settings, database),
            _tokens(settings, database, clock),
            watchlist,
            feed_of(database),
            clock=clock,
            at_once=max(1, settings.database_pool // 2),
            seconds=settings.database_seconds,
        ),
        watchlist=watchlist,
        usage=UsageLog(database),
        limiter=Limiter(settings.quotas, counting),
        charts=Charts(DataFolder(settings.data_dir).charts, directories=directories),
        directories=directories,
    )


def _keys(settings: Settings, database: Database) -> Keys:
    return Keys(database, prefix=settings.key_prefix)


def _tokens(settings: Settings, database: Database, clock: Clock) -> Tokens:
    leeway = dt.timedelta(seconds=settings.refresh_leeway_seconds)
    return Tokens(database, clock=clock, leeway=leeway)


def _documents(
    settings: Settings, grants: Grants, quota: Quota, fetcher: Fetcher | None
) -> ClientDocuments | None:
    if not settings.client_metadata_documents:
        return None
    return ClientDocuments(grants, (fetcher or Fetcher(Resolver())).read, quota)
