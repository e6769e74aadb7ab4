"""Host pages in a browser: the chart page in a sandboxed frame, under the default policy."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_server.mcp.app_page import chart_page
from tests.node import install_node

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Frame, Page

HERE = Path(__file__).parent

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What a host must apply to a page that names no other origin."""

HOST_PAGE = b"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<style>body { margin: 0 } iframe { display: block; width: 100%; height: 1200px; border: 0 }</style>
<iframe id="app" sandbox="allow-scripts"></iframe><script src="/host.js"></script>"""


@contextmanager
def host_site(script: bytes, page: str = "") -> Iterator[str]:
    """The address of a host page that runs a script, with the chart page beside it."""
    files = {
        "/": ("text/html; charset=utf-8", HOST_PAGE, ""),
        "/host.js": ("text/javascript; charset=utf-8", script, ""),
        "/app": ("text/html; charset=utf-8", (page or chart_page()).encode(), POLICY),
    }

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media_type, body, policy = files[self.path]
            self.send_response(200)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(timeout=30)


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

    def open(self, address: str, **context: Any) -> None:
        """Open the chart page and shake hands with it; `context` is the hostContext."""
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
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
