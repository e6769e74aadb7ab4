"""The careless agent: it does what each refusal says, word by word, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import mcp_types as types
from mcp.client import Client

from tests.agent import call, texts
from tests.qa.agents.words import clauses, listed, nearest

MAX_CALLS = 40
"""Calls for one wish; an agent that makes more goes in circles."""

SHOWN = 64
"""Characters of a symbol that a refusal shows."""


class LoopError(Exception):
    """The words lead in circles."""


class User:
    """The person behind an agent: says which tickers may go, and agrees to nothing else."""

    def __init__(self, tracked: Callable[[], Sequence[str]], random: Random) -> None:
        self._tracked = tracked
        self._random = random
        self.named: set[str] = set()
        """What they said may go."""

    def may_go(self, count: int = 1) -> list[str]:
        """Tickers of their list that may go."""
        tracked = self._tracked()
        chosen = self._random.sample(tracked, min(count, len(tracked)))
        self.named.update(chosen)
        return chosen

    async def asked(
        self,
        context: Any,  # noqa: ARG002 - the SDK calls it with these names
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        """Agree to a change that drops nothing but what they named."""
        found = re.fullmatch(
            r"This drops \d+ of \d+ tracked tickers?: (.*?)( and others)?\. The new list has \d+\. "
            r"Continue\?",
            params.message,
        )
        assert found, params.message
        agrees = not found[2] and set(found[1].split(", ")) <= self.named
        return types.ElicitResult(action="accept" if agrees else "decline")


@dataclass
class Wish:
    """A call that an agent is to make, and what it knows by now."""

    tool: str
    arguments: dict[str, Any]
    plus: list[str] = field(default_factory=list)
    """What a call of set_tracked_tickers is to add to the list."""
    minus: list[str] = field(default_factory=list)
    """What the user said may go."""
    text: str = ""
    """The refusal that is being followed."""
    again: bool = False
    """Whether it is to be called again."""
    retried: int = 0

    @property
    def symbol(self) -> str:
        """The ticker that it is about."""
        return str(self.arguments.get("symbol", ""))


class Careless:
    """An agent with the tools of one address."""

    def __init__(self, client: Client, user: User, tools: Sequence[str]) -> None:
        self._client = client
        self._user = user
        self._tools = tools
        self._calls = 0
        self.waited: list[int] = []
        """The seconds of each wait that a refusal asked for."""

    async def look(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """Ask about a ticker."""
        self._calls = 0
        return await self._do(Wish(tool, arguments))

    async def track(self, symbol: str) -> types.CallToolResult:
        """Add a ticker to the list, as the tools say that it is done."""
        self._calls = 0
        if "add_tickers" in self._tools:
            return await self._do(Wish("add_tickers", {"symbols": [symbol]}))
        return await self._set([symbol], [])

    async def drop(self, symbol: str) -> types.CallToolResult:
        """Remove a ticker that the user named; of M-9 they mean M9, as a refusal writes it."""
        self._calls = 0
        self._user.named |= {symbol.strip().upper(), _letters(symbol)}
        if "remove_tickers" in self._tools:
            return await self._do(Wish("remove_tickers", {"symbols": [symbol]}))
        return await self._set([], [symbol.strip().upper()])

    async def _set(self, plus: list[str], minus: list[str]) -> types.CallToolResult:
        """Replace the list by itself with something more and something less."""
        whole = await self._whole()
        wish = Wish("set_tracked_tickers", {}, plus, minus)
        wish.arguments["symbols"] = _changed(whole, wish)
        return await self._do(wish)

    async def _whole(self) -> list[str]:
        result = await self._do(Wish("list_tracked_tickers", {}))
        assert result.structured_content is not None, texts(result)
        return [ticker["symbol"] for ticker in result.structured_content["tickers"]]

    async def _do(self, wish: Wish) -> types.CallToolResult:
        while True:
            self._calls += 1
            if self._calls > MAX_CALLS:
                raise LoopError(f"{wish.tool}: {wish.text}")
            result = await call(self._client, wish.tool, **wish.arguments)
            if not result.is_error:
                return result
            wish.text, wish.again = texts(result)[0], False
            for name in clauses(wish.text):
                follow = getattr(self, f"_{name}", None)
                if follow is not None:
                    await follow(wish)
            if not wish.again:
                return result

    # Each of these follows the clause of its name; clauses without one say nothing to do.

    async def _read(self, wish: Wish) -> None:
        if wish.tool == "set_tracked_tickers":
            wish.arguments["symbols"] = _changed(await self._whole(), wish)
            wish.again = True

    async def _set_plus(self, wish: Wish) -> None:
        await self._set([wish.symbol], [])

    async def _set_in_place(self, wish: Wish) -> None:
        await self._set([wish.symbol], wish.minus)

    async def _add(self, wish: Wish) -> None:
        await self._do(Wish("add_tickers", {"symbols": [wish.symbol]}))

    async def _remove(self, wish: Wish) -> None:
        await self._do(Wish("remove_tickers", {"symbols": wish.minus}))

    async def _ask_which(self, wish: Wish) -> None:
        over = re.search(r"(\d+) symbols exceed the cap of (\d+)", wish.text)
        wish.minus = self._user.may_go(int(over[1]) - int(over[2]) if over else 1)
        if over and wish.tool == "add_tickers":
            await self._remove(wish)
        elif over:
            wish.arguments["symbols"] = _changed(wish.arguments["symbols"], wish)
        wish.again = over is not None

    async def _ask_list(self, wish: Wish) -> None:
        # The user wants what is there now, with the change that they asked for.
        await self._read(wish)

    async def _retry(self, wish: Wish) -> None:
        wish.again = True

    async def _retry_once(self, wish: Wish) -> None:
        wish.retried += 1
        wish.again = wish.retried == 1

    async def _wait(self, wish: Wish) -> None:
        named = re.search(r"[Ww]ait (\d+) s", wish.text)
        self.waited.append(int(named[1]) if named else 60)

    async def _written(self, wish: Wish) -> None:
        longest = re.search(r"at most (\d+) letters", wish.text)
        most = int(longest[1]) if longest else None
        self._exchange(wish, listed(wish.text, "Rejected"), lambda s: _letters(s)[:most] or None)

    async def _in_place(self, wish: Wish) -> None:
        self._exchange(wish, listed(wish.text, "Unknown"), lambda s: nearest(wish.text, s))

    async def _use_known(self, wish: Wish) -> None:
        known = listed(wish.text, "Nearest")
        wish.again = bool(known)
        wish.arguments |= {"symbol": known[0]} if known else {}

    async def _use_one(self, wish: Wish) -> None:
        allowed, demo = listed(wish.text, "Allowed"), listed(wish.text, "Demo symbols")
        wish.arguments |= {"family": allowed[0]} if allowed else {"symbol": demo[0]}
        wish.again = True

    async def _correct(self, wish: Wish) -> None:
        named = re.match(r"bad_request: (\w+)", wish.text)
        assert named, wish.text
        # Without it the tool has a default, or the user is asked what they meant.
        wish.again = wish.arguments.pop(named[1], None) is not None and named[1] not in (
            "symbol",
            "symbols",
            "setup_id",
        )

    async def _only_taken(self, wish: Wish) -> None:
        for name in listed(wish.text, "Not taken"):
            del wish.arguments[name]
        wish.again = True

    async def _send_filters(self, wish: Wish) -> None:
        example = re.search(r"such as (\[\{.*\}\])\.$", wish.text)
        assert example, wish.text
        wish.arguments["filters"], wish.again = json.loads(example[1]), True

    async def _patterns(self, wish: Wish) -> None:
        found = await self._do(Wish("get_ticker_patterns", {"symbol": wish.symbol}))
        setups = (found.structured_content or {}).get("setups") or ()
        wish.again = bool(setups)
        wish.arguments |= {"setup_id": setups[0]["setup_id"]} if setups else {}

    async def _present(self, wish: Wish) -> None:
        await self._do(Wish("get_ticker_patterns", {"symbol": wish.symbol}))

    def _exchange(
        self, wish: Wish, wrong: Sequence[str], other: Callable[[str], str | None]
    ) -> None:
        """Call again with other symbols in place of wrong ones, or not, if there is no other."""
        others: Mapping[str, str | None] = {symbol.upper(): other(symbol) for symbol in wrong}

        def exchanged(symbols: Sequence[str]) -> list[str | None]:
            return [others.get(symbol.strip().upper()[:SHOWN], symbol) for symbol in symbols]

        symbols = exchanged(wish.arguments["symbols"])
        wish.again = bool(wrong) and None not in symbols
        wish.arguments["symbols"] = symbols
        wish.plus = [symbol for symbol in exchanged(wish.plus) if symbol]


def _changed(whole: Sequence[str], wish: Wish) -> list[str]:
    """A list with what a wish adds and without what it drops."""
    gone = {symbol.upper() for symbol in wish.minus}
    return [symbol for symbol in dict.fromkeys([*whole, *wish.plus]) if symbol.upper() not in gone]


def _letters(symbol: str) -> str:
    """A symbol in letters, digits and dots."""
    return re.sub(r"[^A-Za-z0-9.]", "", symbol).upper()
