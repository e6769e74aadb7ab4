"""The throttle of sign-in attempts."""

from __future__ import annotations

import pytest

from web.refusals import Refusal
from web.throttle import Throttle


def refused(throttle: Throttle, email: str, address: str) -> bool:
    try:
        throttle.count(email, address)
    except Refusal as refusal:
        assert refusal.status == 429
        assert refusal.retry_after is not None
        assert 0 < refusal.retry_after <= 15 * 60
        return True
    return False


def test_an_account_is_guarded_from_all_addresses_together() -> None:
    throttle = Throttle(per_account=3)

    attempts = [refused(throttle, "ada@example.com", f"10.0.0.{n}") for n in range(5)]

    assert attempts == [False, False, False, True, True]
    assert not refused(throttle, "eve@example.com", "10.0.0.9")


def test_an_address_is_held_back_over_all_accounts_together() -> None:
    throttle = Throttle(per_address=3)

    attempts = [refused(throttle, f"person{n}@example.com", "10.0.0.1") for n in range(5)]

    assert attempts == [False, False, False, True, True]
    assert not refused(throttle, "person1@example.com", "10.0.0.2")


@pytest.mark.parametrize("spelling", ["ADA@example.com", " ada@example.com ", "Ada@Example.Com"])
def test_spellings_of_an_account_count_as_one(spelling: str) -> None:
    throttle = Throttle(per_account=1)

    assert not refused(throttle, "ada@example.com", "10.0.0.1")
    assert refused(throttle, spelling, "10.0.0.1")


def test_attempts_that_succeed_do_not_count() -> None:
    throttle = Throttle(per_account=2, per_address=2)

    for _ in range(10):
        assert not refused(throttle, "ada@example.com", "10.0.0.1")
        throttle.give_back("ada@example.com", "10.0.0.1")


def test_a_refused_attempt_costs_nothing_more() -> None:
    throttle = Throttle(per_account=2)
    for _ in range(2):
        throttle.count("ada@example.com", "10.0.0.1")
    for _ in range(5):
        assert refused(throttle, "ada@example.com", "10.0.0.1")

    throttle.give_back("ada@example.com", "10.0.0.1")

    assert not refused(throttle, "ada@example.com", "10.0.0.1")
