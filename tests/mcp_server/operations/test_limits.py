"""The rate limits: what counts, what is refused, and how long the wait is."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_server.operations.callers import Caller
from mcp_server.operations.counting import Counting
from mcp_server.operations.errors import ApiError
from mcp_server.operations.limits import SITE, Limiter, Quotas
from mcp_server.operations.local_counting import LocalCounting
from store.accounts import Account, Plan
from store.keys import Key, Principal
from tests.counting import MIDNIGHT, Clock

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def keyed(prefix: str, account_id: int = 1) -> Caller:
    account = Account(account_id, "ada@example.com", Plan.PREMIUM, True, NOW)
    return Caller("192.0.2.1", Principal(account, Key(prefix, "laptop", NOW, None)))


async def test_a_key_is_refused_after_its_minute_and_told_how_long_to_wait(
    counting: Counting,
) -> None:
    limiter = Limiter(Quotas(key_per_minute=3), counting)
    for _ in range(3):
        await limiter.count(keyed("a"), "rest")

    with pytest.raises(ApiError) as refusal:
        await limiter.count(keyed("a"), "mcp")

    assert refusal.value.code == "rate_limited"
    assert refusal.value.details is not None
    assert 1 <= refusal.value.details["retry_after_seconds"] <= 60


async def test_another_key_has_its_own_minute(counting: Counting) -> None:
    limiter = Limiter(Quotas(key_per_minute=1), counting)
    await limiter.count(keyed("a"), "rest")

    await limiter.count(keyed("b"), "rest")


async def test_all_keys_of_an_account_share_its_own_larger_minute(counting: Counting) -> None:
    limiter = Limiter(Quotas(key_per_minute=2, account_multiple=2), counting)
    for prefix in "aabb":
        await limiter.count(keyed(prefix), "rest")

    refusal = await refused(limiter, keyed("c"))

    assert refusal.message.startswith("More than 4 calls in 60 s with all keys of one account;")
    assert refusal.allowance is not None
    assert refusal.allowance.state.startswith(b'"minute";r=0;t=60,')
    assert await limiter.count(keyed("c", account_id=2), "rest")


async def test_a_call_that_its_account_refuses_uses_up_nothing_of_its_key(
    counting: Counting, clock: Clock
) -> None:
    limiter = Limiter(Quotas(key_per_minute=2, key_per_day=3, account_multiple=1), counting)
    for prefix in "ab":
        await limiter.count(keyed(prefix), "rest")
    await refused(limiter, keyed("b"))
    clock.now += 60

    assert (await limiter.count(keyed("b"), "rest")).state.startswith(
        b'"minute";r=1;t=60, "day";r=0;'
    )


async def test_more_keys_buy_no_longer_day(counting: Counting) -> None:
    limiter = Limiter(Quotas(key_per_minute=9, key_per_day=2, account_multiple=2), counting)
    for prefix in "aabb":
        await limiter.count(keyed(prefix), "rest")

    refusal = await refused(limiter, keyed("c"))

    assert wait(refusal) == 43_200


async def test_a_day_goes_on_where_an_earlier_process_left_it(counting: Counting) -> None:
    limiter = Limiter(Quotas(key_per_day=3, account_multiple=2), counting)

    await limiter.resume([(1, "a", 2), (1, "b", 3), (2, "c", 1)])

    assert b'"day";r=0;' in (await limiter.count(keyed("a"), "rest")).state
    await refused(limiter, keyed("a"))  # the account's day is full too
    await refused(limiter, keyed("d"))
    await limiter.count(keyed("c", account_id=2), "rest")


async def test_requests_that_are_no_calls_count_beside_the_calls_of_their_key(
    counting: Counting,
) -> None:
    limiter = Limiter(Quotas(key_per_minute=1, other_per_minute=2), counting)
    for _ in range(2):
        await limiter.count_other(keyed("a"), "list")

    with pytest.raises(ApiError) as refusal:
        await limiter.count_other(keyed("a"), "list")

    assert refusal.value.message == "More than 2 requests in 60 s of one account; wait 60 s."
    await limiter.count_other(keyed("b", account_id=2), "list")
    await limiter.count(keyed("a"), "rest")


async def test_requests_with_a_bad_credential_count_for_their_address(counting: Counting) -> None:
    limiter = Limiter(Quotas(other_per_minute=1), counting)
    await limiter.count_other(Caller("192.0.2.1", refused="key"), "refused")

    with pytest.raises(ApiError, match="from one address"):
        await limiter.count_other(Caller("192.0.2.1"), "refused")

    await limiter.count_other(Caller("192.0.2.2"), "refused")
    # Neither a good credential from the same address nor a list or a page is stopped by them.
    await limiter.count_other(keyed("a"), "list")
    await limiter.count_other(Caller("192.0.2.1"), "list")
    await limiter.count_page("192.0.2.1", None)


async def test_pages_of_strangers_stop_nobody_who_is_signed_in(counting: Counting) -> None:
    limiter = Limiter(Quotas(other_per_minute=1), counting)
    await limiter.count_page("192.0.2.1", None)

    with pytest.raises(ApiError):
        await limiter.count_page("192.0.2.1", None)

    await limiter.count_page("192.0.2.1", "one")
    await limiter.count_page("192.0.2.1", "other")
    with pytest.raises(ApiError, match="for pages"):
        await limiter.count_page("192.0.2.2", "one")


async def test_a_key_is_refused_after_its_day_until_midnight_utc(counting: Counting) -> None:
    limiter = Limiter(Quotas(key_per_day=2), counting)
    for _ in range(2):
        await limiter.count(keyed("a"), "rest")

    with pytest.raises(ApiError) as refusal:
        await limiter.count(keyed("a"), "rest")

    assert refusal.value.details is not None
    assert refusal.value.details["retry_after_seconds"] == 43_200


async def test_a_new_utc_day_starts_a_new_count(counting: Counting, clock: Clock) -> None:
    limiter = Limiter(Quotas(key_per_day=1), counting)
    await limiter.count(keyed("a"), "rest")

    clock.now += 86_400

    await limiter.count(keyed("a"), "rest")


async def test_a_call_refused_for_its_day_does_not_use_up_its_minute(
    counting: Counting, clock: Clock
) -> None:
    limiter = Limiter(Quotas(key_per_minute=2, key_per_day=1), counting)
    await limiter.count(keyed("a"), "rest")
    for _ in range(5):
        with pytest.raises(ApiError):
            await limiter.count(keyed("a"), "rest")

    clock.now += 86_400

    await limiter.count(keyed("a"), "rest")


async def test_callers_without_a_key_share_their_address_on_each_surface(
    counting: Counting,
) -> None:
    limiter = Limiter(Quotas(keyless_per_minute=1), counting)
    await limiter.count(Caller("192.0.2.1"), "rest")

    await limiter.count(Caller("192.0.2.1"), "mcp")
    await limiter.count(Caller("192.0.2.2"), "rest")
    with pytest.raises(ApiError):
        await limiter.count(Caller("192.0.2.1"), "rest")


async def refused(limiter: Limiter, caller: Caller, surface: str = "rest") -> ApiError:
    """The refusal of a call."""
    with pytest.raises(ApiError) as refusal:
        await limiter.count(caller, surface)
    assert refusal.value.code == "rate_limited"
    return refusal.value


def wait(refusal: ApiError) -> int:
    """The seconds that a refusal asks to wait, which its message tells too."""
    assert refusal.details is not None
    seconds: int = refusal.details["retry_after_seconds"]
    assert refusal.message.endswith(f"; wait {seconds} s.")
    return seconds


async def test_each_call_is_told_its_quotas_and_what_is_left_of_them(
    counting: Counting, clock: Clock
) -> None:
    limiter = Limiter(Quotas(key_per_minute=3, key_per_day=9), counting)

    first = await limiter.count(keyed("a"), "rest")
    clock.now += 10.5
    second = await limiter.count(keyed("a"), "rest")

    assert first.policy == second.policy == b'"minute";q=3;w=60, "day";q=9;w=86400'
    assert first.state == b'"minute";r=2;t=60, "day";r=8;t=43200'
    assert second.state == b'"minute";r=1;t=50, "day";r=7;t=43190'


async def test_each_call_without_a_key_is_told_its_quota_and_what_is_left_of_it(
    counting: Counting, clock: Clock
) -> None:
    limiter = Limiter(Quotas(keyless_per_minute=3), counting)

    await limiter.count(Caller("192.0.2.1"), "rest")
    clock.now += 10.5
    second = await limiter.count(Caller("192.0.2.1"), "rest")

    assert second.policy == b'"keyless-minute";q=3;w=60'
    assert second.state == b'"keyless-minute";r=1;t=50'


async def test_a_refusal_of_the_minute_names_it_and_waits_for_its_oldest_call(
    counting: Counting, clock: Clock
) -> None:
    limiter = Limiter(Quotas(key_per_minute=1, keyless_per_minute=2), counting)
    await limiter.count(keyed("a"), "rest")
    for _ in range(2):
        await limiter.count(Caller("192.0.2.1"), "rest")
    clock.now += 20

    key, address = await refused(limiter, keyed("a")), await refused(limiter, Caller("192.0.2.1"))

    assert wait(key) == wait(address) == 40
    assert key.message.startswith("More than 1 calls in 60 s with one key;")
    assert address.message.startswith("More than 2 calls in 60 s without a key;")
    assert key.allowance is not None
    assert key.allowance.state == b'"minute";r=0;t=40, "day";r=9999;t=43180'
    assert address.allowance is not None
    assert address.allowance.policy == b'"keyless-minute";q=2;w=60'
    assert address.allowance.state == b'"keyless-minute";r=0;t=40'


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
    per_minute: int, until_midnight: int, window: int, waited: int, counting: Counting, clock: Clock
) -> None:
    clock.now = MIDNIGHT - until_midnight
    limiter = Limiter(Quotas(key_per_minute=per_minute, key_per_day=2), counting)
    for _ in range(2):
        await limiter.count(keyed("a"), "rest")

    refusal = await refused(limiter, keyed("a"))

    assert refusal.message.startswith(f"More than 2 calls in {window} s with one key;")
    assert wait(refusal) == waited
    assert refusal.allowance is not None
    assert refusal.allowance.state.endswith(b'"day";r=0;t=%d' % until_midnight)


async def test_who_may_not_call_at_all_is_told_to_wait_a_second(counting: Counting) -> None:
    limiter = Limiter(Quotas(keyless_per_minute=0), counting)

    assert wait(await refused(limiter, Caller("192.0.2.1"))) == 1


@asynccontextmanager
async def sharing(folder: Path, *quotas: Quotas) -> AsyncIterator[list[Limiter]]:
    """Limiters that count in one folder, as those of several processes do."""
    limiters = [Limiter(each, LocalCounting(Clock(), folder / "counters")) for each in quotas]
    yield limiters
    for limiter in limiters:
        await limiter.counting.close()


async def test_limiters_of_several_processes_count_in_one_folder(tmp_path: Path) -> None:
    quotas = Quotas(key_per_minute=2, keyless_per_minute=1)
    async with sharing(tmp_path, quotas, quotas) as limiters:
        for limiter in limiters:
            await limiter.count(keyed("a"), "rest")
        await limiters[0].count(Caller("192.0.2.1"), "rest")

        for limiter in limiters:
            await refused(limiter, keyed("a"))
            await refused(limiter, Caller("192.0.2.1"))


async def test_a_day_whose_quota_was_lowered_has_nothing_left(tmp_path: Path) -> None:
    async with sharing(tmp_path, Quotas(key_per_day=5), Quotas(key_per_day=2)) as (before, after):
        for _ in range(4):
            await before.count(keyed("a"), "rest")

        refusal = await refused(after, keyed("a"))

    assert refusal.allowance is not None
    assert b'"day";r=0;' in refusal.allowance.state


async def test_the_limits_are_those_that_clients_were_promised() -> None:
    assert Quotas() == Quotas(key_per_minute=60, key_per_day=10_000, keyless_per_minute=30)


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


async def test_pictures_are_counted_for_whom_pages_are_and_apart_from_them(
    counting: Counting,
) -> None:
    limiter = Limiter(Quotas(other_per_minute=1), counting)

    await limiter.count_page("192.0.2.1", None)
    for _ in range(4):
        await limiter.count_picture("192.0.2.1", None)
    await limiter.count_picture("192.0.2.1", "session")
    await limiter.count_picture("192.0.2.2", None)

    with pytest.raises(ApiError) as error:
        await limiter.count_picture("192.0.2.1", None)
    assert error.value.code == "rate_limited"
    assert "More than 4 pictures" in error.value.message


async def test_the_networks_of_one_ipv6_site_share_a_wider_quota(counting: Counting) -> None:
    limiter = Limiter(Quotas(keyless_per_minute=2, other_per_minute=1), counting)
    networks = [f"2001:db8:0:{n:x}::1" for n in range(SITE)]
    for address in networks:
        await limiter.count(Caller(address), "rest")
        await limiter.count(Caller(address), "rest")
        await limiter.count_other(Caller(address), "refused")
        await limiter.count_page(Caller(address).network, None)

    fresh = Caller("2001:db8:0:ffff::1")
    with pytest.raises(ApiError, match=f"More than {2 * SITE} calls in 60 s without a key"):
        await limiter.count(fresh, "rest")
    with pytest.raises(ApiError, match=f"More than {SITE} requests in 60 s from one address"):
        await limiter.count_other(fresh, "refused")
    with pytest.raises(ApiError, match=f"More than {SITE} requests in 60 s for pages"):
        await limiter.count_page(fresh.network, None)
    # Another site, an address of IPv4 and whoever is signed in are not stopped by them.
    await limiter.count(Caller("2001:db8:1::1"), "rest")
    await limiter.count(Caller("192.0.2.1"), "rest")
    await limiter.count_page(fresh.network, "session")
