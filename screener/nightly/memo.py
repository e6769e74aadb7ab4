"""Memo: what is kept of each symbol from night to night, so that a later night does what changed.

A memo only saves time: without one, or with one that is damaged or that other code wrote, the night
has the same bytes. It saves on two levels:

- If everything that a symbol's results depend on is the same (`SymbolRun.inputs`), and nothing is
  served of it, its results are taken as they are. Most symbols of an old table ended long ago.
- If bars were only appended to its newest series, the walk goes on from its end, and what it found
  is kept where no later bar can change it: the facts of trades that are over and have all their
  draws, and the history rows of trades that are over while their formation has no new attempt.

The history rows themselves are not kept twice. They are read from the book of the last night, and
the memo has their digest. A symbol that ended has no walk.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import xxhash

from screener.nightly.detector.detector import DetectorRun, walk_on
from screener.nightly.detector.events import TRADE, VERSION, EventLog, Rows
from screener.nightly.detector.kernel.compiler import source_digest
from screener.nightly.detector.kernel.state import STATE
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.results.history import FACTS, KEPT, FirstAttempts, StoredRows
from screener.nightly.results.symbol_results import Began
from screener.nightly.series import Series
from screener.nightly.version import code_version

DIGEST: Final = 16
HEAD: Final = struct.Struct("<16s16s?I")
"""The digest of all that follows it, that of the history rows, whether there is a walk, and the
length of the text that is next."""

COLUMNS: Final = (FACTS, KEPT, STATE, VERSION, TRADE, np.dtype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class WalkMemo:
    """The end of the walk over a series, and how the walk began."""

    walk: DetectorRun
    digest: bytes
    """Digest of everything that the walk, its facts and its rows depend on."""
    began: Began = "resumed"
    same: bool = True
    """Whether it began with a memo of the same bars and, if that was checked, of the same walk."""


class MemoHead(NamedTuple):
    """The numbers and words of a symbol's results."""

    inputs: str
    """The digest of what they depend on."""
    bars: int
    findings: Mapping[str, int]
    refusal: Sequence[str] | None
    """Code and reason."""
    last_day: int | None
    """The day of the last usable bar, whether it can be trusted or not."""
    last_bar: int
    """The day of the last bar in a series."""
    scored_from: int | None
    fate: int


@dataclass(frozen=True, slots=True, eq=False)
class SymbolMemo:
    """What is kept of one symbol."""

    head: MemoHead
    history: bytes
    """The digest of its history rows."""
    facts: Rows
    attempts: Rows
    """`KEPT` rows of the newest series, which has the last of the facts; none without a walk."""
    newest: WalkMemo | None
    """Memo of the newest series; None for a symbol that ended."""

    def encoded(self) -> bytes:
        """The memo as bytes, with a digest."""
        columns, walked = [self.facts, self.attempts], None
        if self.newest is not None:
            walk = self.newest.walk
            columns += [walk.state, walk.log.versions, walk.log.trades, walk.open_trades]
            walked = (walk.bars, self.newest.digest.hex())
        text = orjson.dumps([[*self.head], walked, [len(column) for column in columns]])
        rest = b"".join([text, *(column.tobytes() for column in columns)])
        head = HEAD.pack(bytes(DIGEST), self.history, walked is not None, len(text))
        return _digest([head, rest]) + head[DIGEST:] + rest

    @classmethod
    def decoded(cls, body: bytes) -> SymbolMemo | None:
        """The inverse of `encoded`; None if the bytes are damaged or have another layout."""
        try:
            digest, history, _, length = HEAD.unpack_from(body)
            if _digest([bytes(DIGEST), body[DIGEST:]]) != digest:
                return None
            head, walked, sizes = orjson.loads(body[HEAD.size : HEAD.size + length])
            facts, attempts, *rest = _columns(body, HEAD.size + length, sizes)
            newest = _newest(*walked, *rest) if walked else None
            return cls(MemoHead(*head), history, facts, attempts, newest)
        except (struct.error, ValueError, TypeError):
            return None


def _columns(body: bytes, place: int, sizes: Sequence[int]) -> list[Rows]:
    kinds = COLUMNS[: len(sizes)]
    lengths = [size * kind.itemsize for size, kind in zip(sizes, kinds, strict=True)]
    ends = np.cumsum([place, *lengths]).tolist()
    if ends[-1] != len(body):
        raise ValueError("other sizes")
    return [
        np.frombuffer(body[a:b], kind) for (a, b), kind in zip(pairwise(ends), kinds, strict=True)
    ]


def _newest(
    bars: int, digest: str, state: Rows, versions: Rows, trades: Rows, open_trades: Rows
) -> WalkMemo:
    walk = DetectorRun(bars, state, EventLog(versions, trades), open_trades)
    return WalkMemo(walk, bytes.fromhex(digest))


class Kept(NamedTuple):
    """What a task is given of one symbol: its memo, and the history rows that its book has."""

    memo: bytes
    outcomes: str = ""
    rows: bytes | None = None
    """Only where bars may have been appended."""


def kept_of(memo: bytes, outcomes: str, rows: bytes) -> Kept | None:
    """What is kept of a symbol, if the rows in the last night's book are those that it names."""
    try:
        _, history, walked, _ = HEAD.unpack_from(memo)
    except struct.error:
        return None
    if history != history_digest(outcomes, rows):
        return None
    return Kept(memo, outcomes, rows if walked else None)


def history_digest(outcomes: str, rows: bytes) -> bytes:
    """The digest of the history rows of a symbol, as the book has them."""
    return _digest([outcomes.encode(), rows])


def _digest(parts: Iterable[bytes | Rows]) -> bytes:
    digest = xxhash.xxh3_128()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
    return digest.digest()


def digest_of(values: Sequence[Any], columns: Iterable[Rows]) -> bytes:
    """The digest of everything that some results depend on: values, columns, and the program."""
    return _digest([program(), repr(values).encode(), *columns])


@cache
def program() -> bytes:
    """The versions of everything that computes."""
    return repr((code_version(), source_digest(), np.__version__)).encode()


def first_attempts_of(memo: SymbolMemo, kept: Kept) -> FirstAttempts | None:
    """The first attempts of the newest series as the last night had them; None without its rows."""
    if kept.rows is None:
        return None
    number = len(memo.attempts)
    bodies = kept.rows.split(b"\n")[:number] if number else []
    return FirstAttempts(
        memo.facts[len(memo.facts) - number :],
        memo.attempts,
        StoredRows(kept.outcomes[:number], bodies),
    )


def resume(
    memo: WalkMemo | None,
    series: Series,
    parameters: Parameters = DEFAULTS,
    *,
    gap_days: int,
    check: bool = False,
) -> WalkMemo:
    """Walk a series, from the end of an earlier walk if that was over the same bars.

    With `check`, the bars of the earlier walk are walked again and the results compared.
    """
    context = (tuple(parameters), gap_days)
    start = memo.walk if memo and memo.walk.bars <= len(series) else None
    if memo and start and _walked(series.first(start.bars), context) != memo.digest:
        start = None
    began: Began = "anew" if start is None else "resumed"
    if check and start is not None:
        again = walk_on(None, series.first(start.bars), parameters, gap_days=gap_days)
        began = "anew" if _bytes(again) == _bytes(start) else "drifted"
        start = again
    walk = walk_on(start, series, parameters, gap_days=gap_days)
    same = start is not None and began != "drifted"
    return WalkMemo(walk, _walked(series, context), began, same)


def _walked(series: Series, context: Sequence[Any]) -> bytes:
    """The digest of a series as the walk, its facts and its rows read it."""
    read = (series.bars.date, *series.bars.prices)
    return digest_of(context, (*read, series.idle, series.served, series.following))


def _bytes(walk: DetectorRun) -> list[bytes]:
    parts = (walk.state, walk.log.versions, walk.log.trades, walk.open_trades)
    return [part.tobytes() for part in parts]
