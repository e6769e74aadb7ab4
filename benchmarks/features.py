"""The cost of the screening features and the placebo trades of one symbol with 20 years of bars.

The features are timed in turn with the reference implementation, if it is available (in
`$SCREENER_SHARED`, or `shared` beside the project), so that their ratio holds on any machine.

    python -m benchmarks.features
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from nightly.bars import Bars
from nightly.events import TRADE, VERSION, EventLog
from nightly.features import COLUMNS, features
from nightly.placebo import placebo, seeds_of
from nightly.series import Series

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[2] / "shared"))
REFERENCE = SHARED / "detector_reference" / "features.py"
SYMBOLS, SESSIONS, TRADES, ROUNDS = 100, 5040, 64, 7
PATTERN = 30  # bars

Analyse = Callable[[Bars], object]


def symbol(number: int) -> Bars:
    """A random walk of 20 years of sessions."""
    rng = np.random.default_rng(number)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, SESSIONS)))
    open_ = close * np.exp(rng.normal(0, 0.01, SESSIONS))
    high, low = np.maximum(open_, close) * 1.01, np.minimum(open_, close) * 0.99
    date = np.cumsum(np.resize([1, 1, 1, 1, 3], SESSIONS), dtype=np.int32) + np.int32(12_000)
    return Bars(date, open_, high, low, close, np.round(rng.lognormal(12, 1, SESSIONS)))


def reference(folder: Path) -> Analyse | None:
    """The reference implementation, copied to a folder where its machine code can be cached."""
    if not REFERENCE.is_file():
        return None
    copy = shutil.copy(REFERENCE, folder / "reference_features.py")
    spec = importlib.util.spec_from_file_location("reference_features", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = np.empty(len(module.NAMES))

    def run(bars: Bars) -> None:
        date, *columns = bars.columns()
        last = int(bars.date[-1])
        module.features(*columns, date, last - 100, last - 30, out)

    return run


def draws(bars: Bars) -> object:
    """Placebo draws for as many trades as a symbol has in 20 years."""
    log = EventLog(np.zeros(TRADES, VERSION), np.zeros(TRADES, TRADE))
    trades = log.trades
    trades["version"] = np.arange(TRADES)
    trades["entry"] = np.linspace(60, len(bars) - 1, TRADES)
    trades["direction"] = np.where(np.arange(TRADES) % 2, 1, -1)
    trades["entry_price"] = bars.close[trades["entry"]]
    trades["stop_price"] = trades["entry_price"] * np.exp(-0.06 * trades["direction"])
    trades["target_price"] = trades["entry_price"] * np.exp(0.15 * trades["direction"])
    trades["atr"] = 0.03
    for name in ("upper_start", "lower_start"):
        log.versions[name] = trades["entry"] - PATTERN
    return placebo(Series.sound(bars), log, trades, seeds_of("TEST", bars, trades))


def seconds(analyse: Analyse, symbols: Sequence[Bars]) -> float:
    """CPU time per symbol of one pass."""
    start = time.process_time()
    for bars in symbols:
        analyse(bars)
    return (time.process_time() - start) / len(symbols)


def main() -> None:
    symbols = [symbol(number) for number in range(SYMBOLS)]
    subjects: dict[str, Analyse] = {
        f"features ({len(COLUMNS)} columns)": lambda bars: features(bars, crypto=False),
        f"placebo ({TRADES} trades)": draws,
    }
    with tempfile.TemporaryDirectory() as folder:
        oracle = reference(Path(folder))
        if oracle is not None:
            subjects["reference (37 columns)"] = oracle
        for analyse in subjects.values():
            analyse(symbols[0])  # compiles, and fills caches
        rounds = [{n: seconds(a, symbols) for n, a in subjects.items()} for _ in range(ROUNDS)]
    for name in subjects:
        figures = [figure[name] for figure in rounds]
        line = f"{name:24} {1e6 * median(figures):7.1f} us a symbol"
        if oracle is not None:
            ratio = median(figure[name] / figure["reference (37 columns)"] for figure in rounds)
            line += f"   {ratio:5.2f} x the reference"
        print(line)


if __name__ == "__main__":
    main()
