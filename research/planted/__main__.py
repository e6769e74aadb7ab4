"""Print how well the detector draws: planted patterns, decoys and random walks.

python -m research.planted [--seeds report|test] [--each N]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import numpy as np

from research.planted.decoys import Decoy
from research.planted.measures import (
    WALK_DAYS,
    Detector,
    Rate,
    Split,
    decoys,
    find,
    formations,
    frequency,
    is_hit,
    plants,
    rng_of,
    share,
    walks,
)
from research.planted.patterns import Plant
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect
from tests.screener.nightly.probes import look_ahead, scale_error

CUTS = 600
SCALED = 200
SCALE_ERROR = 1e-9


def grouped(pairs: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    """Values by name, in order of appearance."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for name, value in pairs:
        groups[name].append(value)
    return groups


def line(name: str, rate: Rate, scale: float = 100, digits: int = 1) -> None:
    """One row: a rate with its 95% interval and cases."""
    print(f"{name:42} {rate.text(scale, digits):>24}  {rate.cases:>6}")


def print_shares(title: str, groups: Mapping[str, Sequence[bool]]) -> None:
    """The share of all, then of each group."""
    line(title, share([value for group in groups.values() for value in group]))
    for name, group in groups.items():
        line(f"  {name}", share(group))


def print_plants(series: Sequence[Plant], detector: Detector) -> None:
    """Recall by type and noise; triggers and lines of the patterns found."""
    found = [(plant, find(detector(plant.bars), plant)) for plant in series]
    print_shares("family recall, %", grouped((p.kind, f is not None) for p, f in found))
    for noise, group in grouped((f"noise {p.noise} ATR", f is not None) for p, f in found).items():
        line(f"  {noise}", share(group))
    finds = [f for _, f in found if f is not None]
    line("trigger on the true bar, % of found", share([f.entry == 0 for f in finds]))
    line("trigger within a bar, % of found", share([is_near(f.entry) for f in finds]))
    line("first trigger on the true bar, % of found", share([f.first == 0 for f in finds]))
    line("first trigger within a bar, % of found", share([is_near(f.first) for f in finds]))
    print(f"{'line error, median, ATR':42} {np.median([f.line_error for f in finds]):>24.3f}")


def is_near(bars: int | None) -> bool:
    """Whether a trade was entered, so many bars after the true breakout, within a bar of it."""
    return bars is not None and abs(bars) <= 1


def print_decoys(series: Sequence[Decoy], detector: Detector) -> None:
    """The share of decoys for which a setup was served in their place."""
    hits = grouped((decoy.kind, is_hit(detector(decoy.bars), decoy)) for decoy in series)
    print_shares("shaped decoys hit, %", hits)


def print_walks(series: Sequence[tuple[str, Bars]], detector: Detector) -> None:
    """Formations in a thousand bars of each model."""
    counts: dict[str, list[int]] = defaultdict(list)
    for model, bars in series:
        counts[model].append(formations(detector(bars)))
    everything = [count for group in counts.values() for count in group]
    line("random walk, formations in 1,000 bars", frequency(everything, WALK_DAYS), 1, 2)
    for model, group in counts.items():
        line(f"  {model}", frequency(group, WALK_DAYS), 1, 2)


def print_probes(series: Sequence[Bars], split: Split, detector: Detector) -> None:
    """The numbers of cuts that changed the past, and of series that changed with scaled prices."""
    rng = rng_of(split, 3)
    failed = 0
    for bars in (series[int(index)] for index in rng.integers(0, len(series), CUTS)):
        failed += len(look_ahead(detector, bars, [int(rng.integers(20, len(bars)))]))
    print(f"{'look-ahead probes failed':42} {failed:>24}  {CUTS:>6}")
    chosen = (series[int(index)] for index in rng.integers(0, len(series), SCALED))
    factors = np.exp(rng.normal(0, 2, SCALED))
    scaled = sum(
        scale_error(detector, bars, float(factor)) > SCALE_ERROR
        for bars, factor in zip(chosen, factors, strict=True)
    )
    print(f"{'scale probes failed':42} {scaled:>24}  {SCALED:>6}")


def main() -> None:
    """Draw the series of a split and print the table."""
    parser = argparse.ArgumentParser(prog="python -m research.planted", description=__doc__)
    parser.add_argument("--seeds", choices=get_args(Split), default="report")
    parser.add_argument("--each", type=int, default=40, help="series of each type and noise")
    chosen = parser.parse_args()
    planted = list(plants(chosen.seeds, chosen.each))
    shaped = list(decoys(chosen.seeds, chosen.each))
    walked = list(walks(chosen.seeds))
    start = time.perf_counter()
    print(f"{chosen.seeds} seeds; rate [95% interval], cases")
    print_plants(planted, detect)
    print_decoys(shaped, detect)
    print_walks(walked, detect)
    everything = [p.bars for p in planted] + [d.bars for d in shaped] + [b for _, b in walked]
    print_probes(everything, chosen.seeds, detect)
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
