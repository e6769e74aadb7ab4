"""What a call costs with accounts on PostgreSQL, against SQLite, in one interleaved run.

    python -m benchmarks.engines [--rounds N] [--seconds N] [--url postgresql://...]

Both are a real `screener serve` with one worker over the same night. Without the URL of an empty
database a PostgreSQL server of this machine is started for the run. What is compared is the CPU
time of the serving process: a stored answer, and a key that nobody has.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import anyio

from benchmarks.serving.book import make_market, read_template, seal
from benchmarks.serving.cases import Case, make_cases
from benchmarks.serving.load import Loader
from benchmarks.serving.process import Server, environment, free_port
from benchmarks.serving.rounds import Contender, Figures, burst, warm
from benchmarks.serving.stage import LIMITS, READY, SCREENER, make_keys, say, seal_sample
from store.database.database import Database
from tests.postgres import fresh_database, running_server

SYMBOLS = 100
GUESSES = 20_000
"""Different keys that nobody has, more than are remembered as such."""

MOST = 1.3
"""What a stored answer may cost on PostgreSQL, as a multiple of what it costs on SQLite."""


def main() -> None:
    """Start both, measure them in turns and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=1, help="length of a burst")
    parser.add_argument("--url", help="an empty PostgreSQL database")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        url = asked.url
        if url is None:
            server = stack.enter_context(running_server())
            url = anyio.run(fresh_database, server.url, "engines")
        _measure(stack, folder, url, asked.rounds, asked.seconds)


def _measure(stack: ExitStack, folder: Path, url: str, rounds: int, seconds: int) -> None:
    seal_sample(folder / "sample")
    market = make_market(read_template(folder / "sample"), SYMBOLS)
    urls = {"sqlite": f"sqlite+aiosqlite:///{folder / 'accounts.sqlite'}", "postgresql": url}
    loader = Loader(shutil.which("wrk"))
    contenders: list[tuple[Contender, list[str], Figures]] = []
    for engine, address in urls.items():
        seal(market, folder / engine)
        keys = anyio.run(make_keys, Database(address), market.tracked)
        server = _serve(stack, folder / engine, address, keys[0])
        for case, with_keys in _cases(market.tracked[0], keys):
            contender = Contender(engine, server, case)
            if case.status == 200:
                warm([contender], loader, with_keys)
            contenders.append((contender, with_keys, Figures()))
    for number in range(rounds):
        say(f"Round {number + 1} of {rounds}")
        for contender, keys, figures in contenders[:: 1 if number % 2 else -1]:
            burst(contender, loader, keys, seconds, figures)
    _report([(contender, figures) for contender, _, figures in contenders])


def _cases(symbol: str, keys: list[str]) -> list[tuple[Case, list[str]]]:
    named = {case.name: case for case in make_cases(symbol, "", "")}
    stored = named["rest-patterns"]
    guess = replace(stored, name="guessed key", status=401)
    guesses = [f"ps_live_{secrets.token_hex(24)}" for _ in range(GUESSES)]
    return [(stored, keys), (named["mcp-2025"], keys), (guess, guesses)]


def _serve(stack: ExitStack, data: Path, url: str, key: str) -> Server:
    port = free_port()
    env = environment(data_dir=data, database_url=url, port=port, **LIMITS)
    command = [str(SCREENER), "serve", "--port", str(port)]
    server = stack.enter_context(Server("ours", command, port, env, data / "log"))
    server.wait(READY, key=key)
    return server


def _report(found: list[tuple[Contender, Figures]]) -> None:
    half = len(found) // 2
    print("| case | SQLite, us of CPU | PostgreSQL, us of CPU | ratio | p99, ms |")
    print("|---|---|---|---|---|")
    for (one, sqlite), (_, postgresql) in zip(found[:half], found[half:], strict=True):
        pairs = zip(sqlite.cpu_us, postgresql.cpu_us, strict=True)
        ratio = statistics.median(there / here for here, there in pairs)
        print(
            f"| {one.case.name} | {sqlite.cpu:.0f} | {postgresql.cpu:.0f} | {ratio:.2f} | "
            f"{statistics.median(sqlite.p99_ms):.1f}, {statistics.median(postgresql.p99_ms):.1f} |"
        )
    print(f"A stored answer may cost {MOST} times as much.")


if __name__ == "__main__":
    main()
