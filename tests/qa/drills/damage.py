"""Damage: files that are cut short, emptied or have flipped bytes, one at a time."""

from __future__ import annotations

import logging
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from screener.server.serving import check_active_night
from screener.settings.settings import Settings
from store.errors import StoreError
from tests.qa.drills.drill import Drill
from tests.qa.drills.server import Server
from tests.qa.drills.truth import KEYED_REST, charts, ending
from tests.screener.command import run, run_process
from tests.screener.process import until
from tests.service import serving

SEED = 3
FLIPS = 2
REFUSED = 2
RIGHT_ENDS = (0, 2, 4, 5)
NO_NIGHT = b'"as_of_session":null,"data_version":null'
"""How answers begin while no night is served."""


def flip(path: Path, moments: random.Random, bits: int = 1) -> None:
    """Flip bits somewhere, through the file system, which notes the time."""
    with path.open("r+b") as file:
        for _ in range(bits):
            at = moments.randrange(path.stat().st_size)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << moments.randrange(8)]))


def halve(path: Path, _moments: random.Random) -> None:
    """Cut off the second half."""
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _moments: random.Random) -> None:
    """Cut off everything."""
    os.truncate(path, 0)


WAYS: Sequence[Callable[[Path, random.Random], None]] = (halve, empty, *[flip] * FLIPS)


def files(data: Path, version: str) -> Iterator[tuple[str, Path]]:
    """The files of a data folder that are damaged, by what they are."""
    nights, ledger = data / "nights", data / "ledger"
    yield "manifest.json", data / "manifest.json"
    yield "night's manifest", nights / f"{version}.json"
    yield "book", nights / f"{version}.book"
    yield "stamp", nights / f".{version}.verified"
    yield "ledger object", max(ledger.glob("*.jsonl.gz"))
    yield "ledger head", ledger / "head.json"
    yield "checkpoints", data / "checkpoints.sqlite"
    yield "progress", data / "progress.json"


def damaged_night(drill: Drill) -> None:
    """Damage each file of a night, then start a service, verify, and run the nightly again."""
    moments, version = random.Random(SEED), drill.nights.sealed[-1].data_version
    whole = drill.data("whole")
    run_process(whole, *drill.nights.arguments())
    kinds = [name for name, _ in files(whole, version)]
    drill.made = (
        f"{len(kinds) * len(WAYS)} times: half, nothing, or all but {FLIPS} single bits left of "
        + ", ".join(kinds)
    )
    for name in kinds:
        for way in WAYS:
            data, label = drill.folder / "damaged", f"{name}, {way.__name__}"
            shutil.copytree(whole, data)
            way(dict(files(data, version))[name], moments)
            drill.seen[f"{name}: {_served(drill, data, label)}"] += 1
            _commands(drill, data, label)
            shutil.rmtree(data)


def _served(drill: Drill, data: Path, label: str) -> str:
    """How a service starts on a damaged folder; whatever it answers must be right."""
    try:
        check_active_night(Settings(data_dir=data))
    except StoreError:
        return "refused in words"
    with serving(data, public_url=drill.nights.url) as live:
        server = Server(data, live.settings.port, drill.folder / "unused.log")
        with server.client(live.key) as client:
            for question in [*KEYED_REST, *charts(client)]:
                wrong = drill.nights.truth.judge(question, question.ask(client))
                drill.wrong += [f"{label}: {one.how}" for one in wrong]
            for page in ("/", "/status", "/method", "/families"):
                status = client.get(page).status_code
                drill.check(so=status < 500, wrong=f"{label}: {page} ends with {status}")
    return "served right"


def _commands(drill: Drill, data: Path, label: str) -> None:
    """What the commands say of it; what is damaged and matters must be told by one of them."""
    codes = []
    for words in (("ledger", "verify"), ("night", "verify"), drill.nights.arguments()):
        try:
            code = run(data, *words).returncode
        except Exception as error:
            drill.wrong.append(f"{label}: `{' '.join(words[:2])}` ends with {error!r}")
            continue
        finally:
            logging.getLogger().handlers.clear()  # the command's stream is closed
        codes.append(code)
        right = code in RIGHT_ENDS
        drill.check(so=right, wrong=f"{label}: `{' '.join(words[:2])}` ends with {code}")
    if label.startswith(("book", "ledger")):
        drill.check(so=any(codes[:2]), wrong=f"{label}: no command says so")


def damaged_under_way(drill: Drill) -> None:
    """Flip bits of the book while it is served."""
    drill.made, moments = "3 times, 200 bits of a book that is served", random.Random(SEED)
    for number in range(3):
        data = drill.data(str(number))
        server = drill.server(data)
        with server.running(), server.client(server.key()) as client:
            flip(data / "nights" / drill.nights.sealed[-2].book.file, moments, 200)
            until(lambda c=client: c.get("/health/ready").status_code == 503)  # type: ignore[misc]
            for question in KEYED_REST:
                answer = question.ask(client)
                if NO_NIGHT in answer.content:
                    drill.seen["no night"] += 1
                    continue
                drill.wrong += [one.how for one in drill.nights.truth.judge(question, answer)]
                drill.seen[ending(answer)] += 1
            code = run_process(data, "night", "verify").returncode
            drill.seen[f"`night verify` ends with {code}"] += 1
            drill.check(so=code == REFUSED, wrong="`night verify` does not notice")
        said = _started(server)
        drill.seen[f"the next start {said}"] += 1
        drill.check(so=said == f"ends with {REFUSED}", wrong="the next start does not notice")


def _started(server: Server) -> str:
    """How a start ends that may be refused; a server that answers goes on."""
    server.start()
    try:
        server.ready()
    except RuntimeError:
        return f"ends with {server.process.wait(30)}"
    return "answers"


def damaged_accounts(drill: Drill) -> None:
    """Damage the account database and its log, and start a service on it."""
    drill.made = f"{2 * len(WAYS)} times: accounts.sqlite, and its -wal left by a kill"
    moments = random.Random(SEED)
    for number in range(2 * len(WAYS)):
        data = drill.data(str(number))
        with drill.server(data).running() as server:
            crowd = drill.crowd(server)
            with crowd:
                until(lambda c=crowd: c.caller.answered and c.answered > 20)  # type: ignore[misc]
                server.kill()
            name = "accounts.sqlite-wal" if number % 2 else "accounts.sqlite"
            way = WAYS[number // 2]
            way(data / name, moments)
            said = _started(server)
            if said == "answers":
                with server.client(crowd.caller.key) as client:
                    ends = {ending(client.get("/api/v1/me")) for _ in range(3)}
                drill.check(so=server.answers(), wrong="keyless calls are not answered")
                drill.wrong += [f"a keyed call ends: {end}" for end in ends if "500" in end]
                said = ", ".join(sorted(ends))
            else:
                drill.check(so="Traceback" not in server.said(), wrong="a start has a traceback")
            drill.seen[f"{name}, {way.__name__}: {said}"] += 1


def damaged_counters(drill: Drill) -> None:
    """Damage the files in which two workers count, while they count."""
    drill.made, moments = "4 times, of a file shared by two workers", random.Random(SEED)
    scratch = drill.folder / "tmp"
    scratch.mkdir()
    with drill.server(more={"TMPDIR": str(scratch)}, workers=2).running() as server:
        until(lambda: len(server.workers()) == 2)
        for number, way in enumerate((_scatter, _scatter, halve, empty)):
            crowd = drill.crowd(server, number)
            with crowd:
                until(lambda c=crowd: c.answered > 30)  # type: ignore[misc]
                counters = next(scratch.glob("screener-counters-*"))
                way(counters / ("keys", "others")[number % 2], moments)
                until(lambda c=crowd: c.answered > 90)  # type: ignore[misc]
            drill.take(crowd)
        until(lambda: all(server.answers() for _ in range(10)))


def _scatter(path: Path, moments: random.Random) -> None:
    with path.open("r+b") as file:
        for _ in range(2000):
            file.seek(moments.randrange(path.stat().st_size))
            file.write(bytes([moments.randrange(256)]))
