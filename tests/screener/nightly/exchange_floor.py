"""A local server that imitates Yahoo's charts and Binance's klines."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import polars as pl

from tests.screener.local_server import Quiet, answering

NEW_YORK = ZoneInfo("America/New_York")
Answer = tuple[int, Any]


@dataclass
class Floor:
    """The bars that the server serves, and the requests that it received."""

    series: dict[str, pl.DataFrame] = field(default_factory=dict)
    """By the provider's own symbol: date, open, high, low, close, volume."""
    busy: int = 0
    """How many of the next requests for bars are answered with 429."""
    after: str = ""
    """The Retry-After of those answers."""
    garbled: set[str] = field(default_factory=set)
    """Symbols whose bars are answered in a shape that no client expects."""
    asked: list[tuple[str, dt.date]] = field(default_factory=list)
    """Every request for bars that was not refused: the symbol and the first day."""
    held: dict[str, Event] = field(default_factory=dict)
    """Requests for these symbols wait until the event is set."""
    reached: Event = field(default_factory=Event)
    """Set once a request waits."""
    url: str = ""

    def bars(self, symbol: str, start: dt.date, end: dt.date) -> pl.DataFrame | None:
        if symbol in self.held:
            self.reached.set()
            self.held[symbol].wait(60)
        self.asked.append((symbol, start))
        frame = self.series.get(symbol)
        return None if frame is None else frame.filter(pl.col("date").is_between(start, end))

    def answer(self, path: str, query: dict[str, str]) -> Answer:
        if path.endswith("/getcrumb"):
            return 200, "crumb"
        if path.startswith("/v8/finance/chart/"):
            return self.chart(path.rpartition("/")[2], query)
        if path == "/api/v3/exchangeInfo":
            return 200, {"symbols": [_market(symbol) for symbol in self.series]}
        if path.endswith("/exchangeInfo"):
            return 200, {"symbols": []}
        if path == "/api/v3/klines":
            return self.klines(query)
        return 404, {}

    def chart(self, symbol: str, query: dict[str, str]) -> Answer:
        """Yahoo's chart: the opening times in seconds, and one list per column."""
        if query.get("range") == "1d":  # asks for the zone alone
            known = symbol in self.series
            return (200, _chart(symbol, pl.DataFrame())) if known else (404, NOT_FOUND)
        if self.busy > 0:
            self.busy -= 1
            return 429, "Too Many Requests"
        start, end = (_date(int(query[name])) for name in ("period1", "period2"))
        frame = self.bars(symbol, start, end - dt.timedelta(days=1))
        if symbol in self.garbled:
            return 200, {"chart": {"result": [{"meta": 7}], "error": None}}
        return (404, NOT_FOUND) if frame is None else (200, _chart(symbol, frame))

    def klines(self, query: dict[str, str]) -> Answer:
        """Binance's klines: at most `limit` rows from `startTime` on."""
        if self.busy > 0:
            self.busy -= 1
            return 429, {"code": -1003, "msg": "Too many requests."}
        assert query["interval"] == "1d"
        start = _date(int(query["startTime"]) // 1000)
        frame = self.bars(_pair(query["symbol"]), start, dt.date.max)
        if frame is None:
            return 400, {"code": -1121, "msg": "Invalid symbol."}
        if _pair(query["symbol"]) in self.garbled:
            return 200, [[{"open": "time"}, None]]
        rows = []
        for day, *numbers in frame.head(int(query.get("limit", 500))).iter_rows():
            opened = (day - dt.date(1970, 1, 1)).days * 86_400_000
            texts = [f"{number:.8f}" for number in numbers]
            rows.append([opened, *texts, opened + 86_399_999, "1", 1, "1", "1", "0"])
        return 200, rows


GONE = {"code": "Not Found", "description": "No data found, symbol may be delisted"}
NOT_FOUND = {"chart": {"result": None, "error": GONE}}


def _date(second: int) -> dt.date:
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second)).date()


def _pair(market: str) -> str:
    return f"{market.removesuffix('USDT')}/USDT"


def _chart(symbol: str, frame: pl.DataFrame) -> dict[str, Any]:
    meta: dict[str, Any] = {"currency": "USD", "symbol": symbol, "instrumentType": "EQUITY"}
    meta |= {"exchangeTimezoneName": "America/New_York", "validRanges": ["1d", "1mo", "max"]}
    meta |= {"priceHint": 2}
    result: dict[str, Any] = {"meta": meta, "indicators": {"quote": [{}], "adjclose": [{}]}}
    if len(frame):
        opens = dt.time(9, 30)
        result["timestamp"] = [
            int(dt.datetime.combine(day, opens, NEW_YORK).timestamp()) for day in frame["date"]
        ]
        numbers = frame.drop("date").to_dict(as_series=False)
        adjusted = [close / 2 for close in numbers["close"]]
        result["indicators"] = {"quote": [numbers], "adjclose": [{"adjclose": adjusted}]}
    return {"chart": {"result": [result], "error": None}}


def _market(symbol: str) -> dict[str, Any]:
    base, quote = symbol.split("/") if "/" in symbol else (symbol, "USDT")
    names = {"symbol": base + quote, "baseAsset": base, "quoteAsset": quote}
    prices = {"filterType": "PRICE_FILTER", "minPrice": "0.01", "tickSize": "0.01"}
    trading = {"status": "TRADING", "isSpotTradingAllowed": True, "permissions": ["SPOT"]}
    return {**names, **trading, "filters": [prices], "orderTypes": ["LIMIT"]}


@contextmanager
def serving() -> Iterator[Floor]:
    """Serve on a free port until the block ends."""
    floor = Floor()

    class Exchange(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, body = floor.answer(parts.path, query)
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if status == 429 and floor.after:
                self.send_header("Retry-After", floor.after)
            self.end_headers()
            self.wfile.write(content)

    with answering(Exchange) as server:
        floor.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield floor
        finally:
            for event in floor.held.values():
                event.set()
