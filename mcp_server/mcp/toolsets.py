"""The toolsets: which operations agents see as tools at which address, and what they read of each.

`SEVEN` is the table of the interface's seven tools; `DEMO` is the same table for anybody, and
`EXTENDED` has more. `server.py` makes a server of the official MCP SDK of each toolset. A tool
takes only the arguments that it shows; `unknown_arguments.py` says what becomes of any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from mcp_server.calls.callers import Surface
from mcp_server.filters.kinds import KINDS
from mcp_server.operations.schemas import Schema, input_schema, output_schema
from mcp_server.operations.spellings import spelled
from mcp_server.operations.table import OPERATIONS, Operation
from mcp_server.presentation.identity import TITLE
from mcp_server.presentation.offer import Offer


@dataclass(frozen=True, slots=True)
class Tool:
    """An operation as agents see it."""

    name: str
    operation: Operation
    title: str
    description: str
    """`{demo_symbols}` stands for the demo symbols."""
    arguments: tuple[str, ...] = ()
    """The arguments of the operation that it takes."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that differ from those of the operation."""
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    """Schemas of arguments that differ from those of the operation."""
    answers: Mapping[str, Schema] = field(default_factory=dict)
    """Shorter schemas of fields of the answer, which use no definitions."""

    def raw_arguments(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the operation, from those of a call; null stands for the default."""
        taken = {name: sent[name] for name in self.arguments if sent.get(name) is not None}
        return {**self.defaults, **spelled(self.operation, taken)}

    def describe(self, offer: Offer) -> str:
        """What it does, for a service with these demo symbols, of which it names four."""
        some, more = ", ".join(offer.demo_symbols[:4]), len(offer.demo_symbols[4:])
        words = (
            f"{some} and {more} more; the error for any other symbol lists them" if more else some
        )
        return self.description.format(demo_symbols=words)

    @property
    def input_schema(self) -> Schema:
        """The JSON Schema of its arguments."""
        whole = input_schema(self.operation)
        shown = {name: self._schema(name, whole["properties"][name]) for name in self.arguments}
        result: Schema = {"type": "object", "properties": shown}
        required = [name for name in whole.get("required", ()) if name in shown]
        return {**result, "required": required} if required else result

    @property
    def output_schema(self) -> Schema | None:
        """The JSON Schema of its structured answer; None if the answer is a picture."""
        whole = output_schema(self.operation)
        if whole is None or not self.answers:
            return whole
        return {**whole, "properties": {**whole["properties"], **self.answers}}

    def _schema(self, name: str, schema: Schema) -> Schema:
        schema = self.schemas.get(name, schema)
        return {**schema, "default": self.defaults[name]} if name in self.defaults else schema


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of one address."""

    path: str
    """Where it is, below the MCP address."""
    title: str
    tools: Mapping[str, Tool]
    keyless: bool = False
    """Whether it answers only keyless operations, to anybody."""

    def surface(self, *, app: bool = True) -> Surface:
        """What a call comes by; `app` says whether the host may draw it on a page of its own."""
        return Surface("mcp", app=app, edits="add_tickers" in self.tools)


def _tool(
    name: str,
    title: str,
    description: str,
    *arguments: str,
    operation: str = "",
    defaults: Mapping[str, Any] = MappingProxyType({}),
    schemas: Mapping[str, Schema] = MappingProxyType({}),
    answers: Mapping[str, Schema] = MappingProxyType({}),
) -> Tool:
    row = OPERATIONS[operation or name]
    return Tool(name, row, title, description, arguments, defaults, schemas, answers)


def _named(*tools: Tool) -> Mapping[str, Tool]:
    return MappingProxyType({tool.name: tool for tool in tools})


SEVEN = _named(
    _tool(
        "get_ticker_patterns",
        "Current chart patterns",
        "Every current setup of one tracked ticker: lines, trigger rule, plans (two for a "
        "symmetrical triangle) and past results of the pattern. In open trades stop, "
        "target, gain_pct and gain_r are measured from entry_price. R is the distance from entry "
        "to stop. `track_record.family` and `.ticker`: win_rate_pct with sample_size and "
        "avg_loss_pct. expected_r is avg_r, capped and shrunk by 60 trades, a ticker's "
        "toward its family's (not the ticker's own result), and includes market drift: give it "
        "only with lift_r, the excess R over random entries, and its verdict, and do not subtract "
        "placebo_avg_r (random entries). For a triangle quote by_direction, not "
        "the whole record. attempt.number above 1: a later attempt, not counted in records; the "
        "first may have had another direction or family (its lineage_id in get_pattern_history). "
        "last_close_side beyond: one more close there fires the trigger. Trades open for over 120 "
        "sessions are only in get_pattern_history.",
        "symbol",
    ),
    _tool(
        "get_pattern_history",
        "Past occurrences",
        "The first breakout of each past pattern of one tracked ticker, without later attempts: "
        "entry, stop, target, exit, realized_move_pct (in the trade's favour), target_move_pct "
        "(from the broken line, so a win is usually less), r_multiple (unrealized_r while open). A "
        "gap beyond the stop fills at the open, one beyond the target at the target. exit_reason "
        "delisted: at the last close, a loss. `covered` false: usable bars end on last_bar_date, "
        "and open trades may have ended. Past setup_ids are not for get_pattern_chart.",
        *("symbol", "limit", "outcome", "family", "since", "until"),
    ),
    _tool(
        "get_pattern_chart",
        "Chart of a setup",
        "A PNG of one current setup: candles on a log price axis, both trend lines, "
        "trigger, stop and target. Take setup_id from get_ticker_patterns of this session.",
        "symbol",
        "setup_id",
    ),
    _tool(
        "list_tracked_tickers",
        "Tracked tickers",
        "Which of my tickers have a setup? Every ticker of the watchlist, in the user's order: "
        "whether it was scanned, and its setups in brief (family, direction, status, attempt, "
        "distance to the trigger; opposite_plan: the other one of a triangle that may break either "
        "way); also the cap. Trades open over 120 sessions are not listed.",
    ),
    _tool(
        "set_tracked_tickers",
        "Set tracked tickers",
        "Replace the user's whole watchlist, all or nothing; an empty list untracks everything. "
        "`removed` lists the dropped symbols, `not_covered` those that this night did not scan. "
        "Call list_tracked_tickers first and keep what should stay.",
        "symbols",
    ),
    _tool(
        "get_family_track_record",
        "Family track record",
        "Past results of a family after the first 60 bars (`backtest_range`): win rate "
        "with sample, average win and loss, R multiples. placebo_... are of random entries with "
        "the same stop and target distances; lift_r is the difference for the `compared` trades, "
        "with its standard error. by_direction: each direction of triangles, with its own summary. "
        "as_served: live results of trades published before they ended.",
        "family",
    ),
    _tool(
        "demo",
        "Demo",
        "The current setups of one demo symbol ({demo_symbols}), with the chart of the first; "
        "needs no key. If no picture shows, see chart_url.",
        "symbol",
        answers={"setups": {"type": "array", "description": "As in get_ticker_patterns."}},
    ),
)
"""The seven tools of the interface."""

FILTERS: Schema = {
    "type": "array",
    "description": "Predicates that all must match, such as "
    '{"kind":"rsi","op":"<","value":40}. Numeric kinds take op and value; choices and booleans '
    'value; moving averages, performance and extremes also period ("200", "ytd", "3m" ...). '
    "An error lists what a kind takes.",
    "items": {
        "type": "object",
        "properties": {
            "kind": {
                "type": "string",
                "enum": list(KINDS),
                "description": " ".join(
                    f"{kind.name} ({kind.spans}): {kind.meaning}"
                    for kind in KINDS.values()
                    if kind.meaning
                ),
            },
            "op": {"type": "string", "enum": ["<", "<=", ">", ">=", "="]},
            "value": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}]},
            "period": {"type": "string"},
        },
        "required": ["kind", "value"],
    },
}


def _symbols(description: str) -> Mapping[str, Schema]:
    schema = {"description": description, "type": "array", "items": {"type": "string"}}
    return {"symbols": schema}


_MORE = _named(
    replace(SEVEN["get_pattern_history"], defaults={"limit": 20}),  # 50 rows are 8,000 tokens
    _tool(
        "get_ticker_record",
        "Track record of a ticker",
        "Past results of one tracked ticker, for each family in which it has a resolved trade, "
        "even without a current setup. A ticker that the night does not cover has none here; "
        "get_pattern_history has its past trades.",
        "symbol",
        "family",
    ),
    _tool(
        "scan_setups",
        "Market-wide scan",
        "The current setups of the whole market, filtered, sorted and paged; no ticker needs to be "
        "tracked. Rank 1 has the largest expected_gain_pct (an estimate of a win: the ticker's "
        "median win, drawn to its family's and scaled to how much the ticker moves; it may exceed "
        "target_move_pct, the move to this target). Rank is not "
        "about odds: for those sort by -expected_r, and give it only with its scope and sample. A "
        "ticker's is drawn toward its family's with the weight of 60 trades: what the ticker "
        "earned itself is ticker_avg_r, shown when you sort by it. placebo_avg_r (random entries) "
        "covers placebo_scope, verdict covers win_rate_scope: do not subtract. A triangle that may "
        "break either way matches if one plan fulfils every condition; `notes` tells if it is the "
        "opposite_plan. Entry is the daily close beyond the moving trigger, not a touch. Open "
        "trades are listed only if `status` asks for them; `counts` counts them, but none that has "
        "been open for over 120 sessions.",
        *("family", "direction", "status", "max_distance_pct", "filters", "sort"),
        *("symbols", "tracked", "min_sample", "limit", "offset"),
        "rows",
        defaults={"limit": 10},
        schemas={"filters": FILTERS},
    ),
    _tool(
        "add_tickers",
        "Add tracked tickers",
        "Append tickers to the user's watchlist, all or nothing; the others stay. `not_covered`: "
        "those that this night did not scan, so it has no setup for them.",
        "symbols",
        schemas=_symbols("Symbols to append."),
    ),
    _tool(
        "remove_tickers",
        "Remove tracked tickers",
        "Remove tickers from the user's watchlist; the others stay.",
        "symbols",
        schemas=_symbols("Symbols to drop; untracked ones are ignored."),
    ),
    _tool(
        "get_universe",
        "Covered symbols",
        "The scanned symbols, with name and industry; look them up by symbol, first "
        "letters, name or industry. `count` is of all matches, some only resembling the search; to "
        "count an industry, filter the scan or count its rows.",
        *("search", "limit", "offset", "rows"),
        operation="universe",
        defaults={"limit": 20, "rows": "compact"},
        schemas={"limit": {"description": "Rows of a page; clamped to 1..200.", "type": "integer"}},
    ),
    _tool(
        "get_changes",
        "Changes since the night before",
        "Changes of setups since the night before, or since a session: new, triggered, "
        "stopped, reached or expired, over the whole market, with levels and why; `near`: forming "
        "ones near their trigger, new ones too. Either plan of a triangle counts for `direction`; "
        "read `notes`. Ends of trades open over 120 sessions are not listed. If `available` is "
        "false, there is no earlier night to compare with.",
        *("change", "family", "direction", "symbols", "tracked", "since", "limit", "offset"),
        operation="changes",
        defaults={"limit": 20},
    ),
)

FULL = Toolset("", TITLE, SEVEN)
DEMO = Toolset("/demo", f"{TITLE} (demo)", SEVEN, keyless=True)
EXTENDED = Toolset("/extended", f"{TITLE} (extended)", MappingProxyType({**SEVEN, **_MORE}))


def toolsets(offer: Offer) -> tuple[Toolset, ...]:
    """The toolsets that a service offers."""
    return (FULL, DEMO, EXTENDED) if offer.extended else (FULL, DEMO)
