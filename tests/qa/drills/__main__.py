"""Drills: faults are made, and what each cost is printed.

`faults` makes each on a service of its own; `topology` kills each part of three servers behind a
balancer once; `soak` loads a service for long. All is on loopback, in a temporary folder. Ends with
1 if anything that was acknowledged is gone, anything that was served is wrong, or a promise is
broken.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.qa.drills import away, clock, crowds, damage, kills, nightly, several, site, soak
from tests.qa.drills.drill import HEAD, CannotError, Drill, line, table
from tests.qa.drills.nights import Nights

FAULTS = {
    make.__name__.replace("_", "-"): make
    for make in (
        *(kills.kill_server, kills.kill_worker, nightly.kill_nightly, nightly.two_nightlies),
        *(damage.damaged_night, damage.damaged_under_way, damage.damaged_accounts),
        *(damage.damaged_counters, clock.clock_jumps, clock.clock_nightly),
        *(away.database_locked, away.database_away, away.disk_full, away.disk_read_only),
        *(crowds.idle_connections, crowds.slow_clients, crowds.drawings),
        *(kills.worker_storm, kills.stops),
    )
}


def main() -> int:
    """Make the drills that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.qa.drills", description=__doc__)
    kinds = parser.add_subparsers(required=True)
    faults = kinds.add_parser("faults")
    faults.add_argument("--only", default="", help="one fault, or the beginning of several")
    faults.set_defaults(run=make_faults)
    topology = kinds.add_parser("topology")
    topology.add_argument("--minutes", type=float, default=5.0)
    topology.add_argument("--first", type=int, help="so many losses alone")
    topology.add_argument("--hold", action="store_true", help="start everything, wait for Ctrl-C")
    topology.set_defaults(run=lose_parts)
    long = kinds.add_parser("soak")
    long.add_argument("--minutes", type=float, default=30.0)
    long.set_defaults(run=soak.soak)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="drills-") as name:
            return int(given.run(given, Path(name)))
    except KeyboardInterrupt:
        say("Stopped; nothing is left running.")
        return 130


def make_faults(given: argparse.Namespace, folder: Path) -> bool:
    """Make faults, and print the table."""
    chosen = {name: make for name, make in FAULTS.items() if name.startswith(given.only)}
    if not chosen:
        sys.exit(f"There is no fault {given.only}; there are {', '.join(FAULTS)}.")
    nights, failed = Nights(folder), False
    nights.learn()
    print(*table(HEAD), sep="\n", flush=True)
    for name, make in chosen.items():
        drill, began = Drill(name, folder / name, nights), time.monotonic()
        drill.folder.mkdir()
        try:
            make(drill)
            row = drill.row()
        except CannotError as error:
            row = (name, "skipped", "", "", str(error))
        except Exception as error:
            traceback.print_exc()
            drill.wrong.append("not to its end")
            row = (name, "not to its end", f"FAILED {error}", "", "")
        say(f"{name}: {time.monotonic() - began:.0f} s")
        print(line(row), flush=True)
        failed |= drill.failed
    return failed


def lose_parts(given: argparse.Namespace, folder: Path) -> bool:
    """Drive a site through all drills, and print the report. It takes longer if the drills do."""
    if lacking := site.missing():
        sys.exit(f"Not installed here: {', '.join(lacking)}; `make test-engines` installs them.")
    say("Making the bars, every night and what it answers ...")
    with site.running(folder) as running:
        if given.hold:
            return hold(running)
        say(f"Three servers behind {running.url}, for {given.minutes * 60:.0f} s or longer ...")
        return several.drive(running, given.minutes * 60, several.LOSSES[: given.first])


def hold(running: site.Site) -> bool:
    """Say where everything is, and wait."""
    print(f"balancer: {running.url}")
    for server in running.servers:
        print(f"server:   {server.url}  pid {server.process.pid}  log {server.log}")
    print(f"keys:     {' '.join(running.keys(['a@x.test', 'b@x.test']))}")
    for name, value in running.environment.items():
        print(f"export {name}={shlex.quote(value)}")
    say("Waiting for Ctrl-C ...")
    signal.pause()  # Polars lets an endless wait of a thread go on after Ctrl-C
    return False


def say(words: str) -> None:
    """Tell what is being done."""
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
