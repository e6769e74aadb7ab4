"""Callers: who is calling and by what, what their user agreed to, and what is left of their quotas.

Nothing of this holds a secret.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

from store.accounts.keys import Principal

MAX_ADDRESS = 64
"""Characters of an address: IPv6 with an IPv4 part has 45, and a zone may follow."""

UNKNOWN = "unknown"


class Caller(NamedTuple):
    """The sender of one call: somebody with a live credential, with a bad one, or with none."""

    address: str
    """The address of the connection."""
    principal: Principal | None = None
    refused: Literal["key", "token", "no_bearer", "unavailable"] | None = None
    """The kind of a bad credential; `no_bearer` if the field has no usable one, and `unavailable`
    if it could not be looked up.
    """
    client: str = ""
    """The client's own name: X-Service-Client, else the User-Agent."""
    host: str = ""
    """The MCP host's name and version, if it sent them."""
    is_key: bool = False
    """Whether an API key stands where no usable Bearer is: a key never starts a sign-in."""
    sent: str = ""
    """What was sent in place of a usable Bearer, in words of ours; empty if nothing was."""

    @property
    def network(self) -> str:
        """What keyless limits count by."""
        return network_of(self.address)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The network of an address: an IPv4 address, or an IPv6 /64, since a host owns one; `unknown`
    for any other text. What is asked for is remembered: a text that a proxy passes on is cut to
    `MAX_ADDRESS` before.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((parsed, 64), strict=False).network_address)
    return str(parsed)


@lru_cache(maxsize=4096)
def site_of(network: str) -> str:
    """The /48 that an IPv6 network, as `network_of` names it, is a part of; empty for any other."""
    if ":" not in network:
        return ""
    return str(ipaddress.ip_network((network, 48), strict=False))


class Allowance(NamedTuple):
    """What is left of a caller's quotas, in the terms of the draft `ratelimit-headers`."""

    policy: bytes
    """What each window allows: the value of `RateLimit-Policy`."""
    state: bytes
    """What each window has left: the value of `RateLimit`."""


class Surface(NamedTuple):
    """What a call came by."""

    name: Literal["rest", "mcp"]
    """Calls without a key are counted for each apart; MCP shows a picture beside the JSON."""
    app: bool = False
    """Whether its client may draw an answer on a page of its own."""
    edits: bool = False
    """Whether it has the tools that add and remove tickers."""


REST = Surface("rest")


class Consent(NamedTuple):
    """What a client that can ask its user was told, if it asked already."""

    given: bool | None = None
    """Whether the user agreed; None before they were asked."""
    closed: bool = False
    """Whether they closed the question instead of answering it."""
    to: str = ""
    """What they were asked about, as `ConsentNeededError.to` named it."""


class Conditions(NamedTuple):
    """What must hold before the tracked list is changed."""

    unchanged: Callable[[bytes], bool] | None = None
    """Whether the list that has this tag is the one that the client has seen; None: any list is."""
    consent: Consent | None = None
    """None for a client that cannot ask its user."""


NO_CONDITIONS = Conditions()


class ConsentNeededError(Exception):
    """The user must agree first; nothing was changed."""

    def __init__(self, question: str, to: str) -> None:
        super().__init__(question)
        self.question = question
        self.to = to
        """Names exactly what is asked about, so that a later answer counts for nothing else."""
