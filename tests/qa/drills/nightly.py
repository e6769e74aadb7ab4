"""The nightly: killed before each of its changes of files, and two at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from store.ledger.ledger import Ledger
from store.ledger.manifest import Manifest
from store.nights.nights import Nights as Sealed
from tests.qa.drills.crowd import Crowd
from tests.qa.drills.drill import Drill
from tests.qa.drills.nights import BUSY, NOTHING_NEW, PUBLISHED
from tests.qa.drills.readers import Reader, serves
from tests.qa.drills.truth import KEYED_REST
from tests.screener.command import environment, run, run_process
from tests.screener.process import until

SIDE_BY_SIDE = 2
TOLD = ("open", "os.rename", "os.remove", "sqlite3.connect")
"""Changes before which it is killed; a kill before another one leaves what the next one finds."""
PROGRESS = 3
"""Changes of the record of progress, which is written very often, before which it is killed. It may
leave a draft behind, which nobody reads; docs/upkeep.md says so.
"""
KINDS = {
    "progress": "progress",
    ".book": "book",
    "checkpoints": "checkpoints",
    "/ledger/": "ledger",
    "manifest": "manifest switch",
    ".json": "night's manifest",
    ".verified": "stamp",
    ".draft": "book",
    ".lock": "lock",
}
"""What is written, by a part of the path."""


def kill_nightly(drill: Drill) -> None:
    """Kill a nightly before each of its changes, run it again, and look at what is left."""
    said = _killed(drill, drill.data("whole"), 0).stderr.splitlines()
    changes = [line.split(" ", 2) for line in said if line.startswith("change ")]
    kinds: dict[int, str] = {}
    for number, (_, event, path) in enumerate(changes, 1):
        kind = _kind(path)
        often = kind == "progress" and list(kinds.values()).count(kind) == PROGRESS
        if event in TOLD and not often:
            kinds[number] = kind
    drill.made = f"{len(kinds)} times, before each change of a file: " + ", ".join(
        f"{kind} {count}" for kind, count in Counter(kinds.values()).items()
    )
    books = {night.data_version: night for night in drill.nights.sealed}
    new = drill.nights.sealed[-1]
    alone = threading.Lock()  # a run in this process sets its environment

    def kill(number: int) -> None:
        one = drill.data(str(number))
        done = _killed(drill, one, number)
        wrong = _left(one, books)
        active = Sealed(one).check_active().data_version
        with alone, drill.timed():
            again = run(one, *drill.nights.arguments())
        wrong += _left(one, {new.data_version: new}, whole=True)
        if again.returncode not in (PUBLISHED, NOTHING_NEW):
            wrong.append(f"the next run ended with {again.returncode}: {again.stderr[-200:]}")
        which = "the new night" if active == new.data_version else "the old night"
        drill.seen[which if done.returncode < 0 else f"{which}, as the run had ended"] += 1
        drill.wrong += [f"change {number}: {one}" for one in wrong]
        shutil.rmtree(one)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        list(threads.map(kill, kinds))
    drill.notes.append("That is the time of the next run, which needs no hand")


def _kind(path: str) -> str:
    return next((kind for part, kind in KINDS.items() if part in path), "other")


def _killed(drill: Drill, data: Path, number: int) -> subprocess.CompletedProcess[str]:
    watched = [sys.executable, "-m", "tests.qa.drills.killed", str(data), str(number)]
    return subprocess.run(
        [*watched, *drill.nights.arguments()],
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=300,
    )


def _left(data: Path, allowed: dict[str, Manifest], *, whole: bool = False) -> list[str]:
    """What is wrong in a data folder: with the active night, the ledger, or what is left."""
    active = Sealed(data).check_active()
    wrong = []
    if active != allowed.get(active.data_version):
        wrong.append(f"the active night is {active.data_version}")
    ledger = Ledger(data)
    for name in ledger.names():
        ledger.read(name)
    if whole:
        recorded = len(ledger.recorded())
        if recorded != len(Sealed(data).sealed()):
            wrong.append(f"{recorded} nights are in the ledger")
        drafts = [path for path in data.rglob("*") if path.name.endswith((".draft", ".work"))]
        wrong += [f"{path.name} is left" for path in drafts if _kind(str(path)) != "progress"]
    return wrong


def two_nightlies(drill: Drill) -> None:
    """Start two nightlies at once, beside a service that is read all the time."""
    drill.made = "3 times, both started at the same moment, beside a service"
    new = drill.nights.sealed[-1]
    for number in range(3):
        data = drill.data(str(number))
        with drill.server(data).running() as server:
            clients = [server.client(server.key())]
            reader = Reader("reader", server, drill.nights.truth, KEYED_REST, clients)
            crowd = Crowd([(reader, 0.02)])
            with crowd:
                with ThreadPoolExecutor(2) as threads:
                    start = [threads.submit(run_process, data, *drill.nights.arguments())]
                    start.append(threads.submit(run_process, data, *drill.nights.arguments()))
                codes = sorted(one.result().returncode for one in start)
                right = codes[0] == PUBLISHED and codes[1] in (BUSY, NOTHING_NEW)
                drill.check(so=right, wrong=f"they ended with {codes}")
                drill.seen.update(f"exit code {code}" for code in codes)
                with drill.timed():
                    until(lambda s=server: serves(s, new.data_version))  # type: ignore[misc]
                drill.wrong += _left(data, {new.data_version: new}, whole=True)
            drill.take(crowd)
