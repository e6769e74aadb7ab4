"""Open pages: who is let in by the name that it calls the service by, and by the way it came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.service import Service, copy_night, serving

FORWARDED = {
    "Forwarded": "for=203.0.113.9",
    "Via": "1.1 proxy.example",
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "screener.example",
    "X-Forwarded-Proto": "https",
    "X-Real-IP": "203.0.113.9",
}


@pytest.fixture(scope="module")
def private(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of a private machine, over the sample night."""
    folder = tmp_path_factory.mktemp("private")
    copy_night(night, folder)
    with serving(folder, open_pages=True) as live:
        yield live


def status(live: Service, headers: dict[str, str]) -> int:
    """The status of a page that is open or asks to sign in."""
    return httpx.get(f"{live.url}/screen", headers=headers).status_code


OWN = ("localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:8202", "192.0.2.7", "[::1]:8202")
OTHERS = (
    *("", "evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "[::1].evil.com"),
    *("evil.com@127.0.0.1", "127.0.0.1/evil.com", "127.0.0.1?evil.com", "127.0.0.1#evil.com"),
    *("127.0.0.1:8202, evil.com", "127.0.0.1:evil", "127.0.0.1:8202:1"),
    *("::1", "[::1", "[127.0.0.1]", "[::1%25lo]", "127.1", "2130706433", "999.0.0.1"),
)


@pytest.mark.parametrize("host", [*OWN, "[::1]", "[2001:db8::192.0.2.7]:80", *OTHERS])
def test_open_pages_are_open_under_localhost_and_numbers_and_nothing_that_looks_like_them(
    private: Service, host: str
) -> None:
    assert status(private, {"Host": host}) in ((303, 400) if host in OTHERS else (200,))


@pytest.mark.parametrize("name", FORWARDED)
def test_open_pages_are_not_open_to_what_a_proxy_that_nobody_named_forwards(
    private: Service, name: str
) -> None:
    assert status(private, {name: FORWARDED[name]}) == 303
    assert status(private, {name: ""}) == 303


def test_who_opens_the_pages_and_names_the_proxy_opens_them_to_what_it_forwards(
    data_dir: Path,
) -> None:
    with serving(data_dir, open_pages=True, trusted_proxies=("127.0.0.1",)) as live:
        assert status(live, FORWARDED) == 200
