"""Origins: pages of any site may call a service on the Internet, and no private one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from screener.service.parts import is_on_the_internet, origins_of
from screener.settings.settings import Settings
from tests.service import Service, copy_night, serving

PUBLIC = "https://screener.example.com"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
FOREIGN = ("https://evil.example", "http://screener.example.com", "null")


@pytest.fixture(scope="module")
def deployed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service that is reached under a public https address."""
    folder = tmp_path_factory.mktemp("deployed")
    copy_night(night, folder)
    with serving(folder, public_url=PUBLIC, allowed_hosts=("other.example.com",)) as live:
        yield live


def ping(service: Service, origin: str, host: str = "", path: str = "/mcp/demo") -> httpx.Response:
    headers = {"Origin": origin, **({"Host": host} if host else {})}
    return httpx.post(service.url + path, json=PING, headers=headers)


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_site_is_refused_by_a_server_on_loopback(
    service: Service, origin: str
) -> None:
    """A stranger's page reaches the server through the browser, and in no other way."""
    keyed = {"Origin": origin, "Authorization": f"Bearer {service.key}"}
    for url in (service.mcp_url, f"{service.mcp_url}/extended"):
        assert httpx.post(url, json=PING, headers=keyed).status_code == 403
    assert ping(service, origin).status_code == 403
    for own in (service.url, "http://localhost:6274", "http://127.0.0.1:5173", "http://[::1]:1"):
        assert ping(service, own).status_code == 200


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_site_may_call_a_service_on_the_internet(
    deployed: Service, origin: str
) -> None:
    answer = ping(deployed, origin, "screener.example.com")

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert ping(deployed, origin, "screener.example.com", "/mcp").status_code == 401


@pytest.mark.parametrize("host", ["", "localhost:8000", "other.example.com"])
def test_such_a_service_refuses_that_page_under_any_other_name(
    deployed: Service, host: str
) -> None:
    """On its own machine it is reached at loopback too, and there it is a server on loopback."""
    assert ping(deployed, FOREIGN[0], host).status_code == 403
    assert ping(deployed, "http://localhost:6274", host).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "[::1]", "127.0.0.1"])
def test_loopback_is_known_in_any_case_and_without_a_port(service: Service, host: str) -> None:
    assert ping(service, "http://localhost:6274", host).status_code == 200


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/"])
@pytest.mark.parametrize("fields", [b"", b"Host: a b\r\n", b"Host: a\r\nHost: a\r\n"])
def test_a_request_without_one_host_is_malformed(
    service: Service, path: str, fields: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", service.settings.port), timeout=30) as client:
        head = f"GET {path} HTTP/1.1\r\nConnection: close\r\n".encode()
        client.sendall(head + fields + b"\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example", 421), ("localhost", 200), ("10.1.2.3:80", 200), ("other.example.com", 200)],
)
def test_probes_are_answered_under_names_that_no_stranger_has(
    deployed: Service, host: str, status: int
) -> None:
    for path in ("/health/live", "/health/ready"):
        assert httpx.get(deployed.url + path, headers={"Host": host}).status_code == status


def test_a_rebound_name_is_refused_whatever_its_origin(service: Service, deployed: Service) -> None:
    for live in (service, deployed):
        answer = ping(live, "http://rebound.example", "rebound.example")
        assert answer.status_code == 421


@pytest.mark.parametrize(
    "url",
    [
        *("https://screener.example.com", "https://screener.example.com:8443"),
        *("https://8.8.8.8", "https://[2606:4700::1111]:8443", "https://internal.example.com"),
    ],
)
def test_an_https_address_that_everybody_can_reach_is_on_the_internet(url: str) -> None:
    assert is_on_the_internet(url)
    host = url.removeprefix("https://").encode()
    assert origins_of(Settings(public_url=url)).admits(b"null", host)


@pytest.mark.parametrize(
    "url",
    [
        *("http://screener.example.com", "http://127.0.0.1:8000", "https://127.0.0.1"),
        *("https://localhost", "https://screener", "https://screener.local", "https://[::1]"),
        *("https://192.168.1.5:8443", "https://100.64.0.1", "https://[fd00::1]"),
        *("https://screener.home.arpa.", "https://screener.corp", "https://screener.INTERNAL"),
    ],
)
def test_any_other_address_is_taken_for_a_private_one(url: str) -> None:
    assert not is_on_the_internet(url)
    host = url.partition("//")[2].encode()
    assert not origins_of(Settings(public_url=url)).admits(b"https://evil.example", host)
