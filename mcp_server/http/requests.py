"""HTTP requests: reading the body, Accept, Accept-Encoding, If-None-Match, Host and Origin."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

Scope = MutableMapping[str, Any]
"""An ASGI scope or event."""
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Header = tuple[bytes, bytes]

MAX_QUERY = 8 * 1024
"""Most bytes of a query."""

MAX_FIELDS, MAX_FIELD_BYTES = 100, 64 * 1024
"""Most fields of a header, and their bytes; the connection refuses larger ones."""

MAX_BODY = 64 * 1024
"""Most bytes of a body. A list of 200 symbols, the most that a plan tracks, has about 3 KB."""

INCOMPLETE = "was not sent completely"

MAX_DRAINED = 16 * 1024 * 1024
"""Most bytes of a too large body that are received and dropped before the response is sent: a
client that is still sending does not read it."""

HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?")
"""A Host field: a name, or an address (of IPv6 in brackets), with a port or without."""

MAX_WEIGHTS = 2048
"""Bytes of an Accept or Accept-Encoding field that are read; browsers send about 150."""


LISTS = (b"host", b"authorization", b"accept", b"accept-encoding", b"if-match", b"if-none-match")
"""Fields whose repetitions are read as one list. A list is no host and no credential."""


class BodyError(Exception):
    """A body that is refused with a status; the text ends the sentence that says why."""

    def __init__(self, status: int, fault: str) -> None:
        super().__init__(fault)
        self.status = status


def join_repeated(fields: dict[bytes, bytes], headers: Iterable[Header]) -> None:
    """Put all values of a repeated list into its field (RFC 9110 section 5.3). Other repeated
    fields keep their last value.
    """
    for name in LISTS:
        if name in fields:
            fields[name] = b", ".join(value for each, value in headers if each == name)


async def read_body(receive: Receive) -> bytes:
    """The body of a request.

    Raises:
        BodyError: it has more bytes than `MAX_BODY` (413), or the client went away before it was
            complete (400).
    """
    message = await receive()
    if message["type"] == "http.disconnect":
        raise BodyError(400, INCOMPLETE)
    body: bytes = message.get("body", b"")
    size = len(body)
    while message.get("more_body", False) and size <= MAX_DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyError(400, INCOMPLETE)
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MAX_BODY:
            body += piece
    if size > MAX_BODY:
        raise BodyError(413, f"is over {MAX_BODY // 1024} KB")
    return body


def parse_weights(field: bytes) -> dict[str, float]:
    """The weight of each item in an Accept or Accept-Encoding field (RFC 9110 section 12.4.2).

    Only the first bytes of a long one are read.
    """
    found = {}
    for item in field[:MAX_WEIGHTS].decode("latin-1").lower().split(","):
        name, _, parameters = item.partition(";")
        weight = next((p.strip()[2:] for p in parameters.split(";") if p.strip()[:2] == "q="), "1")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            found[name.strip()] = 0.0
    return found


def accepts_json(accept: bytes) -> bool:
    """Whether an Accept field accepts application/json; an absent one accepts anything."""
    # A shortcut for what hosts send in practice: no weights are parsed.
    if not accept or accept.startswith(b"application/json,"):
        return True
    named = parse_weights(accept)
    taken = ("application/json", "application/*", "*/*")
    return next((named[name] for name in taken if name in named), 0.0) > 0


def prefers_html(accept: bytes) -> bool:
    """Whether an Accept field names text/html with at least the weight of application/json."""
    return _prefers(accept, "text/html", "application/json")


def prefers_markdown(accept: bytes) -> bool:
    """Whether an Accept field names text/markdown with at least the weight of text/html.

    Browsers do not name it, and `*/*` does not either.
    """
    return _prefers(accept, "text/markdown", "text/html")


def _prefers(accept: bytes, media_type: str, other: str) -> bool:
    """Whether a type is accepted, with at least the weight of another."""
    weights = parse_weights(accept)
    weight = weights.get(media_type, 0.0)
    return weight > 0 and weight >= weights.get(other, 0.0)


def best_coding(accept_encoding: bytes, offered: tuple[str, ...]) -> str | None:
    """The offered coding of highest weight, the first among equals; None if none is accepted."""
    return _best_coding(accept_encoding[:MAX_WEIGHTS], offered)


@lru_cache(maxsize=256)
def _best_coding(accept_encoding: bytes, offered: tuple[str, ...]) -> str | None:
    named = parse_weights(accept_encoding)
    rest = named.get("*", 0.0)
    best = max(offered, key=lambda coding: named.get(coding, rest))
    return best if named.get(best, rest) > 0 else None


def names_etag(if_none_match: bytes, etag: bytes) -> bool:
    """Whether an If-None-Match field names a quoted ETag (RFC 9110 section 13.1.2)."""
    named = (candidate.strip().removeprefix(b"W/") for candidate in if_none_match.split(b","))
    return if_none_match.strip() == b"*" or etag in named


def is_below(path: str, starts: Iterable[str]) -> bool:
    """Whether a path is one of these, or below one of them."""
    return any(path == start or path.startswith(f"{start}/") for start in starts)


def host_of(scope: Scope) -> bytes | None:
    """The Host field of a request; empty where HTTP/1.0 has none, None where it is missing,
    repeated or malformed (RFC 9112 section 3.2).
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if not hosts and scope.get("http_version") == "1.0":
        return b""
    return hosts[0] if len(hosts) == 1 and HOST.fullmatch(hosts[0]) else None


def is_local(host: bytes) -> bool:
    """Whether a Host field holds `localhost` or an IP address (of IPv6 in brackets: RFC 3986,
    section 3.2.2), with a port or without.
    """
    found = HOST.fullmatch(host)
    name = found[1].decode().lower() if found else ""
    version = 6 if name.startswith("[") else 4
    try:
        return name == "localhost" or ip_address(name.strip("[]")).version == version
    except ValueError:
        return False


class Origins:
    """The values of Host and Origin that are accepted, as a defence of a server that is private.

    A stranger's page has a browser send requests to whatever the browser reaches, under a name of
    the stranger (DNS rebinding) or under the server's own. An entry that ends in `:*` accepts every
    port, and none.
    """

    def __init__(
        self, hosts: Iterable[str], origins: Iterable[str], open_host: str | None = None
    ) -> None:
        self._hosts = frozenset(host.lower().encode() for host in hosts)
        self._origins = frozenset(origin.encode() for origin in origins)
        self._open_host = None if open_host is None else open_host.lower().encode()

    def knows_host(self, host: bytes) -> bool:
        """Whether a Host field names this service, in any case."""
        return host.lower() in self._hosts or _with_any_port(self._hosts, host.lower())

    def is_harmless(self, host: bytes) -> bool:
        """Whether no stranger's name is in a Host field: a number is in no stranger's power."""
        return self.knows_host(host) or is_local(host)

    def admits(self, origin: bytes, host: bytes) -> bool:
        """Whether a page of this origin may call this host; other clients send no Origin.

        Any page may call the open host, since its author reaches that host without a browser too.
        """
        if host.lower() == self._open_host:
            return True
        return origin in self._origins or _with_any_port(self._origins, origin)


def _with_any_port(allowed: Collection[bytes], value: bytes) -> bool:
    name, colon, port = value.rpartition(b":")
    return (name if colon and port.isdigit() else value) + b":*" in allowed
