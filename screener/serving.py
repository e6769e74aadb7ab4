"""Serving: binds the port first, so that a taken one is one clear line, then runs uvicorn."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
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

from screener.activation import handed_over, tell_manager
from screener.app import build_app, resume_days, services_of
from screener.connections import Connection
from screener.counting import counting_of
from screener.databases import database_of
from screener.door import Bounds, Door
from screener.exposition import exposed, join_worker, merged
from screener.following import fetch_first
from screener.logs import log_config
from screener.settings import Settings, SettingsError
from screener.supervisor import EXIT_CODE
from store.errors import StoreError
from store.lock import locked, restore_is_pending
from store.nights import Nights
from store.restore import end_restore

OTHER_FILES = 256
"""Open files beside the connections: the night, the accounts, counters, drawings."""


def bind(settings: Settings) -> socket.socket:
    """The listening socket that a service manager handed over, or one on the configured address.

    Raises:
        SettingsError: the address is taken or not this machine's, or the socket cannot be used.
    """
    listener = handed_over()
    if listener is not None:
        return listener
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise SettingsError(_why_not(error, settings)) from error
    return listener


def _why_not(error: OSError, settings: Settings) -> str:
    """Why an address cannot be listened on, and what to choose instead."""
    host, port = settings.host, settings.port
    other = port + 1 if port < 65535 else 8000
    if error.errno == errno.EADDRINUSE:
        what, choose = "another process listens there", other
    elif error.errno == errno.EACCES:
        what, choose = "ports below 1024 are the system's", 8000
    else:
        words = "it is not an address of this machine" if _is_elsewhere(error) else error.strerror
        return f"{host}:{port} cannot be listened on: {words}; choose another with --host."
    return (
        f"{host}:{port} cannot be listened on: {what}; choose another port with --port {choose} or "
        f"SCREENER_PORT={choose}, by make with `make up SCREENER_PORT={choose}`."
    )


def _is_elsewhere(error: OSError) -> bool:
    return isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL


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
    database = database_of(settings)
    try:
        await end_restore(database, settings.data_dir)
    finally:
        await database.close()


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
            uvicorn.Server(server_config(build_app(settings), settings)).run(sockets=[listener])
        return
    _serve_by_workers(settings, listener)


class Workers(Multiprocess):
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
        parent = Workers(config, sockets=[listener])
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
    return build_app(settings, counters=counters)


async def _resume_days(settings: Settings, counters: Path) -> None:
    counting, database = counting_of(settings, counters), database_of(settings)
    try:
        await resume_days(services_of(settings, database, counting))
    finally:
        await counting.close()
        await database.close()


def connections_of(settings: Settings, bounds: Bounds) -> Any:  # noqa: ANN401 - as a class
    """What uvicorn makes a connection with; a worker has its own count of them."""
    bounds = replace(bounds, connections=settings.connections)
    return functools.partial(Connection, Door(bounds, settings.trusted_proxies))


def allow_files(connections: int) -> None:
    """Raise the limit of open files, where there is one, so that every connection has one.

    Raises:
        SettingsError: the system does not allow so many.
    """
    try:
        import resource
    except ImportError:  # not Unix
        return
    wanted = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError) as error:
        raise SettingsError(
            f"SCREENER_CONNECTIONS: {connections} connections need {wanted} open files and the "
            f"system allows {hard}; allow more (`ulimit -n`, LimitNOFILE=) or set it lower."
        ) from error


async def _migrate(settings: Settings) -> None:
    database = database_of(settings)
    try:
        await database.migrate()
    finally:
        await database.close()


def server_config(
    app: Callable[..., Any],
    settings: Settings,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    **options: Any,  # noqa: ANN401 - uvicorn's
) -> uvicorn.Config:
    """How uvicorn serves the app; options of its own add to this."""
    logs = log_config(settings.log_level, settings.log_format, access_log=settings.access_log)
    return uvicorn.Config(
        app,
        access_log=False,  # it would have addresses and queries; ours has neither
        # The app itself believes forwarded addresses, from the configured proxies only.
        proxy_headers=False,
        server_header=False,
        http=connections_of(settings, bounds),
        ws="none",
        timeout_graceful_shutdown=10,
        # A worker on a busy machine is slow, not hung: killing it would only add to the load. The
        # price: if a worker dies while it is being asked, a stop takes up to 30 s.
        timeout_worker_healthcheck=30,
        callback_notify=tell_manager,
        **{"log_config": logs, **options},
    )
