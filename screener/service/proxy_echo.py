"""Proxy echo: answers `screener doctor` with what arrived of the request that it sent by the proxy.

Only who can write in the data folder learns it: the doctor leaves the digest of a random token
there for as long as it asks, and sends the token. Everybody else gets what any address that is
none gets.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from store.folder.files import replace_file
from store.folder.layout import DataFolder

PATH: Final = "/doctor"
FIELD: Final = "X-Screener-Doctor"

LIVES_SECONDS: Final = 60
"""For which a token holds that a killed doctor left behind."""


@contextmanager
def token(data_dir: Path) -> Iterator[str]:
    """A token that the service on a data folder takes until the block ends.

    Raises:
        OSError: the folder cannot be written.
    """
    secret = secrets.token_urlsafe(32)
    file = DataFolder(data_dir).doctor
    replace_file(file, _digest(secret))
    try:
        yield secret
    finally:
        file.unlink(missing_ok=True)


class Arrived(BaseModel):
    """What arrived of a request."""

    model_config = ConfigDict(frozen=True)

    client: str | None
    """The address for which the service takes the caller."""
    scheme: str
    host: str | None
    forwarded_for: tuple[str, ...]
    forwarded_proto: tuple[str, ...]


class ProxyEcho:
    """The ASGI app that answers the doctor."""

    def __init__(self, data_dir: Path) -> None:
        self._file = DataFolder(data_dir).doctor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what arrived of the request."""
        request = Request(scope, receive)
        if request.method != "POST" or not self._accepts(request.headers.get(FIELD, "")):
            raise HTTPException(404)
        arrived = Arrived(
            client=request.client.host if request.client else None,
            scheme=request.url.scheme,
            host=request.headers.get("host"),
            forwarded_for=tuple(request.headers.getlist("x-forwarded-for")),
            forwarded_proto=tuple(request.headers.getlist("x-forwarded-proto")),
        )
        headers = {"Cache-Control": "no-store"}
        answer = Response(arrived.model_dump_json(), 200, headers, "application/json")
        await answer(scope, receive, send)

    def _accepts(self, given: str) -> bool:
        if not given:
            return False
        try:
            age = time.time() - self._file.stat().st_mtime
            with self._file.open("rb") as file:
                digest = file.read(100)
        except OSError:
            return False
        return abs(age) < LIVES_SECONDS and hmac.compare_digest(digest, _digest(given))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).hexdigest().encode()
