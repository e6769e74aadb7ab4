"""Serving: binds the port first, so that a taken one is one clear line, then runs uvicorn."""

from __future__ import annotations

import functools
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from uvicorn.supervisors import Multiprocess

from mcp_server.operations.limits import Limiter
from screener.app import build_app
from screener.settings import Settings, SettingsError
from store.database import Database
from store.nights import Nights


def bind(settings: Settings) -> socket.socket:
    """A listening socket on the configured address.

    Raises:
        SettingsError: the address is taken or not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"{settings.host}:{settings.port} cannot be listened on ({error.strerror}); "
            "choose another with --port."
        ) from error
    listener.set_inheritable(True)
    return listener


def check_active_night(settings: Settings) -> None:
    """Refuse to start on a damaged night, rather than serve nothing in its place.

    Raises:
        ManifestError: the active night's manifest or book is not what was sealed.
    """
    nights = Nights(settings.data_dir)
    if nights.pointer.exists():
        nights.check_active()


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve until interrupted, in one process or several.

    Raises:
        CountersError: several processes cannot count calls together here.
    """
    if settings.workers == 1:
        uvicorn.Server(server_config(build_app(settings), settings)).run(sockets=[listener])
        return
    anyio.run(_migrate, settings.accounts_url)  # once, before they would all try
    with tempfile.TemporaryDirectory(prefix="screener-counters-") as folder:
        counters = Path(folder)
        Limiter(settings.quotas, folder=counters)  # says now what each worker would say
        app = functools.partial(build_app, settings, counters=counters)
        config = server_config(app, settings, factory=True, workers=settings.workers)
        Multiprocess(config, sockets=[listener]).run()


async def _migrate(url: str) -> None:
    database = Database(url)
    try:
        await database.migrate()
    finally:
        await database.close()


def server_config(app: Callable[..., Any], settings: Settings, **options: Any) -> uvicorn.Config:  # noqa: ANN401
    """How uvicorn serves the app; options of its own add to this."""
    return uvicorn.Config(
        app,
        log_level=settings.log_level,
        # An access log doubles the cost of a stored answer; a proxy keeps a better one.
        access_log=False,
        # The app itself believes forwarded addresses, from the configured proxies only.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        # A worker on a busy machine is slow, not hung: killing it would only add to the load. But a
        # worker that dies while the parent waits for its reply holds up a stop for as long.
        timeout_worker_healthcheck=30,
        **options,
    )
