"""Print what is known of clients and of the conformance suite.

`python -m tests.qa.hosts` prints the client table; `conformance` runs the suite against a sample
night and prints what it found.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.qa.hosts.installed import Installed, install


def main() -> None:
    """Do what is asked."""
    asked = sys.argv[1:]
    if asked == ["conformance"]:
        with TemporaryDirectory() as folder:
            print_conformance(install(Path(folder)), Path(folder) / "night")
    else:
        from tests.qa.hosts.clients import table

        print(table())


def print_conformance(installed: Installed, night: Path) -> None:
    """Seal the sample night, serve it, run the suite and print each version's outcome."""
    from tests.conftest import seal_sample
    from tests.qa.hosts.conformance import CANNOT, check_server, scenarios
    from tests.service import serving

    seal_sample(night)
    with serving(night) as service:
        print(
            "| version | scenarios | checks passed | cannot apply | failed |\n|---|---|---|---|---|"
        )
        for version, names in sorted(scenarios(installed).items()):
            checks = check_server(installed, f"{service.url}/mcp/demo", version)
            passed = sum(check.passed for check in checks)
            cannot = sum(not check.passed and check.name in CANNOT for check in checks)
            failed = [c.name for c in checks if not c.passed and c.name not in CANNOT]
            print(f"| {version} | {len(names)} | {passed} | {cannot} | {', '.join(failed) or 0} |")


if __name__ == "__main__":
    main()
