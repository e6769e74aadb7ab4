"""Checkpoint: where the walk over a symbol's bars stood, so that the next night can resume it.

It is an optimisation and nothing else. A checkpoint is believed only if every bar that was walked
is bit for bit the same, and so are the parameters and the kernel. Otherwise, and if its bytes are
damaged, the symbol is walked from its first bar. Only the walk is kept; everything that is derived
from its log is derived again.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from nightly.bars import Bars, Floats
from nightly.detector import DEFAULTS, Walk, walk_on
from nightly.events import TRADE, VERSION, EventLog
from nightly.kernel.compiler import source_digest
from nightly.kernel.state import STATE
from nightly.parameters import Parameters

Began = Literal["resumed", "anew", "drifted"]
"""How a walk began: where the last one ended, at the first bar, or at the first bar because a check
found that the checkpoint is not what its bars give."""

DIGEST = 32
LEVEL = 1
"""Of zlib: most of a state is zeros, and more effort does not pay."""


@dataclass(frozen=True, slots=True, eq=False)
class Resumed:
    """A walk, how it began, and what to keep of it for the next night."""

    log: EventLog
    began: Began
    kept: bytes


def resume(
    kept: bytes | None,
    bars: Bars,
    *,
    gap_days: int,
    check: bool = False,
    parameters: Parameters = DEFAULTS,
) -> Resumed:
    """Walk the bars of one symbol, from where the kept walk ended if these are its bars.

    With `check` the kept bars are walked once more and the outcome is compared.
    """
    rows = _rows(bars)
    digest = hashlib.blake2b(_context(parameters, gap_days), digest_size=DIGEST)
    earlier = decoded(kept) if kept else None
    began: Began = "anew"
    walked = 0
    if earlier is not None and earlier[0].bars <= len(bars):
        walked = earlier[0].bars
        digest.update(rows[:walked].data)
        if digest.digest() == earlier[1]:
            began = "resumed"
    start = earlier[0] if earlier is not None and began == "resumed" else None
    if check and start is not None:
        again = walk_on(None, bars.take(slice(0, walked)), parameters, gap_days=gap_days)
        began = "anew" if _columns(again) == _columns(start) else "drifted"
        start = again
    digest.update(rows[walked:].data)
    walk = walk_on(start, bars, parameters, gap_days=gap_days)
    return Resumed(walk.log, began, encoded(walk, digest.digest()))


def encoded(walk: Walk, digest: bytes) -> bytes:
    """A walk and the digest of what it walked, compressed and with a check sum."""
    columns = _columns(walk)
    sizes = np.array([walk.bars, *map(len, columns)], "<i8")
    return zlib.compress(b"".join([digest, sizes.tobytes(), *columns]), LEVEL)


def decoded(kept: bytes) -> tuple[Walk, bytes] | None:
    """The inverse of `encoded`; None for bytes that are damaged or of another layout."""
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


def _rows(bars: Bars) -> Floats:
    """What the walk reads, one row a bar, so that the first bars are the first bytes."""
    columns = (bars.date, bars.open, bars.high, bars.low, bars.close)
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def _context(parameters: Parameters, gap_days: int) -> bytes:
    return repr((source_digest(), np.__version__, tuple(parameters), gap_days)).encode()
