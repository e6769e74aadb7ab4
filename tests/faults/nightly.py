"""The nightly: killed before each of its changes of files, two at once, and without room."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from store.ledger import Ledger
from tests.faults.found import Found
from tests.faults.nights import NEXT, Nights
from tests.faults.serving import Serving, served
from tests.faults.truth import Truth, served_by
from tests.faults.writers import client_of
from tests.screener.command import COMMAND, environment, run
from tests.screener.process import until

SIDE_BY_SIDE = 2
PUBLISHED, NOTHING_NEW, BUSY = 0, 5, 3
TOLD = ("open", "os.rename", "os.remove", "sqlite3.connect")
"""Changes before which it is killed; a kill before another one leaves what the next one finds."""
MAY_STAY = ("progress",)
"""What may leave a draft behind, which nobody reads; docs/storage.md says so."""
PROGRESS = 3
"""Changes of the record of progress before which it is killed."""
ARGUMENTS = ("nightly", "--session", NEXT.isoformat())


def killed(folder: Path, nights: Nights) -> Found:
    """Kill a nightly before each of its changes, run it again, and look at what is left."""
    found = Found()
    told = _run(nights.copied(folder / "whole"), 0).stderr.splitlines()
    changes = [line for line in told if line.startswith("change ")]
    new = nights.new
    numbers = _chosen(changes)
    kinds = Counter(_kind(changes[number - 1]) for number in numbers)
    found.made = f"{len(numbers)} times, before each change of a file: " + ", ".join(
        f"{kind} {count}" for kind, count in kinds.items()
    )

    alone = threading.Lock()  # a run in this process sets its environment

    def kill(number: int) -> tuple[str, list[str], float]:
        one = nights.copied(folder / str(number))
        done = _run(one, number)
        between = _left(one, nights.books)
        active = Nights.of(one).check_active().data_version
        with alone:
            began = time.monotonic()
            again = run(one, *ARGUMENTS)
            spent = time.monotonic() - began
        after = _left(one, {new.data_version: new.book.sha256}, whole=True)
        if again.returncode not in (PUBLISHED, NOTHING_NEW):
            after.append(f"the next run ended with {again.returncode}: {again.stderr[-200:]}")
        which = "the new night" if active == new.data_version else "the old night"
        said = which if done.returncode < 0 else f"{which}, as the run had ended"
        shutil.rmtree(one)
        return said, [f"change {number}: {one}" for one in between + after], spent

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        for said, wrong, spent in threads.map(kill, numbers):
            found.seen[said] += 1
            found.wrong += wrong
            found.seconds.append(spent)
    found.notes.append("That is the time of the next run, which needs no hand")
    return found


def _chosen(changes: Sequence[str]) -> list[int]:
    """The numbers of the changes before which it is killed: of the progress, which is written very
    often, the first ones alone.
    """
    told = [n for n, line in enumerate(changes, 1) if line.split()[1] in TOLD]
    progress = [n for n in told if _kind(changes[n - 1]) == "progress"]
    return [n for n in told if n not in progress[PROGRESS:]]


def _kind(change: str) -> str:
    """What is written, by the name of the file."""
    path = change.split()[-1]
    for part, kind in (
        ("progress", "progress"),
        (".book", "book"),
        ("checkpoints", "checkpoints"),
        ("/ledger/", "ledger"),
        ("manifest", "manifest switch"),
        (".json", "night's manifest"),
        (".verified", "stamp"),
        (".draft", "book"),
        (".lock", "lock"),
    ):
        if part in path:
            return kind
    return "other"


def _run(data: Path, number: int) -> subprocess.CompletedProcess[str]:
    watched = [sys.executable, "-m", "tests.faults.killed", str(data), str(number), *ARGUMENTS]
    return _process(watched, data)


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the screener on a data folder."""
    return _process([*COMMAND, *arguments], data)


def _process(command: list[str], data: Path) -> subprocess.CompletedProcess[str]:
    given = environment(data)
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=300)


def _left(data: Path, allowed: dict[str, str], *, whole: bool = False) -> list[str]:
    """What is wrong in a data folder: with the active night, the ledger, or what is left."""
    active = Nights.of(data).check_active()
    wrong = []
    if allowed.get(active.data_version) != active.book.sha256:
        wrong.append(f"the active night is {active.data_version}")
    ledger = Ledger(data)
    for name in ledger.names():
        ledger.read(name)
    if whole:
        recorded = len(ledger.recorded())
        if recorded != len(Nights.of(data).sealed()):
            wrong.append(f"{recorded} nights are in the ledger")
        drafts = [path for path in data.rglob("*") if path.name.endswith((".draft", ".work"))]
        wrong += [f"{path.name} is left" for path in drafts if _kind(f" {path}") not in MAY_STAY]
    return wrong


def two(folder: Path, nights: Nights) -> Found:
    """Start two nightlies at once, beside a service that is read all the time."""
    found = Found(made="3 times, both started at the same moment, beside a service")
    for number in range(3):
        data = nights.copied(folder / str(number))
        with served(data) as serving, Reader(serving, nights.truth, found):
            with ThreadPoolExecutor(2) as threads:
                runs = list(threads.map(lambda _, d=data: command(d, *ARGUMENTS), range(2)))
            codes = sorted(run.returncode for run in runs)
            if codes[0] != PUBLISHED or codes[1] not in (BUSY, NOTHING_NEW):
                found.wrong.append(f"they ended with {codes}")
            for run in runs:
                found.seen[f"exit code {run.returncode}"] += 1
            began = time.monotonic()
            with client_of(serving) as client:
                until(lambda c=client: served_by(c) == nights.new.data_version)  # type: ignore[misc]
            found.seconds.append(time.monotonic() - began)
            new = nights.new
            found.wrong += _left(data, {new.data_version: new.book.sha256}, whole=True)
    return found


class Reader:
    """Reads for as long as the block lasts; every answer must be a night's."""

    def __init__(self, serving: Serving, truth: Truth, found: Found) -> None:
        self._client = client_of(serving, serving.key())
        self._truth = truth
        self._found = found
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._over.wait(0.02):
            for path in ("/api/v1/families", "/api/v1/universe", "/api/v1/demo/MSFT"):
                answer = self._client.get(path)
                self._found.seen["answered" if answer.is_success else str(answer.status_code)] += 1
                wrong = self._truth.wrong(path, answer.content) if answer.is_success else None
                if wrong:
                    self._found.wrong.append(wrong)
