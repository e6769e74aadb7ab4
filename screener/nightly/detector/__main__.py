"""Compile the detector: `python -m screener.nightly.detector` makes the code that a night runs.

It needs numpy and numba alone, so it can run while the other packages are installed. What is kept
already is only loaded.
"""

from __future__ import annotations

import numpy as np

from screener.nightly.bars import Bars
from screener.nightly.detector import detector
from screener.nightly.detector.events import TRADE, VERSION
from screener.nightly.detector.parameters import Parameters
from screener.nightly.series import Series

BARS = 60


def main() -> None:
    """Call what a night calls, with values of the same types."""
    flat = np.full(BARS, 10.0)
    bars = Bars(np.arange(BARS, dtype=np.int32), flat, flat, flat, flat, flat)
    series = Series.sound(bars)
    detector.furthest(detector.walk_on(None, series, gap_days=10), series)
    version = np.zeros(1, VERSION)[0]
    detector.touches_of(bars, version, BARS - 1)
    detector.line_values(version, BARS)
    detector.plan_of(version, 0.1, 1, BARS, Parameters())
    detector.resolve(bars, np.zeros(1, TRADE))


if __name__ == "__main__":
    main()
