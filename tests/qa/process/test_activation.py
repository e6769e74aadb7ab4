"""Activation: the socket that a service manager holds, so that a restart refuses no request."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from screener.settings.settings import Settings
from tests.deploy.activated import managed
from tests.deploy.load import under_load
from tests.screener.process import serving_process, until
from tests.screener.server.sockets import listens
from tests.service import new_key

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="service managers of Linux")


UNENDED = (
    b"POST /mcp/demo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    b"Accept: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
)


@pytest.fixture
def folder(data_dir: Path) -> Path:
    """A folder with a data folder in it."""
    return data_dir.parent


@pytest.mark.parametrize("workers", ["1", "2"])
def test_neither_a_start_nor_a_restart_refuses_a_request(folder: Path, workers: str) -> None:
    """Clients that keep their connections, as a proxy does: half of them read, half write."""
    key = new_key(Settings(data_dir=folder / "data"))
    settings = {"SCREENER_KEY_PER_MINUTE": "100000", "SCREENER_KEYLESS_PER_MINUTE": "100000"}

    with managed(folder, "--workers", workers, **settings) as manager:
        base = f"http://127.0.0.1:{manager.port}/api/v1"
        early = httpx.get(f"{base}/families", timeout=60)  # it waits until the service is ready
        manager.wait_until_serving()

        def client() -> httpx.Client:
            return httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60)

        with under_load(
            client,
            lambda each: each.get(f"{base}/scan"),
            lambda each: each.patch(f"{base}/tickers", json={"add": ["MSFT"]}),
        ) as load:
            load.wait_for_more()
            manager.restart()
            load.wait_for_more()

    assert early.status_code == 200
    assert set(load.ends) == {"200"}
    assert f"Serving {base.removesuffix('/api/v1')}" in (folder / "service.log").read_text()


def test_a_service_without_a_manager_refuses_connections_once_it_ends(folder: Path) -> None:
    """A proxy that is refused tries again; in a queue that nobody serves, requests are lost."""
    with serving_process(folder, "--workers", "2") as server:
        parent = psutil.Process(server.pid)
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(UNENDED % server.port)
            assert slow.recv(100).startswith(b"HTTP/1.1 100")  # a worker waits for the body
            parent.terminate()

            until(lambda: not listens(server.port))
            assert parent.status() != psutil.STATUS_ZOMBIE
