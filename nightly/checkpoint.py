"""Checkpoint: the state of the walk over a symbol's bars, so that the next night can resume it.

Checkpoints only save time. A checkpoint is used only if every bar that was walked is bit for bit
the same, and so are the parameters and the kernel. Otherwise, or if its bytes are damaged, the
symbol is walked from its first bar. Only the walk is stored; everything derived from its log is
computed again.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np

from nightly.bars import Floats
from nightly.detector import DEFAULTS, Walk, walk_on
from nightly.events import TRADE, VERSION, EventLog
from nightly.kernel.compiler import source_digest
from nightly.kernel.state import STATE
from nightly.parameters import Parameters
from nightly.series import Series

Began = Literal["resumed", "anew", "drifted"]
"""How a walk began: `resumed` from the checkpoint, `anew` at the first bar, or `drifted`: at the
first bar, because a check found that the checkpoint differs from a new walk over the same bars."""

DIGEST = 32
LEVEL = 1
"""The zlib level. Most of a state is zeros, so a higher level does not pay."""


@dataclass(frozen=True, slots=True, eq=False)
class Resumed:
    """The event log of a walk, how the walk began, and its checkpoint for the next night."""

    log: EventLog
    began: Began
    kept: bytes


def resume(
    kept: bytes | None,
    series: Series,
    parameters: Parameters = DEFAULTS,
    *,
    gap_days: int,
    check: bool = False,
) -> Resumed:
    """Walk a series, from the end of the kept walk if that was over the same bars.

    With `check`, the bars of the kept walk are walked again and the results compared.
    """
    rows = _rows(series)
    digest = hashlib.sha256(_context(parameters, gap_days))
    earlier = decoded(kept) if kept else None
    began: Began = "anew"
    walked = 0
    if earlier is not None and earlier[0].bars <= len(series):
        walked = earlier[0].bars
        digest.update(rows[:walked].data)
        if digest.digest() == earlier[1]:
            began = "resumed"
    start = earlier[0] if earlier is not None and began == "resumed" else None
    if check and start is not None:
        again = walk_on(None, series.first(walked), parameters, gap_days=gap_days)
        began = "anew" if _columns(again) == _columns(start) else "drifted"
        start = again
    digest.update(rows[walked:].data)
    walk = walk_on(start, series, parameters, gap_days=gap_days)
    return Resumed(walk.log, began, encoded(walk, digest.digest()))


def encoded(walk: Walk, digest: bytes) -> bytes:
    """A walk and the digest of its inputs, compressed, with zlib's checksum."""
    columns = _columns(walk)
    sizes = np.array([walk.bars, *map(len, columns)], "<i8")
    return zlib.compress(b"".join([digest, sizes.tobytes(), *columns]), LEVEL)


def decoded(kept: bytes) -> tuple[Walk, bytes] | None:
    """The inverse of `encoded`; None if the bytes are damaged or have another layout."""
    try:
        body = zlib.decompress(kept)
        head = DIGEST + 5 * 8
        bars, *sizes = np.frombuffer(body, "<i8", 5, DIGEST).tolist()
        ends = np.cumsum([head, *sizes]).tolist()
        pieces = [body[a:b] for a, b in pairwise(ends)]
        state, versions, trades = (
            np.frombuffer(piece, kind)
            for piece, kind in zip(pieces, (STATE, VERSION, TRADE), strict=False)
        )
        open_trades = np.frombuffer(pieces[3], np.int64)
    except (zlib.error, ValueError):
        return None
    counted = [state[name].tolist() for name in ("version_count", "trade_count", "open_count")]
    if ends[-1] != len(body) or counted != [[len(versions)], [len(trades)], [len(open_trades)]]:
        return None
    return Walk(bars, state, EventLog(versions, trades), open_trades), body[:DIGEST]


def _columns(walk: Walk) -> list[bytes]:
    parts = (walk.state, walk.log.versions, walk.log.trades, walk.open_trades)
    return [part.tobytes() for part in parts]


def _rows(series: Series) -> Floats:
    """The columns that the walk reads, one row per bar, so that the first bars come first."""
    bars = series.bars
    columns = (bars.date, bars.open, bars.high, bars.low, bars.close, series.idle, series.announced)
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


@cache
def _context(parameters: Parameters, gap_days: int) -> bytes:
    return repr((source_digest(), np.__version__, tuple(parameters), gap_days)).encode()
