"""Assets: the styles, scripts and icon of the pages, each at an address that names its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request

from mcp_server.http.responses import HttpResponse, answer_response
from mcp_server.mcp.app_page import chart_script
from mcp_server.operations.answers import Answer
from mcp_server.presentation.identity import icon

PATH = "/assets/{file}"
FOREVER = "public, max-age=31536000, immutable"

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
"""By the ending of a file's name; a file of another kind is no asset."""


class Assets:
    """Every file that pages link to, by its name."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}
        for name, body in _files():
            stem, _, suffix = name.rpartition(".")
            file = f"{stem}.{hashlib.sha256(body).hexdigest()[:16]}.{suffix}"
            self._files[name] = file
            self._answers[file] = Answer(body, MEDIA_TYPES[suffix])

    def path(self, name: str) -> str:
        """The address of a file."""
        return f"/assets/{self._files[name]}"

    async def respond(self, request: Request) -> HttpResponse:
        """The file at an address."""
        answer = self._answers.get(request.path_params["file"])
        if answer is None:
            raise HTTPException(404)
        return answer_response(answer, request.scope["fields"], FOREVER)


@cache
def load_assets() -> Assets:
    """The assets of this package."""
    return Assets()


def _files() -> Iterator[tuple[str, bytes]]:
    for file in resources.files("screener.web").joinpath("static").iterdir():
        if file.name.rpartition(".")[2] in MEDIA_TYPES:
            yield file.name, file.read_bytes()
    yield "icon.svg", icon("icon.svg")
    mount = resources.files("screener.web").joinpath("chart", "mount.js").read_text("utf-8")
    yield "chart.js", chart_script(mount).encode()
