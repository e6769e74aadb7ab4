"""The throttle of sign-in attempts."""

from __future__ import annotations

import itertools

import pytest

from mcp_server.calls.errors import PageRefusal
from mcp_server.limits.local_counting import LocalCounting
from screener.web.site.login_limits import Guesses, LoginLimits, TooManyRefusal

ADA, EVE = "ada@example.com", "eve@example.com"
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


async def refused(
    throttle: LoginLimits, email: str, network: str, browser: str | None = None
) -> bool:
    try:
        await throttle.count(email, network, browser)
    except PageRefusal as refusal:
        assert refusal.status == 429
        assert refusal.retry_after is not None
        assert 0 < refusal.retry_after <= 15 * 60
        return True
    return False


async def guessed(throttle: LoginLimits, times: int, email: str, network: str) -> int:
    """How many of some attempts pass the throttle."""
    return sum([not await refused(throttle, email, network) for _ in range(times)])


async def test_a_network_is_held_back_over_all_accounts_together() -> None:
    throttle = LoginLimits()

    passed = [not await refused(throttle, f"person{n}@example.com", ELSEWHERE) for n in range(105)]

    assert passed == [True] * 100 + [False] * 5
    assert not await refused(throttle, "person1@example.com", HOME)


async def test_an_account_is_guarded_from_all_networks_together() -> None:
    throttle = LoginLimits()

    passed = sum([await guessed(throttle, 20, ADA, f"203.0.113.{n}") for n in range(20)])

    assert passed == 200
    assert await refused(throttle, ADA, HOME)
    assert not await refused(throttle, EVE, HOME)


async def test_a_known_browser_is_never_refused_for_what_strangers_did() -> None:
    throttle = LoginLimits()
    for n in range(12):
        await guessed(throttle, 20, ADA, f"203.0.113.{n}")
    for n in range(100):
        await guessed(throttle, 1, f"person{n}@example.com", HOME)
    assert await refused(throttle, ADA, HOME)

    passed = [not await refused(throttle, ADA, HOME, "laptop") for _ in range(25)]

    assert passed == [True] * 20 + [False] * 5
    assert not await refused(throttle, ADA, HOME, "telephone")


async def test_what_a_known_browser_does_costs_no_stranger_anything() -> None:
    throttle = LoginLimits(Guesses(pair=1, network=1, account=1))
    for _ in range(20):
        assert not await refused(throttle, ADA, HOME, "laptop")

    assert not await refused(throttle, ADA, HOME)


@pytest.mark.parametrize("spelling", ["ADA@example.com", " ada@example.com ", "Ada@Example.Com"])
async def test_spellings_of_an_account_count_as_one(spelling: str) -> None:
    throttle = LoginLimits(Guesses(pair=1))

    assert not await refused(throttle, ADA, HOME)
    assert await refused(throttle, spelling, HOME)


@pytest.mark.parametrize("browser", [None, "laptop"])
async def test_attempts_that_succeed_do_not_count(browser: str | None) -> None:
    throttle = LoginLimits(Guesses(pair=2, network=2, account=2, browser=2))

    for _ in range(10):
        await throttle.succeed(await throttle.count(ADA, HOME, browser))


async def test_of_very_many_that_succeed_the_further_ones_count() -> None:
    throttle = LoginLimits(Guesses(pair=2, right=5))

    for _ in range(7):
        await throttle.succeed(await throttle.count(ADA, HOME))

    assert await refused(throttle, ADA, HOME)
    assert not await refused(throttle, EVE, HOME)


@pytest.mark.parametrize("order", [*itertools.permutations(("fails", "succeeds", "given back"))])
async def test_no_attempt_clears_another(order: tuple[str, ...]) -> None:
    """One wrong password stays counted, whatever happens to attempts beside it."""
    throttle = LoginLimits(Guesses(pair=3, network=3, account=3))
    attempts = {what: await throttle.count(ADA, HOME) for what in order}
    await throttle.succeed(attempts["succeeds"])
    await throttle.give_back(attempts["given back"])

    assert await guessed(throttle, 10, ADA, HOME) == 2


async def test_a_refused_attempt_costs_nothing_more() -> None:
    throttle = LoginLimits(Guesses(pair=2, network=4))
    attempts = [await throttle.count(ADA, HOME) for _ in range(2)]
    for _ in range(5):
        assert await refused(throttle, ADA, HOME)

    await throttle.give_back(attempts[0])

    assert not await refused(throttle, ADA, HOME)
    assert await guessed(throttle, 10, EVE, HOME) == 2


async def test_an_attempt_that_its_network_may_not_make_costs_the_account_nothing() -> None:
    throttle = LoginLimits(Guesses(pair=2, network=1))
    attempt = await throttle.count(EVE, HOME)
    assert await guessed(throttle, 5, ADA, HOME) == 0

    await throttle.give_back(attempt)

    assert not await refused(throttle, ADA, HOME)


async def test_the_first_refusal_is_one_for_an_account_and_one_for_a_network_beyond_its() -> None:
    now = 10_000.0
    counting = LocalCounting(monotonic=lambda: now)
    throttle = LoginLimits(Guesses(pair=1, network=2), counting=counting)

    async def first(email: str, network: str) -> bool:
        with pytest.raises(TooManyRefusal) as refusal:
            await throttle.count(email, network)
        return refusal.value.first

    for network in (HOME, ELSEWHERE):
        await throttle.count(ADA, network)
    asked = (HOME, HOME, ELSEWHERE)
    assert [await first(ADA, network) for network in asked] == [True, False, False]

    await throttle.count(EVE, HOME)
    assert [await first(f"person{n}@example.com", HOME) for n in range(3)] == [True, False, False]

    now += 15 * 60
    await throttle.count(ADA, HOME)
    assert await first(ADA, HOME)


async def test_guesses_come_back_after_a_quarter_of_an_hour() -> None:
    now = 10_000.0
    throttle = LoginLimits(Guesses(pair=1), counting=LocalCounting(monotonic=lambda: now))
    assert not await refused(throttle, ADA, HOME)

    now += 15 * 60 - 1
    assert await refused(throttle, ADA, HOME)
    now += 1
    assert not await refused(throttle, ADA, HOME)


async def test_a_refusal_is_told_in_the_log_with_its_network(
    caplog: pytest.LogCaptureFixture,
) -> None:
    throttle = LoginLimits(Guesses(pair=1))
    for network in (HOME, ELSEWHERE):
        await guessed(throttle, 2, ADA, network)

    assert [record.getMessage().split()[3] for record in caplog.records] == [HOME, ELSEWHERE]
    assert len({record.msg for record in caplog.records}) == 1  # so it is written once a minute
