"""FastMCP as its documentation shows it: a typed function as the tool, stateless, JSON responses.

It has no sign-in, no limits and no watchlist.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastmcp import FastMCP  # type: ignore[import-not-found]

from benchmarks.serving.peers.run import stored_patterns


def application(database: Path) -> Any:  # noqa: ANN401 - FastMCP's Starlette app
    """One tool that reads the stored record."""
    patterns = stored_patterns(database)
    server = FastMCP("fastmcp")

    async def get_ticker_patterns(symbol: str) -> dict[str, Any]:
        """Current patterns."""
        return patterns(symbol)

    server.tool(get_ticker_patterns)
    return server.http_app(path="/mcp", json_response=True, stateless_http=True)
