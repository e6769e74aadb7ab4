"""Compare the detector with its reference prototype on real bars: equality and speed.

    python -m benchmarks.detector_oracle [symbols]

The real bars and the prototype are not part of the project; see `benchmarks/oracle.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from benchmarks.oracle import MISSING, PRESENT, Oracle, real_bars
from nightly.bars import Bars
from nightly.detector import Parameters, detect
from nightly.events import EventLog

Result = TypeVar("Result")

NO_GAP = 100_000


def timed(work: Callable[[Bars], Result], bars: Bars) -> tuple[Result, float]:
    """The result of a function, and its processor time."""
    start = time.process_time()
    result = work(bars)
    return result, time.process_time() - start


def ours(bars: Bars) -> EventLog:
    """Our log with the prototype's parameters, without data gaps, which the prototype ignores."""
    return detect(bars, Parameters.reference(), gap_days=NO_GAP)


def main(count: int) -> int:
    """Print counts, mismatches and the speed of both; the exit code is 1 for a mismatch."""
    if not PRESENT:
        print(MISSING)
        return 2
    oracle = Oracle()
    series = real_bars(count)
    first = next(iter(series.values()))
    for name, work in (("reference", oracle.log), ("detector", ours)):
        start = time.perf_counter()
        work(first)
        print(f"{name}: first call {time.perf_counter() - start:.2f} s (compiled or loaded)")

    bars = versions = trades = 0
    mismatches = []
    reference_seconds = detector_seconds = 0.0
    for symbol, symbol_bars in series.items():
        expected = oracle.log(symbol_bars)
        _, seconds = timed(oracle.run, symbol_bars)
        reference_seconds += seconds
        log, seconds = timed(ours, symbol_bars)
        detector_seconds += seconds
        bars += len(symbol_bars)
        versions += len(log.versions)
        trades += len(log.trades)
        if (log.versions.tobytes(), log.trades.tobytes()) != (
            expected.versions.tobytes(),
            expected.trades.tobytes(),
        ):
            mismatches.append(symbol)

    print(f"{len(series)} symbols, {bars:,} bars, {versions:,} versions, {trades:,} trades")
    print(f"symbols that differ: {len(mismatches)} {' '.join(mismatches)}")
    print(f"reference {bars / reference_seconds:,.0f} bars/s")
    print(f"detector  {bars / detector_seconds:,.0f} bars/s")
    print(f"detector/reference speed {reference_seconds / detector_seconds:.2f}")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
