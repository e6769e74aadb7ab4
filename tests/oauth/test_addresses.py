"""Addresses: which are on the public Internet."""

from __future__ import annotations

import pytest

from oauth.addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "93.184.215.14", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"),
        "64:ff9b::808:808",
    ],
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255"),
        *("127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
        *("192.0.0.9", "192.0.0.170", "192.0.2.1", "192.31.196.1", "192.52.193.1"),
        *("192.88.99.1", "192.168.1.1", "192.175.48.1", "198.18.0.1", "198.51.100.1"),
        *("203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    ],
)
def test_a_special_address_is_not_public_in_any_form(address: str) -> None:
    a, b, c, d = (int(part) for part in address.split("."))
    low = f"{a:02x}{b:02x}:{c:02x}{d:02x}"
    flipped = f"{a ^ 255:02x}{b ^ 255:02x}:{c ^ 255:02x}{d ^ 255:02x}"

    assert not is_public(address)
    assert not is_public(f"::ffff:{address}")
    assert not is_public(f"::{address}")
    assert not is_public(f"64:ff9b::{address}")
    assert not is_public(f"64:ff9b:1::{address}")
    assert not is_public(f"2002:{low}::1")
    assert not is_public(f"2001:0:808:808:0:0:{flipped}")


@pytest.mark.parametrize(
    "address",
    [
        *("::", "::1", "100::1", "2001:db8::1", "2001:20::1", "2002:808:808::1", "2620:4f:8000::1"),
        *("3fff::1", "4000::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0"),
        *("fec0::1", "ff02::1", "ff0e::1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8"),
        *("", "0", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "8.8.8.8 "),
    ],
)
def test_other_special_addresses_and_what_is_none_are_not_public(address: str) -> None:
    assert not is_public(address)
