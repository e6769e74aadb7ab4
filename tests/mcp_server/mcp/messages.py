"""Messages to the MCP endpoint of a running service."""

from __future__ import annotations

from typing import Any

import httpx

from tests.agent import message


def post(url: str, key: str, method: str, **params: Any) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.post(url, json=message(method, **params), headers=headers, timeout=30)
