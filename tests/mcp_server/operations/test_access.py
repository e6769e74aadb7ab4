"""Access: the rules of plans, tracked tickers, caps, keys and the demo, on every surface."""

from __future__ import annotations

import datetime as dt

import pytest

from mcp_server.calls.errors import ApiError
from mcp_server.operations.access import (
    cap_of,
    check_cap,
    check_demo,
    check_rights,
    first_plan,
    is_demo,
    sees_scan,
    sees_ticker,
)
from mcp_server.presentation.offer import Offer
from store.accounts.accounts import Account, AccountPlan
from store.accounts.keys import Key, Principal

SINCE = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
BETA = Offer("https://screener.example", ("MSFT", "IBM"))
LATER = Offer("https://screener.example", ("MSFT",), beta=False)
PLUS, PREMIUM, NONE = (AccountPlan.PREMIUM_PLUS, AccountPlan.PREMIUM, AccountPlan.NONE)


def account(plan: AccountPlan) -> Account:
    return Account(1, "ada@example.com", plan, True, SINCE)


def principal(plan: AccountPlan, *, read_only: bool = False) -> Principal:
    return Principal(account(plan), Key("ps_live_x", "laptop", SINCE, None, None, read_only))


@pytest.mark.parametrize(
    ("plan", "offer", "sees"),
    [
        *((PLUS, BETA, True), (PREMIUM, BETA, True), (NONE, BETA, False)),
        *((PLUS, LATER, True), (PREMIUM, LATER, False), (NONE, LATER, False)),
    ],
)
def test_the_scan_is_in_both_plans_during_beta_and_later_in_the_larger_one(
    plan: AccountPlan, offer: Offer, sees: bool
) -> None:
    assert sees_scan(account(plan), offer) is sees
    assert sees_ticker("AAPL", account(plan), {"AAPL"}, offer) is sees


def test_who_makes_an_account_during_beta_has_a_plan() -> None:
    assert (first_plan(BETA), first_plan(LATER)) == (PREMIUM, NONE)


def test_without_an_account_nobody_sees_the_scan_or_a_ticker() -> None:
    assert not sees_scan(None, BETA)
    assert not sees_ticker("AAPL", None, {"AAPL"}, BETA)


def test_the_demo_is_the_offers_symbols_and_a_refusal_names_them() -> None:
    assert is_demo("IBM", BETA)
    check_demo("IBM", BETA)

    with pytest.raises(ApiError) as refused:
        check_demo("AAPL", BETA)

    assert not is_demo("AAPL", BETA)
    assert refused.value.code == "not_a_demo_symbol"
    assert refused.value.details == {"demo_symbols": ["MSFT", "IBM"]}


def test_a_key_that_may_only_read_is_refused_a_change_and_nothing_else() -> None:
    check_rights(principal(PLUS), BETA, changes=True)
    check_rights(principal(PLUS, read_only=True), BETA, changes=False)

    with pytest.raises(ApiError, match="This key may only read") as refused:
        check_rights(principal(PLUS, read_only=True), BETA, changes=True)

    assert refused.value.code == "forbidden"
    assert refused.value.fix.startswith("Use a key that may change the list")
    assert refused.value.tool_fix.startswith("Ask the owner to change the list")


@pytest.mark.parametrize("caller", [None, principal(NONE)])
def test_a_keyed_call_without_a_plan_is_forbidden(caller: Principal | None) -> None:
    with pytest.raises(ApiError) as refused:
        check_rights(caller, BETA, changes=False)

    assert refused.value.code == "forbidden"
    assert refused.value.fix == "Upgrade the plan; the same key then works."


@pytest.mark.parametrize(("plan", "cap"), [(PLUS, 200), (PREMIUM, 50), (NONE, 0)])
def test_a_plan_tracks_so_many_tickers_and_not_one_more(plan: AccountPlan, cap: int) -> None:
    check_cap(account(plan), cap)

    with pytest.raises(ApiError) as refused:
        check_cap(account(plan), cap + 1)

    words = f"{cap + 1} symbols exceed the cap of {cap}; nothing changed."
    assert cap_of(account(plan)) == cap
    assert refused.value.code == "ticker_cap_exceeded"
    assert refused.value.message == (words if cap else "Your plan tracks no tickers.")
    assert refused.value.details == {"cap": cap}


def test_a_list_over_the_cap_keeps_what_it_has_and_does_not_grow() -> None:
    check_cap(account(PREMIUM), 60, kept=60)

    with pytest.raises(ApiError):
        check_cap(account(PREMIUM), 61, kept=60)
