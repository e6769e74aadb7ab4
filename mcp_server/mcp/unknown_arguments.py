"""Unknown arguments: refuses what is nearly an argument of a tool, leaves out any other, and says
where a condition goes.

Hosts add arguments of their own to every call. A condition that is dropped in silence, however, has
a model present an answer that nobody filtered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import orjson

from mcp_server.calls.errors import ApiError, did_you_mean
from mcp_server.filters.filters import PredicateError, read_predicate
from mcp_server.filters.kinds import KINDS, FilterKind
from mcp_server.mcp.app_page import DATA_KEY
from mcp_server.mcp.toolsets import EXTENDED, Tool
from mcp_server.operations.arguments import MAX_WORD

HINTED = 3
"""Most arguments of one answer that are explained."""

MAX_NAMED = 20
"""Most arguments of one answer that are named."""

LIKE = 0.75
"""The least similarity of a name that is nearly another: one edit in 4 letters, two in 8."""

WHOLE = (
    *("min", "max", "as_of", "within", "near", "last", "latest", "today", "new", "open", "closed"),
    *("long", "short", "mine", "results", "wins", "universe"),
)
"""Names that are conditions only as a whole: their words also stand in what hosts add."""

BRIEF = 3
"""The least letters of a name that is short for another."""

MEANT = {
    **dict.fromkeys(("symbols", "ticker", "tickers"), "symbol"),
    **dict.fromkeys(("sector", "sectors", "industries"), "industry"),
    **dict.fromkeys(("side", "bias", "trend"), "direction"),
    **dict.fromkeys(("watchlist", "my_watchlist", "portfolio", "my_symbols"), "tracked"),
    **dict.fromkeys(("mcap", "cap", "marketcap"), "market_cap"),
    **dict.fromkeys(("asset_class", "class", "crypto", "stocks", "etfs"), "asset_type"),
    "result": "outcome",
    "state": "status",
    **dict.fromkeys(("query", "q", "name", "text"), "search"),
    **dict.fromkeys(("families", "pattern_family"), "family"),
    **dict.fromkeys(("order", "order_by", "sort_by", "sort_order", "rank_by"), "sort"),
    **dict.fromkeys(("count", "num", "n", "top", "top_n", "first", "size"), "limit"),
    **dict.fromkeys(("max_results", "max_rows", "page_size", "per_page"), "limit"),
    **dict.fromkeys(("page", "page_number", "cursor", "skip"), "offset"),
    **dict.fromkeys(("from", "from_date", "start", "start_date", "after"), "since"),
    **dict.fromkeys(("to", "to_date", "end", "end_date", "before"), "until"),
}
"""What agents write, and the argument that some tool has for it."""

TRIANGLE = re.compile(
    r"\W*(ascending|descending|symmetric(?:al)?)[\s_-]*triangles?\W*", re.IGNORECASE
)
"""A type of triangle, for which the family of all triangles is taken."""

ELSEWHERE = {"symbol": "get_ticker_patterns", "search": "get_universe"}
"""The tools to call instead of one that does not take such an argument."""

CONDITIONS = frozenset(
    {
        *("year", "years", "month", "day", "days", "week", "date", "sector", "ticker", "tickers"),
        *("above", "below", "over", "under", "only", "exclude", "include", "except", "where"),
        *("filter", "query", "condition", "conditions", "state", "dry", "preview", "append"),
        *("period", "interval", "timeframe", "lookback", "range", "between", "minimum", "maximum"),
        *("bullish", "bearish", "winners", "losers", "trades", "region", "currency", "recent"),
        *("ascending", "descending", "bull", "bear", "uptrend", "downtrend"),
        *("watchlist", "portfolio", "holding", "holdings", "favorites", "favourites", "owned"),
        *("crypto", "coin", "coins", "stock", "stocks", "etf", "etfs", "equity", "equities"),
        *("mcap", "capitalization", "liquid", "liquidity", "momentum"),
        *("asof", "night", "tonight", "yesterday", "weekly", "monthly", "quarter"),
        *("verdict", "won", "lost", "losses", "profit", "profitable", "pnl", "odds"),
        *("breakout", "breakouts", "triggered", "expired", "fresh"),
        *("wedge", "pennant", "flag", "sma", "ema", "macd", "overbought", "oversold"),
        *("support", "resistance", "earnings", "dividend", "dividends", "best", "worst"),
        *("confirm", "keep", "merge", "mode", "replace", "type", "label", "pattern", "score"),
        *(word for name in KINDS for word in name.split("_")),
        *(
            word
            for tool in EXTENDED.tools.values()
            for each in tool.arguments
            for word in each.split("_")
        ),
    }
) - {"id", "to", "from"}
"""Words by which an argument may be a condition, and not what a host adds for itself."""


class IgnoredArgument(NamedTuple):
    """The arguments of a call that its tool does not take, and that are no slips of its own."""

    names: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    """Those of them that could have been conditions."""
    words: str = ""
    """What a model must know of these."""


def left_out(
    tool: Tool, tools: Mapping[str, Tool], sent: Mapping[str, Any]
) -> IgnoredArgument | None:
    """What is left out of a call; None if the call must be refused: an argument is nearly one of
    the tool's, or could be a condition of a change.
    """
    unknown = [name for name in sent if name not in tool.arguments and name != DATA_KEY]
    asked = [name for name in unknown if sent[name] not in (None, "") and _is_condition(name)]
    if any(_is_near(name, tool) for name in unknown) or (asked and tool.operation.changes):
        return None
    hints = (_hint(name[:MAX_WORD], sent[name], tool, tools) for name in asked[:HINTED])
    named = ", ".join(_shown(name) for name in asked[:MAX_NAMED])
    advice = " ".join(dict.fromkeys(filter(None, hints)))
    words = (
        f"Not applied, because {tool.name} does not take it: {named}. The result is not narrowed: "
        f"tell the user, or call again. {advice}"
    ).rstrip()
    names, conditions = (
        tuple(name[:MAX_WORD] for name in some[:MAX_NAMED]) for some in (unknown, asked)
    )
    said = [words] if asked else []
    if "family" in tool.arguments and (kind := TRIANGLE.fullmatch(str(sent.get("family")))):
        conditions += ("family",)
        said.append(
            f"Not applied: {kind[1].lower()}. The family is triangle, of all three types; say so. "
            "Where a setup is shown whole, pattern_type tells its type."
        )
    return IgnoredArgument(names, conditions, " ".join(said))


def _shown(name: str) -> str:
    """A name as a model reads it: what is no plain word must not pass for a sentence of ours."""
    name = name[:MAX_WORD]
    return name if re.fullmatch(r"\w+", name, re.ASCII) else orjson.dumps(name).decode()


def _parts(name: str) -> list[str]:
    """The words of a name, whether they are joined by signs or by capitals."""
    return re.findall(
        r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:MAX_WORD]).lower()
    )


def _is_condition(name: str) -> bool:
    return not CONDITIONS.isdisjoint(_parts(name)) or _plain(name) in {*MEANT, *WHOLE}


def _plain(name: str) -> str:
    return "_".join(_parts(name))


def _is_near(name: str, tool: Tool) -> bool:
    """Whether a name is a slip of one of the tool's arguments."""
    plain, parts = _plain(name), set(_parts(name)) - {"id"}
    wanted = MEANT.get(plain, plain)
    if {wanted, f"{wanted}s"} & {*tool.arguments}:
        return True
    if len(plain) >= BRIEF and any(each.startswith(plain) for each in tool.arguments):
        return True
    from rapidfuzz.distance import OSA  # 3 MB, for what is misspelt alone

    return any(
        OSA.normalized_similarity(plain, each) >= LIKE
        or (parts and (parts <= set(each.split("_")) or set(each.split("_")) <= parts))
        for each in tool.arguments
    )


async def refuse_unknown(
    tool: Tool, tools: Mapping[str, Tool], sent: Mapping[str, Any]
) -> NoReturn:
    """Refuse a call with arguments that its tool does not have.

    Raises:
        ApiError: `bad_request`, naming them and what the tool takes.
    """
    unknown = [name for name in sent if name not in tool.arguments]
    hints = (_hint(name[:MAX_WORD], sent[name], tool, tools) for name in unknown[:HINTED])
    words = dict.fromkeys(hint for hint in hints if hint)
    raise ApiError(
        "bad_request",
        f"{tool.name} was sent arguments that it does not take; nothing was done.",
        tool_fix=" ".join((*words, "Call again with only what it takes.")),
        details={
            "not_taken": [name[:MAX_WORD] for name in unknown],
            "takes": list(tool.arguments) or "nothing",
        },
    )


def _hint(name: str, value: object, tool: Tool, tools: Mapping[str, Tool]) -> str:
    """Where a condition goes, in words of ours; empty if nobody knows."""
    plain = _plain(name)
    wanted = MEANT.get(plain, plain)
    wanted = f"{wanted}s" if f"{wanted}s" in tool.arguments else wanted
    other = ELSEWHERE.get(wanted, "")
    if wanted in tool.arguments:
        return f"Did you mean {wanted}?"
    if other in tools and other != tool.name:
        return f"{other} takes {wanted}."
    names = (wanted, f"min_{plain}", plain.removeprefix("min_"), plain.removeprefix("max_"))
    kind = next((KINDS[each] for each in names if each in KINDS), None)
    if kind is None:
        return did_you_mean(plain, tool.arguments)
    if "filters" in tool.arguments:
        example = _example(kind, "<=" if plain.startswith("max_") else ">=", value)
        return f'{kind.name} is a kind of filter, such as {{"filters":[{example}]}}.'
    return f"scan_setups can filter by {kind.name}." if "scan_setups" in tools else ""


def _example(kind: FilterKind, op: str, value: object) -> str:
    """A predicate of a kind, with a value that was sent where the kind takes it."""
    raw = {"kind": kind.name, "value": value}
    raw |= {"op": op} if kind.takes == "number" else {}
    raw |= {"period": kind.periods[0]} if kind.periods else {}
    try:
        predicate = read_predicate(kind, raw)
    except PredicateError:
        usual = {"number": 0, "boolean": True, "choice": next(iter(kind.choices), "")}
        predicate = read_predicate(kind, {**raw, "value": usual[kind.takes]})
    return orjson.dumps(predicate.canonical).decode()
