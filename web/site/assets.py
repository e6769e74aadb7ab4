"""Assets: the styles, scripts and icon of the pages, each at an address that names its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import HttpResponse, answer_response
from mcp_server.mcp.app_page import chart_script
from mcp_server.operations.answers import Answer
from mcp_server.presentation.identity import icon

FOREVER = "public, max-age=31536000, immutable"

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
"""By the ending of a file's name; a file of another kind is no asset."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file that pages link to."""

    path: str
    body: bytes
    media_type: str

    @classmethod
    def of(cls, name: str, body: bytes) -> Asset:
        """The asset of a file; its address names the content."""
        stem, _, suffix = name.rpartition(".")
        digest = hashlib.sha256(body).hexdigest()[:16]
        return cls(f"/assets/{stem}.{digest}.{suffix}", body, MEDIA_TYPES[suffix])

    def route(self) -> Route:
        """The route at which browsers fetch it."""
        answer = Answer(self.body, self.media_type)

        async def respond(request: Request) -> HttpResponse:
            return answer_response(answer, request.scope["fields"], FOREVER)

        return Route(self.path, respond)


class Assets:
    """Every asset, by the name of its file."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._assets = {name: Asset.of(name, body) for name, body in files.items()}

    def path(self, name: str) -> str:
        """The address of a file."""
        return self._assets[name].path

    def routes(self) -> list[Route]:
        """The routes of all assets."""
        return [asset.route() for asset in self._assets.values()]


def load_assets() -> Assets:
    """The assets of this package."""
    return Assets(dict(_files()))


def _files() -> Iterable[tuple[str, bytes]]:
    for file in resources.files("web").joinpath("static").iterdir():
        if file.name.rpartition(".")[2] in MEDIA_TYPES:
            yield file.name, file.read_bytes()
    yield "icon.svg", icon("icon.svg")
    mount = resources.files("web").joinpath("chart", "mount.js").read_text("utf-8")
    yield "chart.js", chart_script(mount).encode()
