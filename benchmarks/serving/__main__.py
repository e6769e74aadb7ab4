"""The service compared with named references, in one interleaved run.

    python -m benchmarks.serving [--quick] [--symbols 100,1000,10000] [--seconds N]
                                 [--only PATH,...] [--peers FOLDER] [--awake] [--profile PATH]

The service is a real `screener serve` with one worker, keys, limits and `/metrics`. The references
answer with the same payload, which is checked before anything is timed. With --awake no processor
sleeps during the run: ratios are then steadier, and all costs are higher if processors share a
core.
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

from benchmarks.serving.awake import awake
from benchmarks.serving.cases import Case, chosen, make_cases
from benchmarks.serving.fresh import start_fresh
from benchmarks.serving.load import Loader
from benchmarks.serving.report import CONNECTIONS, Measured, report
from benchmarks.serving.rounds import Contender, Figures, measure, warm
from benchmarks.serving.stage import (
    OUTSIDE,
    Stage,
    build,
    install_peers,
    peer_versions,
    pip_arguments,
    seal_sample,
)

ROUNDS, QUICK_ROUNDS = 5, 2
PROFILE_SECONDS = 10


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="2 rounds, only at 16 connections")
    parser.add_argument(
        "--symbols", type=sizes, default="100,1000,10000", help="sizes of the books"
    )
    parser.add_argument("--seconds", type=int, default=1, help="length of a burst")
    parser.add_argument("--only", default="", help="paths, such as rest-patterns,mcp-2025")
    parser.add_argument("--peers", type=Path, help="environment of the references; made if absent")
    parser.add_argument("--awake", action="store_true", help="keep the processors from sleeping")
    parser.add_argument("--profile", help="record one path of the service with py-spy instead")
    return parser.parse_args(given)


def sizes(text: str) -> list[int]:
    """Positive numbers of symbols, separated by commas."""
    found = [int(size) for size in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def main() -> None:
    """Build everything, measure it in turns and print the tables."""
    asked = arguments()
    only = [name for name in (asked.profile or asked.only).split(",") if name]
    try:
        chosen(make_cases("", "", ""), only)
    except ValueError as error:
        sys.exit(str(error))
    # A run that is ended early must still stop its servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended before all was measured."))
    if asked.peers is not None:
        install_peers(asked.peers)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        seal_sample(folder / "sample")
        stage = build(stack, folder / "sample", folder, asked.symbols, asked.peers, only)
        loader = Loader(shutil.which("wrk"))
        if asked.profile:
            profile(stage, stage.cases[0], loader)
            return
        if asked.awake:
            stack.enter_context(awake())
        print(headline(loader, asked.peers))
        print(report(run(stage, loader, quick=asked.quick, seconds=asked.seconds)))


def run(stage: Stage, loader: Loader, *, quick: bool, seconds: int) -> Measured:
    """Measure everything: cost and latency against the references, growth, memory and start."""
    fresh = start_fresh(stage, loader)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    compared = contenders(stage, CONNECTIONS)
    warm(compared, loader, stage.keys)
    found = measure(compared, loader, stage.keys, rounds, seconds)
    for connections in () if quick else (1, 64):
        found |= measure(contenders(stage, connections), loader, stage.keys, 1, seconds)
    growing = [
        Contender("ours", server, case, CONNECTIONS)
        for case in stage.cases
        for server in stage.services.values()
    ]
    warm(growing, loader, stage.keys)
    grown = measure(growing, loader, stage.keys, rounds, seconds)
    return Measured(
        compared=found,
        growth=_by_size(stage, grown),
        fresh=fresh,
    )


def contenders(stage: Stage, connections: int) -> list[Contender]:
    """For each case, the service with the largest book, and the running references."""
    servers = {"ours": stage.largest, **stage.references}
    return [
        Contender(name, servers[name], case, connections)
        for case in stage.cases
        for name in ("ours", *case.references)
        if name in servers
    ]


def _by_size(stage: Stage, grown: dict[Contender, Figures]) -> dict[tuple[str, int], Figures]:
    sizes = {server.port: size for size, server in stage.services.items()}
    return {(c.case.name, sizes[c.server.port]): figures for c, figures in grown.items()}


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


def profile(stage: Stage, case: Case, loader: Loader) -> None:
    """Record where the service spends its time on one path."""
    tool = shutil.which("py-spy")
    if tool is None:
        sys.exit("py-spy is not installed: pip install py-spy, in any environment on PATH.")
    output = Path(f"{case.name}.svg")
    command = [tool, "record", "--subprocesses", "--pid", str(stage.largest.pid), "--duration"]
    command += [str(PROFILE_SECONDS), "--output", str(output)]
    with subprocess.Popen(command):  # noqa: S603 - py-spy, on our own server
        raw = [case.raw("ours", key, stage.largest.port) for key in stage.keys]
        loader.burst(stage.largest.port, raw, CONNECTIONS, PROFILE_SECONDS)
    print(f"Wrote {output.resolve()}")


if __name__ == "__main__":
    main()
