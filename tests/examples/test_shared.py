"""What the examples share: waiting as the service asks, one session, and the words for setups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.examples.scripts import client, errors, setup_words
from tests.service import Service, new_key, serving


def test_the_client_waits_as_asked_once_and_then_goes_on(data_dir: Path) -> None:
    waits: list[float] = []

    def a_minute_passes(seconds: float) -> None:
        waits.append(seconds)
        # Another key has its own minute; so does the same key once this minute is over.
        screener.http.headers["Authorization"] = f"Bearer {later}"

    with serving(data_dir, key_per_minute=1) as service:
        later = new_key(service.settings, "later@example.com")
        service.get("/me").raise_for_status()
        with client.connected(service.url, service.key) as screener:
            screener.sleep = a_minute_passes
            answer = screener.get("/me")

    assert answer["as_of_session"] == "2012-10-03"
    assert len(waits) == 1
    assert 1 <= waits[0] <= 60


def test_the_client_backs_off_and_gives_up_when_waiting_does_not_help(data_dir: Path) -> None:
    waits: list[float] = []

    with serving(data_dir, key_per_minute=1) as service:
        service.get("/me").raise_for_status()
        with client.connected(service.url, service.key, patience=1_000) as screener:
            screener.sleep = waits.append
            with pytest.raises(errors.RefusedError, match="rate_limited"):
                screener.get("/me")

    assert len(waits) == 3
    assert waits[0] < waits[1] < waits[2]


def test_the_client_waits_before_it_would_be_refused(data_dir: Path) -> None:
    waits: list[float] = []

    with (
        serving(data_dir, key_per_minute=1) as service,
        client.connected(service.url, service.key) as screener,
    ):
        screener.sleep = waits.append
        screener.get("/me")
        assert waits == []
        with pytest.raises(errors.RefusedError):
            screener.get("/me")

    assert 1 <= waits[0] <= 60


def test_work_starts_over_when_the_night_changes_between_two_answers(
    service: Service, tmp_path: Path
) -> None:
    starts: list[int] = []

    with serving(tmp_path) as other, client.connected(service.url, service.key) as screener:

        def read_two_pages() -> list[Any]:
            starts.append(len(starts))
            first = screener.get("/scan", limit=1)
            screener.http.base_url = other.base
            screener.http.headers["Authorization"] = f"Bearer {other.key}"
            return [first, screener.get("/scan", limit=1, offset=1)]

        pages = screener.in_one_session(read_two_pages)

    assert starts == [0, 1]
    assert {page["as_of_session"] for page in pages} == {None}


def test_an_answer_that_is_not_of_this_service_is_said_to_be_none(service: Service) -> None:
    refused = pytest.raises(errors.UnreachableError, match="does not answer like")
    with httpx.Client(base_url=service.url) as http, refused:
        client.Screener(http).get("/docs")


def test_a_win_rate_is_phrased_with_its_sample_and_the_loss_or_that_there_was_none() -> None:
    record = {"win_rate_pct": 100.0, "sample_size": 3, "avg_loss_pct": None}

    assert setup_words.win_rate(record) == "100.00% of 3 trades, no loss among them"
    assert setup_words.win_rate({**record, "win_rate_pct": 50.0, "avg_loss_pct": -7.5}) == (
        "50.00% of 3 trades, average loss -7.50%"
    )
    assert setup_words.win_rate(None) == "no record yet"


def test_a_price_below_a_dollar_keeps_its_digits() -> None:
    assert [setup_words.money(price, {}) for price in (1234.5, 1.0, 0.061234)] == [
        "$1,234.50",
        "$1.00",
        "$0.06123",
    ]
