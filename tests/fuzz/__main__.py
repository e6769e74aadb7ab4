"""Fuzz the service and its readers: `make fuzz MINUTES=5`.

It serves a night in a process of its own and tries hostile requests on it, then hostile files on
the readers. It prints what was tried and what went wrong, and ends with 1 if anything did. Calls
that fit the OpenAPI document are tried by `tests/contract/test_schemathesis.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import psutil
from hypothesis.strategies import SearchStrategy

from tests.conftest import seal_night
from tests.fuzz.calls import (
    AUTHORIZATION,
    agent_calls,
    oauth_calls,
    page_calls,
    raw_bytes,
    rest_calls,
)
from tests.fuzz.exchange import send
from tests.fuzz.kept import HTTP, cases, target_of
from tests.fuzz.readers import Reader, readers
from tests.fuzz.server import MOST_GROWTH, RAISED, Target, running
from tests.fuzz.trial import Trial
from tests.service import copy_night
from tests.web.browser import Forms

FOUND = Path("fuzz-found")
CURRENT = FOUND / "current"
"""The file that a reader is at: what is left when it never comes back."""
HANGS = 60
"""Seconds after which a reader is taken to hang, and the run ends."""
ROUNDS = 4
"""How often each target has its turn."""
LINK = re.compile(r'href="(/[a-z/-]*)"')


def main() -> int:
    """Run for some minutes, or try one kept case again."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="that an earlier run has printed")
    parser.add_argument("--again", type=Path, default=None, help="a kept case")
    given = parser.parse_args()
    if given.again is not None:
        return _again(given.again)
    start = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    print(f"seed {start}, {given.minutes:g} minutes", flush=True)
    with _folder() as folder:
        lines = _run(folder, given.minutes * 60, start * 1000)
    print("\n".join(lines) if lines else "nothing went wrong")
    return bool(lines)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with the sample night, sealed."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        seal_night(Path(name) / "night")
        yield Path(name)


def _run(folder: Path, seconds: float, start: int) -> list[str]:
    """Half of the time for the server with raised limits, a tenth with the usual ones, and the
    rest for the readers; returns what went wrong.
    """
    copy_night(folder / "night", folder / "raised")
    copy_night(folder / "night", folder / "usual")
    with running(folder / "raised", **RAISED) as target:
        found = _attack(target, "raised limits", seconds * 0.5, start)
    with running(folder / "usual") as target:
        found += _attack(target, "usual limits", seconds * 0.1, start)
    return found + _read(seconds * 0.4, start)


def _strategies(target: Target) -> dict[str, SearchStrategy[bytes]]:
    clients = _clients(target)
    query = {**AUTHORIZATION, "client_id": clients[-1]}
    del query["resource"]
    consent = f"/oauth/authorize?{urlencode(query)}"
    forms = _forms(target, consent, target.visitor.session) + _forms(target, "/sign-up", "")
    return {
        "mcp, 2025": agent_calls(modern=False),
        "mcp, 2026": agent_calls(modern=True),
        "rest": rest_calls(),
        "oauth": oauth_calls(clients),
        "pages": page_calls(tuple(forms)),
        "raw http": raw_bytes(),
    }


def _clients(target: Target) -> tuple[str, ...]:
    """The ids of apps: unknown ones, and two that register."""
    found = ["none", ""]
    for method in ("client_secret_post", "none"):
        body = {
            "client_name": "Fuzz",
            "redirect_uris": [AUTHORIZATION["redirect_uri"]],
            "token_endpoint_auth_method": method,
        }
        address = f"{target.url}/oauth/register"
        found.append(httpx.post(address, json=body).raise_for_status().json()["client_id"])
    return tuple(found)


def _forms(target: Target, start: str, session: str) -> list[tuple[str, dict[str, str]]]:
    """Every form of the pages that links lead to, by the address that it posts to."""
    seen, waiting = set[str](), [start, "/", "/sign-in", "/account"]
    found: dict[tuple[str, str], dict[str, str]] = {}
    cookies = {"session": session} if session else {"visit": "fuzz"}
    with httpx.Client(base_url=target.url, cookies=cookies) as client:
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            page = client.get(path)
            if page.headers.get("content-type", "").startswith("text/html"):
                # One that is sent nowhere is for the script of its page.
                for form in (each for each in Forms(page.text).found if each.action):
                    given = {**form.fields, **dict(form.buttons)}
                    found[form.action, " ".join(given)] = given
                waiting += LINK.findall(page.text)
    return [(action, given) for (action, _), given in found.items()]


def _attack(target: Target, title: str, seconds: float, start: int) -> list[str]:
    """Try requests on a server; prints what was tried and returns what went wrong."""
    strategies = _strategies(target)
    trials = {name: Trial(name) for name in (*strategies, "corpus")}
    for path in cases(HTTP):
        data = path.read_bytes()
        _, spent, faults = target.exchange(data)
        trials["corpus"].note(data, spent, faults)
    turn = seconds / (ROUNDS + 1)
    _round(target, strategies, trials, turn, start)
    before = target.server.memory().rss
    for number in range(1, ROUNDS + 1):
        _round(target, strategies, trials, turn, start + 100 * number)
    after = target.server.memory().rss
    print(f"\n{title}; memory {before:.0f} MiB after the warm-up, {after:.0f} MiB at the end")
    lines = _tell(list(trials.values()))
    if after - before > MOST_GROWTH:
        lines.append(f"{title}: the server grew by {after - before:.0f} MiB")
    return lines


def _round(
    target: Target,
    strategies: Mapping[str, SearchStrategy[bytes]],
    trials: Mapping[str, Trial],
    seconds: float,
    start: int,
) -> None:
    """One turn for each target."""
    turn = seconds / len(strategies)

    def check(data: bytes) -> tuple[float, list[str]]:
        answer, spent, faults = target.exchange(data)
        if b"@SESSION@" in data and b"/sign-in?next=" in answer.data and not target.limited:
            target.sign_in()  # the session was ended
        return spent, faults

    for name, strategy in strategies.items():
        trials[name].run(strategy, check, time.monotonic() + turn, start)


def _read(seconds: float, start: int) -> list[str]:
    """Try files on the readers; prints what was tried and returns what went wrong."""
    FOUND.mkdir(exist_ok=True)
    chosen = readers()
    trials = {reader.name: Trial(reader.name) for reader in chosen}
    own = psutil.Process()
    memory = []
    for number in range(ROUNDS + 1):
        for reader in chosen:
            _turn(reader, trials[reader.name], seconds / (ROUNDS + 1) / len(chosen), start + number)
        memory.append(own.memory_info().rss / 2**20)
    CURRENT.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it is kept if something lies in it
        FOUND.rmdir()
    print(f"\nreaders; memory {memory[0]:.0f} MiB after the warm-up, {memory[-1]:.0f} at the end")
    lines = _tell(list(trials.values()))
    if memory[-1] - memory[0] > MOST_GROWTH:
        lines.append(f"readers: this process grew by {memory[-1] - memory[0]:.0f} MiB")
    return lines


def _turn(reader: Reader, trial: Trial, seconds: float, start: int) -> None:
    def check(data: bytes) -> tuple[float, list[str]]:
        CURRENT.write_bytes(data)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            return reader.check(data)
        finally:
            faulthandler.cancel_dump_traceback_later()

    for path in cases(reader.name):
        data = path.read_bytes()
        trial.note(data, *check(data))
    trial.run(reader.strategy, check, time.monotonic() + seconds, start)


def _tell(trials: list[Trial]) -> list[str]:
    """Print a line for each trial; returns a line for each thing that went wrong."""
    print(f"{'target':<12}{'cases':>9}{'slowest, ms of CPU':>20}  the slowest begins with")
    for trial in trials:
        case = ascii(trial.slowest_case[:60].decode("latin-1"))
        print(f"{trial.name:<12}{trial.cases:>9,}{trial.slowest * 1000:>20.1f}  {case}")
    return [line for trial in trials for line in trial.keep(FOUND)]


def _again(path: Path) -> int:
    """Try one kept case again and print what comes of it."""
    data = path.read_bytes()
    reader = target_of(path, readers())
    if reader is not None:
        reader.read(data, Path(tempfile.mkdtemp(prefix="fuzz-")))
        print("the reader did as it should")
        return 0
    with _folder() as folder, running(folder / "night", **RAISED) as target:
        print(send(target.visitor, data).data.decode("latin-1")[:3000])
        _, spent, faults = target.exchange(data)
    print(f"\n{spent * 1000:.1f} ms of CPU; {'; '.join(faults) or 'nothing went wrong'}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
