"""FastMCP as its documentation shows it: a typed function as the tool, stateless, JSON responses.

It has no sign-in, no limits and no watchlist.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from fastmcp import FastMCP  # type: ignore[import-not-found]

from benchmarks.serving.peers.run import arguments, read_envelope, serve


def application(database: Path) -> Any:  # noqa: ANN401 - FastMCP's Starlette app
    """One tool that reads the stored record."""
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False)
    envelope = read_envelope(database)
    server = FastMCP("fastmcp")

    async def get_ticker_patterns(symbol: str) -> dict[str, Any]:
        """Current patterns."""
        row = db.execute("SELECT body FROM patterns WHERE symbol = ?", (symbol,)).fetchone()
        return {**envelope, **json.loads(row[0])}

    server.tool(get_ticker_patterns)
    return server.http_app(path="/mcp", json_response=True, stateless_http=True)


if __name__ == "__main__":
    port, database = arguments()
    serve(application(database), port)
