"""Addresses: which are on the public Internet, so that a stranger may have us fetch from them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The part of IPv6 that is allocated for global unicast (RFC 4291 section 2.4)."""

NAT64 = IPv6Network("64:ff9b::/96")
"""IPv4 as seen from IPv6-only networks (RFC 6052); the embedded IPv4 address is checked instead."""

SPECIAL = tuple(
    ip_network(network)
    for network in (
        *("192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.175.48.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48"),
        "3fff::/20",
    )
)
"""Special-purpose networks (RFC 6890), such as tunnels, that some releases of `ipaddress` call
global."""


def is_ip_address(host: str) -> bool:
    """Whether a host is an IP address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an address, in any notation, is on the public Internet."""
    if not is_ip_address(address):
        return False
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed in NAT64:
            parsed = IPv4Address(int(parsed) & 0xFFFF_FFFF)
        elif parsed not in GLOBAL_UNICAST:
            return False
    if parsed.is_multicast or parsed.is_reserved or not parsed.is_global:
        return False
    return not any(parsed in network for network in SPECIAL)
