"""Several machines as processes of one: `make topology MINUTES=5`.

Three servers without a shared disk behind HAProxy, PostgreSQL, Redis, an S3 server and nightlies
run on loopback in a temporary folder. Callers with keys, by OAuth and with nothing at all drive
them, while each part is killed or restarted once, the night is switched twice and one is withdrawn.
Every answer is held against what its night says. Prints what came of it; ends with 1 if a promise
is broken. With --hold it only starts everything, prints where it is, and waits for Ctrl-C.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.topology.crowd import Crowd
from tests.topology.drills import Drill, Drills
from tests.topology.parts import missing
from tests.topology.report import broken, report
from tests.topology.site import Site, running


def main() -> int:
    """Run for some minutes, or hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.topology", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--hold", action="store_true", help="start everything, and wait for Ctrl-C")
    given = parser.parse_args()
    if lacking := missing():
        sys.exit(f"Not installed here: {', '.join(lacking)}; `make test-engines` installs them.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="topology-") as name:
            say("Making the bars, every night and what it answers ...")
            with running(Path(name)) as site:
                return hold(site) if given.hold else drive(site, given.minutes * 60)
    except KeyboardInterrupt:
        say("Stopped; nothing is left running.")
        return 130


def drive(site: Site, seconds: float) -> int:
    """Drive a site through all drills; prints the report. It takes longer if the drills do."""
    say(f"Three servers behind {site.url}; driving for {seconds:.0f} s or longer ...")
    crowd = Crowd(site)
    drills = Drills(site, crowd)
    with crowd:
        began, listed = time.monotonic(), list(drills.all())
        for number, drill in enumerate(listed, 1):
            found = drills.run(drill)
            say(_line(found))
            due = began + seconds * number / len(listed)
            threading.Event().wait(max(1.0, due - time.monotonic()))
    wrong = broken(crowd, list(site.tracebacks()))
    print("\n".join(["", *report(crowd, drills.done, wrong)]), flush=True)
    return int(bool(wrong))


def hold(site: Site) -> int:
    """Say where everything is, and wait."""
    print(f"balancer: {site.url}")
    for server in site.servers:
        print(f"server:   {server.url}  pid {server.pid}  log {server.log}")
    print(f"keys:     {' '.join(site.keys(['a@x.test', 'b@x.test']))}")
    for name, value in site.environment.items():
        print(f"export {name}={shlex.quote(value)}")
    say("Waiting for Ctrl-C ...")
    signal.pause()  # Polars lets an endless wait of a thread go on after Ctrl-C
    return 0


def _line(drill: Drill) -> str:
    return (
        f"{drill.part}: {drill.done}; calls well after {drill.well:.1f} s, "
        f"healthy after {drill.healthy:.1f} s"
    )


def say(words: str) -> None:
    """Tell what is being done."""
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
