"""The search of the universe, compared with a plain fuzzy comparison with every name.

    python -m benchmarks.search [--symbols N] [--reference FILE]

Makes a directory of so many symbols with names, searches it for usual texts and for hostile ones,
and prints processor times. The plain comparison is rapidfuzz's `extract` over all symbols and
names. With `--reference` the first symbols and names are those of a file.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import polars as pl
from rapidfuzz import process

from mcp_server.filters.directory import Directory
from nightly.symbols import normalise

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KINDS = ("Inc. Common Stock", "Corporation Class A Common Stock", "Holdings Limited", "Bank of")
TEXTS = ("AAPL", "BTC/USDT", "apple", "micorsoft", "common stock", "inc", "s", "zzzzz")
HOSTILE = (
    "commoon stocks incorporatd",
    "clas shars commn stok corportion incc holdingss compny",
    " ".join(LETTERS),
    " ".join(f"s{letter}" for letter in LETTERS[:21]),
    "c" * 64,
)
TIMES = 20


def entries(symbols: int, reference: Path | None) -> list[dict[str, str | None]]:
    """So many symbols with names."""
    drawn = random.Random(20)  # noqa: S311 - protects nothing
    found: dict[str, str | None] = {"AAPL": "Apple Inc. Common Stock", "BTCUSDT": "BTC"}
    found["MSFT"] = "Microsoft Corporation Common Stock"
    if reference is not None:
        table = pl.read_parquet(reference, columns=["symbol", "name"])
        found = {normalise(raw) or raw: name for raw, name in table.iter_rows()}
    while len(found) < symbols:
        word = "".join(drawn.choices(LETTERS, k=drawn.randint(4, 9))).capitalize()
        symbol = "".join(drawn.choices(LETTERS, k=drawn.randint(3, 5)))
        found.setdefault(symbol, f"{word} {drawn.choice(KINDS)}")
    return [{"symbol": symbol, "name": name} for symbol, name in found.items()]


def cost(work: Callable[[], object]) -> float:
    """The median processor time of some work, in milliseconds."""
    times = []
    for _ in range(TIMES):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1000 * median(times)


def main() -> None:
    """Print what each text costs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search")
    parser.add_argument("--symbols", type=int, default=20_000)
    parser.add_argument("--reference", type=Path)
    chosen = parser.parse_args()
    everything = entries(chosen.symbols, chosen.reference)
    start = time.process_time()
    directory = Directory(everything)
    made = time.process_time() - start
    print(
        f"{len(everything):,} symbols: the directory is made in {1000 * made:.0f} ms, once a night"
    )
    plain = [f"{entry['symbol']} {entry['name']}" for entry in everything]
    worst = 0.0
    for text in (*TEXTS, *HOSTILE):
        search = cost(partial(directory.search, text))
        nearest = cost(partial(directory.nearest, text))
        worst = max(worst, search, nearest)
        count = len(directory.search(text))
        print(f"{text[:40]!r:44} {count:6,} found in {search:.2f} ms, nearest {nearest:.2f} ms")
    compared = cost(partial(process.extract, "micorsoft", plain, limit=3))
    print(f"The dearest took {worst:.2f} ms; comparing every name takes {compared:.1f} ms")


if __name__ == "__main__":
    main()
