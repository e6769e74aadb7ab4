"""The service as it is run for others: TLS by nginx or Caddy in front of two workers."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from screener.settings.settings import Settings
from tests.agent import message
from tests.deploy.activated import Manager, managed
from tests.deploy.load import Request, under_load
from tests.deploy.proxies import Proxy, caddy, needs_caddy, needs_nginx, nginx
from tests.screener.command import run_process
from tests.screener.process import free_port, until, workers_of
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person
from tests.screener.web.streams import publish, stream
from tests.service import Service, copy_night, new_key

pytestmark = pytest.mark.engine

GENEROUS = {
    "SCREENER_KEY_PER_MINUTE": "100000",
    "SCREENER_KEY_PER_DAY": "1000000",
    "SCREENER_KEYLESS_PER_MINUTE": "100000",
    "SCREENER_TRUSTED_PROXIES": "127.0.0.1",
    "SCREENER_CHARTS_WARM": "false",
}


@dataclass(frozen=True)
class Site:
    """The service behind a proxy: how to call it, and who restarts it."""

    proxy: Proxy
    service: Service
    manager: Manager

    def client(self) -> httpx.Client:
        """A client with a key."""
        return client_of(self.proxy, self.service.key)


def client_of(proxy: Proxy, key: str = "") -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=proxy.url, verify=proxy.tls.context, headers=headers, timeout=60)


def read(client: httpx.Client) -> httpx.Response:
    return client.get("/api/v1/scan")


def write(client: httpx.Client) -> httpx.Response:
    return client.patch("/api/v1/tickers", json={"add": ["MSFT"]})


def ask(client: httpx.Client) -> httpx.Response:
    """A POST, which no proxy sends again when it fails."""
    body = message("tools/call", name="get_ticker_patterns", arguments={"symbol": "MSFT"})
    accept = {"Accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=body, headers=accept)


PARTS = "service X-Forwarded-For X-Forwarded-Proto Host"
JUDGED = dict.fromkeys(PARTS.split(), "ok")


def judged(proxy: Proxy, data: Path) -> dict[str, str]:
    """What the doctor says of a proxy, by what it looked at."""
    settings = {
        "SCREENER_PUBLIC_URL": proxy.url,
        "SCREENER_TRUSTED_PROXIES": GENEROUS["SCREENER_TRUSTED_PROXIES"],
        "SSL_CERT_FILE": str(proxy.tls.authority),
    }
    done = run_process(data, "doctor", "--json", "--url", proxy.url, **settings)
    found = json.loads(done.stdout)["checks"]
    return {one["name"]: one["level"] for one in found if one["name"] in JUDGED}


STEADY: tuple[Request, ...] = (read, write, ask)


@contextmanager
def site_in(
    folder: Path, night: Path, behind: Callable[..., AbstractContextManager[Proxy]]
) -> Iterator[Site]:
    """A proxy with TLS in front of two workers, whose socket a manager holds."""
    copy_night(night, folder / "data")
    port = free_port()
    url = f"https://localhost:{port}"
    chosen = Settings(data_dir=folder / "data", public_url=url)
    key = new_key(chosen)
    settings = {**GENEROUS, "SCREENER_PUBLIC_URL": url}
    with (
        managed(folder, "--workers", "2", **settings) as manager,
        behind(folder, manager.port, port=port) as proxy,
    ):
        manager.wait_until_serving()
        yield Site(proxy, Service(chosen, url, key), manager)


@pytest.fixture(scope="module")
def site(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service behind nginx."""
    with site_in(tmp_path_factory.mktemp("site"), night, nginx) as site:
        yield site


@needs_nginx
def test_a_person_signs_in_over_https_alone(site: Site) -> None:
    account = new_person(site.service)
    with Browser(site.service, verify=site.proxy.tls.context) as browser:
        signed = browser.sign_in(account.email)
        page = browser.get("/keys")
    plain = httpx.get(f"http://localhost:{site.proxy.plain_port}/keys")

    assert signed.status_code == 303
    assert "Secure" in signed.headers["set-cookie"]
    assert page.status_code == 200
    assert page.headers["strict-transport-security"]
    assert "http://localhost" not in page.text
    assert plain.status_code == 301
    assert plain.headers["location"].startswith("https://")


@needs_nginx
def test_what_is_too_large_ends_at_the_proxy(site: Site) -> None:
    with site.client() as client:
        body = client.post("/mcp", content=b"a" * 66_000)
        head = client.get("/api/v1/families", headers={"X-Long": "a" * 70_000})

    assert body.status_code == 413
    assert head.status_code == 400


@needs_nginx
@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/health/ready"])
def test_what_is_for_the_machine_is_not_seen_outside(site: Site, path: str) -> None:
    with site.client() as client:
        assert client.get(path).status_code == 404
        assert client.get(path).headers["server"] == "nginx"


@needs_nginx
def test_a_new_night_reaches_open_pages_and_costs_no_request(site: Site, later_night: Path) -> None:
    context = site.proxy.tls.context
    with under_load(site.client, *STEADY) as load, stream(site.proxy.url, verify=context) as news:
        first = next(news)
        load.wait_for_more()
        published = publish(later_night, site.service.settings.data_dir)
        second = next(news)
        load.wait_for_more()

    assert second.data["data_version"] == published != first.data["data_version"]
    assert set(load.ends) == {"200"}


@needs_nginx
def test_the_doctor_finds_nothing_wrong_with_nginx(site: Site) -> None:
    assert judged(site.proxy, site.service.settings.data_dir) == JUDGED


@needs_nginx
@pytest.mark.parametrize("how", ["restart", "reload"])
def test_a_restart_costs_no_request(site: Site, how: str) -> None:
    """By the manager, which starts the service anew, or by SIGHUP, which replaces its workers."""
    with under_load(site.client, *STEADY) as load:
        load.wait_for_more()
        if how == "restart":
            site.manager.restart()
        else:
            parent = site.manager.server.pid
            workers = workers_of(parent)
            site.manager.server.send_signal(signal.SIGHUP)
            until(lambda: not workers & workers_of(parent))
        load.wait_for_more()

    assert set(load.ends) == {"200"}


@needs_caddy
def test_behind_caddy_a_restart_costs_no_request(night: Path, tmp_path: Path) -> None:
    with site_in(tmp_path, night, caddy) as site, under_load(site.client, *STEADY) as load:
        load.wait_for_more()
        site.manager.restart()
        load.wait_for_more()
        with client_of(site.proxy) as client:
            seen = [client.get(path) for path in ("/metrics", "/health/live")]
        told = judged(site.proxy, tmp_path / "data")

    assert set(load.ends) == {"200"}
    assert [answer.status_code for answer in seen] == [404, 404]
    assert {name for name, level in told.items() if level == "fault"} == set()
    assert told.keys() == JUDGED.keys()
    assert all("x-request-id" not in answer.headers for answer in seen)
