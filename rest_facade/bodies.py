"""Request bodies: read up to a bound, and only as one JSON object."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.types import Receive

from mcp_server.errors import ApiError

MAX_BODY = 64 * 1024


async def read_object(receive: Receive) -> dict[str, Any]:
    """The JSON object a request carries.

    Raises:
        ApiError: `payload_too_large` over 64 KB; `bad_request` for anything but an object.
    """
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError("bad_request", "The body was not sent to its end.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            raise ApiError("payload_too_large", f"The body is over {MAX_BODY // 1024} KB.")
    try:
        content = orjson.loads(bytes(body))
    except orjson.JSONDecodeError as error:
        raise ApiError("bad_request", "The body is not JSON.") from error
    if not isinstance(content, dict):
        raise ApiError("bad_request", "The body must be a JSON object.")
    return content
