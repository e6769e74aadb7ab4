"""Curve: what a higher or lower minimum score buys, on symbols and series that taught nothing.

For each minimum score of wedges and triangles: the share of their rated charts of symbols set aside
that both readers accept; recall, decoys and walks of planted series; and the yield over a year. The
last four include squeezes, whose minimum stays.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from research.chartist.charts import SQUEEZES, TYPES
from research.chartist.fit import is_set_aside
from research.chartist.ratings import ACCEPTED, Rating
from research.planted.measures import (
    WALK_DAYS,
    decoys,
    find,
    formations,
    is_hit,
    plants,
    share,
    walks,
)
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.cleaning.cleaning import clean
from screener.nightly.cleaning.sessions import past_window
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import EventLog
from screener.nightly.detector.kernel.shape import Shape, judged
from screener.nightly.detector.parameters import Parameters
from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import unlisted
from screener.nightly.symbols import resolve


def read_market(path: Path, wanted: Callable[[str], bool]) -> Mapping[str, Bars]:
    """The longest cleaned series of each wanted symbol: a line is straight over these bars.

    A symbol is what a night serves: `BTCUSD` where the table has `BTC-USD`.
    """
    source, market = TableSource(path), dict[str, Bars]()
    raw_of = resolve(source.names()).raw_of
    symbol_of = {raw: symbol for symbol, raw in raw_of.items() if wanted(symbol)}
    for loaded in source.load(list(symbol_of)):
        symbol, bars = symbol_of[loaded.name], loaded.bars
        known = unlisted(symbol)
        window = past_window(to_date(bars.date[-1]), known.calendar)
        cleaned = clean(bars, asset_type=known.asset_type, window=window).series
        if cleaned:
            market[symbol] = max((series.bars for series in cleaned), key=len)
    return market


MINIMA = (70.0, 75.0, 80.0, 84.0, 88.0, 91.0)
YEAR = 2025
SERIES = 12
"""Planted series of each kind and noise; decoys and walks in proportion."""
HEAD = "minimum  charts  accepted by both  recall  decoys  walk/1,000  symbols a setup"


def score_of(rating: Rating) -> float:
    """The score of a rated chart under the weights as they are now."""
    numbers = rating.shape or {}
    shape = Shape(*(numbers[name] for name in Shape._fields))
    return float(judged(shape, TYPES[rating.kind].value))


def held_out(ratings: Sequence[Rating]) -> list[Rating]:
    """The rated drawings of the default detector on symbols that were set aside."""
    return [
        one
        for one in ratings
        if one.by.startswith("default")
        and one.symbol is not None
        and is_set_aside(one.symbol)
        and one.round not in ("1", "2")
        and one.shape is not None
    ]


def setup_days(bars: Bars, log: EventLog, year: int = YEAR) -> tuple[int, int]:
    """The sessions of a year, and on them the first attempts that were forming or running."""
    first, last = (to_day(dt.date(year + after, 1, 1)) for after in (0, 1))
    start, end = np.searchsorted(bars.date, [first, last])
    versions = log.versions
    begun = [versions["first_served"], log.trades["entry"]]
    over = [versions["end"], log.trades["exit"]]
    attempts = [versions["attempt"], versions["attempt"][log.trades["version"]]]
    days = 0
    for since, until, attempt in zip(begun, over, attempts, strict=True):
        stop = np.where(until < 0, len(bars), until)
        held = np.minimum(stop, end) - np.maximum(since, start)
        days += int(np.maximum(held, 0)[attempt == 1].sum())
    return int(end - start), days


def symbols_a_setup(market: Mapping[str, Bars], parameters: Parameters) -> float:
    """How many covered symbols there are for one setup, on the mean session of the year."""
    counts = [setup_days(bars, detect(bars, parameters)) for bars in market.values()]
    sessions, setups = np.sum(counts, axis=0)
    return float(sessions / max(setups, 1))


def row(minimum: float, ratings: Sequence[Rating], market: Mapping[str, Bars]) -> str:
    """One line of the curve."""
    parameters = Parameters(quality_min=minimum)
    detector = partial(detect, parameters=parameters)
    served = [
        one for one in held_out(ratings) if one.kind not in SQUEEZES and score_of(one) >= minimum
    ]
    accepted = share([min(one.scores) >= ACCEPTED for one in served])
    found = share([find(detector(one.bars), one) is not None for one in plants("report", SERIES)])
    hit = share([is_hit(detector(one.bars), one) for one in decoys("report", SERIES)])
    walk = np.mean([formations(detector(bars)) for _, bars in walks("report", SERIES)])
    return (
        f"{minimum:7.0f}  {len(served):6}  {accepted.text():>16}  {found.value:6.3f}  "
        f"{hit.value:6.3f}  {1000 * walk / WALK_DAYS:10.2f}  "
        f"{symbols_a_setup(market, parameters):15.0f}"
    )


def curve(ratings: Sequence[Rating], market: Mapping[str, Bars]) -> Iterator[str]:
    """The lines of the table."""
    yield HEAD
    for minimum in MINIMA:
        yield row(minimum, ratings, market)
