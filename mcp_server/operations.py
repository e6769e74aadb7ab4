"""The operations: the one table that is the service, and `invoke`, the one gate to it.

The MCP server and the REST facade are two renderings of this table. The gate checks in a fixed
order: access (401), limits (429), plan (403), arguments (400), tracked ticker (403), and then
calls the handler (404) with one book pinned for the whole call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mcp_server import market, patterns, scan, tracking
from mcp_server.allowances import Allowance
from mcp_server.arguments import (
    Arguments,
    ChartArguments,
    EditArguments,
    FamilyArguments,
    HistoryArguments,
    ScanArguments,
    SymbolArguments,
    SymbolsArguments,
    read_arguments,
)
from mcp_server.callers import Caller
from mcp_server.calls import Answer, Call, Served
from mcp_server.errors import ApiError, busy
from mcp_server.pages import Page
from mcp_server.services import Services
from store.errors import DatabaseUnavailableError
from store.records import (
    Demo,
    Families,
    FamilyEntry,
    History,
    Me,
    Patterns,
    Record,
    Scan,
    TrackedTickers,
)

Access = Literal["keyed", "keyless"]
Handler = Callable[[Call[Any]], Awaitable[Answer]]
Raw = dict[str, Any] | Callable[[], Awaitable[dict[str, Any]]]
"""Raw arguments, or how to read them: a body is read only for a caller who is admitted."""

COMMON = ("missing_api_key", "invalid_api_key", "forbidden", "rate_limited")
KEYLESS = ("invalid_api_key", "rate_limited")


@dataclass(frozen=True, slots=True)
class Tool:
    """What agents read about an operation that is a tool."""

    title: str
    description: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the service does, whatever the surface."""

    name: str
    handler: Handler
    summary: str
    arguments: type[Arguments] = Arguments
    access: Access = "keyed"
    tracked: bool = False
    """Whether the argument `symbol` must be on the caller's watchlist."""
    sealed: bool = False
    """Whether the answer depends on the night and the arguments alone, and so is kept."""
    errors: tuple[str, ...] = ()
    """The codes it answers beside those of its access."""
    answers: tuple[type[Record], ...] = ()
    """The records it may answer; none for a picture, and for shapes left open to clients."""
    produces: Literal["application/json", "image/png"] = "application/json"
    tool: Tool | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code of the catalogue that this operation can answer."""
        common = COMMON if self.access == "keyed" else KEYLESS
        return common + (("ticker_not_tracked",) if self.tracked else ()) + self.errors


_TABLE = (
    Operation(
        "get_ticker_patterns",
        patterns.get_ticker_patterns,
        "The current setups of one tracked ticker.",
        SymbolArguments,
        tracked=True,
        sealed=True,
        answers=(Patterns,),
        tool=Tool(
            "Current chart patterns",
            "Current breakout setups (wedges, pennants, triangles) of one tracked ticker: the two "
            "trend lines, the trigger rule, trade plans with trigger, stop and target, and how the "
            "same pattern did before, for its family and for this ticker.",
        ),
    ),
    Operation(
        "get_pattern_history",
        patterns.get_pattern_history,
        "The past occurrences of one tracked ticker, newest entry first.",
        HistoryArguments,
        tracked=True,
        sealed=True,
        errors=("bad_request",),
        answers=(History,),
        tool=Tool(
            "Past occurrences",
            "Every past breakout of one tracked ticker as the nightly served it, wins and losses "
            "alike: entry, stop, target, exit, realized move and R multiple.",
        ),
    ),
    Operation(
        "get_pattern_chart",
        patterns.get_pattern_chart,
        "The chart of one current setup of a tracked ticker, as a PNG.",
        ChartArguments,
        tracked=True,
        errors=("bad_request", "setup_not_found", "chart_unavailable"),
        produces="image/png",
        tool=Tool(
            "Chart of a setup",
            "A PNG chart of one current setup: candles on a log price axis, both trend lines, "
            "trigger, stop and target. Take setup_id from get_ticker_patterns of this session.",
        ),
    ),
    Operation(
        "list_tracked_tickers",
        tracking.list_tracked_tickers,
        "The tracked tickers in the user's order, and the cap.",
        tool=Tool(
            "Tracked tickers",
            "The tickers this account tracks, in the user's order, each with whether tonight's "
            "data covers it, and how many may be tracked.",
        ),
    ),
    Operation(
        "set_tracked_tickers",
        tracking.set_tracked_tickers,
        "Replace the whole tracked list, all or nothing.",
        SymbolsArguments,
        errors=("bad_request", "invalid_symbol", "unknown_symbol", "ticker_cap_exceeded"),
        answers=(TrackedTickers,),
        tool=Tool(
            "Set tracked tickers",
            "Replace the whole list of tracked tickers, all or nothing. This also rewrites the "
            "user's Main watchlist: read list_tracked_tickers first and keep what should stay.",
            read_only=False,
        ),
    ),
    Operation(
        "get_family_track_record",
        market.get_family_track_record,
        "One pattern family's track record, or all five.",
        FamilyArguments,
        access="keyless",
        sealed=True,
        errors=("unknown_family",),
        answers=(
            FamilyEntry,
            Families,
        ),
        tool=Tool(
            "Family track record",
            "How a pattern family did over about 20 years of daily bars: win rate with its sample, "
            "average win and loss, R multiples, beside what random entries reached.",
        ),
    ),
    Operation(
        "demo",
        market.demo,
        "The setups of one demo symbol, without a key.",
        SymbolArguments,
        access="keyless",
        errors=("not_a_demo_symbol",),
        answers=(Demo,),
        tool=Tool(
            "Demo",
            "The current setups of one of the fixed demo symbols, with the chart of the first one; "
            "needs no key.",
        ),
    ),
    Operation("me", tracking.me, "The calling account, its plan and its limits.", answers=(Me,)),
    Operation(
        "scan",
        scan.scan,
        "The market-wide scan: every current setup, ranked, filtered and paged.",
        ScanArguments,
        sealed=True,
        errors=("bad_request",),
        answers=(Scan,),
    ),
    Operation(
        "edit_tracked_tickers",
        tracking.edit_tracked_tickers,
        "Remove tickers from the tracked list, then add others; all or nothing.",
        EditArguments,
        errors=("bad_request", "invalid_symbol", "unknown_symbol", "ticker_cap_exceeded"),
        answers=(TrackedTickers,),
    ),
    Operation(
        "universe",
        market.universe,
        "The symbols tonight's data covers.",
        access="keyless",
        sealed=True,
    ),
    Operation("demo_symbols", market.demo_symbols, "The fixed demo symbols.", access="keyless"),
    Operation(
        "demo_chart",
        market.demo_chart,
        "The chart of a demo symbol's setup, without a key.",
        ChartArguments,
        access="keyless",
        errors=("bad_request", "setup_not_found", "chart_unavailable", "not_a_demo_symbol"),
        produces="image/png",
    ),
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType({row.name: row for row in _TABLE})


class Question(NamedTuple):
    """What is asked of an operation; the same question may be asked again and again."""

    operation: Operation
    raw: Raw
    key: Hashable = None
    """What a sealed answer is kept under beside its night; None where none is kept."""


def question(operation: Operation, raw: Raw) -> Question:
    """A question, with the key of its answer where the answer is sealed.

    The key is the arguments as they were sent, and only texts will do: 1 and True would be one
    key, and a list is none.
    """
    if not operation.sealed or not isinstance(raw, dict):
        return Question(operation, raw)
    for value in raw.values():
        if type(value) is not str:
            return Question(operation, raw)
    return Question(operation, raw, (operation.name, *raw.items()))


async def invoke(
    asked: Question, caller: Caller, services: Services, *, surface: str, pictures: bool = False
) -> Served:
    """Answer one question of one caller; the only way to a handler.

    Raises:
        ApiError: any code of the operation's `codes`, or `unavailable`.
    """
    operation = asked.operation
    allowance = admit(operation.access, caller, services, surface)
    record_use(operation.name, caller, services)
    try:
        _check_plan(operation, caller, services)
        page = None
        if asked.key is not None:
            page = services.pages.get((services.active_night.data_version, asked.key))
        if page is None:
            return await _answer(asked, caller, services, allowance, pictures=pictures)
        if operation.tracked:
            await _check_tracked(page.arguments, caller, services)
        return Served(page, None, None, allowance)
    except DatabaseUnavailableError as error:
        raise busy() from error
    except ApiError as error:
        error.allowance = allowance
        raise


async def _answer(
    asked: Question, caller: Caller, services: Services, allowance: Allowance, *, pictures: bool
) -> Served:
    """Have the handler answer, and keep what it answers if that is sealed."""
    operation, raw = asked.operation, asked.raw
    given = raw if isinstance(raw, dict) else await raw()
    arguments: Any = read_arguments(operation.arguments, given)
    with services.active_night.pin() as book:
        if operation.tracked:
            await _check_tracked(arguments, caller, services)
        call = Call(arguments, caller, book, services, pictures)
        answer = await operation.handler(call)
    page = None
    if answer.body is not None:
        fields = memoryview(answer.body)[1:]
        page = Page(b"".join((book.envelope, b",", fields)), arguments)
        if asked.key is not None:
            services.pages.put((book.data_version, asked.key), page)
    return Served(page, answer.png, answer.caption, allowance)


async def _check_tracked(arguments: Any, caller: Caller, services: Services) -> None:  # noqa: ANN401
    tracked = services.watchlist.kept(caller.account_id, caller.changes)
    if tracked is None:
        tracked = await services.watchlist.symbols(caller.account_id, caller.changes)
    if arguments.symbol not in tracked:
        raise _not_tracked(caller.cap, len(tracked))


def admit(access: Access, caller: Caller, services: Services, surface: str) -> Allowance:
    """Let a caller in and count the call; what is left of its quotas.

    Raises:
        ApiError: `invalid_api_key`, `missing_api_key`, `rate_limited` or `unavailable`.
    """
    if caller.refused == "busy":
        raise busy()
    if caller.refused is not None:
        raise ApiError("invalid_api_key")
    if access == "keyed" and caller.holder is None:
        raise ApiError("missing_api_key")
    return services.limiter.count(caller, surface)


def record_use(name: str, caller: Caller, services: Services) -> None:
    """Note a call with a key in its account's usage log."""
    if caller.holder is not None:
        account, key = caller.holder.account, caller.holder.key
        services.usage.record(account.id, key.prefix, name, caller.client or "", caller.host)


def _check_plan(operation: Operation, caller: Caller, services: Services) -> None:
    if operation.access == "keyed" and not caller.has_access(beta=services.offer.beta):
        raise ApiError("forbidden")


_ROUTES = "PUT or PATCH /tickers (or the tool set_tracked_tickers; it and PUT take the whole list)"


def _not_tracked(cap: int, count: int) -> ApiError:
    free = max(0, cap - count)
    slots = f"{free} of {cap} {'slot is' if free == 1 else 'slots are'} free"
    if not free:
        # What goes is the user's choice: a list that an agent shortens by itself loses a ticker.
        return ApiError(
            "ticker_not_tracked",
            fix=f"{slots}: remove one that may go and add this one with {_ROUTES}, then retry.",
            tool_fix=f"{slots}: ask the user which tracked ticker may go, read "
            "list_tracked_tickers, call set_tracked_tickers with that list, the one replaced by "
            "this symbol, then retry.",
        )
    return ApiError(
        "ticker_not_tracked",
        fix=f"{slots}: add the ticker with {_ROUTES}, then retry.",
        tool_fix=f"{slots}: read list_tracked_tickers, call set_tracked_tickers with that whole "
        "list plus this symbol (it replaces the list), then retry.",
    )
