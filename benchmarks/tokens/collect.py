"""Collect: what a live service sends to an agent, as the texts that a model reads."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client

from store.wire.families import Family
from tests.agent import call, connected, texts
from tests.service import Service, copy_night, serving

ADDRESSES = ("/mcp", "/mcp/extended")
"""The addresses to look at; the last has every tool."""
ASKED, TRACKED = 20, 50
"""Symbols that are asked for one by one, and symbols on the tracked list, at most."""


@dataclass(frozen=True)
class Offer:
    """What an address says of itself: its instructions, and its tools as they are sent."""

    instructions: str
    tools: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Collected:
    """The offer of each address by its path, and the texts of the answers by what was asked."""

    offers: Mapping[str, Offer]
    answers: Mapping[str, Sequence[str]]


def collect(night: Path) -> Collected:
    """Serve a copy of the night of a data folder, and ask it what people ask."""
    with tempfile.TemporaryDirectory() as folder:
        copy_night(night, Path(folder))
        with serving(Path(folder)) as live:
            return anyio.run(_ask, live)


def _symbols(live: Service) -> list[str]:
    """The symbols to track: half with a setup if there are so many, the others without one."""
    scan = live.get("/scan?status=all&limit=200").raise_for_status().json()["setups"]
    universe = live.get("/universe").raise_for_status().json()["symbols"]
    busy = list(dict.fromkeys(setup["symbol"] for setup in scan))
    quiet = [entry["symbol"] for entry in universe if entry["symbol"] not in set(busy)]
    return [*busy[: max(TRACKED // 2, TRACKED - len(quiet))], *quiet][:TRACKED]


async def _ask(live: Service) -> Collected:
    offers = {}
    for address in ADDRESSES:
        async with connected(live.url + address, live.key) as client:
            offers[address] = await _offer(client)
    demo_symbols = [entry["symbol"] for entry in live.get("/demo").json()["symbols"]]
    async with connected(live.url + ADDRESSES[-1], live.key) as client:
        return Collected(offers, await _answers(client, _symbols(live), demo_symbols))


async def _offer(client: Client) -> Offer:
    listed = await client.list_tools()
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
    return Offer(client.instructions or "", sent)


async def _answers(
    client: Client, symbols: Sequence[str], demo_symbols: Sequence[str]
) -> dict[str, list[str]]:
    async def ask(tool: str, *each: Mapping[str, object]) -> list[str]:
        results = [await call(client, tool, **arguments) for arguments in each]
        # The night that is counted is old, which a current one does not say.
        said = (texts(result) for result in results if not result.is_error)
        return [
            "\n".join(t for t in each if not t.startswith("This night is old")) for each in said
        ]

    of = [{"symbol": symbol} for symbol in symbols[:ASKED]]
    await ask("set_tracked_tickers", {"symbols": symbols[:-1]})
    changed = await ask("set_tracked_tickers", {"symbols": list(symbols)})
    listed = await ask("list_tracked_tickers", {})
    tickers = json.loads(listed[0])["tickers"]
    patterns = await ask("get_ticker_patterns", *of)
    setups = [setup for text in patterns for setup in json.loads(text)["setups"]]
    charts = [{name: setup[name] for name in ("symbol", "setup_id")} for setup in setups]
    each = [{"family": family} for family in Family]
    found = {
        "`list_tracked_tickers`": listed,
        "a ticker of it without a setup": [compact(t) for t in tickers if not t.get("setups")],
        "a ticker of it with setups": [compact(t) for t in tickers if t.get("setups")],
        "`get_ticker_patterns`": patterns,
        "a setup of it": [compact(setup) for setup in setups],
        **{
            f"`get_pattern_history`, `limit` {limit}": await ask(
                "get_pattern_history", *({**one, "limit": limit} for one in of)
            )
            for limit in (10, 20, 50)
        },
        "`get_pattern_chart`, beside its picture": await ask("get_pattern_chart", *charts),
        "`get_family_track_record`, one family": await ask("get_family_track_record", *each),
        "`get_family_track_record`, all five": await ask("get_family_track_record", {}),
        "`set_tracked_tickers`": changed,
        "`scan_setups`": await ask("scan_setups", {"status": "all"}),
        "`scan_setups`, full rows": await ask("scan_setups", {"status": "all", "rows": "full"}),
        "`get_changes`": await ask("get_changes", {}),
        "`get_universe`": await ask("get_universe", {}),
        "`demo`, beside its picture": await ask("demo", *({"symbol": s} for s in demo_symbols)),
    }
    return {what: answers for what, answers in found.items() if answers}


def compact(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON as a server sends it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
