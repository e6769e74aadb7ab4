"""Bearer: finds out who is calling, by the Authorization field (RFC 6750 section 2.1).

A credential counts nowhere else. A bad one is no error here: each surface answers it in its own
way.
"""

from __future__ import annotations

import logging
import re
from base64 import b64decode
from urllib.parse import parse_qsl

from mcp_server.calls.callers import Caller
from mcp_server.http.requests import Scope
from store.accounts.principals import Principals
from store.errors import DatabaseError

MAX_CREDENTIAL = 512
"""Most bytes of an Authorization field that is read."""

TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")
"""Every credential that a Bearer field may carry (RFC 6750 section 2.1)."""

PLACEHOLDER = re.compile(
    rb"(?i)<.*>|[$%{].*[}%]|[$%]\w+|(your|my|the)[_-]?\w*(key|token|secret)\w*|x{8,}|"
    rb"([a-z]+_)?(api[_-]?key|access[_-]?token|token)(_here)?|undefined|null|none|changeme"
)
MAX_PLACEHOLDER = 64
"""What stands in examples and settings for a credential that nobody filled in."""

ELSEWHERE = (b"x-api-key", b"api-key", b"apikey", b"x-auth-token", b"x-access-token", b"x-token")
"""Fields in which other services take a key."""

PARAMETERS = frozenset({"apikey", "api_key", "api-key", "key", "token", "access_token", "apitoken"})
"""Parameters of an address in which other services take a key."""

log = logging.getLogger(__name__)


class Bearer:
    """Finds callers; passed to the surfaces, which ask only where an operation is."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals

    async def identify(self, scope: Scope) -> Caller:
        """The caller of a request, with what the credential in its header stands for."""
        caller: Caller = scope["caller"]
        credentials = scope["fields"].get(b"authorization")
        if credentials is None:
            return self._without(scope, caller)
        parts = credentials.split() if len(credentials) <= MAX_CREDENTIAL else []
        token = _token(parts)
        try:
            principal = await self._principals.find(token) if token else None
        except DatabaseError as error:
            # Never reported as a bad credential, because hosts then delete their tokens.
            log.warning("A credential was not looked up: %s", error)
            return caller._replace(refused="unavailable")
        if principal is not None:
            return Caller(caller.address, principal, None, caller.client)
        is_key = self._principals.prefix.encode() in credentials + _decoded(parts)
        if len(credentials) > MAX_CREDENTIAL:
            return caller._replace(refused="key" if is_key else "token")
        if fault := _fault(parts):
            return caller._replace(refused="no_bearer", is_key=is_key, sent=fault)
        return caller._replace(refused="key" if is_key else "token")

    def _without(self, scope: Scope, caller: Caller) -> Caller:
        """The caller of a request without an Authorization field; it may have a key elsewhere."""
        fields, prefix = scope["fields"], self._principals.prefix
        for name in ELSEWHERE:
            if name in fields:
                sent = f"the field {name.decode()}, which is not read"
                return caller._replace(is_key=prefix.encode() in fields[name], sent=sent)
        query = scope["query_string"].lower()
        if b"key=" in query or b"token=" in query:
            for name, value in parse_qsl(query.decode("latin-1")):
                if name.lower() in PARAMETERS:
                    sent = "a key in the address, where logs keep it: replace that key"
                    return caller._replace(is_key=value.startswith(prefix), sent=sent)
        return caller


def _token(parts: list[bytes]) -> str:
    """The credential of an Authorization field; empty if it is not of two words, or not Bearer.
    The scheme is case-insensitive (RFC 9110 section 11.1); two fields are no credential.
    """
    is_bearer = len(parts) == 2 and parts[0].lower() == b"bearer" and parts[1].isascii()
    return parts[1].decode("ascii") if is_bearer else ""


def _decoded(parts: list[bytes]) -> bytes:
    """What a Basic field has encoded, such as a key as its user name (`curl -u`)."""
    is_basic = len(parts) == 2 and parts[0].lower() == b"basic"
    try:
        return b64decode(parts[1]) if is_basic else b""
    except ValueError:
        return b""


def _fault(parts: list[bytes]) -> str:
    """What is wrong with the words of an Authorization field; empty if they are a usable Bearer."""
    if not parts:
        return "an empty field"
    if parts[0].lower() != b"bearer":
        known = parts[0].lower() in (b"basic", b"token", b"apikey", b"api-key", b"key", b"digest")
        return f"the scheme {parts[0].decode()}" if known else "something without the word Bearer"
    if len(parts) == 1:
        return "Bearer without a key"
    if len(parts) > 2:
        return "more than one word after Bearer, or two fields"
    if len(parts[1]) <= MAX_PLACEHOLDER and PLACEHOLDER.fullmatch(parts[1]):
        return "a placeholder that nobody filled in"
    if parts[1][:1] in b"\"'`" or parts[1][-1:] in b"\"'`":
        return "the key in quotes"
    return "" if TOKEN.fullmatch(parts[1]) else "characters that no key has"
