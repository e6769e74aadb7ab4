"""A request asked again in the same words: answered from what is known, and never differently."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from store.accounts import Plan
from store.usage import UsageLog
from store.watchlist import Watchlist
from tests.contract.market import write_market
from tests.service import Service, on_accounts, on_database, serving

PATH = "/tickers/AAPL/patterns"
EMAIL = "reader@example.com"
QUOTAS = ("ratelimit", "date")


@pytest.fixture
def live(data_dir: Path) -> Iterator[Service]:
    with serving(data_dir) as service:
        yield service


@pytest.fixture
def ask(live: Service) -> Iterator[Callable[..., httpx.Response]]:
    """Asks in the same words each time, but for the header fields that are given."""
    headers = {"Authorization": f"Bearer {live.key}", "User-Agent": "poller/1"}
    with httpx.Client(base_url=live.base, headers=headers, timeout=30) as client:
        yield lambda path=PATH, **fields: client.get(path, headers=fields)


def fixed(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """An answer without what differs with each call."""
    headers = {name: value for name, value in answer.headers.items() if name not in QUOTAS}
    return answer.status_code, headers, answer.content


@pytest.mark.parametrize(
    "path", [PATH, f"{PATH}/", "/tickers/AAPL/history?limit=2", "/families", "/scan?limit=3", "/me"]
)
def test_the_answer_stays_the_same(ask: Callable[..., httpx.Response], path: str) -> None:
    first, *others = [ask(path) for _ in range(4)]

    assert first.status_code == 200
    assert all(fixed(other) == fixed(first) for other in others)


def test_each_call_counts_against_the_limits(ask: Callable[..., httpx.Response]) -> None:
    left = [ask().headers["ratelimit"] for _ in range(4)]

    assert [field.split(";")[1] for field in left] == [f"r={10_000 - n}" for n in (1, 2, 3, 4)]


def test_each_call_is_in_the_usage_log(live: Service, ask: Callable[..., httpx.Response]) -> None:
    for _ in range(5):
        ask()
    account = on_accounts(live.settings, lambda accounts: accounts.get(EMAIL))
    # The log is written every two seconds.
    until, calls = time.monotonic() + 30, 0
    while calls < 5 and time.monotonic() < until:
        entries = on_database(live, lambda database: UsageLog(database).entries(account.id))
        calls = sum(e.calls for e in entries if e.line.operation == "get_ticker_patterns")

    assert calls == 5
    assert {entry.line.client for entry in entries} == {"poller/1"}


def test_what_the_client_has_is_not_sent_again(ask: Callable[..., httpx.Response]) -> None:
    tag = ask().headers["etag"]
    known = {"If-None-Match": tag}

    first, second = ask(**known), ask(**known)

    assert fixed(first) == fixed(second)
    assert (second.status_code, second.content) == (304, b"")


def test_other_words_get_their_own_answer(ask: Callable[..., httpx.Response]) -> None:
    path = "/tickers/AAPL/history"
    answers = [
        ask(path, **{"Accept-Encoding": coding}) for coding in ("gzip", "identity", "zstd") * 2
    ]

    codings = [answer.headers.get("content-encoding") for answer in answers]
    assert codings == ["gzip", None, "zstd"] * 2
    assert len({answer.content for answer in answers}) == 1


def untrack(live: Service) -> None:
    account = on_accounts(live.settings, lambda accounts: accounts.get(EMAIL))
    on_database(live, lambda database: Watchlist(database).replace(account.id, ["IBM"], 5))


def revoke(live: Service) -> None:
    on_accounts(live.settings, lambda accounts: accounts.revoke_key(live.key[:16]))


def unpay(live: Service) -> None:
    on_accounts(live.settings, lambda accounts: accounts.set_plan(EMAIL, Plan.NONE))


def deactivate(live: Service) -> None:
    on_accounts(live.settings, lambda accounts: accounts.set_active(EMAIL, active=False))


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (untrack, 403, "ticker_not_tracked"),
        (revoke, 401, "invalid_api_key"),
        (unpay, 403, "forbidden"),
        (deactivate, 401, "invalid_api_key"),
    ],
)
def test_a_change_counts_from_the_very_next_call(
    live: Service,
    ask: Callable[..., httpx.Response],
    change: Callable[[Service], None],
    status: int,
    code: str,
) -> None:
    assert [ask().status_code for _ in range(3)] == [200] * 3

    change(live)

    answer = ask()
    assert (answer.status_code, answer.json()["error"]) == (status, code)


def test_over_the_limit_it_is_refused_like_any_other_call(data_dir: Path) -> None:
    with serving(data_dir, key_per_minute=3) as small:
        answers = [small.get(PATH) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
    assert answers[-1].json()["error"] == "rate_limited"
    assert answers[-1].headers["ratelimit"].startswith('"minute";r=0;t=')


def test_a_new_night_is_served_as_soon_as_it_is_open(
    live: Service, night: Path, ask: Callable[..., httpx.Response]
) -> None:
    before = [ask("/families").json()["data_version"] for _ in range(3)]

    write_market(night, live.settings.data_dir)
    until, after = time.monotonic() + 30, before[0]
    while after == before[0] and time.monotonic() < until:
        after = ask("/families").json()["data_version"]

    assert len(set(before)) == 1
    assert ask("/families").json()["source"] == "A market made for tests"
