"""Stage: the data folders, keys and running servers (ours and the references) to measure."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import anyio

from benchmarks.serving.book import Market, make_market, read_template, seal
from benchmarks.serving.cases import Case, chosen, make_cases, payload
from benchmarks.serving.plain import write_plain
from benchmarks.serving.process import Server, environment, free_port
from nightly.parameters import DETECTORS
from screener.nightly import order_of
from screener.nightly import seal as seal_night
from screener.settings import Settings
from store.accounts import Accounts, Plan
from store.database import Database
from store.keys import Keys
from store.watchlist import Watchlist

ACCOUNTS, KEYS = 8, 50
"""Accounts, and keys of each. Requests rotate over the keys, so that no limit's window grows
unrealistically large."""
LIMITS = {
    "key_per_minute": 5_000,
    "key_per_day": 100_000_000,
    "account_multiple": KEYS,
    "keyless_per_minute": 1_000_000,
    "other_per_minute": 1_000_000,
}
SCREENER = Path(sys.executable).with_name("screener")
SESSION = dt.date(2012, 10, 3)
READY = "/api/v1/families"
ACCOUNT_FILE, ANSWERS, PLAIN = "accounts.sqlite", "answers", "plain.sqlite"
SHARED = ("uvicorn", "uvloop", "httptools", "starlette", "pydantic")
"""Packages that a reference shares with the service, at the same version."""
MODULES = {
    "bare": "bare",
    "route": "route",
    "stock": "stock",
    "fastmcp": "high_level",
    "fastapi": "ordinary",
}
OUTSIDE = {"fastmcp": "fastmcp", "fastapi": "fastapi aiosqlite"}
"""References that need packages outside this project's dependencies."""

Enter = Callable[[AbstractContextManager[Server]], Server]


@dataclass(frozen=True)
class Stage:
    """All running servers: ours by the number of symbols, the references by name."""

    services: Mapping[int, Server]
    references: Mapping[str, Server]
    keys: Sequence[str]
    cases: Sequence[Case]
    folder: Path

    @property
    def largest(self) -> Server:
        """The service over the largest book, which the references are compared with."""
        return self.services[max(self.services)]


def say(what: str) -> None:
    """Print progress to stderr."""
    print(what, file=sys.stderr, flush=True)


def seal_sample(folder: Path) -> None:
    """Seal a night of the sample's bars in a data folder.

    The reference detector draws it: the default finds patterns of one symbol in so few.
    """
    settings = Settings(data_dir=folder)
    order = order_of(settings, session=SESSION)
    seal_night(settings, replace(order, parameters=DETECTORS["reference"]))


def build(
    stack: ExitStack,
    sample: Path,
    folder: Path,
    sizes: Sequence[int],
    peers: Path | None,
    only: Sequence[str] = (),
) -> Stage:
    """Make the books and start the servers that the cases need; they stop with the stack.

    Raises:
        ValueError: a name in `only` is unknown.
    """
    services, market, keys = _start_services(stack, sample, folder, sizes)
    largest = services[max(sizes)]
    cases = chosen(_cases(largest, market, keys[0]), only)
    _record(largest, cases, folder, keys[0])
    write_plain(market, folder / PLAIN, keys)
    references = _start_references(stack, cases, folder, peers)
    stage = Stage(services, references, keys, cases, folder)
    check(stage)
    return stage


def _start_services(
    stack: ExitStack, sample: Path, folder: Path, sizes: Sequence[int]
) -> tuple[dict[int, Server], Market, list[str]]:
    """The services by size, the largest market, and the keys that all of them know."""
    template = read_template(sample)
    services: dict[int, Server] = {}
    keys: list[str] = []
    for size in sorted(sizes):
        say(f"Sealing a book of {size:,} symbols")
        market = make_market(template, size)
        data = folder / f"data-{size}"
        seal(market, data)
        file = f"sqlite+aiosqlite:///{folder / ACCOUNT_FILE}"
        keys = keys or anyio.run(make_keys, Database(file), market.tracked)
        shutil.copy(folder / ACCOUNT_FILE, data)
        services[size] = start_service(stack, data, folder, keys[0])
    return services, market, keys


async def make_keys(database: Database, tracked: tuple[str, ...]) -> list[str]:
    """The keys of new accounts in a new database, all of which track the same symbols."""
    try:
        await database.migrate()
        accounts, keys = Accounts(database), Keys(database)
        found: list[str] = []
        for number in range(ACCOUNTS):
            account = await accounts.add(f"reader{number}@example.com", Plan.PREMIUM_PLUS)
            await Watchlist(database).replace(account.id, tracked, len(tracked))
            found += [(await keys.create(account.email, "load"))[1] for _ in range(KEYS)]
        return found
    finally:
        await database.close()


def start_service(stack: ExitStack, data: Path, folder: Path, key: str) -> Server:
    """Start `screener serve` with a data folder: one worker, as an operator runs it who watches it.

    Limits are counted but never reached; `/metrics` has a port, and the access log is off.
    """
    port = free_port()
    watched = {"metrics_port": free_port(), "access_log": False}
    env = environment(data_dir=data, port=port, workers=1, **watched, **LIMITS)
    command = [str(SCREENER), "serve", "--port", str(port)]
    server = Server("ours", command, port, env, folder / f"{data.name}.log")
    stack.enter_context(server)
    server.wait(READY, key=key)
    return server


def install_peers(folder: Path) -> None:
    """Make the environment of the references outside this project, unless it exists."""
    if (folder / "ready").exists():
        return
    say(f"Installing the references into {folder}")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603
    subprocess.run(  # noqa: S603 - pip, in an environment of its own
        [str(folder / "bin/python"), *pip_arguments()], check=True
    )
    (folder / "ready").touch()


def peer_versions(folder: Path) -> str:
    """Names and versions of the references outside this project."""
    names = " ".join(OUTSIDE.values()).split()
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run(  # noqa: S603 - the references' own interpreter
        [str(folder / "bin/python"), "-c", code, *names], check=True, capture_output=True
    )
    found = done.stdout.decode().split()
    return ", ".join(f"{name} {version}" for name, version in zip(names, found, strict=True))


def pip_arguments() -> list[str]:
    """The pip arguments that install the references, with this environment's shared versions."""
    pinned = [f"{name}=={version(name)}" for name in SHARED]
    return ["-m", "pip", "install", "--quiet", *" ".join(OUTSIDE.values()).split(), *pinned]


def _pythons(peers: Path | None) -> dict[str, str]:
    inside = {name: sys.executable for name in MODULES if name not in OUTSIDE}
    if peers is None:
        return inside
    return {**inside, **dict.fromkeys(OUTSIDE, str(peers / "bin/python"))}


def _start_references(
    stack: ExitStack, cases: Sequence[Case], folder: Path, peers: Path | None
) -> dict[str, Server]:
    needed = {name for case in cases for name in case.references}
    pythons = _pythons(peers)
    found = {
        name: stack.enter_context(_reference(name, python, folder))
        for name, python in pythons.items()
        if name in needed
    }
    for server in found.values():
        server.wait_open()
    return found


def _reference(name: str, python: str, folder: Path) -> Server:
    port = free_port()
    reads = folder / (ANSWERS if name in ("bare", "route") else PLAIN)
    root = Path(__file__).parents[2]
    command = [python, "-m", f"benchmarks.serving.peers.{MODULES[name]}", str(port), str(reads)]
    return Server(
        name, command, port, {**environment(), "PYTHONPATH": str(root)}, folder / f"{name}.log"
    )


def _cases(service: Server, market: Market, key: str) -> list[Case]:
    listing = market.listings[0]
    path = f"/api/v1/tickers/{listing.symbol}/patterns"
    status, fields, body = service.ask("GET", path, {"Authorization": f"Bearer {key}"})
    if status != 200:
        raise RuntimeError(f"The service answers {path} with {status}: {body!r}")
    return make_cases(listing.symbol, json.loads(body)["setups"][0]["setup_id"], fields["ETag"])


def _record(service: Server, cases: Sequence[Case], folder: Path, key: str) -> None:
    """Store the service's answers, for the references that send the same bytes."""
    answers = folder / ANSWERS
    answers.mkdir()
    for case in cases:
        status, fields, body = service.ask(case.method, case.path, case.fields(key), case.body)
        if status != case.status:
            raise RuntimeError(f"The service answers {case.name} with {status}: {body[:500]!r}")
        headers = [("content-length", str(len(body)))] if status != 304 else []
        kept = ("content-type",) if status != 304 else ("etag",)
        headers += [(name, fields[name]) for name in kept]
        (answers / f"{case.name}.body").write_bytes(body)
        about = {"status": status, "headers": headers}
        (answers / f"{case.name}.json").write_text(json.dumps(about))
    envelope = json.loads(service.ask("GET", READY, cases[0].fields(key))[2])
    del envelope["families"]
    (folder / PLAIN).with_suffix(".json").write_text(json.dumps(envelope))


def check(stage: Stage) -> None:
    """Check that every contender gives the same answers; otherwise the ratios mean nothing.

    Raises:
        RuntimeError: a reference gives another answer.
    """
    key = stage.keys[0]
    for case in stage.cases:
        ours = _answer(stage.largest, case, "ours", key)
        for name in set(case.references) & set(stage.references):
            theirs = _answer(stage.references[name], case, name, key)
            if theirs[0] != case.status or payload(case, theirs[1]) != payload(case, ours[1]):
                raise RuntimeError(
                    f"{name} answers {case.name} otherwise: {theirs[0]} {theirs[1][:2000]!r} "
                    f"where the service says {ours[0]} {ours[1][:2000]!r}"
                )


def _answer(server: Server, case: Case, name: str, key: str) -> tuple[int, bytes]:
    status, _, body = server.ask(case.method, case.path_for(name), case.fields(key), case.body)
    return status, body
