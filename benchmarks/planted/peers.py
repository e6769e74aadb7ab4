"""The detector compared with its peers on the same planted patterns, decoys and random walks.

    pip install --no-deps --target peers wickra ta-patterns
    PYTHONPATH=peers python -m benchmarks.planted.peers

Peers flag bars and return no span or lines, so all are measured by flags alone, which is lenient. A
flag of the right family between the middle of a pattern and five bars after its breakout counts as
found; any flag at that place of a decoy is a hit. A peer that is not installed is skipped.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.planted.corpus import decoys, plants, walks
from benchmarks.planted.measures import Rate, family_of, share
from nightly.bars import Bars
from nightly.detector import detect
from nightly.parameters import DETECTORS, Parameters
from store.wire.families import Family

Flags = dict[Family, npt.NDArray[np.bool_]]
"""For each family, the bars at which it is flagged."""
Flagger = Callable[[Bars], Flags]

# A module that is not a dependency, so a type checker does not know its names.
Peer: TypeAlias = Any

EACH = 20
LATE = 5


def ours(bars: Bars, parameters: Parameters) -> Flags:
    """Flag a family on every bar on which a forming setup of it is served."""
    flags = {family: np.zeros(len(bars), bool) for family in Family}
    for version in detect(bars, parameters).versions:
        end = int(version["end"]) if version["end"] >= 0 else len(bars)
        flags[family_of(version)][int(version["first_served"]) : end] = True
    return flags


def wickra(module: Peer, bars: Bars) -> Flags:
    """The flags of wickra, whose indicators are signed: +1 is bullish."""
    columns = [column.tolist() for column in (bars.open, bars.high, bars.low, bars.close)]
    wedge, triangle, pennant = (
        np.nan_to_num(np.asarray(indicator().batch(*columns), float))
        for indicator in (module.Wedge, module.Triangle, module.FlagPennant)
    )
    return {
        Family.RISING_WEDGE: wedge < 0,
        Family.FALLING_WEDGE: wedge > 0,
        Family.BULLISH_PENNANT: pennant > 0,
        Family.BEARISH_PENNANT: pennant < 0,
        Family.TRIANGLE: triangle != 0,
    }


def ta_patterns(module: Peer, bars: Bars) -> Flags:
    """The flags of ta-patterns: one function per pattern, in the mode before the breakout."""
    columns = (bars.open, bars.high, bars.low, bars.close)

    def flagged(*names: str) -> npt.NDArray[np.bool_]:
        found = [getattr(module, name)(*columns, mode="forming") != 0 for name in names]
        return np.asarray(np.any(found, axis=0), bool)

    return {
        Family.RISING_WEDGE: flagged("rising_wedge"),
        Family.FALLING_WEDGE: flagged("falling_wedge"),
        Family.BULLISH_PENNANT: flagged("pennant_bull"),
        Family.BEARISH_PENNANT: flagged("pennant_bear"),
        Family.TRIANGLE: flagged(
            "symmetrical_triangle", "ascending_triangle", "descending_triangle"
        ),
    }


PEERS = {
    "wickra": ("wickra", wickra),
    "ta-patterns": ("ta_patterns.chart_patterns.classic", ta_patterns),
}


def flaggers() -> Iterator[tuple[str, Flagger]]:
    """Both of our detectors, and the peers that are installed."""
    for name, parameters in DETECTORS.items():
        yield name, partial(ours, parameters=parameters)
    for name, (module, flagger) in PEERS.items():
        try:
            found = importlib.import_module(module)
        except ImportError:
            print(f"{name} is skipped: pip install --no-deps --target peers {name}")
        else:
            yield name, partial(flagger, found)


def place(start: int, end: int) -> slice:
    """The bars at which a pattern should be flagged, and a decoy should not."""
    return slice((start + end) // 2, end + LATE + 1)


def measure(flagger: Flagger) -> tuple[Rate, Rate, float, float]:
    """Recall, decoys hit, new flags in 1,000 bars of random walk, and bars a second."""
    finds = [
        bool(flagger(p.bars)[p.family][place(p.start, p.end)].any()) for p in plants("report", EACH)
    ]
    hits = [
        any(flags[place(d.start, d.end)].any() for flags in flagger(d.bars).values())
        for d in decoys("report", EACH)
    ]
    walked = [bars for _, bars in walks("report", each=2)]
    start = time.process_time()
    flagged = [flagger(bars) for bars in walked]
    seconds = time.process_time() - start
    total = sum(map(len, walked))
    new = sum(
        int(np.count_nonzero(np.diff(f.astype(int)) > 0))
        for flags in flagged
        for f in flags.values()
    )
    return share(finds), share(hits), 1000 * new / total, total / seconds


def main() -> None:
    """Print one row for each detector."""
    heads = ("family recall, %", "decoys hit, %", "flags/1,000", "bars/s")
    print(f"{'':12}" + "".join(f"{head:>22}" for head in heads))
    for name, flagger in flaggers():
        recall, hit, flags, speed = measure(flagger)
        print(f"{name:12}{recall.text():>22}{hit.text():>22}{flags:22.1f}{speed:22,.0f}")


if __name__ == "__main__":
    main()
