"""The gate: the order of its checks, what it counts and records, and which answers it keeps."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcp_server.calls.callers import REST, Caller, Surface
from mcp_server.calls.errors import ApiError
from mcp_server.operations.answers import Answer, Result
from mcp_server.operations.arguments import ListArguments, SymbolArguments
from mcp_server.operations.gate import Raw, execute
from mcp_server.operations.services import Call, Services
from mcp_server.operations.table import OPERATIONS, Operation
from screener.telemetry.metrics import answers_cache
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.keys import Keys
from store.accounts.usage import UsageLine
from store.database.database import Database
from store.errors import DatabaseUnavailableError
from tests.accounts import usage_lines
from tests.service import copy_night, services_over

EMAIL = "ada@example.com"
SHOWING = Surface("mcp")


@dataclass
class Gate:
    """The services over an account database, with one account that has a key."""

    database: Database
    services: Services
    key: str
    handled: list[Call[Any]] = field(default_factory=list)

    async def answer(self, call: Call[Any]) -> Answer:
        """The handler of the tests: notes the call, and answers its number."""
        self.handled.append(call)
        return Answer(b"%d" % len(self.handled))

    def operation(self, **row: Any) -> Operation:
        """A row of the table with the handler of the tests."""
        return Operation(**{"name": "test", "handler": self.answer, "summary": "", **row})

    async def caller(self, **fields: Any) -> Caller:
        """Who calls with the key, looked up as for each call."""
        principal = await self.services.principals.find(self.key)
        assert principal is not None
        return Caller("192.0.2.1", principal, **fields)

    async def call(
        self, operation: Operation, raw: Raw | None = None, caller: Caller | None = None, **how: Any
    ) -> Result:
        """Invoke an operation, with the key unless told otherwise."""
        caller = await self.caller() if caller is None else caller
        how = {"surface": REST, **how}
        return await execute(operation, raw or {}, caller, self.services, **how)

    async def refusal(self, operation: Operation, *given: Any, **how: Any) -> ApiError:
        """The error in which a call ends."""
        with pytest.raises(ApiError) as refused:
            await self.call(operation, *given, **how)
        return refused.value

    async def uses(self) -> list[UsageLine]:
        """The lines of the usage log."""
        await self.services.usage.flush()
        return await usage_lines(self.database)


@asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncIterator[Gate]:
    async with services_over(folder, **settings) as (services, database):
        await Accounts(database).add(EMAIL, AccountPlan.PREMIUM_PLUS)
        _, secret = await Keys(database).create(EMAIL, "laptop")
        yield Gate(database, services, secret)


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    async with opened(tmp_path, key_per_minute=6, keyless_per_minute=2) as gate:
        yield gate


async def track(gate: Gate, *symbols: str) -> None:
    [account] = await Accounts(gate.database).all()
    await gate.services.watchlist.change(account.id, lambda _: symbols)


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (Caller("192.0.2.1", refused="key"), "invalid_api_key"),
        (Caller("192.0.2.1", refused="token"), "invalid_api_key"),
        (Caller("192.0.2.1", refused="unavailable"), "unavailable"),
        (Caller("192.0.2.1"), "missing_api_key"),
    ],
)
async def test_a_caller_without_a_live_credential_is_refused_and_counts_nowhere(
    gate: Gate, caller: Caller, code: str
) -> None:
    refusals = [await gate.refusal(gate.operation(), caller=caller) for _ in range(4)]

    assert {refusal.code for refusal in refusals} == {code}
    assert all(refusal.allowance is None for refusal in refusals)
    assert gate.handled == []
    result = await gate.call(gate.operation(access="keyless"), caller=Caller("192.0.2.1"))
    assert result.allowance.state == b'"keyless-minute";r=1;t=60'


async def test_a_call_over_the_limit_is_refused_before_its_arguments_are_read(gate: Gate) -> None:
    async def unread() -> dict[str, Any]:
        raise AssertionError("The body of a refused call was read.")

    for _ in range(6):
        await gate.call(gate.operation())

    refusal = await gate.refusal(gate.operation(), unread)

    assert refusal.code == "rate_limited"
    assert len(gate.handled) == 6


async def test_every_call_with_a_key_is_recorded_with_who_what_and_by_which_host(
    gate: Gate,
) -> None:
    caller = await gate.caller(client="curl/8", host="claude/1")
    assert caller.principal is not None
    await gate.call(gate.operation(name="scan"), caller=caller)
    await gate.call(gate.operation(name="demo", access="keyless"), caller=caller)
    await gate.call(gate.operation(access="keyless"), caller=Caller("192.0.2.1"))

    uses = {use.operation: use for use in await gate.uses()}

    assert set(uses) == {"scan", "demo"}
    for use in uses.values():
        assert use.account_id == caller.principal.account.id
        assert use.key_prefix == caller.principal.key.prefix
        assert (use.client, use.host) == ("curl/8", "claude/1")


@pytest.mark.proves("AUTH-4")
async def test_without_a_plan_a_keyed_call_is_counted_and_refused_and_a_keyless_one_answered(
    gate: Gate,
) -> None:
    await Accounts(gate.database).set_plan(EMAIL, AccountPlan.NONE)

    refusal = await gate.refusal(gate.operation())
    await gate.call(gate.operation(access="keyless"))

    assert refusal.code == "forbidden"
    assert refusal.allowance is not None
    assert refusal.allowance.state.startswith(b'"minute";r=5;t=60, "day";r=9999;')
    assert len(gate.handled) == 1


TRACKED: dict[str, Any] = {"arguments": SymbolArguments, "tracked": True}


async def test_only_a_tracked_ticker_is_answered(gate: Gate) -> None:
    await track(gate, "AAPL")

    await gate.call(gate.operation(**TRACKED), {"symbol": "AAPL"})
    # A surface remembers the arguments of a request, and so sends them validated the next time.
    for asked in ({"symbol": "IBM"}, SymbolArguments(symbol="IBM")):
        refusal = await gate.refusal(gate.operation(**TRACKED), asked)
        assert refusal.code == "ticker_not_tracked"

    assert len(gate.handled) == 1


async def test_without_an_account_no_ticker_is_tracked(gate: Gate) -> None:
    operation = gate.operation(access="keyless", **TRACKED)

    refusal = await gate.refusal(operation, {"symbol": "AAPL"}, caller=Caller("192.0.2.1"))

    assert refusal.code == "missing_api_key"


@pytest.mark.parametrize(
    ("count", "slots", "fix"),
    [
        (0, "50 of 50 slots are free", "add the ticker"),
        (48, "2 of 50 slots are free", "add the ticker"),
        (49, "1 of 50 slot is free", "add the ticker"),
        (50, "0 of 50 slots are free", "remove a ticker that may go"),
        (60, "0 of 50 slots are free", "remove a ticker that may go"),
    ],
)
async def test_an_untracked_ticker_is_told_how_many_slots_are_free(
    gate: Gate, night: Path, tmp_path: Path, count: int, slots: str, fix: str
) -> None:
    copy_night(night, tmp_path)
    await gate.services.active_night.poll()
    await track(gate, *(f"A{number}" for number in range(count)))
    await Accounts(gate.database).set_plan(EMAIL, AccountPlan.PREMIUM)

    refusal = await gate.refusal(gate.operation(**TRACKED), {"symbol": "IBM"})

    assert refusal.fix.startswith(f"{slots}: {fix}")
    assert refusal.tool_fix.startswith(slots)
    assert ("ask the user" in refusal.tool_fix) is (count >= 50)


async def test_a_database_that_goes_away_during_a_call_is_a_busy_service(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(_call: Call[Any]) -> Answer:
        raise DatabaseUnavailableError("It does not answer.")

    refusal = await gate.refusal(gate.operation(handler=away))

    assert refusal.code == "unavailable"
    assert refusal.details == {"retry_after_seconds": 1}
    assert refusal.allowance is not None
    assert refusal.allowance.state.startswith(b'"minute";r=5;t=60')
    assert caplog.messages == ["test was not answered: It does not answer."]


async def test_a_cacheable_answer_is_made_once_for_each_way_to_ask(gate: Gate) -> None:
    row = {"arguments": SymbolArguments, "access": "keyless", "cacheable": True}
    operation, other = gate.operation(name="a", pictured=True, **row), gate.operation(**row)
    aapl, stranger = {"symbol": "AAPL"}, Caller("192.0.2.1")

    def looked_up() -> tuple[int, int]:
        return answers_cache.hits, answers_cache.misses

    hits, misses = looked_up()
    first = await gate.call(operation, aapl)
    again = [await gate.call(operation, {"symbol": spelt}) for spelt in ("aapl", "AAPL")]
    assert looked_up() == (hits + 2, misses + 1)
    others = [
        await gate.call(operation, {"symbol": "IBM"}),
        await gate.call(operation, aapl, surface=SHOWING),
        await gate.call(operation, aapl, surface=SHOWING._replace(app=True)),
        await gate.call(operation, aapl, stranger),
        await gate.call(other, aapl, stranger),
    ]

    assert looked_up() == (hits + 2, misses + 6)
    assert all(result.answer is first.answer for result in again)
    assert len({id(result.answer) for result in (first, *others)}) == 6
    assert len(gate.handled) == 6


async def test_a_list_of_tracked_symbols_is_of_those_asked_for_that_are_tracked(gate: Gate) -> None:
    operation = gate.operation(arguments=ListArguments, cacheable=True)
    await track(gate, "AAPL", "IBM")

    await gate.call(operation, {"tracked": True})
    await gate.call(operation, {"tracked": True, "symbols": ["IBM", "MSFT"]})
    await gate.call(operation, {"symbols": ["IBM", "MSFT"]})

    asked = [call.arguments.symbols for call in gate.handled]
    assert asked == [["AAPL", "IBM"], ["IBM"], ["IBM", "MSFT"]]


async def test_a_call_that_began_before_a_new_night_is_answered_from_the_old_one(
    data_dir: Path,
) -> None:
    async with opened(data_dir) as gate:
        old = gate.services.active_night.book

        async def slow(call: Call[Any]) -> Answer:
            await gate.services.active_night.poll()
            return await gate.answer(call)

        operation = gate.operation(handler=slow, cacheable=True)
        bodies = [(await gate.call(operation)).answer.body for _ in range(3)]

    assert bodies == [b"1", b"2", b"2"]
    assert [call.book is old for call in gate.handled] == [True, False]


async def test_an_answer_tells_each_day_how_many_sessions_have_ended_since_its_night(
    night: Path, tmp_path: Path
) -> None:
    """The sample's next sessions are 2012-10-04, 05 and 08."""
    copy_night(night, tmp_path)
    families, said = OPERATIONS["get_family_track_record"], []
    async with opened(tmp_path) as gate:
        await gate.services.active_night.poll()
        book = gate.services.active_night.book
        for day in ("2012-10-04", "2012-10-05", "2012-10-09", "2099-01-01"):
            book.tell_day(dt.date.fromisoformat(day))
            said.append((await gate.call(families)).answer.warning)

    assert said[0] == ""
    assert "of 2012-10-03, and the session of 2012-10-04 has ended since. Say so" in said[1]
    assert "and 3 sessions have ended since, by the trading calendars of its symbols" in said[2]
    assert "and at least 252 sessions have ended since" in said[3]
