"""A server of S3 for the tests: moto's, in a process of its own, with a fresh bucket a test."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.programs import Program
from tests.screener.process import free_port

SECRET = "a-secret-of-the-tests"

PLACES = ["folder", pytest.param("s3", marks=pytest.mark.engine)]
"""The parameters of what holds in both kinds of store."""


class S3Server(Program):
    """moto's server on a loopback port; it forgets everything when it ends."""

    def __init__(self) -> None:
        port = free_port()
        super().__init__(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port
        )
        self.address = f"http://127.0.0.1:{port}"

    def bucket(self) -> str:
        """The address of a new bucket."""
        name = f"nights-{uuid.uuid4().hex}"
        httpx.put(f"{self.address}/{name}").raise_for_status()
        return f"s3://{name}/screener"

    def environment(self, address: str | None = None) -> Mapping[str, str]:
        """The variables with which programs reach it, or a proxy before it."""
        return {
            "AWS_ENDPOINT_URL": address or self.address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One server a test process."""
    server = S3Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket_url(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new bucket; the environment has what reaches it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    return s3.bucket()


@pytest.fixture(params=PLACES)
def nights_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store: a shared folder, and a bucket."""
    if request.param == "s3":
        url: str = request.getfixturevalue("bucket_url")
        return url
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder.as_uri()
