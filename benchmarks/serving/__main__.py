"""The service compared with named references, in one interleaved run; needs wrk.

    python -m benchmarks.serving [--rounds N] [--symbols N] [--seconds N] [--only NAME,...]
                                 [--peers FOLDER]

The service is a real `screener serve` with keys, limits and `/metrics`; with PostgreSQL and Redis,
if their programs are installed, others keep their accounts and counts there. The references answer
with the same payload, which is checked before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from redis import Redis

from benchmarks.serving.cases import OURS, REDIS, SMALL, make_cases
from benchmarks.serving.load import Loader
from benchmarks.serving.report import Measured, report
from benchmarks.serving.stage import OUTSIDE, Books, make_books, say, start_all
from tests.conftest import seal_night

SHARED = ("uvicorn", "uvloop", "httptools", "starlette", "pydantic")
"""Packages that a reference shares with the service, at the same version."""
START = "start"
"""What is measured besides the cases."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="bursts at each contender (%(default)s)")
    add("--symbols", type=int, default=10_000, help="size of the book (%(default)s)")
    add("--seconds", type=int, default=1, help="length of a burst (%(default)s)")
    add("--only", type=names, default=[], help="such as mcp-2025,start")
    add("--peers", type=Path, help="environment of the references; made if absent")
    return parser.parse_args(given)


def names(text: str) -> list[str]:
    """What to measure, separated by commas."""
    known = [*(case.name for case in make_cases("", "", "")), START]
    if unknown := set(text.split(",")) - {*known}:
        what = f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        raise argparse.ArgumentTypeError(what)
    return text.split(",")


def main() -> None:
    """Build everything, measure it in turns and print the tables."""
    asked = arguments()
    wrk = shutil.which("wrk")
    if wrk is None:
        sys.exit("Install wrk, which sends the load.")
    # A run that is ended early must still stop its servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended before all was measured."))
    if asked.peers is not None:
        install_peers(asked.peers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seal_night(folder / "sample")
        books = make_books(folder / "sample", folder, asked.symbols)
        measured = run(books, wrk, asked)
    print(headline(asked.peers))
    print(report(measured))


def run(books: Books, wrk: str, asked: argparse.Namespace) -> Measured:
    """Measure memory and start, then the cost against the references."""
    # First: what other services hold in memory makes a share of it smaller.
    started = (OURS, SMALL) if START in (asked.only or [START]) else ()
    fresh = {name: books.start_fresh(name, asked.rounds) for name in started}
    loader, redis_us = Loader(wrk, books.keys, asked.seconds), None
    with ExitStack() as stack:
        stage = start_all(stack, books, asked.peers, asked.only)
        contenders = stage.contenders()
        loader.warm(contenders)
        before = redis_cpu(stage.redis_url)
        found = loader.measure(contenders, asked.rounds)
        if stage.redis_url:
            calls = sum(each.requests for one, each in found.items() if one.name == REDIS)
            redis_us = (redis_cpu(stage.redis_url) - before) / calls * 1e6
    return Measured(found, fresh, redis_us)


def redis_cpu(url: str) -> float:
    """The seconds of CPU that a Redis has used; 0 without one."""
    if not url:
        return 0.0
    with Redis.from_url(url) as client:
        used = client.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def install_peers(folder: Path) -> None:
    """Make the environment of the references outside this project, unless it exists."""
    if (folder / "ready").exists():
        return
    say(f"Installing the references into {folder}")
    wanted = [*" ".join(OUTSIDE.values()).split(), *(f"{one}=={version(one)}" for one in SHARED)]
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603
    subprocess.run(  # noqa: S603 - pip, in an environment of its own
        [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *wanted], check=True
    )
    (folder / "ready").touch()


def headline(peers: Path | None) -> str:
    """The head of the report: what was run, and on what."""
    packages = ("uvicorn", "uvloop", "httptools", "starlette", "mcp")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    missing = f" Without {', '.join(OUTSIDE)}: add --peers FOLDER." if peers is None else ""
    return (
        "# The serving side against references, one run\n\n"
        f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores; load by wrk over "
        f"loopback.{missing}\n"
    )


if __name__ == "__main__":
    main()
