"""The service compared with named references, in one interleaved run.

    python -m benchmarks.serving [--quick] [--symbols N] [--seconds N] [--only NAME,...]
                                 [--peers FOLDER]

The service is a real `screener serve` with keys, limits, `/metrics` and the accounts of a crowd.
The references answer with the same payload, which is checked before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from benchmarks.serving.cases import OURS, SMALL, make_cases
from benchmarks.serving.fresh import start_fresh
from benchmarks.serving.load import Loader
from benchmarks.serving.report import Measured, report
from benchmarks.serving.rounds import Contender, measure, warm
from benchmarks.serving.stage import (
    OUTSIDE,
    Books,
    install_peers,
    make_books,
    peer_versions,
    pip_arguments,
    seal_sample,
    start_all,
)
from benchmarks.serving.writers import measure_waits

ROUNDS, QUICK_ROUNDS = 5, 2
START, WRITERS = "start", "writers"
"""What is measured besides the cases."""
PHASE = 5
"""The length of a phase with or without writers, in bursts."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick",
        dest="rounds",
        action="store_const",
        const=QUICK_ROUNDS,
        default=ROUNDS,
        help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}",
    )
    parser.add_argument("--symbols", type=int, default=10_000, help="size of the book")
    parser.add_argument("--seconds", type=int, default=1, help="length of a burst")
    parser.add_argument("--only", type=names, default=[], help="such as mcp-2025,start,writers")
    parser.add_argument("--peers", type=Path, help="environment of the references; made if absent")
    return parser.parse_args(given)


def names(text: str) -> list[str]:
    """What to measure, separated by commas."""
    known = [*(case.name for case in make_cases("", "", "")), START, WRITERS]
    if unknown := set(text.split(",")) - {*known}:
        what = f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        raise argparse.ArgumentTypeError(what)
    return text.split(",")


def main() -> None:
    """Build everything, measure it in turns and print the tables."""
    asked = arguments()
    # A run that is ended early must still stop its servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended before all was measured."))
    if asked.peers is not None:
        install_peers(asked.peers)
    with tempfile.TemporaryDirectory() as name:
        folder, loader = Path(name), Loader(shutil.which("wrk"))
        seal_sample(folder / "sample")
        books = make_books(folder / "sample", folder, asked.symbols)
        measured = run(books, loader, asked)
    print(headline(loader, asked.peers))
    print(report(measured))


def run(books: Books, loader: Loader, asked: argparse.Namespace) -> Measured:
    """Measure memory and start, the cost against the references, and readers beside writers."""
    rounds, wanted = asked.rounds, asked.only or (START, WRITERS)
    # First: what other services hold in memory makes a share of it smaller.
    started = (OURS, SMALL) if START in wanted else ()
    fresh = {name: start_fresh(books, name, loader, rounds) for name in started}
    with ExitStack() as stack:
        stage = start_all(stack, books, asked.peers, asked.only)
        compared, waits = stage.contenders(), None
        warm(compared, loader, books.keys)
        found = measure(compared, loader, books.keys, rounds, asked.seconds)
        if WRITERS in wanted:
            case = make_cases(books.market.tracked[0], "", "")[0]
            reader, url = Contender(OURS, stage.servers[OURS], case), books.database(OURS)
            phase = asked.seconds * PHASE
            waits = measure_waits(reader, url, loader, books.keys, rounds, phase)
    return Measured(found, fresh, waits)


def headline(loader: Loader, peers: Path | None) -> str:
    """The head of the report: what was run, and on what."""
    names = ("uvicorn", "uvloop", "httptools", "starlette", "mcp")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    lines = [
        "# The serving side against references, one run",
        f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores; load by "
        f"{loader.name} over loopback.",
    ]
    if peers is None:
        command = f"python {' '.join(pip_arguments())}"
        lines.append(
            f"Without {', '.join(OUTSIDE)}: add --peers FOLDER, which makes an environment there "
            f"and runs in it: {command}"
        )
    else:
        lines.append(f"References: {peer_versions(peers)}; each reads the same records.")
    return "\n\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
