"""Tool calls: what the parameters of one say, and its result as JSON, by way of the gate.

The JSON is joined from stored bytes, so that a stored answer is not decoded and encoded again.

A client of the 2026-07-28 era says with every call what it can do, and what its user answered. A
client of an earlier era says so once, in a handshake that leaves no state here.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, NoReturn

import mcp_types as types
import orjson
from mcp.server.apps import EXTENSION_ID
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.calls.callers import (
    NO_CONDITIONS,
    Allowance,
    Caller,
    Conditions,
    Consent,
    ConsentNeededError,
    Surface,
)
from mcp_server.calls.errors import ApiError
from mcp_server.mcp.app_page import DATA_KEY
from mcp_server.mcp.toolsets import Tool, Toolset
from mcp_server.mcp.unknown_arguments import IgnoredArgument, left_out, refuse_unknown
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.arguments import Arguments
from mcp_server.operations.gate import Raw, admit, execute
from mcp_server.operations.services import Services

MAX_HOST = 200
"""Characters of a host's name that are kept."""

QUESTION = "confirm"
"""The name of our one question in `inputRequests`."""

LEFT_KEY = b"pattern-screener/left_out"
"""The key of the arguments that were left out, in a result's `_meta`."""

Params = Mapping[str, Any]
"""The parameters of a request, as sent."""

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
    left_out: IgnoredArgument
    """The arguments that the tool does not take, which are left out."""

    @classmethod
    def of(cls, tool: Tool, toolset: Toolset, params: Params, version: str) -> ToolCall:
        """The call that `params` of a valid `tools/call` of a protocol version describe."""
        meta, sent = params.get("_meta"), params.get("arguments") or {}
        whole = all(name in tool.arguments and name != "family" for name in sent)
        left = IgnoredArgument() if whole else left_out(tool, toolset.tools, sent)
        return cls(
            tool,
            toolset.surface(app=_shows_apps(version, params)),
            # Where an argument is nearly known, a refusal stands in their place in the gate.
            partial(refuse_unknown, tool, toolset.tools, sent)
            if left is None
            else tool.raw_arguments(sent),
            _conditions(version, params),
            host_name(meta.get(types.CLIENT_INFO_META_KEY)) if isinstance(meta, Mapping) else "",
            toolset.keyless and tool.operation.access == "keyed",
            left or IgnoredArgument(),
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
        answer, allowance, arguments = await execute(
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
        return _input_required(needed, stamp), None
    except Exception:
        log.exception("The tool %s failed", call.tool.name)
        return _failed(ApiError("internal_error"), stamp), None
    return _succeeded(answer, allowance, stamp, call.left_out), arguments


def host_name(info: object) -> str:
    """The name and version of an MCP host, as it states them, in one printable text."""
    if not isinstance(info, Mapping):
        return ""
    text = f"{info.get('name', '')}/{info.get('version', '')}"
    return "".join(filter(str.isprintable, text))[:MAX_HOST]


def _shows_apps(version: str, params: Params) -> bool:
    """Whether a client shows an answer on a page. In an earlier era nothing says so, and the page
    itself asks for what it draws: the bars would reach the model of some hosts.
    """
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return DATA_KEY in (params.get("arguments") or {})
    extensions = _capabilities(params).get("extensions")
    return isinstance(extensions, Mapping) and EXTENSION_ID in extensions


def _conditions(version: str, params: Params) -> Conditions:
    """What a client demands before the tracked list changes: its user's consent, if it can ask."""
    elicitation = _capabilities(params).get("elicitation")
    # An empty object stands for forms, as before the modes had names.
    asks = isinstance(elicitation, Mapping) and ("form" in elicitation or not elicitation)
    if version in HANDSHAKE_PROTOCOL_VERSIONS or not asks:
        return NO_CONDITIONS
    responses, state = params.get("inputResponses"), params.get("requestState")
    response = responses.get(QUESTION) if isinstance(responses, Mapping) else None
    if not isinstance(response, Mapping):
        return Conditions(consent=Consent())
    action = response.get("action")
    asked_about = state if isinstance(state, str) else ""
    return Conditions(consent=Consent(action == "accept", action == "cancel", asked_about))


def _capabilities(params: Params) -> Params:
    meta = params.get("_meta")
    sent = meta.get(types.CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None
    return sent if isinstance(sent, Mapping) else {}


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


def _input_required(needed: ConsentNeededError, stamp: bytes) -> bytes:
    """The result that has the client ask its user, and then call again.

    The state that comes back names the change that was asked about. It needs no seal: a client that
    forges it has its own user's word for a change of that user's list.
    """
    question = types.ElicitRequestFormParams(
        message=needed.question, requested_schema={"type": "object", "properties": {}}
    )
    request = types.ElicitRequest(params=question)
    asked = {QUESTION: request.model_dump(mode="json", by_alias=True, exclude_none=True)}
    body = {"resultType": "input_required", "inputRequests": asked, "requestState": needed.to}
    return b'%b,"_meta":{%b}}' % (orjson.dumps(body)[:-1], stamp)


def _succeeded(answer: Answer, allowance: Allowance, stamp: bytes, left: IgnoredArgument) -> bytes:
    if left.conditions and answer.media_type != PNG:
        # Some hosts show their model the structured content and no text.
        more = orjson.dumps({"not_applied": left.conditions})[1:]
        answer = replace(answer, body=b"%b,%b" % (answer.body[:-1], more))
    content = answer.forms.get("content")
    if content is None:
        content = answer.forms["content"] = _content(answer)
    if left.words:
        content += b',{"type":"text","text":%b}' % orjson.dumps(left.words)
    parts = [b'{"content":[', content, b"]"]
    if answer.media_type != PNG:
        parts += b',"structuredContent":', answer.body
    parts += b',"isError":false', _meta(allowance, stamp, answer.app, left.names), b"}"
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
    said = filter(None, (answer.caption, answer.warning))
    blocks += (b'{"type":"text","text":%b}' % orjson.dumps(words) for words in said)
    return b",".join(blocks)


def _meta(
    allowance: Allowance | None,
    stamp: bytes,
    app: bytes | None = None,
    left: Sequence[str] = (),
) -> bytes:
    """The `_meta` of a result: the stamp, the quotas under the names of their HTTP fields, what the
    chart page draws, and the names of arguments that were left out.
    """
    entries = [stamp] if stamp else []
    if allowance is not None:
        state = allowance.state.replace(b'"', b'\\"')
        entries.append(b'%b,"RateLimit":"%b"' % (_policy(allowance.policy), state))
    if app is not None:
        entries.append(b'"%b":%b' % (DATA_KEY.encode(), app))
    if left:
        entries.append(b'"%b":%b' % (LEFT_KEY, orjson.dumps(left)))
    if not entries:
        return b""
    era = b',"resultType":"complete"' if stamp else b""
    return b'%b,"_meta":{%b}' % (era, b",".join(entries))


@lru_cache(maxsize=8)
def _policy(policy: bytes) -> bytes:
    """A policy, of which a service has few, as JSON."""
    return b'"RateLimit-Policy":"%b"' % policy.replace(b'"', b'\\"')
