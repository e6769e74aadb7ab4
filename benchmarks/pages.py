"""Every page, compared with a bare one: what a request costs the server, in CPU time.

The reference is a Starlette page of the same bytes under the same server, in the same run: the
ratio says what finding the visitor adds and, for a page that is made for one visitor alone, reading
the night and rendering. Pages are asked for by their own visitors, over a connection that stays
open. Servers run in threads of this process, so CPU time is that of the process without the thread
that asks.

    python -m benchmarks.pages [--night FOLDER]
"""

from __future__ import annotations

import argparse
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from screener.commands.nights.nightly import seal_sample
from screener.settings.settings import Settings
from tests.web.pages import PAGES, walk_over

REQUESTS, ROUNDS = 40, 7
LIMIT_MS = 10.0
"""What a page may cost; more is marked."""


async def bare(request: Request) -> HTMLResponse:
    """A page of as many bytes as the path says."""
    return HTMLResponse("x" * int(request.path_params["size"]))


@contextmanager
def reference() -> Iterator[str]:
    """The address of the bare server."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        app = Starlette(routes=[Route("/{size:int}", bare)])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def milliseconds(client: httpx.Client, address: str) -> float:
    """The median over rounds of the server's CPU time of one request."""
    found = []
    for _ in range(ROUNDS):
        whole, asking = time.process_time(), time.thread_time()
        for _ in range(REQUESTS):
            client.get(address)
        spent = time.process_time() - whole - (time.thread_time() - asking)
        found.append(spent * 1000 / REQUESTS)
    return statistics.median(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--night", type=Path, help="a data folder with a night; else the sample")
    night = parser.parse_args().night
    with TemporaryDirectory() as made, reference() as bare_url:
        if night is None:
            night = Path(made) / "night"
            seal_sample(Settings(data_dir=night))
        with walk_over(night, Path(made) / "walk") as walk, httpx.Client() as plain:
            print(f"{'page':34} {'kB':>6} {'ms':>7} {'bare ms':>8} {'ratio':>6}")
            for page in PAGES:
                cookies, address = walk.browsers[page.who].cookies, walk.address(page)
                with httpx.Client(cookies=cookies, headers={"Accept": "text/html"}) as visitor:
                    size = len(visitor.get(address).content)
                    spent = milliseconds(visitor, address)
                least = milliseconds(plain, f"{bare_url}/{size}")
                line = f"{page.name[:34]:34} {size / 1000:6.1f} {spent:7.2f} {least:8.2f}"
                print(f"{line} {spent / least:6.1f}{'  over' if spent > LIMIT_MS else ''}")


if __name__ == "__main__":
    main()
