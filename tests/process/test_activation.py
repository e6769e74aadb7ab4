"""Activation: the socket that a service manager holds, so that a restart refuses no request."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from screener.settings import Settings
from tests.deploy.activated import LAUNCHER, managed
from tests.deploy.load import under_load
from tests.screener.command import COMMAND, environment
from tests.screener.process import serving_process, until
from tests.service import copy_night, new_key

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="service managers of Linux")


@pytest.fixture
def folder(night: Path, tmp_path: Path) -> Path:
    """A folder with a data folder in it."""
    copy_night(night, tmp_path / "data")
    return tmp_path


def test_what_comes_before_the_service_is_ready_waits_and_is_answered(folder: Path) -> None:
    with managed(folder) as manager:
        port = manager.port
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/families", timeout=60)

    assert answer.status_code == 200
    assert f"Serving http://127.0.0.1:{port}" in (folder / "service.log").read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_manager_is_told_when_the_service_serves(folder: Path, workers: str) -> None:
    with managed(folder, "--workers", workers) as manager:
        manager.wait_until_serving()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_restart_refuses_no_request(folder: Path, workers: str) -> None:
    """Clients that keep their connections, as a proxy does: half of them read, half write."""
    key = new_key(Settings(data_dir=folder / "data"))
    settings = {"SCREENER_KEY_PER_MINUTE": "100000", "SCREENER_KEYLESS_PER_MINUTE": "100000"}

    with managed(folder, "--workers", workers, **settings) as manager:
        base = f"http://127.0.0.1:{manager.port}/api/v1"

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

    assert set(load.ends) == {"200"}


@pytest.mark.parametrize("handed", ["udp", "two", "none"])
def test_a_socket_that_cannot_be_used_is_refused_in_one_line(folder: Path, handed: str) -> None:
    kind = socket.SOCK_DGRAM if handed == "udp" else socket.SOCK_STREAM
    launcher = LAUNCHER.replace("{restriction}", "")
    if handed == "two":
        launcher = launcher.replace('"1"', '"2"')
    with socket.socket(socket.AF_INET, kind) as given:
        done = subprocess.run(
            [sys.executable, "-c", launcher, str(given.fileno()), *COMMAND, "serve"],
            env=environment(folder / "data"),
            pass_fds=[given.fileno()],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ListenStream=" in done.stderr


def test_a_service_without_a_manager_refuses_connections_once_it_ends(folder: Path) -> None:
    """A proxy that is refused tries again; in a queue that nobody serves, requests are lost."""
    with serving_process(folder, "--workers", "2") as server:
        (parent,) = [each for each in psutil.Process().children() if is_serving(each, server.port)]
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            httpx.get(f"{server.url}/docs").raise_for_status()
            parent.terminate()

            until(lambda: not listens(server.port))
            assert parent.status() != psutil.STATUS_ZOMBIE


def is_serving(process: psutil.Process, port: int) -> bool:
    return {"serve", str(port)} <= set(process.cmdline())


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
