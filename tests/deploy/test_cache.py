"""nginx with the shipped cache: what everybody may read is kept, and nothing of anybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from store.accounts.accounts import utc_now
from store.nights.nights import Nights
from tests.deploy.proxies import Proxy, needs_nginx, nginx
from tests.screener.process import until
from tests.screener.web.streams import publish
from tests.service import Service, serving

pytestmark = [pytest.mark.engine, needs_nginx]

QUOTA = 12


@dataclass(frozen=True)
class Cached:
    """A service behind a cache."""

    proxy: Proxy
    service: Service
    folder: Path

    def get(self, path: str, address: str = "127.0.0.1", **headers: str) -> httpx.Response:
        """One request, from an address of this machine."""
        transport = httpx.HTTPTransport(verify=self.proxy.tls.context, local_address=address)
        with httpx.Client(transport=transport, timeout=30) as client:
            return client.get(f"{self.proxy.url}{path}", headers=headers)

    def ends(self, requests: int) -> list[tuple[str, str, str]]:
        """Of each request: what the cache did, and with what the service and nginx answered.

        nginx notes a request after it has answered, so the last line may come later than that.
        """
        log = self.folder / "ends.log"
        until(lambda: log.read_text().count("\n") >= requests)
        return [tuple(line.split()[:3]) for line in log.read_text().splitlines()]  # type: ignore[misc]

    def chart(self) -> str:
        """The address of a chart that everybody may see."""
        setups = self.service.get("/demo/MSFT", key="").json()["setups"]
        return f"/api/v1/demo/MSFT/chart.png?setup_id={setups[0]['setup_id']}"


@pytest.fixture
def cached(data_dir: Path, tmp_path: Path) -> Iterator[Cached]:
    limits: dict[str, Any] = {"keyless_per_minute": QUOTA, "trusted_proxies": ("127.0.0.1",)}
    with (
        serving(data_dir, **limits) as service,
        nginx(tmp_path, service.settings.port, cached=True) as proxy,
    ):
        yield Cached(proxy, service, tmp_path)


@pytest.mark.parametrize("path", ["/api/v1/families", "/api/v1/demo/MSFT", "/api/v1"])
def test_what_is_of_a_night_is_asked_for_by_its_etag_each_time(cached: Cached, path: str) -> None:
    first, second = cached.get(path), cached.get(path)
    known = cached.get(path, **{"If-None-Match": first.headers["etag"]})

    assert first.content == second.content
    assert second.headers["cache-control"] == first.headers["cache-control"] == "public, no-cache"
    assert second.headers["etag"] == first.headers["etag"]
    assert (known.status_code, known.content) == (304, b"")
    assert cached.ends(3) == [
        ("MISS", "200", "200"),
        ("REVALIDATED", "304", "200"),
        ("REVALIDATED", "304", "304"),
    ]


def test_charts_and_documents_are_answered_for_an_hour_without_the_service(cached: Cached) -> None:
    paths = [cached.chart(), "/llms.txt", "/api/v1/openapi.json"]
    firsts = [cached.get(path) for path in paths]
    seconds = [cached.get(path) for path in paths]

    for first, second in zip(firsts, seconds, strict=True):
        assert first.content == second.content
        assert first.headers["cache-control"] == "public, max-age=3600"
        # Nobody is told how old it is, so nobody may keep it for another hour.
        assert second.headers["cache-control"] == "public, no-cache"
    assert [end[0] for end in cached.ends(6)] == ["MISS"] * 3 + ["HIT"] * 3


@pytest.mark.parametrize("field", ["Authorization", "Cookie", "X-API-Key"])
def test_whoever_sends_a_credential_never_meets_the_cache(cached: Cached, field: str) -> None:
    path = "/api/v1/demo/MSFT"
    secret = {"Authorization": f"Bearer {cached.service.key}"}.get(field, "session=mine")
    first = cached.get(path, **{field: secret})
    stranger = cached.get(path)
    second = cached.get(path, **{field: secret})

    assert (
        first.content
        == second.content
        == cached.service.get(
            "/demo/MSFT", key=cached.service.key if field == "Authorization" else ""
        ).content
    )
    assert [end[0] for end in cached.ends(3)] == ["BYPASS", "MISS", "BYPASS"]
    if field == "Authorization":
        assert stranger.content != first.content
        assert stranger.headers["ratelimit"] != first.headers["ratelimit"]


def test_asking_again_counts_for_whoever_asks_and_nobody_is_told_of_the_quota_of_another(
    cached: Cached,
) -> None:
    answers = [cached.get("/api/v1/families", "127.0.0.2") for _ in range(QUOTA + 2)]
    forged = {"X-Forwarded-For": "203.0.113.9"}
    assert cached.get("/api/v1/families", "127.0.0.2", **forged).status_code == 429
    other = cached.get("/api/v1/families", "127.0.0.3")

    assert [answer.status_code for answer in answers] == [200] * QUOTA + [429] * 2
    assert "ratelimit" in answers[0].headers
    assert other.status_code == 200
    assert "ratelimit" not in other.headers
    assert other.headers["x-request-id"] != answers[0].headers["x-request-id"]


def test_a_withdrawn_night_is_gone_from_the_cache_at_once(
    cached: Cached, later_night: Path
) -> None:
    data = cached.service.settings.data_dir
    older = cached.get("/api/v1/families").json()["data_version"]
    newest = publish(later_night, data)
    until(lambda: cached.service.get("/families").json()["data_version"] == newest)
    kept = cached.get("/api/v1/families").json()["data_version"]
    Nights(data).withdraw(newest, "It is a test.", utc_now())
    until(lambda: cached.service.get("/families").json()["data_version"] == older)

    assert kept == newest
    assert cached.get("/api/v1/families").json()["data_version"] == older
