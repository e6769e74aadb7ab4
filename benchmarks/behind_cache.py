"""Behind the cache: what of a mixed load nginx answers alone, and what the service answers by 304.

    python -m benchmarks.behind_cache [--requests 4000]

The shipped nginx files, with the cache, stand before a service with the sample night. One request
of the mix comes after the other; every other one without a credential sends the ETag of what was
answered before, as browsers and libraries with a cache do. Prints the shares.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks.markdown import table
from benchmarks.serving.process import Server, environment
from benchmarks.serving.stage import LIMITS, READY, SCREENER
from screener.settings.settings import Settings
from tests.conftest import seal_night
from tests.deploy.proxies import Proxy, nginx
from tests.screener.process import free_port
from tests.service import TRACKED, copy_night, new_key


class RequestKind(NamedTuple):
    """A kind of request, and its share in per cent."""

    name: str
    share: int
    paths: Sequence[str]
    keyed: bool = False


def main() -> int:
    """Send the mix through the cache, and print what became of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.behind_cache", description=__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cache-") as name:
        folder = Path(name)
        seal_night(folder / "night")
        copy_night(folder / "night", folder / "data")
        _run(folder, given.requests)
    return 0


def mix(client: httpx.Client) -> list[RequestKind]:
    """What is asked for: half by programs and agents with keys, half by anybody."""
    scan = client.get("/api/v1/scan?status=all&limit=200").json()["setups"]
    charts = [f"{one['symbol']}/chart.png?setup_id={one['setup_id']}" for one in scan]
    page = client.get("/").text
    assets = sorted({word for word in page.split('"') if word.startswith("/assets/")})
    return [
        RequestKind(
            "keyed answers", 40, ["/api/v1/scan", *_of("/api/v1/tickers/{}/patterns")], True
        ),
        RequestKind("keyed charts", 5, [f"/api/v1/tickers/{chart}" for chart in charts], True),
        RequestKind("demo", 15, ["/api/v1/demo", *_of("/api/v1/demo/{}")]),
        RequestKind("families and universe", 10, ["/api/v1/families", "/api/v1/universe"]),
        RequestKind("demo charts", 12, [f"/api/v1/demo/{chart}" for chart in charts]),
        RequestKind("documents", 6, ["/llms.txt", "/api/v1/openapi.json", "/api/v1/skill.md"]),
        RequestKind("styles and scripts of pages", 12, assets),
    ]


def _of(path: str) -> list[str]:
    return [path.format(symbol) for symbol in TRACKED]


def _run(folder: Path, requests: int) -> None:
    data, port = folder / "data", free_port()
    settings = {**LIMITS, "data_dir": data, "port": port, "trusted_proxies": "127.0.0.1"}
    key = new_key(Settings(data_dir=data))
    command, log = [str(SCREENER), "serve"], folder / "server.log"
    with (
        Server("the service", command, port, environment(**settings), log) as server,
        nginx(folder, port, cached=True) as proxy,
    ):
        server.wait(READY, key=key)
        with _client(proxy) as client:
            client.headers["Authorization"] = f"Bearer {key}"
            kinds = mix(client)
        _drive(proxy, kinds, key, 300)  # every chart is drawn once
        start = (folder / "ends.log").stat().st_size
        asked = _drive(proxy, kinds, key, requests)
        _print_shares(asked, (folder / "ends.log").read_bytes()[start:].decode().splitlines())


def _client(proxy: Proxy) -> httpx.Client:
    return httpx.Client(base_url=proxy.url, verify=proxy.tls.context, timeout=60)


def _drive(proxy: Proxy, kinds: Sequence[RequestKind], key: str, requests: int) -> list[str]:
    """Send so many requests; the kind of each."""
    chance, known, asked = random.Random(7), dict[str, str](), list[str]()  # noqa: S311
    with _client(proxy) as client:
        for _ in range(requests):
            (kind,) = chance.choices(kinds, [one.share for one in kinds])
            path = chance.choice(kind.paths)
            headers = {"Authorization": f"Bearer {key}"} if kind.keyed else {}
            if not kind.keyed and path in known and chance.random() < 0.5:
                headers["If-None-Match"] = known[path]
            answer = client.get(path, headers=headers)
            if answer.status_code not in (200, 304):
                raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:200]}")
            if not kind.keyed:
                known[path] = answer.headers["etag"]
            asked.append(kind.name)
    return asked


def _print_shares(asked: Sequence[str], lines: Sequence[str]) -> None:
    ends: dict[str, Counter[str]] = {}
    for name, line in zip(asked, lines, strict=True):
        cache, upstream, *_ = line.split()
        end = "alone" if cache == "HIT" else "304" if upstream == "304" else "whole"
        for row in (name, "all"):
            ends.setdefault(row, Counter())[end] += 1
    rows = []
    for name in sorted(ends, key=lambda one: (one == "all", one)):
        whole = ends[name].total()
        shares = [f"{ends[name][end] / whole:.0%}" for end in ("alone", "304", "whole")]
        rows.append([name, f"{whole / len(asked):.0%}", *shares])
    head = ("what", "share of requests", "nginx alone", "304 by the service", "whole answer")
    print(table(head, rows))


if __name__ == "__main__":
    sys.exit(main())
