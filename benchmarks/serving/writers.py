"""Writers: what readers wait for while many other accounts change, beside when none does.

    python -m benchmarks.serving.writers DATABASE SECONDS

is the process that writes: watchlists are replaced, and keys made and revoked, by the functions of
the store on the service's own database. The benchmark runs it in every other phase.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from benchmarks.serving.load import Loader
from benchmarks.serving.rounds import Contender, Figures, burst, warm
from store.accounts.accounts import AccountPlan, utc_now
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.database import tables
from store.database.database import Database

CROWD, FIRST = 10_000, 1_000_000
"""Accounts that change, and the number of the first one."""
WRITES, READS, READERS = 100, 200, 16
"""Writes and requests a second, and the keys that ask; their accounts do not change."""
MARGIN = 1.0
"""Seconds that the writer goes on longer than the readers, who begin a moment later."""
LIVE = 50
"""Keys of the writer that are live; each is revoked when so many younger ones were made."""


@dataclass
class Waits:
    """What the readers saw without writers and with them, and the writes a second."""

    alone: Figures = field(default_factory=Figures)
    crowded: Figures = field(default_factory=Figures)
    written: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The 99th percentile of latency with writers over that without, median of the rounds."""
        pairs = zip(self.crowded.p99_ms, self.alone.p99_ms, strict=True)
        return statistics.median(one / other for one, other in pairs)


async def add_crowd(url: str) -> None:
    """Add the accounts that change, each with one tracked symbol."""
    database, numbers, now = Database(url), range(FIRST, FIRST + CROWD), utc_now()
    same = {"plan": AccountPlan.PREMIUM, "active": True, "created_at": now}
    accounts = [{"id": number, "email": _email(number), **same} for number in numbers]
    lists = [{"account_id": number, "symbol": "S00000", "position": 0} for number in numbers]
    try:
        async with database.write() as connection:
            await connection.execute(tables.accounts.insert(), accounts)
            await connection.execute(tables.watchlist.insert(), lists)
    finally:
        await database.close()


def measure_waits(
    contender: Contender,
    database: str,
    loader: Loader,
    keys: Sequence[str],
    rounds: int,
    seconds: int,
) -> Waits:
    """Measure readers at a steady rate in phases without writers and with them.

    Raises:
        RuntimeError: a reader or the writer failed.
    """
    found, keys, writing = Waits(), keys[:: len(keys) // READERS], seconds + MARGIN
    warm([contender], loader, keys)
    command = [sys.executable, "-m", "benchmarks.serving.writers", database, str(writing)]
    for _ in range(rounds):
        burst(contender, loader, keys, seconds, found.alone, READS)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:  # noqa: S603 - this file
            assert writer.stdout is not None
            writer.stdout.readline()  # it writes from now on
            burst(contender, loader, keys, seconds, found.crowded, READS)
            written = writer.communicate()[0]
        if writer.returncode:
            raise RuntimeError("The writer failed.")
        found.written.append(int(written) / writing)
    return found


async def write(url: str, seconds: float) -> int:
    """Write to one account after another for some seconds; return how many writes were done."""
    database = Database(url)
    watchlist, keys, live, done = Watchlist(database), Keys(database), deque[str](), 0
    print("writing", flush=True)
    began = time.perf_counter()
    while time.perf_counter() < began + seconds:
        number = FIRST + done % CROWD
        if done % 3 == 0:
            await watchlist.replace(number, [f"S{time.time_ns() % 50:05}"], 1)
        elif done % 3 == 1 or len(live) < LIVE:
            live.append((await keys.create(_email(number), "load"))[0].prefix)
        else:
            await keys.revoke(live.popleft())
        done += 1
        await anyio.sleep(max(0.0, began + done / WRITES - time.perf_counter()))
    await database.close()
    return done


def _email(number: int) -> str:
    return f"writer{number}@example.com"


if __name__ == "__main__":
    print(anyio.run(write, sys.argv[1], float(sys.argv[2])))
