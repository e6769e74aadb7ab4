"""The nightly: killed before each of its changes of files, and two at once."""

from __future__ import annotations

import shutil
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
from tests.qa.process.moments import moments
from tests.screener.command import run, run_process
from tests.screener.process import until


def kill_nightly(drill: Drill) -> None:
    """Run the nightly again on what a kill before each of its changes leaves."""
    books = {night.data_version: night for night in drill.nights.sealed}
    new, arguments = drill.nights.sealed[-1], drill.nights.arguments()
    found = moments(drill.data(), drill.folder / "moments", *arguments)
    drill.made = f"{len(found)} times, before each change of a file"
    for one in found:
        wrong = _left(one, books)
        active = Sealed(one).check_active().data_version
        with drill.timed():
            again = run(one, *arguments)
        wrong += _left(one, {new.data_version: new}, whole=True)
        if again.returncode not in (PUBLISHED, NOTHING_NEW):
            wrong.append(f"the next run ended with {again.returncode}: {again.stderr[-200:]}")
        drill.seen["the new night" if active == new.data_version else "the old night"] += 1
        drill.wrong += [f"{one.name}: {words}" for words in wrong]
        shutil.rmtree(one)
    drill.notes.append("That is the time of the next run, which needs no hand")


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
        # One of the record of progress may stay; nobody reads it, and docs/upkeep.md says so.
        wrong += [f"{path.name} is left" for path in drafts if "progress" not in path.name]
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
