"""Types of settings: what addresses may hold, and how those that may hold a secret are printed.

What is nonsense is refused, not passed over.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, Secret

from store.accounts import BRAND

HIDDEN: Final = "***"

HOST = r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])"
"""A name, an IPv4 address, or an IPv6 address in brackets."""

REDIS = "write redis://:PASSWORD@HOST:PORT/NUMBER, rediss:// for TLS, or unix:///PATH"

REDIS_OPTIONS = frozenset((
    "db", "username", "password", "protocol", "client_name",
    "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname", "ssl_cert_reqs",
))  # fmt: skip
"""What may stand after the question mark: time-outs and retries are the service's own."""

PORT = r"(:([0-9]{1,5}|\*))?"

PLACE = r"[A-Za-z0-9]+://[^@?#;]*"
"""The address of a store of objects that names a place, and nothing else."""


class SecretAddress(Secret[str]):
    """An address that holds a password or a token; whatever prints it shows none of it."""

    def _display(self) -> str:
        return HIDDEN


class ServerAddress(SecretAddress):
    """The address of a database or of a Redis; it is printed without its password."""

    def _display(self) -> str:
        from store.database.problems import without_password

        return without_password(self.get_secret_value())


class StoreAddress(SecretAddress):
    """The address of a store of objects; one with more than a place is refused, and not printed."""

    def _display(self) -> str:
        url = self.get_secret_value()
        return url if re.fullmatch(PLACE, url) else HIDDEN


def filled(value: object) -> object:
    """What is not blank: a blank path is the current folder, a blank host every address.

    Raises:
        ValueError: it is blank.
    """
    if isinstance(value, str) and not value.strip():
        raise ValueError("must not be blank; leave it unset for its default")
    return value


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
        return "is not an address or network; write 127.0.0.1, 10.0.0.0/8 or *"
    return f"is an address within a network; write {network} or {text.partition('/')[0]}"


def host(text: str) -> str:
    """What a Host field holds, or `name:*` for any port.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(HOST + PORT, text):
        raise ValueError(f"{text!r} is not a host; write screener.example.com or 10.0.0.7:*")
    return text


def origin(text: str) -> str:
    """What an Origin field holds, or one with `*` as its port.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(f"[a-z][a-z0-9+.-]*://{HOST}{PORT}", text):
        raise ValueError(
            f"{text!r} is not an origin; write scheme and host, such as https://app.example.com"
        )
    return text


def symbol(text: str) -> str:
    """A symbol, in upper case.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(r"[A-Z0-9.]{1,24}", text.upper()):
        raise ValueError("must be symbols of letters, digits and dots, separated by commas")
    return text.upper()


def key_prefix(text: str) -> str:
    """What API keys begin with.

    Raises:
        ValueError: it has another length or other characters, or tokens begin so.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{8}", text):
        raise ValueError("must be 8 letters, digits, underscores or hyphens")
    if text.startswith(BRAND):
        raise ValueError(f"must not begin with {BRAND}, as the tokens of sign-in do")
    return text


def registry_name(text: str) -> str:
    """A name in the MCP registry.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", text):
        raise ValueError("must be a reversed domain, a slash and a name: com.example/screener")
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


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_trusted(address: str, proxies: Iterable[str]) -> bool:
    """Whether an address is that of a trusted proxy."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(one == "*" or ip in ipaddress.ip_network(one) for one in proxies)


def overlap(one: str, other: str) -> bool:
    """Whether sockets on two addresses would take the same port."""
    return one == other or bool({one, other} & {"0.0.0.0", "::"})  # noqa: S104 - compared, not bound


def redis(url: ServerAddress) -> ServerAddress:
    """The URL of a Redis, as redis-py reads it; no error repeats it.

    Raises:
        ValueError: it is none.
    """
    try:
        parts = urlsplit(url.get_secret_value())
        _ = parts.port  # raises if it is no number, or too large
        is_valid = _is_redis(parts)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"is not the address of a Redis; {REDIS}")
    unknown = sorted({name for name, _ in parse_qsl(parts.query)} - REDIS_OPTIONS)
    if unknown:
        raise ValueError(f"has an option that is not known; {', '.join(sorted(REDIS_OPTIONS))} are")
    return url


def _is_redis(parts: SplitResult) -> bool:
    if parts.fragment:
        return False
    if parts.scheme == "unix":
        return len(parts.path) > 1
    number = parts.path.removeprefix("/")
    is_number = not number or (number.isascii() and number.isdigit())
    return parts.scheme in ("redis", "rediss") and bool(parts.hostname) and is_number


T = TypeVar("T")

OrUnset = Annotated[T | None, BeforeValidator(lambda value: value or None)]
"""A value; none where it is blank."""

Filled = BeforeValidator(filled)
FilledPath = Annotated[Path, Filled]
Address = Annotated[str, Filled]
Url = Annotated[str, AfterValidator(address)]
RedisAddress = Annotated[ServerAddress, AfterValidator(redis)]
Proxy = Annotated[str, AfterValidator(proxy)]
Host = Annotated[str, AfterValidator(host)]
Origin = Annotated[str, AfterValidator(origin)]
Symbol = Annotated[str, AfterValidator(symbol)]
KeyPrefix = Annotated[str, AfterValidator(key_prefix)]
RegistryName = Annotated[str, Field(max_length=200), AfterValidator(registry_name)]
