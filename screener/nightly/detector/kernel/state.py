"""State: what the walk passes from bar to bar, and the log that it writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screener.nightly.detector.events import TRADE, VERSION, Rows
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.lines import LINE, LINES_PER_SIDE
from screener.nightly.detector.kernel.touches import Indices

# These limits change results: only the best candidates of a bar and scale are proposed, with eight
# forming setups a further one is dropped, and a formation is recognised again only among the last
# sixteen lineages. Trades have no such limit.
CANDIDATES_PER_BAR = 16
FORMING_SETUPS = 8
FITS_PER_BAR = 32
REMEMBERED_LINEAGES = 16

# The most rows that one bar can add: a version for each candidate on both scales, and a trade for
# each forming setup.
VERSIONS_PER_BAR = 2 * CANDIDATES_PER_BAR
TRADES_PER_BAR = FORMING_SETUPS

FREE = -1


FORMING = np.dtype(
    [
        ("version", "i8"),  # row in the log, FREE for an empty slot
        ("last_touch", "i8"),  # may be later than the version's own
    ]
)

LINEAGE = np.dtype(
    [
        ("number", "i8"),  # FREE for an empty slot
        ("start", "i8"),
        ("end", "i8"),
        ("triggers", "i8"),
        ("given_up", "i8"),  # the last bar that faded or replaced one of its versions, or FREE
    ]
)

# One record instead of a tuple of arrays, so that it is passed as a pointer (see `prices.PRICE`).
STATE = np.dtype(
    [
        ("last_pole", "i8"),  # the bar at which the last pole ended, FREE if there was none
        ("lines", LINE, (2, 2, LINES_PER_SIDE)),  # [scale, side, line]
        ("line_counts", "i8", (2, 2)),  # [scale, side]
        ("due", "i4", (2, LINES_PER_SIDE, LINES_PER_SIDE)),  # [scale, upper, lower]: see `schedule`
        ("forming", FORMING, (FORMING_SETUPS,)),
        ("lineages", LINEAGE, (REMEMBERED_LINEAGES,)),
        ("lineage_count", "i8"),  # begun so far
        ("version_count", "i8"),  # rows written so far
        ("trade_count", "i8"),
        ("open_count", "i8"),
        ("candidate", VERSION),
        ("candidates", VERSION, (CANDIDATES_PER_BAR,)),  # of this bar and scale, best first
        ("candidate_count", "i8"),
        ("fits", LINE, (FITS_PER_BAR, 2)),  # [fit, side], the pairs judged on this bar and scale
        ("fit_rests", "i8", (FITS_PER_BAR,)),  # [fit], the bars that such a pair rests
        ("fit_count", "i8"),
        ("drawn", LINE, (2,)),  # [side], the pair that is being judged
        ("refitted", LINE, (2,)),  # [side], the same fitted to all their touches
    ]
)


class Log(NamedTuple):
    """The rows written so far, with spare room. `open` lists the rows of the open trades."""

    versions: Rows
    trades: Rows
    open: Indices


def new_state() -> Record:
    """The state before the first bar."""
    state = np.zeros(1, STATE)
    state["last_pole"] = FREE
    state["forming"]["version"] = FREE
    state["lineages"]["number"] = FREE
    return state[0]


def new_log() -> Log:
    """An empty log with room for the first bar."""
    return Log(
        np.empty(64 * VERSIONS_PER_BAR, VERSION),
        np.empty(64 * TRADES_PER_BAR, TRADE),
        np.empty(64 * TRADES_PER_BAR, np.int64),
    )


@compiled
def has_room(log: Log, state: Record) -> bool:
    """Whether the log has room for everything that one more bar can add."""
    if state.version_count + VERSIONS_PER_BAR > len(log.versions):
        return False
    return bool(state.trade_count + TRADES_PER_BAR <= len(log.trades))
