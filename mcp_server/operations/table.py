"""The table of operations: all that the service does. MCP and REST are two renderings of it.

Which operations are tools is in `mcp_server.mcp.toolsets`, which are routes in
`rest_facade.routes`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import (
    Arguments,
    ChangesArguments,
    ChartArguments,
    EditArguments,
    ExportArguments,
    FamilyArguments,
    HistoryArguments,
    ImportArguments,
    RecordArguments,
    ScanArguments,
    ScanSetupsArguments,
    SymbolArguments,
    SymbolsArguments,
    UniverseArguments,
)
from mcp_server.operations.handlers import changes, market, patterns, scan, tracked
from mcp_server.operations.services import Call
from store.wire import records

Access = Literal["keyed", "keyless"]
Handler = Callable[[Call[Any]], Awaitable[Answer]]
COMMON = ("missing_api_key", "invalid_api_key", "forbidden", "rate_limited")
KEYLESS = ("missing_api_key", "invalid_api_key", "rate_limited")
EDIT_ERRORS = (
    "bad_request",
    "invalid_symbol",
    "unknown_symbol",
    "ticker_cap_exceeded",
    "precondition_failed",
)


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
    changes: bool = False
    """Whether it changes the tracked list, which a read-only key may not."""
    drops: bool = False
    """Whether such a change may take tickers off the list."""
    cacheable: bool = False
    """Whether the answer depends on the night and the arguments alone, and so is kept."""
    pictured: bool = False
    """Whether it also depends on what the surface can show, and on who is signed in."""
    errors: tuple[str, ...] = ()
    """The error codes it may answer, besides those of its access and of a change."""
    answers: tuple[type[records.Record], ...] = ()
    """The records it may answer; none for a picture or a shape that the interface leaves open."""
    produces: Literal["application/json", "image/png"] = "application/json"

    @property
    def codes(self) -> tuple[str, ...]:
        """Every error code that this operation can answer."""
        common = COMMON if self.access == "keyed" else KEYLESS
        tracked = ("ticker_not_tracked",) if self.tracked else ()
        return common + tracked + (EDIT_ERRORS if self.changes else ()) + self.errors


_TABLE = (
    Operation(
        "get_ticker_patterns",
        patterns.get_ticker_patterns,
        "The current setups of one tracked ticker.",
        SymbolArguments,
        tracked=True,
        cacheable=True,
        answers=(records.Patterns,),
    ),
    Operation(
        "get_pattern_history",
        patterns.get_pattern_history,
        "The past occurrences of one tracked ticker, newest entry first.",
        HistoryArguments,
        tracked=True,
        cacheable=True,
        errors=("bad_request",),
        answers=(records.History,),
    ),
    Operation(
        "get_ticker_record",
        patterns.get_ticker_record,
        "One tracked ticker's own track records, even without a current setup.",
        RecordArguments,
        tracked=True,
        cacheable=True,
        errors=("bad_request",),
        answers=(records.TickerRecord,),
    ),
    Operation(
        "get_pattern_chart",
        patterns.get_pattern_chart,
        "The chart of one current setup of a tracked ticker, as a PNG.",
        ChartArguments,
        tracked=True,
        cacheable=True,
        pictured=True,
        errors=("bad_request", "setup_not_found", "chart_unavailable"),
        produces="image/png",
    ),
    Operation(
        "list_tracked_tickers",
        tracked.list_tracked_tickers,
        "The watchlist (tracked tickers) in the user's order, and the cap.",
    ),
    Operation(
        "set_tracked_tickers",
        tracked.set_tracked_tickers,
        "Replace the whole watchlist, all or nothing.",
        SymbolsArguments,
        changes=True,
        drops=True,
        answers=(records.TrackedTickers,),
    ),
    Operation(
        "get_family_track_record",
        market.get_family_track_record,
        "One pattern family's track record, or all five.",
        FamilyArguments,
        access="keyless",
        cacheable=True,
        errors=("unknown_family",),
        answers=(records.FamilyEntry, records.Families),
    ),
    Operation(
        "demo",
        market.demo,
        "The setups of one demo symbol, without a key.",
        SymbolArguments,
        access="keyless",
        cacheable=True,
        pictured=True,
        errors=("not_a_demo_symbol",),
        answers=(records.Demo,),
    ),
    Operation(
        "me", tracked.me, "The calling account, its plan and its limits.", answers=(records.Me,)
    ),
    Operation(
        "scan",
        scan.scan,
        "The market-wide scan: current setups, forming ones unless `status` asks, ranked, filtered "
        "and paged.",
        ScanArguments,
        cacheable=True,
        errors=("bad_request",),
        answers=(records.Scan,),
    ),
    Operation(
        "scan_setups",
        scan.scan_setups,
        "The market-wide scan in short rows.",
        ScanSetupsArguments,
        cacheable=True,
        errors=("bad_request",),
        answers=(records.ScanRows,),
    ),
    Operation(
        "changes",
        changes.changes,
        "What changed since the night before: setups that are new, triggered, ended or gone, and "
        "which are near their trigger.",
        ChangesArguments,
        cacheable=True,
        errors=("bad_request",),
        answers=(records.Changes,),
    ),
    Operation(
        "edit_tracked_tickers",
        tracked.edit_tracked_tickers,
        "Remove tickers from the watchlist, then add others; all or nothing.",
        EditArguments,
        changes=True,
        drops=True,
        answers=(records.TrackedTickers,),
    ),
    Operation(
        "add_tickers",
        tracked.add_tickers,
        "Add tickers to the watchlist; all or nothing.",
        SymbolsArguments,
        changes=True,
        answers=(records.EditedTickers,),
    ),
    Operation(
        "remove_tickers",
        tracked.remove_tickers,
        "Remove tickers from the watchlist.",
        SymbolsArguments,
        changes=True,
        drops=True,
        answers=(records.EditedTickers,),
    ),
    Operation(
        "import_tickers",
        tracked.import_tickers,
        "Add the known symbols of a TradingView, Finviz or CSV list; the others are listed.",
        ImportArguments,
        changes=True,
        answers=(records.ImportedTickers,),
    ),
    Operation(
        "export_tickers",
        tracked.export_tickers,
        "The watchlist as TradingView text or as CSV.",
        ExportArguments,
        errors=("bad_request",),
        answers=(records.ExportedTickers,),
    ),
    Operation(
        "universe",
        market.universe,
        "The scanned symbols, or those that a search finds.",
        UniverseArguments,
        access="keyless",
        cacheable=True,
        errors=("bad_request",),
    ),
    Operation("demo_symbols", market.demo_symbols, "The fixed demo symbols.", access="keyless"),
    Operation(
        "demo_chart",
        market.demo_chart,
        "The chart of a demo symbol's setup, without a key.",
        ChartArguments,
        access="keyless",
        cacheable=True,
        errors=("bad_request", "setup_not_found", "chart_unavailable", "not_a_demo_symbol"),
        produces="image/png",
    ),
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType({row.name: row for row in _TABLE})
