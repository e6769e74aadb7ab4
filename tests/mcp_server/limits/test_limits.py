"""The rate limits: what counts, what is refused, and how long the wait is."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError
from mcp_server.limits.limits import SITE, Limiter, Quotas
from mcp_server.limits.local_counting import LocalCounting
from tests.counting import MIDNIGHT, Clock, keyed

STRANGER = Caller("192.0.2.1")
NEIGHBOUR = Caller("192.0.2.2")


@pytest.fixture
def clock() -> Clock:
    """A clock at noon."""
    return Clock()


def limited(clock: Clock | None = None, folder: Path | None = None, **quotas: int) -> Limiter:
    """A limiter with some quotas."""
    clock = clock or Clock()
    return Limiter(Quotas(**quotas), LocalCounting(folder, monotonic=clock, utc=clock))


async def refused(call: Coroutine[Any, Any, object]) -> ApiError:
    """The refusal of a call."""
    with pytest.raises(ApiError) as refusal:
        await call
    assert refusal.value.code == "rate_limited"
    return refusal.value


def wait(refusal: ApiError) -> int:
    """The seconds that a refusal asks to wait, which its message tells too."""
    assert refusal.details is not None
    seconds: int = refusal.details["retry_after_seconds"]
    assert refusal.message.endswith(f"; wait {seconds} s.")
    return seconds


def state(refusal: ApiError) -> bytes:
    """What a refusal says is left."""
    assert refusal.allowance is not None
    return refusal.allowance.state


async def test_the_limits_are_those_that_clients_were_promised() -> None:
    assert Quotas() == Quotas(key_per_minute=60, key_per_day=10_000, keyless_per_minute=30)


async def test_all_keys_of_an_account_share_its_own_larger_minute() -> None:
    limiter = limited(key_per_minute=2, account_multiple=2)
    for prefix in "aabb":
        await limiter.count(keyed(prefix), "rest")

    refusal = await refused(limiter.count(keyed("c"), "rest"))

    assert refusal.message.startswith("More than 4 calls in 60 s with all keys of one account;")
    assert state(refusal).startswith(b'"minute";r=0;t=60,')
    assert await limiter.count(keyed("c", account_id=2), "rest")


async def test_a_call_that_its_account_refuses_uses_up_nothing_of_its_key(clock: Clock) -> None:
    limiter = limited(clock, key_per_minute=2, key_per_day=3, account_multiple=1)
    for prefix in "ab":
        await limiter.count(keyed(prefix), "rest")
    await refused(limiter.count(keyed("b"), "rest"))
    clock.now += 60

    left = (await limiter.count(keyed("b"), "rest")).state
    assert left.startswith(b'"minute";r=1;t=60, "day";r=0;')


async def test_more_keys_buy_no_longer_day(clock: Clock) -> None:
    limiter = limited(clock, key_per_minute=9, key_per_day=2, account_multiple=2)
    for prefix in "aabb":
        await limiter.count(keyed(prefix), "rest")

    assert wait(await refused(limiter.count(keyed("c"), "rest"))) == 43_200
    clock.now += 43_200
    await limiter.count(keyed("a"), "rest")


async def test_a_day_goes_on_where_an_earlier_process_left_it() -> None:
    limiter = limited(key_per_day=3, account_multiple=2)

    await limiter.resume([(1, "a", 2), (1, "b", 3), (2, "c", 1)])

    assert b'"day";r=0;' in (await limiter.count(keyed("a"), "rest")).state
    await refused(limiter.count(keyed("a"), "rest"))  # the account's day is full too
    await refused(limiter.count(keyed("d"), "rest"))
    await limiter.count(keyed("c", account_id=2), "rest")


async def test_requests_that_are_no_calls_count_beside_the_calls_of_their_key() -> None:
    limiter = limited(key_per_minute=1, other_per_minute=2)
    for _ in range(2):
        await limiter.count_other(keyed("a"), "list")

    refusal = await refused(limiter.count_other(keyed("a"), "list"))

    assert refusal.message == "More than 2 requests in 60 s of one account; wait 60 s."
    await limiter.count_other(keyed("b", account_id=2), "list")
    await limiter.count(keyed("a"), "rest")


async def test_requests_with_a_bad_credential_count_for_their_address() -> None:
    limiter = limited(other_per_minute=1)
    await limiter.count_other(Caller("192.0.2.1", refused="key"), "refused")

    refusal = await refused(limiter.count_other(STRANGER, "refused"))

    assert "from one address" in refusal.message
    await limiter.count_other(NEIGHBOUR, "refused")
    # Neither a good credential from the same address nor a list or a page is stopped by them.
    await limiter.count_other(keyed("a"), "list")
    await limiter.count_other(STRANGER, "list")
    await limiter.count_page("192.0.2.1", None)


async def test_pages_of_strangers_stop_nobody_who_is_signed_in() -> None:
    limiter = limited(other_per_minute=1)
    for session in (None, "one", "other"):
        await limiter.count_page("192.0.2.1", session)

    await refused(limiter.count_page("192.0.2.1", None))
    assert "for pages" in (await refused(limiter.count_page("192.0.2.2", "one"))).message


async def test_pictures_are_counted_for_whom_pages_are_and_apart_from_them() -> None:
    limiter = limited(other_per_minute=1)
    await limiter.count_page("192.0.2.1", None)
    for _ in range(4):
        await limiter.count_picture("192.0.2.1", None)
    await limiter.count_picture("192.0.2.1", "session")
    await limiter.count_picture("192.0.2.2", None)

    refusal = await refused(limiter.count_picture("192.0.2.1", None))

    assert "More than 4 pictures" in refusal.message


async def test_each_call_is_told_its_quotas_and_what_is_left_of_them(clock: Clock) -> None:
    limiter = limited(clock, key_per_minute=3, key_per_day=9, keyless_per_minute=3)
    told = []
    for seconds in (0, 10.5):
        clock.now += seconds
        told += [await limiter.count(caller, "rest") for caller in (keyed("a"), STRANGER)]
    first, _, second, keyless = told

    assert first.policy == second.policy == b'"minute";q=3;w=60, "day";q=9;w=86400'
    assert first.state == b'"minute";r=2;t=60, "day";r=8;t=43200'
    assert second.state == b'"minute";r=1;t=50, "day";r=7;t=43190'
    assert keyless.policy == b'"keyless-minute";q=3;w=60'
    assert keyless.state == b'"keyless-minute";r=1;t=50'


async def test_a_refusal_of_the_minute_names_it_and_waits_for_its_oldest_call(clock: Clock) -> None:
    limiter = limited(clock, key_per_minute=1, keyless_per_minute=2)
    for caller in (keyed("a"), STRANGER, STRANGER):
        await limiter.count(caller, "rest")
    clock.now += 20

    key = await refused(limiter.count(keyed("a"), "rest"))
    address = await refused(limiter.count(STRANGER, "rest"))

    assert wait(key) == wait(address) == 40
    assert key.message.startswith("More than 1 calls in 60 s with one key;")
    assert address.message.startswith("More than 2 calls in 60 s without a key;")
    assert state(key) == b'"minute";r=0;t=40, "day";r=9999;t=43180'
    assert state(address) == b'"keyless-minute";r=0;t=40'
    assert address.allowance is not None
    assert address.allowance.policy == b'"keyless-minute";q=2;w=60'


@pytest.mark.parametrize(
    ("per_minute", "until_midnight", "window", "waited"),
    [
        (5, 43_200, 86_400, 43_200),
        (5, 10, 86_400, 10),
        (2, 43_200, 86_400, 43_200),
        (2, 61, 86_400, 61),
        (2, 60, 60, 60),
        (2, 10, 60, 60),
    ],
)
async def test_a_refusal_of_the_day_waits_for_midnight_or_for_the_minute_if_that_is_longer(
    per_minute: int, until_midnight: int, window: int, waited: int, clock: Clock
) -> None:
    clock.now = MIDNIGHT - until_midnight
    limiter = limited(clock, key_per_minute=per_minute, key_per_day=2)
    for _ in range(2):
        await limiter.count(keyed("a"), "rest")

    refusal = await refused(limiter.count(keyed("a"), "rest"))

    assert refusal.message.startswith(f"More than 2 calls in {window} s with one key;")
    assert wait(refusal) == waited
    assert state(refusal).endswith(b'"day";r=0;t=%d' % until_midnight)


async def test_apps_that_an_address_introduces_have_a_limit_of_their_own() -> None:
    limiter = limited(apps_per_minute=1)
    await limiter.count_app("192.0.2.1")

    told = (await refused(limiter.count_app("192.0.2.1"))).message
    assert told.startswith("More than 1 apps in 60 s from one address;")
    await limiter.count_app("192.0.2.2")


async def test_a_call_that_cannot_be_counted_is_refused_with_the_wait() -> None:
    counting = LocalCounting(slots=1)
    limiter = Limiter(Quotas(), counting)
    await limiter.count(keyed("a"), "rest")

    with pytest.raises(ApiError) as refusal:
        await limiter.count(keyed("b", 2), "rest")

    assert refusal.value.code == "unavailable"
    assert (refusal.value.details or {})["retry_after_seconds"] >= 1


async def test_who_may_not_call_at_all_is_told_to_wait_a_second() -> None:
    assert wait(await refused(limited(keyless_per_minute=0).count(STRANGER, "rest"))) == 1


async def test_a_day_whose_quota_was_lowered_has_nothing_left() -> None:
    limiter = limited(key_per_day=2)
    await limiter.resume([(1, "a", 4)])

    assert b'"day";r=0;' in state(await refused(limiter.count(keyed("a"), "rest")))


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
async def test_an_address_counts_as_itself_or_its_ipv6_network(address: str, bucket: str) -> None:
    assert Caller(address).network == bucket


async def test_addresses_of_ipv4_share_no_quota() -> None:
    limiter = limited(keyless_per_minute=1)
    for n in range(SITE + 1):
        await limiter.count(Caller(f"192.0.2.{n}"), "rest")


async def test_a_site_is_counted_apart_for_each_surface_and_kind_of_request() -> None:
    limiter = limited(keyless_per_minute=1, other_per_minute=1)
    for n in range(SITE):
        caller = Caller(f"2001:db8:0:{n:x}::1")
        await limiter.count(caller, "rest")
        await limiter.count_other(caller, "refused")

    fresh = Caller("2001:db8:0:ffff::1")
    await limiter.count(fresh, "mcp")
    await limiter.count_other(fresh, "list")
    await limiter.count_page(fresh.network, None)
    await refused(limiter.count(fresh, "rest"))
    await refused(limiter.count_other(fresh, "refused"))


async def test_the_networks_of_one_ipv6_site_share_a_wider_quota() -> None:
    limiter = limited(keyless_per_minute=2, other_per_minute=1)
    for n in range(SITE):
        caller = Caller(f"2001:db8:0:{n:x}::1")
        for _ in range(2):
            await limiter.count(caller, "rest")
        await limiter.count_other(caller, "refused")
        await limiter.count_page(caller.network, None)

    fresh = Caller("2001:db8:0:ffff::1")
    calls = {
        f"More than {2 * SITE} calls in 60 s without a key": limiter.count(fresh, "rest"),
        f"More than {SITE} requests in 60 s from one": limiter.count_other(fresh, "refused"),
        f"More than {SITE} requests in 60 s for pages": limiter.count_page(fresh.network, None),
    }
    for words, call in calls.items():
        assert words in (await refused(call)).message
    # Another site, an address of IPv4 and whoever is signed in are not stopped by them.
    await limiter.count(Caller("2001:db8:1::1"), "rest")
    await limiter.count(STRANGER, "rest")
    await limiter.count_page(fresh.network, "session")
