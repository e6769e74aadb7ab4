"""Probes: whether a detector looks ahead, and whether it depends on the price level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from screener.nightly.bars import Bars
from screener.nightly.detector.events import EndReason, EventLog, Outcome
from tests.screener.nightly.series import multiplied

Detector = Callable[[Bars], EventLog]


def known_by(log: EventLog, bar: int) -> EventLog:
    """A log as of a bar: without later rows, and with later ends and exits unknown."""
    versions = log.versions[log.versions["first_served"] <= bar].copy()
    future = versions["end"] > bar
    versions["end"][future] = -1
    versions["end_reason"][future] = EndReason.FORMING
    forming = versions["end"] < 0
    versions["quality"][forming] = versions["first_quality"][forming]  # that of a day changes daily
    trades = log.trades[log.trades["entry"] <= bar].copy()
    future = trades["exit"] > bar
    trades["exit"][future] = -1
    trades["exit_price"][future] = np.nan
    trades["outcome"][future] = Outcome.OPEN
    return EventLog(versions, trades)


def same(one: EventLog, other: EventLog) -> bool:
    """Whether two logs are equal byte for byte."""
    return (
        one.versions.tobytes() == other.versions.tobytes()
        and one.trades.tobytes() == other.trades.tobytes()
    )


def look_ahead(detector: Detector, bars: Bars, cuts: Iterable[int]) -> list[int]:
    """The cuts at which a log up to the cut differs from that of the bars up to the cut."""
    log = detector(bars)
    return [
        cut
        for cut in cuts
        if not same(known_by(log, cut), known_by(detector(bars.until(int(bars.date[cut]))), cut))
    ]


def scale_error(detector: Detector, bars: Bars, factor: float) -> float:
    """The largest difference between a log and that of multiplied prices, apart from the factor.

    Infinite if they do not even have the same rows.
    """
    log, scaled = detector(bars), detector(multiplied(bars, 0, factor))
    if len(log.versions) != len(scaled.versions) or len(log.trades) != len(scaled.trades):
        return math.inf
    errors = [0.0]
    for name in log.versions.dtype.names or ():
        shift = math.log(factor) if name.endswith("_value") else 0.0
        errors.extend(np.abs(scaled.versions[name] - log.versions[name] - shift))
    for name in log.trades.dtype.names or ():
        scale = factor if name.endswith("_price") else 1.0
        expected = log.trades[name] * scale
        error = np.abs(scaled.trades[name] - expected) / np.maximum(np.abs(expected), 1.0)
        errors.extend(np.nan_to_num(error))
    return float(max(errors))
