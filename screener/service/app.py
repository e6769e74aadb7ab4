"""The composition root: builds every part once and joins them into one ASGI app."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from mcp_server.charts.charts import WARM_AFTER, Charts
from mcp_server.filters.symbol_search import SymbolSearch
from mcp_server.http.application import Application
from mcp_server.http.requests import Origins
from mcp_server.limits.limits import Limiter
from mcp_server.limits.local_counting import LocalCounting
from mcp_server.mcp.endpoint import McpEndpoint
from mcp_server.mcp.server import build_server
from mcp_server.mcp.toolsets import Toolset, toolsets
from mcp_server.operations.services import Services
from oauth.authorization import Authorization
from oauth.bearer import Bearer
from oauth.client_documents import ClientDocuments
from oauth.clients import Clients
from oauth.endpoints import Endpoints
from oauth.fetching import Fetcher, Resolver
from oauth.metadata import Challenge, ProtectedResource, resources_of
from rest_facade.documents import reference
from rest_facade.facade import Facade
from rest_facade.listing import listing_routes
from screener.service import proxy_echo
from screener.service.health import LIVE, READY, Health, keep_measuring
from screener.service.parts import (
    AccountStore,
    counting_of,
    keep_redis,
    origins_of,
    policies_of,
    resume_days,
    start_redis,
)
from screener.service.sharing import follower_of
from screener.service.supervisor import Loop, Supervisor
from screener.settings.settings import Settings
from screener.telemetry.metrics import record
from screener.web.routes import web_routes
from screener.web.site.cookies import Cookies
from screener.web.site.errors import exception_handlers
from screener.web.site.live import News
from screener.web.site.login_limits import SIGN_UPS, LoginLimits
from screener.web.site.pages import Pages, compile_templates
from screener.web.site.services import WebServices
from store.accounts.accounts import Clock, utc_now
from store.accounts.principals import Principals
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.database.changes import changes_of
from store.database.database import Database
from store.errors import DatabaseUnavailableError
from store.folder.layout import DataFolder
from store.folder.progress import ProgressFile
from store.nights.active_night import ActiveNight
from store.nights.book import PerBook

if TYPE_CHECKING:
    from mcp_server.limits.redis_counting import RedisCounting

log = logging.getLogger(__name__)

BASE = "/api/v1"


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
    store = AccountStore(settings, settings.database(), clock)
    counting = counting_of(settings, counters)
    services = services_of(store, counting)
    offer = services.offer
    resource, *others = resources = resources_of(offer)
    documents = _documents(store, services.limiter, fetcher)
    clients = Clients(store.grants, documents)
    supervisor, follower = Supervisor(), follower_of(settings, clock)
    origins = origins_of(settings)
    health = Health(services, store.database, supervisor, clock, origins, follower, documents)
    bearer = Bearer(services.principals)
    web = _web(store, services, Authorization(store.grants, resource, clients), health, origins)
    endpoints = [
        _endpoint(toolset, services, bearer, resources, origins) for toolset in toolsets(offer)
    ]
    resume = partial(resume_days, services.limiter, services.usage)
    loops = [*_loops(store, services, health, resume, counting)]
    if documents:
        tries = "that tries whether documents of apps can be read"
        loops.append(Loop("documents", tries, documents.keep_trying))
    if follower:
        loops.append(Loop("nights", "that follows the store of nights", follower.keep_following))
    facade = Facade(services, bearer.identify, resource, BASE, clock)
    echo = proxy_echo.ProxyEcho(settings.data_dir)
    routes = [
        *Endpoints(store.grants, store.tokens, clients, resource, services.limiter).routes(others),
        *listing_routes(offer),
        *web_routes(web, reference=partial(reference, quotas=services.limiter.quotas)),
        # With a slash, too: to lead from there to here would tell of it.
        *(Route(proxy_echo.PATH + end, echo) for end in ("", "/")),
    ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await _start(store.database, counting, services, stack, resume)
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

    handlers = exception_handlers(web.pages, offer.docs_url, services.limiter)
    app: ASGIApp = Application(
        Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers),
        facade,
        {f"/mcp{endpoint.toolset.path}": endpoint.respond for endpoint in endpoints},
        {LIVE: health.respond, READY: health.respond},
        at_once=settings.requests_at_once,
        is_https=offer.public_url.startswith("https:"),
        docs_url=offer.docs_url,
        record=None if settings.metrics_port is None else record,
    )
    if settings.trusted_proxies:
        app = ProxyHeadersMiddleware(app, list(settings.trusted_proxies))  # type: ignore[arg-type, assignment]
    return app


def services_of(
    store: AccountStore, counting: LocalCounting | RedisCounting | None = None
) -> Services:
    """Everything the operations use."""
    settings, watchlist = store.settings, Watchlist(store.database)
    directories = PerBook(SymbolSearch.of)
    return Services(
        offer=settings.offer,
        active_night=ActiveNight(
            settings.data_dir,
            source=settings.source,
            disclaimer=settings.disclaimer,
            prepare=directories.of,
            clock=store.clock,
        ),
        principals=Principals(
            store.keys,
            store.tokens,
            watchlist,
            changes_of(store.database),
            clock=store.clock,
            at_once=max(1, settings.database_pool // 2),
            seconds=settings.database_seconds,
        ),
        watchlist=watchlist,
        usage=UsageLog(store.database),
        limiter=Limiter(settings.quotas, counting),
        charts=Charts(DataFolder(settings.data_dir).charts, directories=directories),
        directories=directories,
    )


def _documents(
    store: AccountStore, limiter: Limiter, fetcher: Fetcher | None
) -> ClientDocuments | None:
    if not store.settings.client_metadata_documents:
        return None
    return ClientDocuments(store.grants, (fetcher or Fetcher(Resolver())).read, limiter)


def _web(
    store: AccountStore,
    services: Services,
    authorization: Authorization,
    health: Health,
    origins: Origins,
) -> WebServices:
    """What the pages use."""
    settings, counting = store.settings, services.limiter.counting
    pages = Pages(
        services.active_night,
        store.clock,
        services.offer.public_url,
        sign_up=settings.sign_up,
    )
    return WebServices(
        services=services,
        pages=pages,
        accounts=store.accounts,
        keys=store.keys,
        screens=store.screens,
        sessions=store.sessions,
        browsers=store.browsers,
        cookies=Cookies.of(services.offer.public_url, store.sessions.lifetime),
        grants=store.grants,
        audit=store.audit,
        audit_days=settings.audit_days,
        policies=policies_of(settings),
        news=News(services.active_night, ProgressFile(settings.data_dir)),
        origins=origins,
        authorization=authorization,
        throttle=LoginLimits(counting=counting),
        sign_up_throttle=LoginLimits(SIGN_UPS, counting, "sign-up"),
        sign_up=settings.sign_up,
        open_pages=settings.open_pages,
        behind_proxy=bool(settings.trusted_proxies),
        clock=store.clock,
        degraded=health.degraded,
    )


def _endpoint(
    toolset: Toolset,
    services: Services,
    bearer: Bearer,
    resources: Sequence[ProtectedResource],
    origins: Origins,
) -> McpEndpoint:
    """An MCP address; one that is no resource of its own sends who must sign in to the first."""
    address = services.offer.mcp_url + toolset.path
    resource = next((each for each in resources if each.resource == address), resources[0])
    challenge = Challenge(bearer, resource, services, keyless=toolset.keyless)
    return McpEndpoint(build_server(services, toolset), toolset, services, origins, challenge)


def _loops(
    store: AccountStore,
    services: Services,
    health: Health,
    resume: Callable[[], Awaitable[None]],
    counting: LocalCounting | RedisCounting,
) -> Iterator[Loop]:
    """What runs as long as the service."""
    settings, changes = store.settings, services.principals.changes
    yield Loop("night", "that looks for a new night", services.active_night.keep_polling)
    yield Loop("usage", "that writes the usage log", services.usage.keep_writing)
    yield Loop("expired", "that removes what is expired", store.sweeper.keep_sweeping)
    yield Loop("changes", "that watches for changes of accounts", changes.keep_watching)
    yield Loop("health", "that looks after the parts", health.keep_looking)
    if not isinstance(counting, LocalCounting):
        keep = partial(keep_redis, counting, resume)
        yield Loop("limits", "that looks for the Redis of the limits", keep)
    if settings.metrics_port is not None:
        measuring = partial(keep_measuring, services, settings.data_dir, store.clock)
        yield Loop("metrics", "that measures the service", measuring)


async def _start(
    database: Database,
    counting: LocalCounting | RedisCounting,
    services: Services,
    stack: AsyncExitStack,
    resume: Callable[[], Awaitable[None]],
) -> None:
    """Open what is closed when the stack ends: the database, the counts of calls and the night."""
    try:
        await database.migrate()
    except DatabaseUnavailableError as error:
        # `screener serve` has migrated it. A worker that is replaced while the database is away
        # must serve what needs no account.
        log.warning("Calls with a key get a 503 until the database answers: %s", error)
    stack.push_async_callback(database.close)
    stack.push_async_callback(counting.close)
    if isinstance(counting, LocalCounting):
        await resume()
    else:
        await start_redis(counting, resume)
    await services.active_night.poll()
    stack.callback(services.active_night.close)
