"""Audit: known faults of the dependencies, and secrets in the files of the repository.

`python -m tests.audit secrets` needs no network; `make test` runs it. `python -m tests.audit
dependencies` asks the service of pip-audit, and says so where it cannot. Run both, and bandit, with
`make audit`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from detect_secrets.core import baseline
from detect_secrets.core.secrets_collection import SecretsCollection

ROOT = Path(__file__).parents[1]
BASELINE = ".secrets.baseline"
"""What looks like a secret and is none: names of fields and constants of tests, each looked at."""
LOCKS = ("run", "serve", "dev", "build", "providers", "installer")
MIN_FILES = 100
"""Files that a scan must look at to be believed."""


def secrets(root: Path = ROOT) -> list[str]:
    """What looks like a secret and is not in the baseline: a line each, without the secret."""
    known = baseline.load(baseline.load_from_file(str(root / BASELINE)), BASELINE)
    found = SecretsCollection(root=str(root))
    command = ["git", "-C", str(root), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    files = [name for name in listed.split("\0") if name]
    if len(files) < MIN_FILES:
        return [f"Only {len(files)} files were found to scan; run it in a checkout with git."]
    found.scan_files(*files)
    old = {(name, secret.type, secret.secret_hash) for name, secret in known}
    return [
        f"{name}:{secret.line_number}: {secret.type}; take it out, or see CONTRIBUTING.md"
        for name, secret in found
        if (name, secret.type, secret.secret_hash) not in old
    ]


def dependencies(requirements: list[Path]) -> tuple[list[str], list[str]]:
    """The known faults in some requirements, and what could not be looked up: a line each."""
    bad: list[str] = []
    unknown: list[str] = []
    for path in requirements:
        said = _asked(path)
        if said is None:
            unknown.append(f"{path.name}: pip-audit reached no service; nothing was looked up.")
            continue
        skipped = [one["name"] for one in said if "skip_reason" in one]
        if skipped:
            unknown.append(f"{path.name}: {len(skipped)} of {len(said)} could not be looked up.")
        for one in said:
            for fault in one.get("vulns", []):
                fixed = ", ".join(fault["fix_versions"]) or "no version"
                bad.append(f"{one['name']} {one['version']}: {fault['id']}, mended in {fixed}")
    return sorted(set(bad)), unknown


def _asked(path: Path) -> list[dict[str, Any]] | None:
    """What pip-audit says of each requirement; None if it could not ask."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(path), "--format", "json"]
    options = ["--disable-pip", "--require-hashes", "--progress-spinner", "off", "--timeout", "10"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    try:
        answer: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        return None
    return answer


def main(what: str) -> int:
    """Print what was found; 1 if anything was."""
    locks = [ROOT / "locks" / f"{name}.lock" for name in LOCKS]
    bad, unknown = (secrets(), []) if what == "secrets" else dependencies(locks)
    print("\n".join([*unknown, *bad]) or f"{what}: nothing found")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
