"""Damage: files that are cut short, emptied or have flipped bytes, one at a time."""

from __future__ import annotations

import logging
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from screener.serving import check_active_night
from screener.settings import Settings
from store.errors import StoreError
from tests.faults.crowd import Crowd
from tests.faults.found import Found
from tests.faults.kills import collect
from tests.faults.nightly import ARGUMENTS, command
from tests.faults.nights import Nights
from tests.faults.serving import Serving, served
from tests.faults.truth import Truth, charts, paths
from tests.faults.writers import client_of, ending
from tests.screener.command import run
from tests.screener.process import until
from tests.service import serving as serving_here

SEED = 3
FLIPS = 2
REFUSED = 2
RIGHT_ENDS = (0, 2, 4, 5)


def flip(path: Path, moments: random.Random) -> None:
    """Flip a byte somewhere."""
    body = bytearray(path.read_bytes())
    body[moments.randrange(len(body))] ^= 1 << moments.randrange(8)
    path.write_bytes(body)


def halve(path: Path, _moments: random.Random) -> None:
    """Cut off the second half."""
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _moments: random.Random) -> None:
    """Cut off everything."""
    os.truncate(path, 0)


WAYS: tuple[Callable[[Path, random.Random], None], ...] = (halve, empty, *[flip] * FLIPS)


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


def of_nights(folder: Path, nights: Nights) -> Found:
    """Damage each file of a night, then start a service, verify, and run the nightly again."""
    found, moments = Found(), random.Random(SEED)
    whole = nights.copied(folder / "whole")
    command(whole, *ARGUMENTS)
    kinds = [name for name, _ in files(whole, nights.new.data_version)]
    found.made = (
        f"{len(kinds) * len(WAYS)} times: half, nothing, or all but {FLIPS} single bits left of "
        + ", ".join(kinds)
    )
    for name in kinds:
        for number, way in enumerate(WAYS):
            data = folder / f"{name}-{number}".replace(" ", "-").replace("'", "")
            shutil.copytree(whole, data)
            way(dict(files(data, nights.new.data_version))[name], moments)
            label = f"{name}, {way.__name__}"
            found.seen[f"{name}: {_served(data, nights.truth, found, label)}"] += 1
            _commands(data, nights, found, label)
            shutil.rmtree(data)
    return found


def _served(data: Path, truth: Truth, found: Found, label: str) -> str:
    """How a service starts on a damaged folder; whatever it answers must be right."""
    try:
        check_active_night(Settings(data_dir=data))
    except StoreError:
        return "refused in words"
    with serving_here(data) as live, httpx.Client(base_url=live.url, timeout=60) as client:
        client.headers["Authorization"] = f"Bearer {live.key}"
        for path in [*paths(), *charts(client)]:
            answer = client.get(path)
            if answer.status_code >= 500:
                found.wrong.append(f"{label}: {path} ends with {answer.status_code}")
            elif answer.status_code == 200 and (wrong := truth.wrong(path, answer.content)):
                found.wrong.append(f"{label}: {wrong}")
        for page in ("/", "/status", "/method", "/families"):
            if (status := client.get(page).status_code) >= 500:
                found.wrong.append(f"{label}: {page} ends with {status}")
    return "served right"


def _commands(data: Path, nights: Nights, found: Found, label: str) -> None:
    """What the commands say of it; what is damaged and matters must be told by one of them."""
    told = []
    for words in (("ledger", "verify"), ("night", "verify"), ARGUMENTS):
        try:
            done = run(data, *words)
        except Exception as error:
            found.wrong.append(f"{label}: `{' '.join(words[:2])}` ends with {error!r}")
            continue
        finally:
            logging.getLogger().handlers.clear()  # the command's stream is closed
        told.append(done.returncode)
        if done.returncode not in RIGHT_ENDS:
            found.wrong.append(f"{label}: `{' '.join(words[:2])}` ends with {done.returncode}")
    if label.startswith(("book", "ledger")) and not any(told[:2]):
        found.wrong.append(f"{label}: no command says so")


NO_NIGHT = b'"as_of_session":null,"data_version":null'
"""How answers begin while no night is served."""


def under_way(folder: Path, nights: Nights) -> Found:
    """Flip bits of the book while it is served: through the file system, which notes the time."""
    found, moments = Found(made="3 times, 200 bits of a book that is served"), random.Random(SEED)
    for number in range(3):
        data = nights.copied(folder / str(number))
        with served(data) as serving, client_of(serving, serving.key()) as client:
            book = data / "nights" / f"{nights.versions[-1]}.book"
            with book.open("r+b") as file:
                for _ in range(200):
                    at = moments.randrange(book.stat().st_size)
                    file.seek(at)
                    byte = file.read(1)[0]
                    file.seek(at)
                    file.write(bytes([byte ^ 1]))
            until(lambda c=client: c.get("/health/ready").status_code == 503)  # type: ignore[misc]
            for path in paths():
                answer = client.get(path)
                if NO_NIGHT in answer.content:
                    found.seen["no night"] += 1
                    continue
                wrong = nights.truth.wrong(path, answer.content) if answer.is_success else None
                found.wrong += [wrong] if wrong else []
                found.seen[ending(answer)] += 1
            said = command(data, "night", "verify")
            found.seen[f"`night verify` ends with {said.returncode}"] += 1
            if said.returncode != 2:
                found.wrong.append("`night verify` does not notice")
            serving.stop()
            if _notices(serving):
                found.seen["the next start refuses in words"] += 1
            else:
                found.wrong.append("the next start does not notice")
    return found


def _notices(serving: Serving) -> bool:
    """Whether the next start refuses."""
    serving.start()
    try:
        serving.ready()
    except RuntimeError:
        return serving.code() == REFUSED
    return False


def of_accounts(folder: Path, nights: Nights) -> Found:
    """Damage the account database and its log, and start a service on it."""
    found, moments = Found(), random.Random(SEED)
    found.made = f"{2 * len(WAYS)} times: accounts.sqlite, and its -wal left by a kill"
    for number in range(2 * len(WAYS)):
        data = nights.copied(folder / str(number))
        serving = Serving(data)
        serving.start()
        serving.ready()
        crowd = Crowd(serving, nights.truth)
        with crowd:
            until(lambda c=crowd: c.caller.answered and c.seen["answered"] > 20)  # type: ignore[misc]
            serving.kill()
        name = "accounts.sqlite-wal" if number % 2 else "accounts.sqlite"
        way = WAYS[number // 2]
        way(data / name, moments)
        found.seen[f"{name}, {way.__name__}: {_after(serving, crowd, found)}"] += 1
        serving.stop()
    return found


def _after(serving: Serving, crowd: Crowd, found: Found) -> str:
    """What a service does with damaged accounts: it refuses to start, or says so in words."""
    serving.start()
    try:
        serving.ready()
    except RuntimeError:
        if "Traceback" in serving.said():
            found.wrong.append("a start ends with a traceback")
        return f"`serve` ends with {serving.code()}"
    with client_of(serving, crowd.caller.key) as client:
        ends = {ending(client.get("/api/v1/me")) for _ in range(3)}
    if not serving.answers():
        found.wrong.append("keyless calls are not answered")
    found.wrong += [f"a keyed call ends with {end}" for end in ends if end.startswith("500")]
    return ", ".join(sorted(ends))


def of_counters(folder: Path, nights: Nights) -> Found:
    """Damage the files in which two workers count, while they count."""
    found, moments = Found(made="4 times, of a file shared by two workers"), random.Random(SEED)
    scratch = folder / "tmp"
    scratch.mkdir()
    more = {"TMPDIR": str(scratch)}
    with served(nights.copied(folder / "data"), more, workers=2) as serving:
        until(lambda: len(serving.workers()) == 2)
        for number in range(4):
            crowd = Crowd(serving, nights.truth, email=f"caller{number}@example.com")
            with crowd:
                until(lambda c=crowd: c.seen["answered"] > 30)  # type: ignore[misc]
                target = next(scratch.glob("screener-counters-*")) / ("keys", "others")[number % 2]
                if number < 2:
                    _scatter(target, moments)
                else:
                    (halve, empty)[number // 2 - 1](target, moments)
                until(lambda c=crowd: c.seen["answered"] > 90)  # type: ignore[misc]
            collect(found, crowd)
        until(lambda: all(serving.answers() for _ in range(10)))
    return found


def _scatter(path: Path, moments: random.Random) -> None:
    with path.open("r+b") as file:
        for _ in range(2000):
            file.seek(moments.randrange(path.stat().st_size))
            file.write(bytes([moments.randrange(256)]))
