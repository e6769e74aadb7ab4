"""Stage: the data folders, keys and running servers (ours and the references) to measure."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import anyio

from benchmarks.serving.book import SyntheticMarket, make_market, read_template, seal
from benchmarks.serving.cases import OURS, POSTGRES, REDIS, SMALL, TWO, Case, make_cases, payload
from benchmarks.serving.load import Contender
from benchmarks.serving.process import Server, environment
from benchmarks.serving.report import Fresh
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.backup.copy import copy
from store.database.database import Database
from store.nights.publish import encode
from tests.postgres import fresh_database, postgres_bin, running_server
from tests.redis_server import running_redis
from tests.screener.process import free_port

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
ASKED = 100
"""Requests of each kind before the memory of a fresh service is read."""
SCREENER = Path(sys.executable).with_name("screener")
READY = "/api/v1/families"
ACCOUNT_FILE, ANSWERS, PLAIN = "accounts.sqlite", "answers", "plain.sqlite"
PEERS = {
    "bare": "floor:Floor",
    "route": "floor:routes",
    "stock": "stock:application",
    "fastmcp": "high_level:application",
    "fastapi": "ordinary:application",
}
"""The references, and their applications in `peers`."""
OUTSIDE = {"fastmcp": "fastmcp", "fastapi": "fastapi aiosqlite limits"}
"""References that need packages outside this project's dependencies."""
PLAIN_TABLES = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, plan TEXT NOT NULL, active INTEGER NOT NULL);
CREATE TABLE keys (secret_hash TEXT PRIMARY KEY, account_id INTEGER NOT NULL, revoked_at TEXT);
CREATE TABLE watchlist (account_id INTEGER, symbol TEXT, PRIMARY KEY (account_id, symbol));
CREATE TABLE patterns (symbol TEXT PRIMARY KEY, body BLOB NOT NULL);
"""
"""Where the references read the market as an ordinary service would store it."""


def say(what: str) -> None:
    """Print progress to stderr."""
    print(what, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Books:
    """Sealed books, a large and a small one, with one account database."""

    folder: Path
    market: SyntheticMarket
    """What the large one holds."""
    keys: Sequence[str]
    """Keys that every service over a copy of the database knows."""

    def serve(self, stack: ExitStack, name: str, **settings: object) -> Server:
        """Start `screener serve` as an operator runs it who watches it.

        Limits are counted but never reached; `/metrics` has a port, and the access log is off.
        """
        port, data = free_port(), self.folder / name
        if not data.exists():
            shutil.copytree(self.folder / ("small" if name == SMALL else "large"), data)
            shutil.copy(self.folder / ACCOUNT_FILE, data)
        watched = {"metrics_port": free_port(), "access_log": False}
        shown = {"workers": 2 if name == TWO else 1, "demo_symbols": self.market.tracked[0]}
        env = environment(data_dir=data, port=port, **shown, **watched, **LIMITS, **settings)
        command = [str(SCREENER), "serve", "--port", str(port)]
        server = stack.enter_context(Server(name, command, port, env, data / "log"))
        server.wait(READY, key=self.keys[0])
        return server

    def on_postgres(self, stack: ExitStack) -> Server:
        """Start the service with the same accounts on a PostgreSQL server of this machine."""
        address = stack.enter_context(running_server()).url
        url = anyio.run(fresh_database, address, "serving")
        origin = self.folder / "moved.sqlite"
        shutil.copy(self.folder / ACCOUNT_FILE, origin)
        anyio.run(_move, f"sqlite+aiosqlite:///{origin}", url)
        return self.serve(stack, POSTGRES, database_url=url)

    def cases(self, service: Server) -> list[Case]:
        """Every case, as a service has it."""
        symbol, fields = self.market.listings[0].symbol, _bearer(self.keys[0])
        path = f"/api/v1/tickers/{symbol}/patterns"
        status, answered, body = service.ask("GET", path, fields)
        if status != 200:
            raise RuntimeError(f"The service answers {path} with {status}: {body!r}")
        return make_cases(symbol, json.loads(body)["setups"][0]["setup_id"], answered["ETag"])

    def start_fresh(self, name: str, times: int) -> Fresh:
        """Start one of the services a few times, and ask the last one for everything.

        This comes before the bursts: a rate limit's moving window keeps an entry per call for a
        minute, so bursts would add memory that a limited key never uses.
        """
        cpu = []
        for _ in range(times):
            with ExitStack() as stack:
                server = self.serve(stack, name)
                cpu.append(server.cpu())
                if len(cpu) == times:
                    for case in self.cases(server):
                        for key in self.keys[:ASKED]:
                            server.ask(case.method, case.path, case.fields(key), case.body)
                    server.settled_cpu()
                    memory = server.memory()
        return Fresh(median(cpu), memory)


def make_books(sample: Path, folder: Path, symbols: int) -> Books:
    """Seal the books, and make an account database."""
    template = read_template(sample)
    for name, size in (("small", min(FEW, symbols)), ("large", symbols)):
        say(f"Sealing a book of {size:,} symbols")
        market = make_market(template, size)
        seal(market, folder / name)
    keys = anyio.run(_make_keys, f"sqlite+aiosqlite:///{folder / ACCOUNT_FILE}", market.tracked)
    return Books(folder, market, keys)


async def _make_keys(url: str, tracked: tuple[str, ...]) -> list[str]:
    """The keys of new accounts in a new database, all of which track the same symbols."""
    database = Database(url)
    try:
        await database.migrate()
        accounts, keys = Accounts(database), Keys(database)
        made: list[str] = []
        for number in range(ACCOUNTS):
            account = await accounts.add(f"reader{number}@example.com", AccountPlan.PREMIUM_PLUS)
            await Watchlist(database).change(account.id, lambda _: tracked)
            made += [(await keys.create(account.email, "load"))[1] for _ in range(KEYS)]
        return made
    finally:
        await database.close()


async def _move(origin: str, target: str) -> None:
    databases = Database(origin), Database(target)
    await copy(*databases)
    for database in databases:
        await database.close()


@dataclass
class Stage:
    """All running servers by name, and what they are asked."""

    servers: dict[str, Server] = field(default_factory=dict)
    cases: Sequence[Case] = ()
    redis_url: str = ""

    def contenders(self) -> list[Contender]:
        """For each case, the service and whom it is compared with, as far as they run."""
        return [
            Contender(name, self.servers[name], case)
            for case in self.cases
            for name in (OURS, *case.references)
            if name in self.servers
        ]


def start_all(
    stack: ExitStack, books: Books, peers: Path | None, only: Sequence[str] = ()
) -> Stage:
    """Start the servers that the cases need, which answer alike; they stop with the stack.

    Raises:
        RuntimeError: a server does not start, or answers otherwise than the service.
    """
    stage, ours = Stage(), books.serve(stack, OURS)
    stage.cases = [case for case in books.cases(ours) if not only or case.name in only]
    stage.servers[OURS] = ours
    _record(ours, stage.cases, books)
    _write_plain(books)
    pythons = {name: sys.executable for name in PEERS if name not in OUTSIDE}
    if peers is not None:
        pythons |= dict.fromkeys(OUTSIDE, str(peers / "bin/python"))
    for name in dict.fromkeys(name for case in stage.cases for name in case.references):
        if name in pythons:
            stage.servers[name] = stack.enter_context(_reference(name, pythons[name], books.folder))
            stage.servers[name].wait_open()
        elif name == POSTGRES and postgres_bin():
            stage.servers[name] = books.on_postgres(stack)
        elif name == REDIS and shutil.which("redis-server"):
            redis = stack.enter_context(running_redis("--appendfsync", "everysec"))
            stage.redis_url = redis.url
            stage.servers[name] = books.serve(stack, name, limits_url=redis.url)
        elif name in (TWO, SMALL):
            stage.servers[name] = books.serve(stack, name)
    for contender in stage.contenders():
        check(contender, ours, books.keys[0])
    return stage


def _reference(name: str, python: str, folder: Path) -> Server:
    port = free_port()
    reads = folder / (ANSWERS if name in ("bare", "route") else PLAIN)
    env = {**environment(), "PYTHONPATH": str(Path(__file__).parents[2])}
    run = "benchmarks.serving.peers.run"
    command = [python, "-m", run, PEERS[name], str(port), str(reads)]
    return Server(name, command, port, env, folder / f"{name}.log")


def _bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _record(service: Server, cases: Sequence[Case], books: Books) -> None:
    """Store the service's answers, for the references that send the same bytes."""
    answers, key = books.folder / ANSWERS, books.keys[0]
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
    envelope = json.loads(service.ask("GET", READY, _bearer(key))[2])
    del envelope["families"]
    (books.folder / PLAIN).with_suffix(".json").write_text(json.dumps(envelope))


def _write_plain(books: Books) -> None:
    """Write the market, and accounts with the keys and the watchlists of the service."""
    with sqlite3.connect(books.folder / PLAIN) as db:
        db.executescript(PLAIN_TABLES)
        for account in range(ACCOUNTS):
            db.execute("INSERT INTO accounts VALUES (?, 'premium_plus', 1)", (account,))
            held = books.keys[account::ACCOUNTS]
            digests = (hashlib.sha256(key.encode()).hexdigest() for key in held)
            rows = ((digest, account, None) for digest in digests)
            db.executemany("INSERT INTO keys VALUES (?, ?, ?)", rows)
            tracked = ((account, symbol) for symbol in books.market.tracked)
            db.executemany("INSERT INTO watchlist VALUES (?, ?)", tracked)
        bodies = ((listing.symbol, encode(listing.patterns)) for listing in books.market.listings)
        db.executemany("INSERT INTO patterns VALUES (?, ?)", bodies)
    db.close()


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
