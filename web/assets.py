"""Assets: the style, script and icon of the pages, each at an address that names its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp_server.drawing.icon import icon_svg

FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file that pages link to."""

    path: str
    body: bytes
    media_type: str

    def route(self) -> Route:
        """The route at which browsers fetch it."""
        headers = {"Cache-Control": FOREVER}

        async def respond(_request: Request) -> Response:
            return Response(self.body, media_type=self.media_type, headers=headers)

        return Route(self.path, respond)


@dataclass(frozen=True, slots=True)
class Assets:
    """Every asset."""

    style: Asset
    copy: Asset
    icon: Asset

    def routes(self) -> list[Route]:
        """The routes of all assets."""
        return [self.style.route(), self.copy.route(), self.icon.route()]


def load_assets() -> Assets:
    """The assets of this package."""
    return Assets(
        style=_load("site", "css", "text/css"),
        copy=_load("copy", "js", "text/javascript"),
        icon=_named("icon", "svg", icon_svg(), "image/svg+xml"),
    )


def _load(name: str, suffix: str, media_type: str) -> Asset:
    body = resources.files("web").joinpath("static", f"{name}.{suffix}").read_bytes()
    return _named(name, suffix, body, media_type)


def _named(name: str, suffix: str, body: bytes, media_type: str) -> Asset:
    digest = hashlib.sha256(body).hexdigest()[:16]
    return Asset(f"/assets/{name}.{digest}.{suffix}", body, media_type)
