"""Clients: what a client of the 2026-07-28 era says that it can do, and what its user answered.

A client of an earlier era says so once, in a handshake that leaves no state here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import orjson
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.calls.surfaces import Conditions, Consent, ConsentNeededError

APPS = "io.modelcontextprotocol/ui"
"""The extension of pages that a host shows beside an answer."""

QUESTION = "confirm"
"""The name of our one question in `inputRequests`."""

Params = Mapping[str, Any]
"""The parameters of a request, as sent."""


def shows_apps(version: str, params: Params) -> bool:
    """Whether a client may show an answer on a page: any of an earlier era might."""
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return True
    extensions = _capabilities(params).get("extensions")
    return isinstance(extensions, Mapping) and APPS in extensions


def conditions_of(version: str, params: Params) -> Conditions:
    """What a client demands before the tracked list changes: its user's consent, if it can ask."""
    elicitation = _capabilities(params).get("elicitation")
    # An empty object stands for forms, as before the modes had names.
    asks = isinstance(elicitation, Mapping) and ("form" in elicitation or not elicitation)
    if version in HANDSHAKE_PROTOCOL_VERSIONS or not asks:
        return Conditions()
    given: bool | None = None
    closed = False
    responses, state = params.get("inputResponses"), params.get("requestState")
    response = responses.get(QUESTION) if isinstance(responses, Mapping) else None
    if isinstance(response, Mapping):
        given, closed = response.get("action") == "accept", response.get("action") == "cancel"
    return Conditions(consent=Consent(given, closed, state if isinstance(state, str) else ""))


def input_required(needed: ConsentNeededError, stamp: bytes) -> bytes:
    """The JSON of the result that has the client ask its user, and then call again.

    The state that comes back names the change that was asked about. It needs no seal: a client that
    forges it has its own user's word for a change of that user's list.
    """
    question = types.ElicitRequestFormParams(
        message=needed.question, requested_schema={"type": "object", "properties": {}}
    )
    request = types.ElicitRequest(params=question)
    body: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {
            QUESTION: request.model_dump(mode="json", by_alias=True, exclude_none=True)
        },
        "requestState": needed.to,
    }
    return b'%b,"_meta":{%b}}' % (orjson.dumps(body)[:-1], stamp)


def _capabilities(params: Params) -> Params:
    meta = params.get("_meta")
    found = meta.get(types.CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None
    return found if isinstance(found, Mapping) else {}
