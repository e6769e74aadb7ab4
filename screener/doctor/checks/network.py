"""Network: whether the port is free, or else who listens there."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from screener.doctor.checks.asking import ask
from screener.doctor.checks.finding import Finding, fault, ok, warning

if TYPE_CHECKING:
    from screener.settings.settings import Settings

OURS = "/.well-known/oauth-protected-resource/mcp"
"""What this service answers under and others do not."""

READY = "/health/ready"

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - looked up, not bound


def port(chosen: Settings) -> Iterator[Finding]:
    """Whether the port of the service is free, or the service listens there."""
    from screener.server.listening import bind
    from screener.settings.settings import SettingsError

    try:
        bind(chosen).close()
    except SettingsError as error:
        if not _is_taken(chosen):
            yield fault("port", str(error))
            return
        yield _who(chosen, str(error))
    else:
        yield ok("port", f"{chosen.host}:{chosen.port} is free: the service does not run there")


def _is_taken(chosen: Settings) -> bool:
    try:
        socket.create_connection((_reached(chosen), chosen.port), timeout=3).close()
    except OSError:
        return False
    return True


def _reached(chosen: Settings) -> str:
    return EVERYWHERE.get(chosen.host, chosen.host)


def _who(chosen: Settings, taken: str) -> Finding:
    host = _reached(chosen)
    url = f"http://[{host}]:{chosen.port}" if ":" in host else f"http://{host}:{chosen.port}"
    try:
        if "resource" not in json.loads(ask(url, OURS).body):
            return fault("port", taken)
        ready = ask(url, READY)
        state = json.loads(ready.body)
        parts = ", ".join(part.get("part", "") for part in state.get("degraded", ()))
    except (OSError, ValueError, TypeError, AttributeError, http.client.HTTPException):
        return fault("port", taken)
    place = f"the service listens at {chosen.host}:{chosen.port}"
    if ready.status == 503:
        return fault("port", f"{place} but can serve nothing; read its log and {url}{READY}")
    if parts:
        return warning("port", f"{place}, but is degraded: {parts}; {url}{READY} says more")
    return ok("port", f"{place}, {state.get('status', 'running')}")
