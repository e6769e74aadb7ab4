"""Tools: calls an operation through the gate and gives the JSON of an MCP tool result.

The JSON is joined from stored bytes, so that a stored answer is not decoded and encoded again. The
endpoint sends it unchanged; the SDK's own handler parses it into the SDK's types.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from functools import partial

import orjson

from mcp_server.operations.allowances import Allowance
from mcp_server.operations.answers import PNG, Answer, Result
from mcp_server.operations.callers import Caller
from mcp_server.operations.errors import ApiError
from mcp_server.operations.gate import Raw, admit, invoke
from mcp_server.operations.services import Services
from mcp_server.operations.surfaces import ConsentNeededError
from mcp_server.surface.app_page import DATA_KEY
from mcp_server.surface.clients import Params, conditions_of, input_required, shows_apps
from mcp_server.surface.toolsets import Tool, Toolset
from mcp_server.surface.unknown_arguments import refuse_unknown

MAX_HOST = 200
"""Characters of a host's name that are kept."""

log = logging.getLogger(__name__)


async def call_tool(
    tool: Tool,
    toolset: Toolset,
    params: Params,
    version: str,
    caller: Caller,
    services: Services,
    stamp: bytes = b"",
) -> bytes:
    """The result of a call as JSON; a refusal is a result with `isError`.

    `params` are those of a valid `tools/call` of protocol version `version`. `stamp` is the JSON
    that the modern protocol era adds to the result's `_meta`.
    """
    surface = toolset.surface(app=shows_apps(version, params))
    try:
        if toolset.keyless and tool.operation.access == "keyed":
            return _failed(await _demo_refusal(toolset, caller, services), stamp)
        result = await invoke(
            tool.operation,
            _raw(tool, toolset, params.get("arguments") or {}),
            caller,
            services,
            surface=surface,
            conditions=conditions_of(version, params),
        )
    except ApiError as error:
        return _failed(error, stamp)
    except ConsentNeededError as needed:
        return input_required(needed, stamp)
    except Exception:
        log.exception("The tool %s failed", tool.name)
        return _failed(ApiError("internal_error"), stamp)
    return _succeeded(result, stamp)


def host_name(info: object) -> str:
    """The name and version of an MCP host, as it states them, in one printable text."""
    if not isinstance(info, Mapping):
        return ""
    text = f"{info.get('name', '')}/{info.get('version', '')}"
    return "".join(filter(str.isprintable, text))[:MAX_HOST]


def _raw(tool: Tool, toolset: Toolset, sent: Params) -> Raw:
    """The arguments of a call; where some are unknown, a refusal in their place in the gate."""
    if all(name in tool.arguments for name in sent):
        return tool.raw_arguments(sent)
    return partial(refuse_unknown, tool, toolset.tools, sent)


async def _demo_refusal(toolset: Toolset, caller: Caller, services: Services) -> ApiError:
    return ApiError(
        "missing_api_key",
        "The demo endpoint answers only demo and get_family_track_record.",
        fix=f"Connect {services.offer.mcp_url} instead and sign in, or send the header "
        "`Authorization: Bearer <API_KEY>` there.",
        allowance=await admit("keyless", caller, services, toolset.surface()),
    )


def _failed(error: ApiError, stamp: bytes) -> bytes:
    text = orjson.dumps(error.text())
    meta = _meta(error.allowance, stamp)
    return b'{"content":[{"type":"text","text":%b}],"isError":true%b}' % (text, meta)


def _succeeded(result: Result, stamp: bytes) -> bytes:
    answer = result.answer
    content = answer.forms.get("content")
    if content is None:
        content = answer.forms["content"] = _content(answer)
    parts = [b'{"content":[', content, b"]"]
    if answer.media_type != PNG:
        parts += b',"structuredContent":', answer.body
    parts += b',"isError":false', _meta(result.allowance, stamp, answer.app), b"}"
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
        policy = allowance.policy.replace(b'"', b'\\"')
        state = allowance.state.replace(b'"', b'\\"')
        entries.append(b'"RateLimit-Policy":"%b","RateLimit":"%b"' % (policy, state))
    if app is not None:
        entries.append(b'"%b":%b' % (DATA_KEY.encode(), app))
    if not entries:
        return b""
    era = b',"resultType":"complete"' if stamp else b""
    return b'%b,"_meta":{%b}' % (era, b",".join(entries))
