"""A server that follows no store of nights, or is told to follow what is none."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.screener.command import check_refusal, run
from tests.service import serving


def test_a_server_that_follows_no_store_says_nothing_of_one(data_dir: Path) -> None:
    with serving(data_dir) as live:
        ready = httpx.get(f"{live.url}/health/ready").json()
    assert "nights" not in {part["part"] for part in ready["degraded"]}


def test_an_address_that_is_no_place_for_nights_ends_the_start_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path / "data", "serve", SCREENER_NIGHTS_URL="ftp://example.com/nights")

    check_refusal(done, "SCREENER_NIGHTS_URL ftp://example.com/nights is not a place for objects")
