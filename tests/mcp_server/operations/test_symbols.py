"""Symbols: what a refusal of many costs those who call meanwhile."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_search import LOOKED_UP, SymbolSearch
from mcp_server.operations.symbols import suggesting


async def test_between_the_symbols_of_a_refusal_others_have_their_turn() -> None:
    """Each is looked up among all of the night, which may take milliseconds."""
    directory = SymbolSearch([{"symbol": "AAPL", "name": "Apple"}])
    unknown = ["AALP", *(f"X{number}" for number in range(2 * LOOKED_UP))]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        with pytest.raises(ApiError) as refused:
            async with suggesting(directory):
                raise ApiError("unknown_symbol", details={"unknown": unknown})
        group.cancel_scope.cancel()

    assert refused.value.details == {"unknown": unknown, "nearest": {"AALP": ["AAPL"]}}
    assert LOOKED_UP <= turns <= LOOKED_UP + 2
