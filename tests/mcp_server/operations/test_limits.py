"""The rate limits: what counts, what is refused, and how long the wait is."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from mcp_server.operations.callers import Caller
from mcp_server.operations.errors import ApiError
from mcp_server.operations.limits import Limiter, Quotas
from store.accounts import Account, Key, Plan, Principal

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def keyed(prefix: str) -> Caller:
    account = Account(1, "ada@example.com", Plan.PREMIUM, True, NOW)
    return Caller("192.0.2.1", Principal(account, Key(prefix, "laptop", NOW, None)))


def test_a_key_is_refused_after_its_minute_and_told_how_long_to_wait() -> None:
    limiter = Limiter(Quotas(key_per_minute=3))
    for _ in range(3):
        limiter.count(keyed("a"), "rest")

    with pytest.raises(ApiError) as refusal:
        limiter.count(keyed("a"), "mcp")

    assert refusal.value.code == "rate_limited"
    assert refusal.value.details is not None
    assert 1 <= refusal.value.details["retry_after_seconds"] <= 60


def test_another_key_has_its_own_minute() -> None:
    limiter = Limiter(Quotas(key_per_minute=1))
    limiter.count(keyed("a"), "rest")

    limiter.count(keyed("b"), "rest")


def test_a_key_is_refused_after_its_day_until_midnight_utc() -> None:
    limiter = Limiter(Quotas(key_per_day=2))
    for _ in range(2):
        limiter.count(keyed("a"), "rest")

    with pytest.raises(ApiError) as refusal:
        limiter.count(keyed("a"), "rest")

    assert refusal.value.details is not None
    until_midnight = 86_400 - time.time() % 86_400
    assert refusal.value.details["retry_after_seconds"] == pytest.approx(until_midnight, abs=3)


def test_a_new_utc_day_starts_a_new_count() -> None:
    day = [1_000_000 * 86_400.0]
    limiter = Limiter(Quotas(key_per_day=1), clock=lambda: day[0])
    limiter.count(keyed("a"), "rest")

    day[0] += 86_400

    limiter.count(keyed("a"), "rest")


def test_a_call_refused_for_its_day_does_not_use_up_its_minute() -> None:
    day = [1_000_000 * 86_400.0]
    limiter = Limiter(Quotas(key_per_minute=2, key_per_day=1), clock=lambda: day[0])
    limiter.count(keyed("a"), "rest")
    for _ in range(5):
        with pytest.raises(ApiError):
            limiter.count(keyed("a"), "rest")

    day[0] += 86_400

    limiter.count(keyed("a"), "rest")


def test_callers_without_a_key_share_their_address_on_each_surface() -> None:
    limiter = Limiter(Quotas(keyless_per_minute=1))
    limiter.count(Caller("192.0.2.1"), "rest")

    limiter.count(Caller("192.0.2.1"), "mcp")
    limiter.count(Caller("192.0.2.2"), "rest")
    with pytest.raises(ApiError):
        limiter.count(Caller("192.0.2.1"), "rest")


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("not an address", "unknown"),
        ("", "unknown"),
    ],
)
def test_an_address_counts_as_itself_or_its_ipv6_network(address: str, bucket: str) -> None:
    assert Caller(address).network == bucket
