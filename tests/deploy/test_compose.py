"""The Compose file: fits the specification of Compose, and grants no more than is needed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.node import ROOT, NotInstalledError, install_python

yaml = pytest.importorskip("yaml")

FILE = ROOT / "deploy" / "compose.yaml"
OURS = ("screener", "nightly", "backup")

CHECK = """
import sys
from compose_spec import PyCompose
PyCompose.from_json(sys.stdin.read()).to_spec()
"""


FILLED_IN = re.compile(r"\$\{([A-Z]+)(?::-([^}]*)|:\?[^}]*)\}")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file, as Compose reads it: with its values filled in and its anchors followed."""
    text = FILLED_IN.sub(lambda value: value[2] or "screener.example.com", FILE.read_text())
    return dict(yaml.safe_load(text.replace("$$", "$")))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that knows the specification."""
    environment = tmp_path_factory.mktemp("compose") / "environment"
    try:
        install_python(environment, "deploy")
    except NotInstalledError as error:
        pytest.skip(f"The specification could not be installed: {error}")
    return environment / "bin" / "python"


def fits(python: Path, compose: dict[str, Any]) -> bool:
    done = subprocess.run(
        [str(python), "-c", CHECK], input=json.dumps(compose), text=True, check=False, timeout=60
    )
    return done.returncode == 0


@pytest.mark.engine
def test_the_file_fits_the_specification(python: Path, compose: dict[str, Any]) -> None:
    misspelt = json.loads(json.dumps(compose))
    misspelt["services"]["screener"]["readonly"] = True

    assert fits(python, compose)
    assert not fits(python, misspelt)


def test_every_service_has_a_read_only_root_and_no_privileges(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert "privileged" not in service
        assert not any("docker.sock" in volume for volume in service["volumes"])
    for name in OURS:
        assert compose["services"][name]["user"] == "10001:10001"


def test_only_the_proxy_has_ports_outside_and_only_it_is_believed(compose: dict[str, Any]) -> None:
    published = {name for name, service in compose["services"].items() if "ports" in service}
    proxy = compose["services"]["proxy"]["networks"]["inside"]["ipv4_address"]

    assert published == {"proxy"}
    for name in OURS:
        assert compose["services"][name]["environment"]["SCREENER_TRUSTED_PROXIES"] == proxy


def test_each_value_that_is_filled_in_has_a_line_in_the_file_of_settings() -> None:
    wanted = {value[1] for value in FILLED_IN.finditer(FILE.read_text())}
    given = set(re.findall(r"^([A-Z]+)=", FILE.with_name("compose.env").read_text(), re.MULTILINE))

    assert wanted == given
