"""What a page and an answer tell of one setup."""

from __future__ import annotations

from typing import Any

from tests.agent import call, connected
from tests.service import Service

SYMBOLS = ("AAPL", "GOOG", "IBM", "MSFT")


async def asked_for(live: Service, key: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool of the extended address."""
    async with connected(live.extended_url, key) as client:
        answer = await call(client, tool, **arguments)
    assert not answer.is_error
    return dict(answer.structured_content or {})


def scanned(live: Service, **asked: Any) -> list[dict[str, Any]]:
    asked = {"status": "all", "limit": 200, **asked}
    return list(live.get("/scan", params=asked).json()["setups"])
