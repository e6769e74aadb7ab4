"""The agent reference: one Markdown text, its tables rendered from the code it describes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_server.http.requests import MAX_FIELD_BYTES, MAX_FIELDS, MAX_QUERY
from mcp_server.operations.errors import CATALOGUE
from mcp_server.operations.host_values import DEMO, claude_mcp_add
from mcp_server.operations.hosts import ACCESS_WORDS, hosts
from mcp_server.operations.identity import NAME, SUMMARY
from mcp_server.operations.kinds import KINDS, Kind
from mcp_server.operations.limits import SITE, Quotas
from mcp_server.operations.offer import Offer
from mcp_server.operations.rules import CONTENT_RULES
from mcp_server.operations.table import OPERATIONS
from mcp_server.surface.toolsets import EXTENDED, SEVEN, Tool
from rest_facade.routes import ROUTES
from store.wire.families import Family
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS


def reference(offer: Offer, quotas: Quotas) -> str:
    """The reference for a service at its public address."""
    parts = (
        f"# Pattern screener\n\n> {SUMMARY}",
        _basics(offer),
        _rules(),
        _connecting(offer),
        _endpoints(offer),
        _tools(offer),
        _reading(),
        _evidence(),
        _changes(),
        _filters(),
        _errors(),
        _limits(quotas),
    )
    return "\n\n".join(parts) + "\n"


def skill(body: str) -> str:
    """The reference as a skill file: the same body under a name and a description."""
    return f"---\nname: {NAME}\ndescription: {SUMMARY}\n---\n\n{body}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)


def _basics(offer: Offer) -> str:
    families = ", ".join(f"`{family}`" for family in Family)
    return (
        "## What to know first\n\n"
        "- Nothing is computed for a call: every answer is a sealed record of the last nightly run "
        "and names its session in `as_of_session` and its night in `data_version`. Data changes "
        "only with the nightly; poll, there is no push.\n"
        "- Compare `next_session` with today's UTC date: once that date is past, the night is old. "
        "Say so to people. `night` in `GET /` counts the sessions since then and says so in words; "
        "`withdrawn` lists nights that were taken back.\n"
        "- Setups and their ids change every night. Never reuse a `setup_id` in another session; "
        "`lineage_id` stays the same from night to night. `GET /changes` says what became of each "
        "lineage since the night before.\n"
        "- Symbols are upper-case letters, digits and dots. A crypto pair has no separator: "
        "`BTCUSD`, `ETHUSDT`; a class of shares has a dot: `BRK.B`. `GET /universe?search=apple` "
        "finds symbols by symbol, first letters or name, even misspelt.\n"
        "- The scan, the families, the universe and the demo need no tracked ticker. Patterns, "
        "history, records and charts work only on tickers that the account tracks.\n"
        f"- The five families are {families}.\n"
        "- No edge is implied: on the symbols we measured no family beat random entries with the "
        "same stops and targets. Each record says how the night's trades compare with theirs. "
        "Costs, slippage and open trades are excluded, and the symbols are those that "
        "survived.\n"
        f"- REST base `{offer.base_url}`, agent endpoint `{offer.mcp_url}`, version `v1`. Fields "
        "may be added within v1; error codes do not change."
    )


def _rules() -> str:
    rules = "\n".join(f"{n}. {rule}" for n, rule in enumerate(CONTENT_RULES, 1))
    return f"## Rules for showing this data to people\n\n{rules}"


def _connecting(offer: Offer) -> str:
    rows = [
        [host.name, ACCESS_WORDS[way.access], way.words, f"`{way.value}`"]
        for host in hosts(offer)
        for way in host.ways
        if way.fits_a_line and way.access != "none"
    ]
    return (
        "## Connecting\n\n"
        "Send `Authorization: Bearer <API_KEY>` on keyed calls. The same header takes an OAuth 2.0 "
        "access token with the scope `patterns`. `key` in `GET /me` says when a key ends "
        "(`expires_at`, or null) and whether it is `read_only`, as the owner of the account may "
        "choose: changing the tracked list then answers `forbidden`. `X-Service-Client: NAME` "
        "names your client in the account's usage log.\n\n"
        f"{table(('host', 'access', 'how to add it', 'with'), rows)}\n\n"
        f"Without an account `{offer.demo_url}` takes the place of `{offer.mcp_url}` in any of "
        f"these, as in `{claude_mcp_add(offer.demo_url, DEMO)}`; `demo` and "
        f"`get_family_track_record` answer there. {offer.public_url}/connect explains every host, "
        "with settings and programs."
    )


def _endpoints(offer: Offer) -> str:
    documents = [
        ["GET", "/", "no", "Map of links, install commands and limits."],
        ["GET", "/llms.txt", "no", "This reference."],
        ["GET", "/skill.md", "no", "This reference as a skill file."],
        ["GET", "/openapi.json", "no", "This interface as OpenAPI 3.1."],
    ]
    rows = [
        [
            route.method,
            route.path + (f" ?{', '.join(route.query)}" if route.query else ""),
            "yes" if OPERATIONS[route.operation].access == "keyed" else "no",
            OPERATIONS[route.operation].summary,
        ]
        for route in ROUTES
    ]
    return (
        "## REST routes\n\n"
        f"{table(('method', 'path', 'key', 'answers'), documents + rows)}\n\n"
        "Trailing slashes are optional, symbols are upper-cased, unknown query parameters are "
        "ignored, and the last value of a repeated one counts. `limit` and `offset` are clamped. "
        f"Example: `curl {offer.base_url}/demo/{(*offer.demo_symbols, 'AAPL')[0]}`."
    )


def _tools(offer: Offer) -> str:
    head = ("tool", "key", "arguments", "what it is")
    seven = table(head, [_tool(tool, offer) for tool in SEVEN.values()])
    parts = [
        "## MCP tools",
        seven,
        "Results carry the JSON as text and as structured content. A tool error's text begins with "
        "its code and ends with the fix. An argument that a tool does not have is refused. "
        "`list_tracked_tickers` has for each ticker `symbol`, "
        "`covered` and `setups`, each with `setup_id`, `family`, `direction`, `status`, `attempt`, "
        "`distance_to_trigger_pct` and `last_close_side`. A client of 2026-07-28 that declares "
        "elicitation is asked to confirm a call that drops a ticker.",
    ]
    if offer.extended:
        more = [tool for name, tool in EXTENDED.tools.items() if tool is not SEVEN.get(name)]
        parts += [
            f"`{offer.extended_url}` has these seven and more, with the same keys and limits:",
            table(head, [_tool(tool, offer) for tool in more]),
        ]
    return "\n\n".join(parts)


def _tool(tool: Tool, offer: Offer) -> list[str]:
    schema = tool.input_schema
    required = schema.get("required", ())
    names = [name if name in required else f"{name}?" for name in schema["properties"]]
    access = "yes" if tool.operation.access == "keyed" else "no"
    return [f"`{tool.name}`", access, ", ".join(names) or "none", tool.describe(offer)]


def _reading() -> str:
    return (
        "## Reading a setup\n\n"
        "- `status`: `forming` (the trigger has not fired) or `in_progress` (it fired, the trade "
        "runs).\n"
        "- `lines.upper`, `lines.lower`: straight between their dated endpoints on a log price "
        "axis, over sessions, not calendar days.\n"
        "- `trigger_rule` says what fires; a forming trigger moves with its line, so "
        "`plans[0].trigger_price` is the level of the next session. A symmetrical triangle has two "
        "plans, the first in its `direction`.\n"
        "- `attempt.number` above 1: the lineage has triggered before. Track records count first "
        "attempts only, so they say nothing of a later one.\n"
        "- `last_close_side` `beyond`: the last close is already beyond the trigger of the next "
        "session, so a close that just stays there fires.\n"
        "- `sessions_since_trigger`: how long a running trade has been open.\n"
        "- `expected_gain_pct` is the typical gain *if it wins*, never an expectation; "
        "`win_rate_trades` says how many trades stand behind `win_rate_pct`.\n"
        "- History `outcome`: `win` (target reached), `loss` (stop hit, or stop and target in one "
        "bar), `open`. Rows are first attempts, entered at the close of the breakout bar.\n"
        "- A number without evidence is null: an average or median of no wins or no losses, the "
        "profit factor without a loss, the gain of a family that never won."
    )


def _evidence() -> str:
    rows = [
        ["`win_rate_ci95`", "95% interval of `win_rate_pct`, percent."],
        [
            "`expected_r`",
            "Average R, each trade within -3 and 10, shrunk with the weight of 60 trades: of a "
            "family towards zero; of a ticker, in the direction of its setup, towards the family's "
            "in that direction. Drift is in it: compare `placebo_avg_r`.",
        ],
        ["`compared`", "Trades that have random entries of their own."],
        [
            "`placebo_win_rate_pct`, `placebo_avg_r`",
            "How random entries with the stops and targets of these trades did.",
        ],
        [
            "`lift_r`, `lift_r_se`",
            "Mean over these trades of R minus that of the trade's own random entries, ± its "
            "standard error.",
        ],
        [
            "`verdict`",
            "What the lift says, corrected for every comparison made: `too_few`, "
            "`not_distinguishable`, `above_random`, `below_random`.",
        ],
        [
            "`by_direction`",
            "Bullish and bearish trades separately, in a family that is traded both ways.",
        ],
        ["`avg_r_after_costs`", "Average R after round trips of 10 and 25 basis points."],
        [
            "`as_served` (of a family)",
            "Trades that past nights served before they ended.",
        ],
    ]
    return (
        "## Reading a track record\n\n"
        f"{table(('field', 'what it is'), rows)}\n\n"
        "`GET /tickers/{symbol}/record` has a ticker's own record of every family, even without a "
        "current setup. The same record stands with its setups, with `expected_r` in their "
        "direction; without a setup, `expected_r` of a family traded both ways covers both.\n\n"
        "Never present `not_distinguishable` or `too_few` as an edge. A field is null where there "
        "is nothing to say: `by_direction` in a family that is traded one way, `lift_r_se` with "
        "`too_few`, the placebo without any compared trade, `as_served` below 30 served trades "
        "that have ended; and in a night that was sealed before the field existed."
    )


def _changes() -> str:
    kinds = ", ".join(f"`{kind}`" for kind in CHANGE_KINDS)
    rows = [[f"`{reason}`", words] for reason, words in CHANGE_REASONS.items()]
    return (
        "## Changes since the night before\n\n"
        f"`change` is one of {kinds}; `expired` means no longer served, even if the trade still "
        f"runs.\n\n{table(('reason', 'what it says'), rows)}"
    )


def _filters() -> str:
    rows = [[f"`{kind.name}`", _takes(kind), kind.unit, kind.meaning] for kind in KINDS.values()]
    return (
        "## Scan filters\n\n"
        "`filters` is a URL-encoded JSON array of at most 50 predicates; all must match, and a "
        "setup without evidence for a kind never does. Numbers take `op` (`<`, `<=`, `>`, `>=`, "
        "`=`) and `value`; choices and booleans take `value`. Example: "
        '`[{"kind":"rsi","op":"<","value":40},'
        '{"kind":"sma_distance","op":">","value":0,"period":200}]`. The phase `forming` excludes '
        "`armed`.\n\n"
        f"{table(('kind', 'takes', 'unit', 'meaning'), rows)}"
    )


def _takes(kind: Kind) -> str:
    if kind.takes == "number":
        takes = "op, value"
    elif kind.takes == "boolean":
        takes = "value true or false"
    else:
        takes = f"value: {', '.join(kind.choices)}"
    periods = f"; period {', '.join(map(str, kind.periods))}" if kind.periods else ""
    return takes + periods


def _errors() -> str:
    rows = [
        [str(entry.status), f"`{entry.code}`", entry.condition, entry.fix]
        for entry in CATALOGUE.values()
    ]
    return (
        "## Errors\n\nBranch on `error`, never on `message`; `fix` says what to do next.\n\n"
        f"{table(('status', 'code', 'when', 'fix'), rows)}\n\n"
        f"`bad_request` also comes with 414: the query is over {MAX_QUERY // 1024} KB. A request "
        f"that is not HTTP, comes too late, or has a header over {MAX_FIELD_BYTES // 1024} KB or "
        f"{MAX_FIELDS} fields is refused in plain text (400, 408, 431), and the connection ends."
    )


def _limits(quotas: Quotas) -> str:
    return (
        "## Limits\n\n"
        f"A key: {quotas.key_per_minute} calls in any 60 seconds and {quotas.key_per_day:,} a UTC "
        f"day, REST and MCP together. All keys and apps of an account: {quotas.account_per_minute} "
        f"and {quotas.account_per_day:,}. Without a key: {quotas.keyless_per_minute} calls in any "
        "60 seconds for each address, counted apart for REST and MCP. The handshake and lists of "
        f"MCP are counted apart from calls ({quotas.other_per_minute} in any 60 seconds), and so "
        "are requests that find nothing there (404, 405). An IPv6 address counts as its /64; a /48 "
        f"has {SITE} times its calls. A refused call does not count. Every answer says what is "
        "left in `RateLimit` and `RateLimit-Policy`, a tool result in `_meta`; a 429 says how long "
        "to wait in `details.retry_after_seconds` and `Retry-After`."
    )
