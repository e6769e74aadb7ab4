"""A server of S3 for the tests: moto's, in a process of its own, with a fresh bucket a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import IO
from urllib.request import Request, urlopen

import pytest

SECRET = "a-secret-of-the-tests"
LISTENS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")

PLACES = ["folder", pytest.param("s3", marks=pytest.mark.engine)]
"""The parameters of what holds in both kinds of store."""


class S3Server:
    """moto's server on a free loopback port; it forgets everything when it ends."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout
        self.address = _address(self._process.stdout)
        # It writes a line for each request and would wait if nobody read them.
        self._reader = Thread(target=_drain, args=[self._process.stdout], daemon=True)
        self._reader.start()

    def bucket(self) -> str:
        """The address of a new bucket."""
        name = f"nights-{uuid.uuid4().hex}"
        with urlopen(Request(f"{self.address}/{name}", method="PUT")) as answer:  # noqa: S310
            assert answer.status == 200
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

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


def _address(lines: IO[str]) -> str:
    said = []
    for line in lines:
        if found := LISTENS.search(line):
            return found[1]
        said.append(line)
    raise AssertionError("".join(said))


def _drain(lines: IO[str]) -> None:
    with lines:
        for _ in lines:
            pass


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One server a test process."""
    server = S3Server()
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
