"""Values: what the settings of addresses may hold. What is nonsense is refused, not passed over."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

HOST = r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])"
"""A name, an IPv4 address, or an IPv6 address in brackets."""

PORT = r"(:([0-9]{1,5}|\*))?"


def proxy(text: str) -> str:
    """An address or a network, or `*`.

    Raises:
        ValueError: it is neither.
    """
    if text == "*":
        return text
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} {_instead_of(text)}") from None
    return text


def _instead_of(text: str) -> str:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return "is no address or network; write 127.0.0.1, 10.0.0.0/8 or *"
    return f"is an address within a network; write {network} or {text.partition('/')[0]}"


def host(text: str) -> str:
    """What a Host field holds, or `name:*` for any port.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(HOST + PORT, text):
        raise ValueError(f"{text!r} is no host; write screener.example.com or 10.0.0.7:*")
    return text


def origin(text: str) -> str:
    """What an Origin field holds, or one with `*` as its port.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(f"[a-z][a-z0-9+.-]*://{HOST}{PORT}", text):
        raise ValueError(
            f"{text!r} is no origin; write scheme and host, such as https://app.example.com"
        )
    return text


def address(text: str) -> str:
    """An address that clients use: scheme and host, in lower case, without a slash at its end.

    Raises:
        ValueError: it is none.
    """
    bare = text.rstrip("/")
    if not re.fullmatch(r"https?://[^/?#\s@]+", bare, re.IGNORECASE) or not _has_host(bare):
        raise ValueError("must be scheme and host, such as https://screener.example.com")
    # Clients send a host in lower case (RFC 3986 section 3.2.2), and addresses are compared.
    return bare.lower()


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, or brackets are open
        return False


def overlap(one: str, other: str) -> bool:
    """Whether sockets on two addresses would take the same port."""
    return one == other or bool({one, other} & {"0.0.0.0", "::", ""})  # noqa: S104 - compared, not bound
