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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import psutil
from hypothesis.strategies import SearchStrategy

from tests.conftest import seal_night
from tests.qa.fuzz.calls import (
    AUTHORIZATION,
    agent_calls,
    oauth_calls,
    page_calls,
    raw_bytes,
    rest_calls,
)
from tests.qa.fuzz.exchange import send
from tests.qa.fuzz.readers import Reader, readers
from tests.qa.fuzz.server import RAISED, Target, running
from tests.qa.fuzz.trial import FOUND, HTTP, Check, Trial, attack
from tests.screener.web.browser import Forms
from tests.service import copy_night

CURRENT = FOUND / "current"
"""The file that a reader is at: what is left when it never comes back."""
HANGS = 60
"""Seconds after which a reader is taken to hang, and the run ends."""
LINK = re.compile(r'href="(/[a-z/-]*)"')


def main() -> int:
    """Run for some minutes, or try one kept case again."""
    parser = argparse.ArgumentParser(prog="python -m tests.qa.fuzz", description=__doc__)
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
    found = []
    for name, share, limits in (("raised", 0.5, RAISED), ("usual", 0.1, {})):
        with running(folder / name, **limits) as target:
            trials = _trials(target)
            found += attack(f"{name} limits", trials, seconds * share, start, target.memory)
    FOUND.mkdir(exist_ok=True)
    trials = [Trial(reader.name, _guarded(reader), reader.strategy) for reader in readers()]
    own = psutil.Process()
    found += attack("readers", trials, seconds * 0.4, start, lambda: own.memory_info().rss / 2**20)
    CURRENT.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it is kept if something lies in it
        FOUND.rmdir()
    return found


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
        HTTP: raw_bytes(),
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


def _trials(target: Target) -> list[Trial]:
    """What is tried on a server."""

    def check(data: bytes) -> tuple[float, list[str]]:
        answer, spent, faults = target.exchange(data)
        if b"@SESSION@" in data and b"/sign-in?next=" in answer.data and not target.limited:
            target.sign_in()  # the session was ended
        return spent, faults

    return [Trial(name, check, strategy) for name, strategy in _strategies(target).items()]


def _guarded(reader: Reader) -> Check:
    """What a reader does with a file, which is left in a folder if it never comes back."""

    def check(data: bytes) -> tuple[float, list[str]]:
        CURRENT.write_bytes(data)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            return reader.check(data)
        finally:
            faulthandler.cancel_dump_traceback_later()

    return check


def _again(path: Path) -> int:
    """Try one kept case again and print what comes of it."""
    data = path.read_bytes()
    # Its folder names the target of a kept case, and its own name that of a finding.
    named = {path.parent.name, path.name.rpartition("-")[0]}
    reader = next((one for one in readers() if one.name in named), None)
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
