"""The changes since the night before: one page of the list that was sealed with the night."""

from __future__ import annotations

import orjson

from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import ChangesArguments
from mcp_server.operations.calls import Call

FILTERS = ("change", "family", "direction")


async def changes(call: Call[ChangesArguments]) -> Answer:
    """One page of what changed since the night before, in the order in which it was sealed."""
    arguments = call.arguments
    stored = call.book.changes() or {"since_session": None, "since_version": None, "changes": []}
    wanted = {name: value for name in FILTERS if (value := getattr(arguments, name)) is not None}
    matches = [row for row in stored["changes"] if wanted.items() <= row.items()]
    body = {
        "available": stored["since_session"] is not None,
        "since_session": stored["since_session"],
        "since_version": stored["since_version"],
        "change": arguments.change,
        "count": len(matches),
        "limit": arguments.limit,
        "offset": arguments.offset,
        "changes": matches[arguments.offset : arguments.offset + arguments.limit],
    }
    return call.answer(orjson.dumps(body))
