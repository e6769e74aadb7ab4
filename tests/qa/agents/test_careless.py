"""An agent that follows every refusal word by word loses no ticker and does not go in circles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import anyio
import pytest

from mcp_server.calls.errors import CATALOGUE
from store.accounts.accounts import AccountPlan
from tests.agent import ERAS, connected, texts
from tests.contract.market import QUIET
from tests.qa.agents.careless import Careless, User
from tests.qa.agents.nights import Nights
from tests.qa.agents.words import UnknownWordsError, clauses
from tests.service import Service, copy_night, new_key, serving

CAP = 50
"""Tickers that an account of the smaller plan may track."""
ODD = (
    *("Apple", "BTC/USDT", "ZZZZ", "m7", " M8 ", "M-9", "NASDAQ:M10", "M7777", "MM12", "QUITE"),
    *("\N{GRINNING FACE}", "\N{LATIN SMALL LETTER SHARP S}", "", ".", "M1,M2", "M" * 24, "x" * 80),
)
KNOWN = (*(f"M{number}" for number in range(1, 301)), *QUIET, "SHORT")
ADDRESSES = ("/mcp", "/mcp/extended")
SEEDS = range(2)
WISHES = 16
"""Of one agent: a client checks the schema of each tool that it calls, which takes longer than many
wishes.
"""


@pytest.fixture
def live(nights: Nights) -> Service:
    """The live service over the market of 300 setups."""
    return nights["market"][0]


class Account:
    """An account with a list, and the user whose it is."""

    def __init__(
        self, live: Service, random: Random, count: int, plan: AccountPlan = AccountPlan.PREMIUM
    ) -> None:
        self.before = random.sample(KNOWN, count)
        self.email = f"{uuid4()}@example.com"
        self._live = live
        self.key = new_key(live.settings, self.email, plan, tuple(self.before))
        self.user = User(self.tracked, random)

    def tracked(self) -> list[str]:
        """The list as it is now."""
        return self._live.tracked(self.key)

    def kept(self) -> list[str]:
        """What was on the list at first and is not the user's to lose, in its order."""
        return [symbol for symbol in self.before if symbol not in self.user.named]


def random_of(seed: object) -> Random:
    """Chance that is the same in every run."""
    return Random(str(seed))  # noqa: S311 - hides nothing


@asynccontextmanager
async def agent(
    live: Service, account: Account, address: str, era: str, *, asks: bool = False
) -> AsyncIterator[Careless]:
    """A connected agent; with `asks` its client can ask the user."""
    ask = account.user.asked if asks else None
    async with connected(live.url + address, account.key, era, ask=ask) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        yield Careless(client, account.user, tools)


async def wish(agent: Careless, random: Random, *, added: set[str], drops: bool = True) -> None:
    """Something that a user wants: to see a ticker, to track one, to drop one."""
    symbol = random.choice(ODD if random.random() < 0.4 else KNOWN)
    kind = random.choice(["patterns", "history", "chart", "track", "drop" if drops else "track"])
    if kind == "patterns":
        await agent.look("get_ticker_patterns", symbol=symbol)
    elif kind == "history":
        limit, outcome = random.choice([5, "many"]), random.choice(["all", "won"])
        await agent.look("get_pattern_history", symbol=symbol, limit=limit, outcome=outcome)
    elif kind == "chart":
        await agent.look("get_pattern_chart", symbol=symbol, setup_id="yesterday")
    elif kind == "track":
        result = await agent.track(symbol)
        added.update((result.structured_content or {}).get("added", ()))
    else:
        await agent.drop(symbol)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [0, 7, CAP - 1, CAP])
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_agent_loses_no_ticker_that_its_user_did_not_name(
    live: Service, address: str, era: str, count: int, seed: int
) -> None:
    random = random_of(f"{address} {era} {count} {seed}")
    account, added = Account(live, random, count), set[str]()

    async with agent(live, account, address, era, asks=bool(seed % 2)) as careless:
        for _ in range(WISHES):
            await wish(careless, random, added=added)

    now = account.tracked()
    assert [symbol for symbol in now if symbol in account.kept()] == account.kept()
    assert added - account.user.named <= set(now)
    assert len(now) <= CAP


async def both(
    live: Service, account: Account, address: str, era: str, random: Random, *, asks: bool
) -> set[str]:
    """Two agents on one account at once; what they added."""
    added: set[str] = set()

    async def one(random: Random) -> None:
        async with agent(live, account, address, era, asks=asks) as careless:
            for _ in range(WISHES):
                await wish(careless, random, added=added)

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(one, random_of(random.random()))
    return added


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("address", "era", "asks"),
    [
        *(("/mcp/extended", era, False) for era in ERAS),
        *(("/mcp", era, False) for era in ERAS),
        ("/mcp", "2026-07-28", True),
    ],
)
async def test_two_agents_on_one_list_lose_nothing_of_each_other(
    live: Service, address: str, era: str, asks: bool, seed: int
) -> None:
    random = random_of(f"{address} {era} {asks} {seed}")
    account = Account(live, random, random.choice([0, 7, CAP - 2, CAP]))

    added = await both(live, account, address, era, random, asks=asks)

    # With the seven tools alone, a list that was read may be old when it is sent. What the other
    # agent added meanwhile is then lost, unless the client can ask its user; `removed` names it.
    safe = added if asks or address == "/mcp/extended" else set()
    assert {*account.kept(), *safe} - account.user.named <= set(account.tracked())


async def test_an_agent_that_is_refused_for_its_speed_waits_and_gives_up(
    live: Service, tmp_path: Path
) -> None:
    copy_night(live.settings.data_dir, tmp_path)
    with serving(tmp_path, key_per_minute=3) as slow:
        account = Account(slow, random_of(0), 5)
        async with agent(slow, account, "/mcp", "legacy") as careless:
            results = [
                await careless.look("get_ticker_patterns", symbol=account.before[0])
                for _ in range(4)
            ]

    assert [result.is_error for result in results] == [False, False, False, True]
    assert texts(results[-1])[0].endswith("s, retry once, then back off.")
    assert len(careless.waited) == 2
    assert all(1 <= seconds <= 60 for seconds in careless.waited)


async def told(live: Service, account: Account, address: str = "/mcp") -> list[str]:
    """What an agent that asks for the list is told to do."""
    async with agent(live, account, address, "legacy") as careless:
        return clauses(texts(await careless.look("list_tracked_tickers"))[0])


async def test_an_agent_that_may_not_call_is_told_whom_to_ask(live: Service) -> None:
    account = Account(live, random_of(0), 3, AccountPlan.NONE)
    assert await told(live, account) == ["upgrade", "works"]
    account.key = "ps_live_" + "x" * 48
    assert await told(live, account) == ["new_key", "connect"]
    account.key = ""
    assert await told(live, account, "/mcp/demo") == ["sign_in", "send_header"]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_agent_that_may_only_read_sends_its_user_to_the_owner(
    live: Service, address: str
) -> None:
    account = Account(live, random_of(0), 3)
    _, account.key = live.keys(lambda keys: keys.create(account.email, "reader", read_only=True))
    async with agent(live, account, address, "legacy") as careless:
        refused = await careless.track("SHORT")

        untracked = await careless.look("get_ticker_patterns", symbol="SHORT")

    assert clauses(texts(refused)[0]) == ["owner", "owner_connects", "reading"]
    assert clauses(texts(untracked)[0])[-1] == "owner"
    assert account.tracked() == account.before


async def test_an_agent_mends_what_a_refusal_names(live: Service) -> None:
    account = Account(live, random_of(0), 0)
    wrong: tuple[dict[str, Any], ...] = (
        *({"filters": [{"kind": "rsi"}]}, {"filters": [{"kind": "mood", "value": 1}]}),
        *({"filters": {"kind": "rsi"}}, {"family": "cup"}, {"limit": "many"}, {"rows": "all"}),
        *({"min_win_rate": 90, "query": "apple"}, {"vibes": True}),
    )
    async with agent(live, account, "/mcp/extended", "legacy") as careless:
        for arguments in wrong:
            result = await careless.look("scan_setups", **arguments)
            assert not result.is_error, (arguments, texts(result))

        spoilt: tuple[object, ...] = ("rsi<40", [[]] * 51, [{}])
        for filters in spoilt:
            result = await careless.look("scan_setups", filters=filters)
            sent = (result.structured_content or {})["filters"]["predicates"]
            assert sent == [{"kind": "rsi", "op": "<", "value": 40}], filters

        for tool in ("demo", "get_family_track_record"):
            result = await careless.look(tool, symbol="M1", family="cup")
            assert not result.is_error, (tool, texts(result))


@pytest.mark.parametrize("code", [row.code for row in CATALOGUE.values() if row.tool_fix])
def test_the_words_of_every_refusal_are_understood(code: str) -> None:
    row = CATALOGUE[code]

    assert clauses(f"{row.code}: {row.condition} {row.tool_fix}")


def test_other_words_are_not_understood() -> None:
    with pytest.raises(UnknownWordsError):
        clauses("ticker_not_tracked: It is not tracked. Call set_tracked_tickers with this symbol.")
