"""Fetching: ask for the missing bars of symbols and append them; unfinished bars are dropped.

The last few stored days are always asked for again. If they differ from the stored bars, the
history has moved (a split, or dividend adjustment), and all bars of the symbol are fetched anew.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import polars as pl

from screener.nightly.cleaning.sessions import last_completed
from screener.nightly.errors import SourceError
from screener.nightly.fetching.bar_store import BarStore, Origin, StoredBars, symbol_of
from screener.nightly.fetching.provider import (
    SCHEMA,
    Provider,
    ProviderBusyError,
    ProviderError,
    one_line,
)

OVERLAP: Final = dt.timedelta(days=10)
TOLERANCE: Final = 1e-4
"""Relative difference allowed between a stored price and the same price fetched again."""
WAITS: Final = (2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before each retry, where the provider does not say how many."""
MAX_WAIT: Final = 120.0
"""A provider that asks for more seconds than this is not waited for."""

GIVE_UP: Final = 3
"""So many symbols in a row that fail for one cause, which is not theirs, end the run."""

Status = Literal["new", "appended", "current", "refetched", "failed", "untried"]
Cause = Literal["busy", "store", "symbol"]
"""What a failure is due to: the provider as a whole, the folder of the bars, or the symbol."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result for one symbol: the number of added bars, its first and last day, or a failure."""

    symbol: str
    status: Status
    added: int = 0
    first: dt.date | None = None
    last: dt.date | None = None
    reason: str = ""
    cause: Cause | None = None

    @property
    def missing(self) -> bool:
        """Whether its bars are not up to date."""
        return self.status in ("failed", "untried")

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        days = {"first": self.first, "last": self.last}
        return {**asdict(self), **{name: str(day) if day else None for name, day in days.items()}}


@dataclass(frozen=True, slots=True)
class Updater:
    """Brings symbols of one provider up to date; the clock and the waiting are passed in."""

    provider: Provider
    store: BarStore
    now: dt.datetime
    wait: Callable[[float], object]
    """Waits so many seconds, and returns true if the run is to end."""
    since: dt.date | None = None

    def update(self, raw: str) -> Fetched:
        """Bring one symbol, spelled as the provider spells it, up to date. Whatever goes wrong is
        a failure of this symbol, and its stored bars stay.
        """
        try:
            return self._update(raw)
        except ProviderBusyError as error:
            return Fetched(raw, "failed", reason=str(error), cause="busy")
        except ProviderError as error:
            return Fetched(raw, "failed", reason=str(error), cause="symbol")
        except SourceError as error:
            return Fetched(raw, "failed", reason=str(error), cause="store")
        # A client of a provider may raise anything over an answer that it does not expect.
        except Exception as error:
            detail = f"{type(error).__name__} {one_line(error)}".rstrip()
            reason = f"{self.provider.name} gave an answer that cannot be read ({detail})."
            return Fetched(raw, "failed", reason=reason, cause="symbol")

    def _update(self, raw: str) -> Fetched:
        symbol = symbol_of(raw)
        until = last_completed(self.now, self.provider.calendar(raw))
        stored = self.store.read(symbol)
        if stored is not None:
            self._check_same(stored, raw)
            if not self._wants_older(stored):
                return self._append(stored, until)
        bars = self._ask(raw, self.since, until)
        if not len(bars):
            raise ProviderError("The provider has no finished bar for it.")
        origin = Origin(self.provider.name, raw, self.since.isoformat() if self.since else "")
        return self._store(symbol, bars, origin, "refetched" if stored else "new", len(bars))

    def _check_same(self, stored: StoredBars, raw: str) -> None:
        origin = stored.origin
        if (origin.provider, origin.symbol) != (self.provider.name, raw):
            raise ProviderError(
                f"{stored.symbol} is stored from {origin.provider} as {origin.symbol}; "
                "use another --store."
            )

    def _wants_older(self, stored: StoredBars) -> bool:
        """Whether this run asks for older bars than the last one did."""
        asked = stored.origin.first_day
        return not len(stored.bars) or (
            asked is not None and self.since is not None and self.since < asked
        )

    def _append(self, stored: StoredBars, until: dt.date) -> Fetched:
        first, last = _days(stored.bars)
        if last >= until:
            return Fetched(stored.symbol, "current", 0, first, last)
        asked = max(last - OVERLAP, first)
        fresh = self._ask(stored.origin.symbol, asked, until)
        if not agrees(stored.bars, fresh):
            whole = self._ask(stored.origin.symbol, stored.origin.first_day, until)
            if not len(whole):
                raise ProviderError("Its history has changed, but the new one is empty; try again.")
            return self._store(stored.symbol, whole, stored.origin, "refetched", len(whole))
        bars = pl.concat([stored.bars.filter(pl.col("date") < fresh["date"][0]), fresh])
        added = len(bars) - len(stored.bars)
        return self._store(
            stored.symbol, bars, stored.origin, "appended" if added else "current", added
        )

    def _store(
        self, symbol: str, bars: pl.DataFrame, origin: Origin, status: Status, added: int
    ) -> Fetched:
        self.store.write(symbol, bars, origin)
        return Fetched(symbol, status, added, *_days(bars))

    def _ask(self, raw: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The provider's bars up to `until`, with retries while the provider is busy."""
        for pause in WAITS:
            try:
                return self._answer(raw, since, until)
            except ProviderBusyError as error:
                asked = pause if error.after is None else error.after
                if asked > MAX_WAIT:
                    reason = f"{error} It asks for a pause of {asked:.0f} seconds."
                    raise ProviderBusyError(reason) from error
                if self.wait(asked):
                    raise
        return self._answer(raw, since, until)

    def _answer(self, raw: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        bars = self.provider.daily(raw, since, until)
        sound = pl.col("date").is_between(since or dt.date.min, until)
        priced = pl.all_horizontal(pl.col("open", "high", "low", "close").is_not_null())
        return bars.select(SCHEMA.names()).filter(sound & priced)


def agrees(stored: pl.DataFrame, fresh: pl.DataFrame) -> bool:
    """Whether freshly fetched bars equal the stored bars on every day that both have.

    They must have a day in common, or there may be a hole between them.
    """
    both = stored.join(fresh, on="date", how="inner", suffix="_again")
    if not len(both):
        return False
    moved = [
        (pl.col(f"{name}_again") / pl.col(name) - 1).abs() > TOLERANCE
        for name in ("open", "high", "low", "close")
    ]
    return not both.select(pl.any_horizontal(moved).any()).item()


def _days(bars: pl.DataFrame) -> tuple[dt.date, dt.date]:
    """The first and the last day of some bars."""
    return bars["date"][0], bars["date"][-1]


class FetchRun:
    """Symbols under way. Take the `results`, and in any case `end` it for what is left."""

    def __init__(self, updater: Updater, symbols: Sequence[str]) -> None:
        self.gave_up = ""
        """Why the run ended before its last symbol; empty if it did not."""
        self._executor = ThreadPoolExecutor(updater.provider.parallel)
        self._left: list[tuple[str, Future[Fetched]]] = [
            (symbol, self._executor.submit(updater.update, symbol)) for symbol in symbols
        ]
        self._left.reverse()

    def results(self) -> Iterator[Fetched]:
        """The results in the order of the symbols, until too many in a row fail for one cause."""
        row: list[Fetched] = []
        while self._left:
            fetched = self._left[-1][1].result()
            self._left.pop()
            row = [*row, fetched] if row and row[0].cause == fetched.cause else [fetched]
            yield fetched
            if len(row) == GIVE_UP and fetched.cause in ("busy", "store") and self._left:
                self.gave_up = f"{GIVE_UP} symbols in a row failed: {fetched.reason}"
                return

    def end(self, reason: str = "") -> list[Fetched]:
        """Wait for what is under way, and return it with the symbols that were not asked for."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        why = self.gave_up or reason
        left = [
            Fetched(symbol, "untried", reason=why) if future.cancelled() else future.result()
            for symbol, future in reversed(self._left)
        ]
        self._left.clear()
        return left
