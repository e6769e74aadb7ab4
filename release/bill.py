"""Bill: the software bill of materials of a lock, as CycloneDX (ECMA-424), JSON.

It names what the lock pins, each with the hashes that an installation accepts. It has no time and
no random number, so that a lock has one bill.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Final

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.notes import ReleaseError

SCHEMA: Final = SchemaVersion.V1_6


def bill(root: Path, lock: str, version: str) -> str:
    """The bill of `locks/LOCK.lock`, of the program in a version.

    Raises:
        ReleaseError: the lock cannot be read, or the bill is not valid.
    """
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", f"locks/{lock}.lock"]
    options = [
        "--pyproject",
        "pyproject.toml",
        "--sv",
        SCHEMA.to_version(),
        "--output-reproducible",
    ]
    done = subprocess.run(
        [*command, *options], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"There is no bill of {lock}.lock: {done.stderr.strip()}")
    made: dict[str, Any] = json.loads(done.stdout)
    of_us = made["metadata"]["component"]
    of_us["version"] = version
    parts = [part["bom-ref"] for part in made["components"]]
    for node in made["dependencies"]:
        if node["ref"] == of_us["bom-ref"]:
            node["dependsOn"] = sorted(parts)
    text = f"{json.dumps(made, indent=2, sort_keys=True)}\n"
    check(text)
    return text


def check(text: str) -> None:
    """Hold a bill to the schema of CycloneDX. Raises `ReleaseError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the schema library that the validator uses
        fault = JsonStrictValidator(SCHEMA).validate_str(text)
    if fault is not None:
        raise ReleaseError(f"The bill is not valid: {fault}")
