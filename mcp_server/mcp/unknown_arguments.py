"""Unknown arguments: refuses what a tool does not take, and says where such a condition goes.

An argument that is dropped in silence has a model present an answer that nobody filtered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import orjson

from mcp_server.calls.errors import ApiError, did_you_mean
from mcp_server.filters.filters import PredicateError, read_predicate
from mcp_server.filters.kinds import KINDS, Kind
from mcp_server.mcp.toolsets import Tool
from mcp_server.operations.arguments import MAX_WORD

HINTED = 3
"""Most arguments of one refusal that are explained."""

MEANT = {
    **dict.fromkeys(("symbols", "ticker", "tickers"), "symbol"),
    "sector": "industry",
    **dict.fromkeys(("query", "q", "name", "text"), "search"),
    **dict.fromkeys(("from", "from_date", "start", "start_date", "after"), "since"),
    **dict.fromkeys(("to", "to_date", "end", "end_date", "before"), "until"),
}
"""What agents write, and the argument that some tool has for it."""

ELSEWHERE = {"symbol": "get_ticker_patterns", "search": "get_universe"}
"""The tools to call instead of one that does not take such an argument."""


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
    plain = name.strip().lower()
    wanted = MEANT.get(plain, plain)
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


def _example(kind: Kind, op: str, value: object) -> str:
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
