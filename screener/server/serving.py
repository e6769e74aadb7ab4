"""Serving: checks what is served, then runs uvicorn on a listening socket."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from mcp_server.limits.limits import Limiter
from screener.server.connection_limiter import ConnectionLimiter, ConnectionLimits
from screener.server.connections import Connection
from screener.server.listening import allow_files, tell_manager
from screener.server.metrics_port import exposed, join_worker, merged
from screener.server.process import loading
from screener.service.parts import counting_of, resume_days
from screener.service.sharing import fetch_first
from screener.service.supervisor import EXIT_CODE
from screener.settings.logs import log_config
from screener.settings.settings import Settings
from store.accounts.usage import UsageLog
from store.errors import StoreError
from store.folder.lock import locked, restore_is_pending
from store.nights.nights import Nights


def check_active_night(settings: Settings) -> None:
    """Refuse to start on a damaged night, rather than serve nothing in its place. A withdrawn
    night, left active by a command that was killed, gives its place to another. A restore that was
    killed is ended first.

    Where nights are in a shared store, the night that it names is fetched instead: it alone says
    what is served, and what is damaged here is fetched again.

    Raises:
        StoreError: a restore is at work, or cannot be ended.
        ManifestError: the active night's manifest or book is not what was sealed.
    """
    if restore_is_pending(settings.data_dir):
        anyio.run(_end_restore, settings)
    if settings.nights_url is not None:
        fetch_first(settings)
        return
    nights = Nights(settings.data_dir)
    if nights.pointer.exists():
        with contextlib.suppress(StoreError, OSError):  # the night is served whatever fails here
            _leave_withdrawn(nights, settings.data_dir)
        nights.check_active()


async def _end_restore(settings: Settings) -> None:
    from store.backup.restore import end_restore  # only who was killed meanwhile needs it

    async with settings.database() as database:
        await end_restore(database, settings.data_dir)


def _leave_withdrawn(nights: Nights, data_dir: Path) -> None:
    active = nights.active()
    # The lock is taken only where it is needed, because the folder may be read-only.
    if active is not None and active.data_version in nights.ledger.withdrawals():
        with locked(data_dir, dt.datetime.now(dt.UTC)):
            nights.leave_withdrawn()


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve until interrupted, in one process or several.

    Raises:
        CountersError: several processes cannot count calls together here.
        DatabaseError: the account database cannot be opened.
        SettingsError: the system does not allow so many connections.
        SystemExit: a worker could not start.
    """
    allow_files(settings.connections)
    anyio.run(_migrate, settings)  # once, and with one clear line if it fails
    if settings.workers == 1:
        with exposed(settings):
            uvicorn.Server(server_config(_app(settings), settings)).run(sockets=[listener])
        return
    _serve_by_workers(settings, listener)


class WorkerProcesses(Multiprocess):
    """The parent of workers, which listens no longer than they do: a proxy that is refused tries
    again, while what waits in a queue that nobody serves is lost.
    """

    def terminate_all(self) -> None:
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


def _serve_by_workers(settings: Settings, listener: socket.socket) -> None:
    with tempfile.TemporaryDirectory(prefix="screener-counters-") as folder:
        counters = Path(folder)
        metrics = None if settings.metrics_port is None else counters / "metrics"
        registry = CollectorRegistry() if metrics is None else merged(metrics)
        # Says now what each worker would say, and counts on for all of them.
        anyio.run(_resume_days, settings, counters)
        app = functools.partial(_app_of_worker, settings, counters, metrics, listener)
        config = server_config(app, settings, factory=True, workers=settings.workers)
        parent = WorkerProcesses(config, sockets=[listener])
        with exposed(settings, registry):
            parent.run()
    if any(worker.exitcode == STARTUP_FAILURE for worker in parent.processes):
        raise SystemExit(EXIT_CODE)  # uvicorn stops all workers when one cannot start


def _app_of_worker(
    settings: Settings, counters: Path, metrics: Path | None, listener: socket.socket
) -> ASGIApp:
    """The app of a worker, whose own processes do not inherit the listening socket."""
    listener.set_inheritable(False)
    if metrics is not None:
        join_worker(metrics)
    return _app(settings, counters)


def _app(settings: Settings, counters: Path | None = None) -> ASGIApp:
    """The app, of which the parent of workers loads nothing."""
    with loading():
        from screener.service.app import build_app

        return build_app(settings, counters=counters)


async def _resume_days(settings: Settings, counters: Path) -> None:
    async with settings.database() as database:
        counting = counting_of(settings, counters)
        try:
            await resume_days(Limiter(settings.quotas, counting), UsageLog(database))
        finally:
            await counting.close()


async def _migrate(settings: Settings) -> None:
    async with settings.database() as database:
        await database.migrate()


def server_config(
    app: Callable[..., Any],
    settings: Settings,
    bounds: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - frozen
    **options: Any,  # noqa: ANN401 - uvicorn's
) -> uvicorn.Config:
    """How uvicorn serves the app; options of its own add to this."""
    bounds = replace(bounds, connections=settings.connections)
    limiter = ConnectionLimiter(bounds, settings.trusted_proxies)  # of each worker its own
    logs = log_config(settings.log_level, settings.log_format, access_log=settings.access_log)
    return uvicorn.Config(
        app,
        access_log=False,  # it would have addresses and queries; ours has neither
        # The app itself believes forwarded addresses, from the configured proxies only.
        proxy_headers=False,
        server_header=False,
        http=functools.partial(Connection, limiter),  # type: ignore[arg-type]
        ws="none",
        timeout_graceful_shutdown=10,
        # A worker on a busy machine is slow, not hung: killing it would only add to the load. The
        # price: if a worker dies while it is being asked, a stop takes up to 30 s.
        timeout_worker_healthcheck=30,
        callback_notify=tell_manager,
        **{"log_config": logs, **options},
    )
