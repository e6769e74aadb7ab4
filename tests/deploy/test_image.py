"""The images, without an engine that runs them: linted, installed as they install, and served."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from benchmarks.footprint import BOUNDS, DOCKER, footprint, install, warm, wheel
from tests.node import NotInstalledError, install_python
from tests.screener.process import free_port

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(shutil.which("strip") is None, reason="strip of binutils is missing"),
]


def test_hadolint_finds_nothing_in_the_dockerfile(tmp_path: Path) -> None:
    try:
        install_python(tmp_path / "deploy", "deploy")
    except NotInstalledError as error:
        pytest.skip(f"hadolint cannot be installed: {error}")
    command = [str(tmp_path / "deploy" / "bin" / "hadolint"), str(DOCKER / "Dockerfile")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.stdout + done.stderr, done.returncode) == ("", 0)
    assert "hadolint ignore" not in (DOCKER / "Dockerfile").read_text()


@pytest.fixture(scope="module", params=["serve", "full"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed environment, with its bytecode beside it."""
    folder = tmp_path_factory.mktemp("image")
    environment = install(request.param, wheel(folder), folder)
    warm(environment, folder / "bytecode")
    return environment


def test_an_image_holds_no_more_than_it_may(image: Path) -> None:
    found = footprint(image, image.parent / "bytecode")

    assert found.total <= BOUNDS[image.name], "\n".join(found.lines())


def test_an_image_answers_from_a_sealed_night(image: Path, night: Path, tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    shutil.copytree(night, data)
    variables = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PYTHONPYCACHEPREFIX": str(image.parent / "bytecode"),
        "SCREENER_DATA_DIR": str(data),
        "SCREENER_PORT": str(port),
    }
    command = [str(image / "bin" / "screener")]
    with subprocess.Popen([*command, "serve"], env=variables, cwd=tmp_path) as server:
        try:
            transport = httpx.HTTPTransport(retries=10)
            with httpx.Client(transport=transport, timeout=30) as client:
                answer = client.get(f"http://127.0.0.1:{port}/api/v1/demo/MSFT")
        finally:
            server.terminate()
    shown = subprocess.run(
        [*command, "show", "MSFT"], env=variables, capture_output=True, text=True, check=False
    )

    assert answer.status_code == 200
    assert answer.json()["setups"]
    assert shown.returncode == 0
    if image.name == "serve":
        told = subprocess.run(
            [*command, "nightly"], env=variables, capture_output=True, text=True, check=False
        )
        assert told.returncode == 2
        assert len(told.stderr.splitlines()) == 1
        assert "pattern-screener[nightly]" in told.stderr
