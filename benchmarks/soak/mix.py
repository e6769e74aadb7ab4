"""The mix: what agents, programs and people ask for, in the shares of a usual day."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.serving.cases import MARK, Case, make_cases

SCAN = "/api/v1/scan?status=all&limit=50"
NOT_MODIFIED = 304
DRAWN = 8
"""Setups whose charts are asked for: some are drawn anew after each switch."""


PAGES = ("/", "/families", "/docs", "/status", "/screen", "/watchlist", "/changes", "/account")


@dataclass(frozen=True)
class Kind:
    """One kind of request: its share, its requests, and the statuses that are right."""

    name: str
    share: float
    requests: Sequence[bytes]
    statuses: tuple[int, ...] = (200,)
    sealed: bool = True
    """Whether each answer must name one of the nights."""


@dataclass(frozen=True)
class Ticker:
    """A symbol that all readers track, one of its setups, and the ETag of its patterns."""

    symbol: str
    setup_id: str
    tag: str


def kinds(
    port: int, keys: Sequence[str], writers: Sequence[str], session: str, tickers: Sequence[Ticker]
) -> list[Kind]:
    """Every kind of request; they rotate over the keys and the tickers."""
    found = [
        _of_cases(port, keys, tickers, name, share, sealed)
        for name, share, sealed in (
            ("rest-patterns", 18, True),
            ("rest-history", 10, True),
            ("scan-uncached", 6, True),
            ("scan-cached", 12, True),
            ("chart-cached", 3, False),
            ("families", 6, True),
            ("mcp-2025", 12, True),
            ("mcp-2026", 12, True),
        )
    ]
    unchanged = _of_cases(port, keys, tickers, "revalidation", 8, False)
    found.append(
        Kind(unchanged.name, unchanged.share, unchanged.requests, (200, NOT_MODIFIED), False)
    )
    offsets = [_get(port, f"{SCAN}&offset={n * 50}", keys[n % len(keys)]) for n in range(4)]
    found.append(Kind("scan-pages", 5, offsets))
    cookie = f"Cookie: session={session}"
    pages = [_request(port, "GET", path, cookie) for path in PAGES]
    found.append(Kind("pages", 6, pages, sealed=False))
    found.append(Kind("watchlist", 2, list(_changes(port, writers, tickers))))
    return found


def _of_cases(
    port: int, keys: Sequence[str], tickers: Sequence[Ticker], name: str, share: float, sealed: bool
) -> Kind:
    chosen = tickers[:DRAWN] if name == "chart-cached" else tickers
    requests = []
    for number, key in enumerate(keys):
        one = chosen[number % len(chosen)]
        cases = {case.name: case for case in make_cases(one.symbol, one.setup_id, one.tag)}
        requests.append(_raw(cases[name], key, port))
    return Kind(name, share, requests, sealed=sealed)


def _raw(case: Case, key: str, port: int) -> bytes:
    return case.raw("ours", key, port)


def _changes(port: int, writers: Sequence[str], tickers: Sequence[Ticker]) -> Iterator[bytes]:
    for number, key in enumerate(writers):
        one, other = (tickers[(number + step) % len(tickers)].symbol for step in (0, 1))
        token = f"Authorization: Bearer {key}"
        whole = json.dumps({"symbols": [one, other]}).encode()
        part = json.dumps({"add": [one], "remove": [other]}).encode()
        yield _request(port, "PUT", "/api/v1/tickers", token, whole)
        yield _request(port, "PATCH", "/api/v1/tickers", token, part)


def _get(port: int, path: str, key: str) -> bytes:
    return _request(port, "GET", path, f"Authorization: Bearer {key}")


def _request(port: int, method: str, path: str, field: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", field]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Mix:
    """Requests drawn at random by their shares; each mark in one is replaced by a new number."""

    def __init__(self, of: Sequence[Kind], seed: int) -> None:
        self.kinds = of
        self._shares = [kind.share for kind in of]
        self._random = random.Random(seed)  # noqa: S311 - a choice, no secret
        self._number = 0

    def next(self) -> tuple[Kind, bytes]:
        """The next request, and its kind."""
        (kind,) = self._random.choices(self.kinds, self._shares)
        self._number += 1
        raw = kind.requests[self._number % len(kind.requests)]
        return kind, raw.replace(MARK.encode(), b"%09d" % self._number)

    def gap(self, rate: float) -> float:
        """Seconds to the next request of callers who know nothing of each other."""
        return self._random.expovariate(rate)
