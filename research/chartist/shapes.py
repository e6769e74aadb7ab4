"""Shapes: the numbers that the judgement weighs, of any two lines in some bars."""

from __future__ import annotations

from screener.nightly.bars import Bars
from screener.nightly.detector.detector import lines_of, prices_of, touch_buffers
from screener.nightly.detector.events import Rows
from screener.nightly.detector.kernel.pairs import pair_of
from screener.nightly.detector.kernel.prices import LOWER, UPPER, flag_swings
from screener.nightly.detector.kernel.shape import Shape, shape_of
from screener.nightly.detector.kernel.touches import contacts_of
from screener.nightly.detector.parameters import DEFAULTS


def shape_at(bars: Bars, version: Rows, bar: int) -> Shape:
    """The shape of a version's lines as of a bar.

    Only the type, the scale and the two lines of the version are used.
    """
    prices, record = prices_of(bars.take(slice(0, bar + 1)), DEFAULTS), DEFAULTS.record()
    kind, scale = int(version["type"]), int(version["scale"])
    flag_swings(prices, scale, record)
    lines = lines_of(version, 0)
    pair = pair_of(lines[UPPER], lines[LOWER], bar)
    found = touch_buffers(len(prices))
    contacts = contacts_of(prices, lines, scale, (pair.start, bar), record, found)
    return shape_of(prices, lines, pair, contacts, kind, bar, record)
