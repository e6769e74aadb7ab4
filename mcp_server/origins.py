"""Origins: which Host and Origin headers an endpoint accepts, against DNS rebinding."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Origins:
    """Two allow-lists; an entry that ends in `:*` accepts every port."""

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    def knows_host(self, host: str) -> bool:
        """Whether a Host header may name this service."""
        return _allows(self._hosts, host)

    def knows_origin(self, origin: str) -> bool:
        """Whether a browser may call from here; other clients send no origin at all."""
        return not origin or _allows(self._origins, origin)


def _allows(allowed: Collection[str], value: str) -> bool:
    if value in allowed:
        return True
    name, colon, port = value.rpartition(":")
    return bool(colon) and port.isdigit() and f"{name}:*" in allowed
