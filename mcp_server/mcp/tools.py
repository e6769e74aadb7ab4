"""Tools: calls an operation through the gate and gives the JSON of an MCP tool result.

The JSON is joined from stored bytes, so that a stored answer is not decoded and encoded again. The
endpoint sends it unchanged; the SDK's own handler parses it into the SDK's types.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import NamedTuple, NoReturn

import orjson
from mcp_types import CLIENT_INFO_META_KEY

from mcp_server.calls.allowances import Allowance
from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError
from mcp_server.calls.surfaces import Conditions, ConsentNeededError, Surface
from mcp_server.mcp.app_page import DATA_KEY
from mcp_server.mcp.clients import Params, conditions_of, input_required, shows_apps
from mcp_server.mcp.toolsets import Tool, Toolset
from mcp_server.mcp.unknown_arguments import refuse_unknown
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.arguments import Arguments
from mcp_server.operations.gate import Raw, admit, invoke
from mcp_server.operations.services import Services

MAX_HOST = 200
"""Characters of a host's name that are kept."""

log = logging.getLogger(__name__)


class ToolCall(NamedTuple):
    """A valid call of a tool, as the gate takes it: all that its parameters say."""

    tool: Tool
    surface: Surface
    raw: Raw
    conditions: Conditions
    host: str
    """The MCP host's name and version, if it sent them."""
    is_elsewhere: bool
    """Whether the tool needs a key, at an address that takes none."""

    @classmethod
    def of(cls, tool: Tool, toolset: Toolset, params: Params, version: str) -> ToolCall:
        """The call that `params` of a valid `tools/call` of a protocol version describe."""
        meta, sent = params.get("_meta"), params.get("arguments") or {}
        return cls(
            tool,
            toolset.surface(app=shows_apps(version, params)),
            # Where some arguments are unknown, a refusal stands in their place in the gate.
            tool.raw_arguments(sent)
            if all(name in tool.arguments for name in sent)
            else partial(refuse_unknown, tool, toolset.tools, sent),
            conditions_of(version, params),
            host_name(meta.get(CLIENT_INFO_META_KEY)) if isinstance(meta, Mapping) else "",
            toolset.keyless and tool.operation.access == "keyed",
        )


async def call_tool(
    call: ToolCall, caller: Caller, services: Services, stamp: bytes = b""
) -> tuple[bytes, Arguments | None]:
    """The result of a call as JSON, and the validated arguments; a refusal is a result with
    `isError`, and has none.

    `stamp` is the JSON that the modern protocol era adds to the result's `_meta`.
    """
    if call.host:
        caller = caller._replace(host=call.host)
    try:
        if call.is_elsewhere:
            await _refuse_keyed(call.surface, caller, services)
        answer, allowance, arguments = await invoke(
            call.tool.operation,
            call.raw,
            caller,
            services,
            surface=call.surface,
            conditions=call.conditions,
        )
    except ApiError as error:
        return _failed(error, stamp), None
    except ConsentNeededError as needed:
        return input_required(needed, stamp), None
    except Exception:
        log.exception("The tool %s failed", call.tool.name)
        return _failed(ApiError("internal_error"), stamp), None
    return _succeeded(answer, allowance, stamp), arguments


def host_name(info: object) -> str:
    """The name and version of an MCP host, as it states them, in one printable text."""
    if not isinstance(info, Mapping):
        return ""
    text = f"{info.get('name', '')}/{info.get('version', '')}"
    return "".join(filter(str.isprintable, text))[:MAX_HOST]


async def _refuse_keyed(surface: Surface, caller: Caller, services: Services) -> NoReturn:
    raise ApiError(
        "missing_api_key",
        "The demo endpoint answers only demo and get_family_track_record.",
        fix=f"Connect {services.offer.mcp_url} instead and sign in, or send the header "
        "`Authorization: Bearer <API_KEY>` there.",
        allowance=await admit("keyless", caller, services, surface),
    )


def _failed(error: ApiError, stamp: bytes) -> bytes:
    text = orjson.dumps(error.text())
    meta = _meta(error.allowance, stamp)
    return b'{"content":[{"type":"text","text":%b}],"isError":true%b}' % (text, meta)


def _succeeded(answer: Answer, allowance: Allowance, stamp: bytes) -> bytes:
    content = answer.forms.get("content")
    if content is None:
        content = answer.forms["content"] = _content(answer)
    parts = [b'{"content":[', content, b"]"]
    if answer.media_type != PNG:
        parts += b',"structuredContent":', answer.body
    parts += b',"isError":false', _meta(allowance, stamp, answer.app), b"}"
    return b"".join(parts)


def _content(answer: Answer) -> bytes:
    """The content blocks of an answer. JSON comes first: some hosts show only the first block."""
    blocks = []
    picture = answer.body if answer.media_type == PNG else answer.picture
    if answer.media_type != PNG:
        blocks.append(b'{"type":"text","text":%b}' % orjson.dumps(answer.body.decode()))
    if picture is not None:
        image = base64.b64encode(picture)
        blocks.append(b'{"type":"image","data":"%b","mimeType":"image/png"}' % image)
    if answer.caption is not None:
        blocks.append(b'{"type":"text","text":%b}' % orjson.dumps(answer.caption))
    return b",".join(blocks)


def _meta(allowance: Allowance | None, stamp: bytes, app: bytes | None = None) -> bytes:
    """The `_meta` of a result: the stamp, the quotas under the names of their HTTP fields, and what
    the chart page draws.
    """
    entries = [stamp] if stamp else []
    if allowance is not None:
        state = allowance.state.replace(b'"', b'\\"')
        entries.append(b'%b,"RateLimit":"%b"' % (_policy(allowance.policy), state))
    if app is not None:
        entries.append(b'"%b":%b' % (DATA_KEY.encode(), app))
    if not entries:
        return b""
    era = b',"resultType":"complete"' if stamp else b""
    return b'%b,"_meta":{%b}' % (era, b",".join(entries))


@lru_cache(maxsize=8)
def _policy(policy: bytes) -> bytes:
    """A policy, of which a service has few, as JSON."""
    return b'"RateLimit-Policy":"%b"' % policy.replace(b'"', b'\\"')
