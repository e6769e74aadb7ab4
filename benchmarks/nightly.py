"""A whole night over a table of bars, run by the command line, compared with a plain read of it.

    python -m benchmarks.nightly BARS [REFERENCE] [SESSION]

Prints the night's report, seconds and bars per second, and the ratio to only reading the same table
with Polars.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCREENER = Path(sys.executable).with_name("screener")
READ = "import sys, polars; print(len(polars.read_parquet(sys.argv[1])))"


def seconds(command: list[str], data: str) -> tuple[float, str]:
    """How long a command takes, and what it prints."""
    environment = {**os.environ, "SCREENER_DATA_DIR": data, "COLUMNS": "160"}
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, done.stdout


def main() -> None:
    """Run both and print the ratio."""
    bars, *rest = sys.argv[1:]
    options = ["--bars", bars]
    for name, value in zip(("--reference", "--session"), rest, strict=False):
        options += [name, value]
    with tempfile.TemporaryDirectory() as data:
        seconds([str(SCREENER), "nightly"], data)  # compiles the detector, once on a machine
        night, report = seconds([str(SCREENER), "nightly", *options], data)
    read, count = seconds([sys.executable, "-c", READ, bars], ".")
    print(report)
    print(f"night {night:.1f} s, {int(count) / night:,.0f} bars a second of wall clock")
    print(
        f"read  {read:.1f} s; the night takes {night / read:.1f} times as long as reading its bars"
    )


if __name__ == "__main__":
    main()
