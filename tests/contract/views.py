"""What a page and an answer tell of one setup."""

from __future__ import annotations

from typing import Any

from tests.agent import asked
from tests.service import Service


async def asked_for(live: Service, tool: str = "scan_setups", **arguments: Any) -> dict[str, Any]:
    """The answer of a tool of the extended address, of the scan unless told otherwise."""
    answer = await asked(live, tool, **arguments)
    assert not answer.is_error
    return dict(answer.structured_content or {})


def scanned(live: Service, **asked: Any) -> list[dict[str, Any]]:
    asked = {"status": "all", "limit": 200, **asked}
    return list(live.get("/scan", params=asked).json()["setups"])
