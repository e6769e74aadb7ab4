"""Host pages in a browser: the chart page in a sandboxed frame, under the default policy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_server.mcp.app_page import chart_page
from tests.node import install_node

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Frame, Page, Route

HERE = Path(__file__).parent
PLAIN = (HERE / "plain.js").read_bytes()
"""The script of a host in a few lines."""

ADDRESS = "http://host.test"
"""Where the host page and the chart page seem to be: no request leaves the browser."""

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What a host must apply to a page that names no other origin."""

HOST_PAGE = b"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<style>body { margin: 0 } iframe { display: block; width: 100%; height: 1200px; border: 0 }</style>
<iframe id="app" sandbox="allow-scripts"></iframe><script src="/host.js"></script>"""


def official_script(folder: Path) -> bytes:
    """The host page on AppBridge, bundled in a folder. Raises `NotInstalledError`."""
    node = install_node(folder / "with-node")
    for name in ("package.json", "package-lock.json", "official.mjs"):
        shutil.copy(HERE / name, folder)
    node.install(folder)
    esbuild = [node.program, "node_modules/esbuild/bin/esbuild"]
    bundle = [*esbuild, "official.mjs", "--bundle", "--format=iife"]
    built = subprocess.run(bundle, cwd=folder, capture_output=True, timeout=60, check=True)
    return built.stdout


DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Ends once the chart, which draws in the next frame, has drawn."""


@dataclass
class Host:
    """A host with the chart page open in its frame."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, script: bytes = PLAIN, chart: str = "", **context: Any) -> None:
        """Open a host page that runs a script, have it open the chart page, and shake hands with
        that; `context` is the hostContext.
        """
        files: dict[str, tuple[str, str | bytes, dict[str, str]]] = {
            "/": ("text/html", HOST_PAGE, {}),
            "/host.js": ("text/javascript", script, {}),
            "/app": ("text/html", chart or chart_page(), {"Content-Security-Policy": POLICY}),
        }

        def respond(route: Route) -> None:
            media_type, body, fields = files[route.request.url.removeprefix(ADDRESS)]
            headers = {"Content-Type": f"{media_type}; charset=utf-8", **fields}
            route.fulfill(headers=headers, body=body)

        self.page.route(f"{ADDRESS}/**", respond)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(ADDRESS)
        frame = "document.getElementById('app')"
        self.page.evaluate(f"context => host.open({frame}, context)", context)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def show(self, result: Mapping[str, Any], **arguments: Any) -> None:
        """Send the input and the result of a call."""
        self.page.evaluate("args => host.input(args)", arguments)
        self.page.evaluate("result => host.result(result)", dict(result))
        self.frame.wait_for_function("() => !message.textContent.startsWith('Waiting')")
        self.frame.evaluate(DRAWN)

    def change(self, **context: Any) -> None:
        """Tell the page of a change of the hostContext."""
        self.page.evaluate("context => host.context(context)", context)

    @property
    def frame(self) -> Frame:
        """The chart page."""
        return next(frame for frame in self.page.frames if frame.url.endswith("/app"))

    @property
    def seen(self) -> Any:
        """What the page has told the host."""
        return self.page.evaluate("host.seen")

    def text(self, selector: str) -> str:
        """The text of an element of the chart page."""
        return self.frame.locator(selector).inner_text()
