"""Results: what came of a tool call, spliced as the JSON of an MCP result from stored bytes.

The SDK renders the same from its types; a golden test holds both equal. Splicing spares decoding a
stored answer only to encode it again.
"""

from __future__ import annotations

import base64

import orjson

from mcp_server.allowances import Allowance
from mcp_server.calls import Served
from mcp_server.errors import ApiError

Outcome = Served | ApiError
"""What the gate said of one tool call."""

_FAILED = b'{"content":[{"type":"text","text":%b}],"isError":true%b}'


def result(outcome: Outcome, stamp: bytes = b"") -> bytes:
    """The `CallToolResult` of an outcome; `stamp` is what the later protocol era adds to it."""
    if isinstance(outcome, ApiError):
        text = orjson.dumps(outcome.text())
        return _FAILED % (text, _meta(outcome.allowance, stamp))
    blocks = []
    if outcome.page is not None:
        # The JSON comes first: hosts that show one block show that one.
        blocks.append(b'{"type":"text","text":%b}' % outcome.page.text)
    if outcome.png is not None:
        image = base64.b64encode(outcome.png.body)
        blocks.append(b'{"type":"image","data":"%b","mimeType":"image/png"}' % image)
    if outcome.caption is not None:
        blocks.append(b'{"type":"text","text":%b}' % orjson.dumps(outcome.caption))
    structured = b""
    if outcome.page is not None:
        structured = b',"structuredContent":%b' % outcome.page.body
    return b'{"content":[%b]%b,"isError":false%b}' % (
        b",".join(blocks),
        structured,
        _meta(outcome.allowance, stamp),
    )


def _meta(allowance: Allowance | None, stamp: bytes) -> bytes:
    """What is left of the caller's quotas, under the names of the HTTP fields, and the stamp."""
    if allowance is None and not stamp:
        return b""
    entries = [stamp] if stamp else []
    if allowance is not None:
        quoted = (field.replace(b'"', b'\\"') for field in allowance)
        entries.append(b'"RateLimit-Policy":"%b","RateLimit":"%b"' % tuple(quoted))
    era = b',"resultType":"complete"' if stamp else b""
    return b'%b,"_meta":{%b}' % (era, b",".join(entries))
