"""Truth: what an undamaged service answers for each night, to hold every other answer against."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx

from tests.service import TRACKED

DEMO = "/api/v1/demo/"


def paths(symbols: tuple[str, ...] = TRACKED) -> Iterator[str]:
    """What is asked of every night."""
    yield from ("/api/v1/families", "/api/v1/universe", "/api/v1/demo", "/api/v1/changes")
    yield from ("/api/v1/scan?status=all&limit=200", "/api/v1/scan?limit=1")
    for symbol in symbols:
        ticker = f"/api/v1/tickers/{symbol}"
        yield from (f"{ticker}/patterns", f"{ticker}/history", f"{ticker}/record")
        yield from (f"{DEMO}{symbol}",)


def charts(client: httpx.Client) -> Iterator[str]:
    """The charts of the night that is served."""
    answer = client.get("/api/v1/scan?status=all&limit=200")
    for setup in answer.json().get("setups", []):
        if setup["symbol"] in TRACKED:
            yield f"/api/v1/tickers/{setup['symbol']}/chart.png?setup_id={setup['setup_id']}"


class Truth:
    """The right answers, by the version of the night and by path."""

    def __init__(self) -> None:
        self._right: dict[tuple[str, str], bytes] = {}

    def learn(self, client: httpx.Client) -> None:
        """Note every answer of the night that is served."""
        version = served_by(client)
        for path in [*paths(), *charts(client)]:
            body = client.get(path).raise_for_status().content
            self._right[version if is_json(body) else "chart", path] = body

    def wrong(self, path: str, body: bytes) -> str | None:
        """What is wrong with the body of an answer 200; None if it is that of a night."""
        key = (version_of(body), path) if is_json(body) else ("chart", path)
        if key not in self._right:
            return f"{path} is of no known night"
        return None if self._right[key] == body else f"{path} has other bytes than {key[0]} has"


def served_by(client: httpx.Client) -> str:
    """The version of the night that a service serves now."""
    return version_of(client.get("/api/v1/families").content)


def is_json(body: bytes) -> bool:
    """Whether a body is an answer in JSON."""
    return body.startswith(b"{")


def version_of(body: bytes) -> str:
    """The night that an answer names."""
    try:
        return str(json.loads(body)["data_version"])
    except (ValueError, KeyError):
        return "nothing that can be read"
