"""The conformance suite of the protocol: what it checks of a server, in each version it knows.

`@modelcontextprotocol/conformance`, pinned in package-lock.json. Its exit code says nothing here,
since `conformance.toml` names checks that cannot apply; so each check's own outcome is read.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.qa.hosts.installed import Installed

PASSED = ("SUCCESS", "INFO")
ENTRIES = tomllib.loads((Path(__file__).parent / "conformance.toml").read_text())["cannot"]
CANNOT: dict[str, str] = {check: entry["why"] for entry in ENTRIES for check in entry["checks"]}
"""Why a check cannot apply."""


@dataclass(frozen=True)
class Check:
    """One outcome of one check."""

    version: str
    scenario: str
    name: str
    passed: bool
    text: str


def command(installed: Installed, *arguments: str) -> list[str]:
    """A command of the suite."""
    suite = installed.modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return [installed.node, str(suite), *arguments]


def scenarios(installed: Installed) -> dict[str, set[str]]:
    """The scenarios for servers of each protocol version, as the suite lists them."""
    done = subprocess.run(
        command(installed, "list", "--server"), capture_output=True, text=True, check=True
    )
    found: dict[str, set[str]] = {}
    for scenario, versions in re.findall(r"^  - (\S+) \[(.+)\]$", done.stdout, re.MULTILINE):
        for version in re.findall(r"\d{4}-\d\d-\d\d", versions):
            found.setdefault(version, set()).add(scenario)
    return found


def check_server(installed: Installed, url: str, version: str) -> list[Check]:
    """Everything that the suite checks of a server in one version."""
    options = ("--url", url, "--suite", "all", "--spec-version", version)
    with TemporaryDirectory() as folder:
        subprocess.run(
            command(installed, "server", *options, "--output-dir", folder),
            capture_output=True,
            timeout=120,
            check=False,
        )
        return outcomes(Path(folder), version)


def check_sign_in(
    installed: Installed, issuer: str, resource: str, person: Callable[[str], str], port: int
) -> list[Check]:
    """Everything that the suite checks of an authorization server, with a person who approves."""
    callback = f"http://127.0.0.1:{port}/callback"
    metadata = {"client_name": "Conformance", "redirect_uris": [callback]}
    registration = {**metadata, "token_endpoint_auth_method": "none"}
    client = httpx.post(f"{issuer}/oauth/register", json=registration).json()["client_id"]
    options = ("--url", issuer, "--client-id", client, "--resource", resource, "--port", str(port))
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            command(installed, "authorization", *options, "--output-dir", folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            address = line.strip() if "/oauth/authorize?" in line else address
            if "Callback server started" in line:
                httpx.get(person(address))
        process.wait(timeout=60)
        return outcomes(Path(folder), "sign-in")


def outcomes(folder: Path, version: str) -> list[Check]:
    """What the suite has written, a folder for each scenario."""
    found = []
    for file in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name)
        scenario = re.sub(r"^(authorization-)?server-", "", scenario, count=1)
        for check in json.loads(file.read_text()):
            text = check.get("errorMessage") or check["description"]
            passed = check["status"] in PASSED
            found.append(Check(version, scenario, check["id"], passed, text))
    return found


def table() -> str:
    """The table of the README: what cannot apply, and why."""
    rows = [f"| {entry['why']} | {_named(entry['checks'])} |" for entry in ENTRIES]
    return "\n".join(["| why | checks |", "|---|---|", *rows])


def _named(checks: list[str]) -> str:
    return ", ".join(f"`{check}`" for check in checks)
