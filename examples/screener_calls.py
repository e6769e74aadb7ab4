"""Every call of the API as a value with the type of its answer.

A client does it: `screener.ask(scan(status="all"))`, or `await screener.ask(...)` with the
asynchronous one (`screener_client.py`). Arguments have the names of the API; None is not sent.
`screener_types.py` has the shapes of the answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from screener_types import (
    ChangesAnswer,
    DemoAnswer,
    ExportedTickersAnswer,
    FamiliesAnswer,
    Family,
    FamilyEntryAnswer,
    HistoryAnswer,
    ImportedTickersAnswer,
    MeAnswer,
    PatternsAnswer,
    ScanAnswer,
    TickerRecordAnswer,
    TrackedTickersAnswer,
)

Json = dict[str, Any]
T = TypeVar("T")
Direction = Literal["bullish", "bearish"]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request of the API; `T` is the type of its answer."""

    path: str
    """Below /api/v1."""
    query: Mapping[str, object]
    method: str = "GET"
    body: Json | None = None
    read: Callable[[bytes], T] | None = None
    """Makes the answer of its bytes; None for JSON in the envelope of the night."""


def get(path: str, **query: object) -> Call[Json]:
    """Any GET whose answer is JSON; the API leaves the shape of some open."""
    return Call(path, query)


def me() -> Call[MeAnswer]:
    """The calling account, its key and its limits."""
    return Call("/me", {})


def scan(
    *,
    family: Family | None = None,
    direction: Direction | None = None,
    status: Literal["forming", "in_progress", "all"] | None = None,
    max_distance_pct: float | None = None,
    filters: Sequence[Json] | None = None,
    sort: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
    symbols: Sequence[str] | None = None,
    tracked: bool | None = None,
    min_sample: int | None = None,
) -> Call[ScanAnswer]:
    """One page of the night's setups. A filter is such as {"kind": "rsi", "op": "<", "value": 40}:
    /llms.txt lists them.
    """
    query = {
        "family": family,
        "direction": direction,
        "status": status,
        "sort": sort,
        "max_distance_pct": max_distance_pct,
        "filters": None if filters is None else json.dumps(list(filters)),
        "limit": limit,
        "offset": offset,
        "min_sample": min_sample,
        **_of(symbols, tracked),
    }
    return Call("/scan", query)


def changes(
    *,
    change: Literal["new", "triggered", "stopped", "reached", "expired"] | None = None,
    family: Family | None = None,
    direction: Direction | None = None,
    limit: int | None = None,
    offset: int | None = None,
    symbols: Sequence[str] | None = None,
    tracked: bool | None = None,
    since: str | None = None,
) -> Call[ChangesAnswer]:
    """What became of setups since the night before, or since an earlier session."""
    query = {"change": change, "family": family, "direction": direction, "since": since}
    return Call("/changes", {**query, "limit": limit, "offset": offset, **_of(symbols, tracked)})


def _of(symbols: Sequence[str] | None, tracked: bool | None) -> Json:
    return {"symbols": None if symbols is None else ",".join(symbols), "tracked": tracked}


def list_tracked_tickers() -> Call[Json]:
    """The tracked tickers, each with its setups in short."""
    return get("/tickers")


def set_tracked_tickers(symbols: Sequence[str]) -> Call[TrackedTickersAnswer]:
    """Replace the whole list of tracked tickers."""
    return Call("/tickers", {}, "PUT", {"symbols": list(symbols)})


def edit_tracked_tickers(
    *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> Call[TrackedTickersAnswer]:
    """Add and remove tracked tickers."""
    return Call("/tickers", {}, "PATCH", {"add": list(add), "remove": list(remove)})


def import_tickers(text: str) -> Call[ImportedTickersAnswer]:
    """Add what a list of TradingView, Finviz or a spreadsheet names; the rest is named."""
    return Call("/tickers/import", {}, "POST", {"text": text})


def export_tickers(
    *,
    format: Literal["tradingview", "csv"] | None = None,  # noqa: A002 (the name of the API)
) -> Call[ExportedTickersAnswer]:
    """The tracked list as the text of a file."""
    return Call("/tickers/export", {"format": format})


def get_ticker_patterns(symbol: str) -> Call[PatternsAnswer]:
    """The current setups of a tracked ticker."""
    return Call(f"/tickers/{quote(symbol, safe='')}/patterns", {})


def get_pattern_history(
    symbol: str,
    *,
    limit: int | None = None,
    outcome: Literal["all", "resolved", "open"] | None = None,
    family: Family | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Call[HistoryAnswer]:
    """The past trades of a tracked ticker, newest first; `since` and `until` are YYYY-MM-DD."""
    query = {"outcome": outcome, "family": family, "since": since, "until": until}
    return Call(f"/tickers/{quote(symbol, safe='')}/history", {**query, "limit": limit})


def get_ticker_record(symbol: str, *, family: Family | None = None) -> Call[TickerRecordAnswer]:
    """The own records of a tracked ticker."""
    return Call(f"/tickers/{quote(symbol, safe='')}/record", {"family": family})


def get_pattern_chart(symbol: str, setup_id: str) -> Call[bytes]:
    """The chart of a setup of a tracked ticker, a PNG."""
    path = f"/tickers/{quote(symbol, safe='')}/chart.png"
    return Call(path, {"setup_id": setup_id}, read=bytes)


def get_family_track_record_family() -> Call[FamiliesAnswer]:
    """The records of all families."""
    return Call("/families", {})


def get_family_track_record_by_family(family: Family) -> Call[FamilyEntryAnswer]:
    """The record of one family."""
    return Call(f"/families/{quote(family, safe='')}/stats", {})


def universe(
    *, search: str | None = None, limit: int | None = None, offset: int | None = None
) -> Call[Json]:
    """The symbols that the night covers."""
    return get("/universe", search=search, limit=limit, offset=offset)


def demo_symbols() -> Call[Json]:
    """The symbols that answer without a key."""
    return get("/demo")


def demo(symbol: str) -> Call[DemoAnswer]:
    """The current setups of a demo symbol."""
    return Call(f"/demo/{quote(symbol, safe='')}", {})


def demo_chart(symbol: str, setup_id: str) -> Call[bytes]:
    """The chart of a setup of a demo symbol, a PNG."""
    path = f"/demo/{quote(symbol, safe='')}/chart.png"
    return Call(path, {"setup_id": setup_id}, read=bytes)
