"""Stage: the data folders, keys and running servers (ours and the references) to measure."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import anyio

from benchmarks.serving.book import Market, make_market, read_template, seal
from benchmarks.serving.cases import (
    OURS,
    SMALL,
    TWO,
    Case,
    chosen,
    make_cases,
    payload,
)
from benchmarks.serving.plain import write_plain
from benchmarks.serving.process import Server, environment, free_port
from benchmarks.serving.rounds import Contender
from benchmarks.serving.writers import add_crowd
from nightly.parameters import DETECTORS
from screener.commands.bars_options import BarsOptions
from screener.commands.nights.nightly import order_of
from screener.commands.nights.nightly import seal as seal_night
from screener.settings.settings import Settings
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.database.database import Database

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
FEW = 100
"""Symbols of the small book."""
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
OUTSIDE = {"fastmcp": "fastmcp", "fastapi": "fastapi aiosqlite limits"}
"""References that need packages outside this project's dependencies."""


@dataclass(frozen=True)
class Books:
    """Sealed books, a large and a small one, with one account database."""

    folder: Path
    market: Market
    """What the large one holds."""
    keys: Sequence[str]
    """Keys that every service over a copy of the database knows."""

    def data(self, name: str) -> Path:
        """The data folder of a service, which has an account database of its own."""
        data, source = self.folder / name, self.folder / ("small" if name == SMALL else "large")
        if not data.exists():
            shutil.copytree(source, data)
            shutil.copy(self.folder / ACCOUNT_FILE, data)
        return data

    def database(self, name: str) -> str:
        """The URL of the account database of a service."""
        return f"sqlite+aiosqlite:///{self.data(name) / ACCOUNT_FILE}"

    def serve(self, stack: ExitStack, name: str) -> Server:
        """Start `screener serve` as an operator runs it who watches it.

        Limits are counted but never reached; `/metrics` has a port, and the access log is off.
        """
        port, data = free_port(), self.data(name)
        watched = {"metrics_port": free_port(), "access_log": False}
        shown = {"workers": 2 if name == TWO else 1, "demo_symbols": self.market.tracked[0]}
        env = environment(data_dir=data, port=port, **shown, **watched, **LIMITS)
        command = [str(SCREENER), "serve", "--port", str(port)]
        server = stack.enter_context(Server(name, command, port, env, data / "log"))
        server.wait(READY, key=self.keys[0])
        return server


@dataclass(frozen=True)
class Stage:
    """All running servers by name, and what they are asked."""

    servers: Mapping[str, Server]
    cases: Sequence[Case]

    def contenders(self) -> list[Contender]:
        """For each case, the service and whom it is compared with, as far as they run."""
        return [
            Contender(name, self.servers[name], case)
            for case in self.cases
            for name in (OURS, *case.references)
            if name in self.servers
        ]


def say(what: str) -> None:
    """Print progress to stderr."""
    print(what, file=sys.stderr, flush=True)


def seal_sample(folder: Path) -> None:
    """Seal a night of the sample's bars in a data folder.

    The reference detector draws it: the default finds patterns of one symbol in so few.
    """
    settings = Settings(data_dir=folder)
    order = order_of(settings, BarsOptions(session=SESSION))
    seal_night(settings, replace(order, parameters=DETECTORS["reference"]))


def make_books(sample: Path, folder: Path, symbols: int) -> Books:
    """Seal the books, and make an account database."""
    template = read_template(sample)
    for name, size in (("small", min(FEW, symbols)), ("large", symbols)):
        say(f"Sealing a book of {size:,} symbols")
        market = make_market(template, size)
        seal(market, folder / name)
    url = f"sqlite+aiosqlite:///{folder / ACCOUNT_FILE}"
    keys = anyio.run(make_keys, Database(url), market.tracked)
    anyio.run(add_crowd, url)
    return Books(folder, market, keys)


def start_all(
    stack: ExitStack, books: Books, peers: Path | None, only: Sequence[str] = ()
) -> Stage:
    """Start the servers that the cases need, which answer alike; they stop with the stack.

    Raises:
        RuntimeError: a server does not start, or answers otherwise than the service.
    """
    folder, key = books.folder, books.keys[0]
    ours = books.serve(stack, OURS)
    cases = chosen(cases_of(books, ours), only)
    _record(ours, cases, folder, key)
    write_plain(books.market, folder / PLAIN, books.keys, ACCOUNTS)
    pythons = {name: sys.executable for name in MODULES if name not in OUTSIDE}
    if peers is not None:
        pythons |= dict.fromkeys(OUTSIDE, str(peers / "bin/python"))
    servers = {OURS: ours}
    for name in dict.fromkeys(name for case in cases for name in case.references):
        if name in pythons:
            servers[name] = stack.enter_context(_reference(name, pythons[name], folder))
            servers[name].wait_open()
        elif name not in OUTSIDE:
            servers[name] = books.serve(stack, name)
    stage = Stage(servers, cases)
    for contender in stage.contenders():
        check(contender, ours, key)
    return stage


async def make_keys(database: Database, tracked: tuple[str, ...]) -> list[str]:
    """The keys of new accounts in a new database, all of which track the same symbols."""
    try:
        await database.migrate()
        accounts, keys = Accounts(database), Keys(database)
        found: list[str] = []
        for number in range(ACCOUNTS):
            account = await accounts.add(f"reader{number}@example.com", AccountPlan.PREMIUM_PLUS)
            await Watchlist(database).replace(account.id, tracked, len(tracked))
            found += [(await keys.create(account.email, "load"))[1] for _ in range(KEYS)]
        return found
    finally:
        await database.close()


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


def _reference(name: str, python: str, folder: Path) -> Server:
    port = free_port()
    reads = folder / (ANSWERS if name in ("bare", "route") else PLAIN)
    root = Path(__file__).parents[2]
    command = [python, "-m", f"benchmarks.serving.peers.{MODULES[name]}", str(port), str(reads)]
    return Server(
        name, command, port, {**environment(), "PYTHONPATH": str(root)}, folder / f"{name}.log"
    )


def cases_of(books: Books, service: Server) -> list[Case]:
    """Every case, as the service has it."""
    symbol, key = books.market.listings[0].symbol, books.keys[0]
    path = f"/api/v1/tickers/{symbol}/patterns"
    status, fields, body = service.ask("GET", path, {"Authorization": f"Bearer {key}"})
    if status != 200:
        raise RuntimeError(f"The service answers {path} with {status}: {body!r}")
    return make_cases(symbol, json.loads(body)["setups"][0]["setup_id"], fields["ETag"])


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
    envelope = json.loads(service.ask("GET", READY, {"Authorization": f"Bearer {key}"})[2])
    del envelope["families"]
    (folder / PLAIN).with_suffix(".json").write_text(json.dumps(envelope))


def check(contender: Contender, service: Server, key: str) -> None:
    """Check that a contender gives the service's answer; otherwise the ratios mean nothing.

    Raises:
        RuntimeError: it gives another one.
    """
    case = contender.case
    ours, theirs = (
        server.ask(case.method, case.path_for(server.name), case.fields(key), case.body)
        for server in (service, contender.server)
    )
    same = contender.name == SMALL or payload(ours[2]) == payload(theirs[2])
    if theirs[0] != case.status or not same:
        raise RuntimeError(
            f"{contender.name} answers {case.name} otherwise: {theirs[0]} {theirs[2][:2000]!r} "
            f"where the service says {ours[0]} {ours[2][:2000]!r}"
        )
