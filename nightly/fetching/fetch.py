"""Fetching: ask for a symbol's missing bars and append them; unfinished bars are dropped.

The last few stored days are always asked for again. If they differ from the stored bars, the
history has moved (a split, or dividend adjustment), and all bars of the symbol are fetched anew.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import polars as pl

from nightly.errors import SourceError
from nightly.providers.kept import BarStore, Kept, Origin, day, served
from nightly.providers.provider import SCHEMA, BusyError, Provider, ProviderError
from nightly.sessions import last_completed

OVERLAP: Final = dt.timedelta(days=10)
TOLERANCE: Final = 1e-4
"""Relative difference allowed between a stored price and the same price fetched again."""
WAITS: Final = (2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before each retry, where the provider does not say how many."""
LONGEST_WAIT: Final = 120.0
"""A provider that asks for more seconds than this is not waited for."""

LONGEST_REASON: Final = 200
"""Characters of a foreign error that are told."""

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
class Fetcher:
    """Brings symbols of one provider up to date; the clock and the waiting are passed in."""

    provider: Provider
    store: BarStore
    now: dt.datetime
    wait: Callable[[float], object]
    """Waits so many seconds, and returns true if the run is to end."""
    since: dt.date | None = None

    def fetch(self, raw: str) -> Fetched:
        """Bring one symbol, spelled as the provider spells it, up to date. Whatever goes wrong is
        a failure of this symbol, and its stored bars stay.
        """
        try:
            return self._fetch(raw)
        except BusyError as error:
            return Fetched(raw, "failed", reason=str(error), cause="busy")
        except ProviderError as error:
            return Fetched(raw, "failed", reason=str(error), cause="symbol")
        except SourceError as error:
            return Fetched(raw, "failed", reason=str(error), cause="store")
        # A client of a provider may raise anything over an answer that it does not expect.
        except Exception as error:
            said = " ".join(f"{type(error).__name__} {error}".split())[:LONGEST_REASON]
            reason = f"{self.provider.name} gave an answer that cannot be read ({said})."
            return Fetched(raw, "failed", reason=reason, cause="symbol")

    def _fetch(self, raw: str) -> Fetched:
        symbol = served(raw)
        until = last_completed(self.now, self.provider.asset_type(raw))
        kept = self.store.read(symbol)
        if kept is not None:
            self._check_same(kept, raw)
            if not self._wants_older(kept):
                return self._append(kept, until)
        bars = self._ask(raw, self.since, until)
        if not len(bars):
            raise ProviderError("The provider has no finished bar for it.")
        origin = Origin(self.provider.name, raw, self.since.isoformat() if self.since else "")
        return self._keep(symbol, bars, origin, "refetched" if kept else "new", len(bars))

    def _check_same(self, kept: Kept, raw: str) -> None:
        if (kept.origin.provider, kept.origin.symbol) != (self.provider.name, raw):
            raise ProviderError(
                f"{kept.symbol} is stored from {kept.origin.provider} as {kept.origin.symbol}; "
                "use another --store."
            )

    def _wants_older(self, kept: Kept) -> bool:
        """Whether this run asks for older bars than the last one did."""
        asked = day(kept.origin.since)
        return not len(kept.bars) or (
            asked is not None and self.since is not None and self.since < asked
        )

    def _append(self, kept: Kept, until: dt.date) -> Fetched:
        last = _last(kept.bars)
        if last >= until:
            return _told(kept.symbol, "current", kept.bars, 0)
        asked = max(last - OVERLAP, _first(kept.bars))
        fresh = self._ask(kept.origin.symbol, asked, until)
        if not agrees(kept.bars, fresh):
            whole = self._ask(kept.origin.symbol, day(kept.origin.since), until)
            if not len(whole):
                raise ProviderError("Its history has changed, but the new one is empty; try again.")
            return self._keep(kept.symbol, whole, kept.origin, "refetched", len(whole))
        bars = pl.concat([kept.bars.filter(pl.col("date") < fresh["date"][0]), fresh])
        added = len(bars) - len(kept.bars)
        return self._keep(kept.symbol, bars, kept.origin, "appended" if added else "current", added)

    def _keep(
        self, symbol: str, bars: pl.DataFrame, origin: Origin, status: Status, added: int
    ) -> Fetched:
        self.store.write(symbol, bars, origin)
        return _told(symbol, status, bars, added)

    def _ask(self, raw: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        """The provider's bars up to `until`, with retries while the provider is busy."""
        for pause in WAITS:
            try:
                return self._answer(raw, since, until)
            except BusyError as error:
                asked = pause if error.after is None else error.after
                if asked > LONGEST_WAIT:
                    reason = f"{error} It asks for a pause of {asked:.0f} seconds."
                    raise BusyError(reason) from error
                if self.wait(asked):
                    raise
        return self._answer(raw, since, until)

    def _answer(self, raw: str, since: dt.date | None, until: dt.date) -> pl.DataFrame:
        bars = self.provider.daily(raw, since, until)
        sound = pl.col("date").is_between(since or dt.date.min, until)
        priced = pl.all_horizontal(pl.col("open", "high", "low", "close").is_not_null())
        return bars.select(SCHEMA.names()).filter(sound & priced)


def agrees(kept: pl.DataFrame, fresh: pl.DataFrame) -> bool:
    """Whether freshly fetched bars equal the stored bars on every day that both have.

    They must have a day in common, or there may be a hole between them.
    """
    both = kept.join(fresh, on="date", how="inner", suffix="_again")
    if not len(both):
        return False
    moved = [
        (pl.col(f"{name}_again") / pl.col(name) - 1).abs() > TOLERANCE
        for name in ("open", "high", "low", "close")
    ]
    return not both.select(pl.any_horizontal(moved).any()).item()


def _first(bars: pl.DataFrame) -> dt.date:
    first: dt.date = bars["date"][0]
    return first


def _last(bars: pl.DataFrame) -> dt.date:
    last: dt.date = bars["date"][-1]
    return last


def _told(symbol: str, status: Status, bars: pl.DataFrame, added: int) -> Fetched:
    return Fetched(symbol, status, added, _first(bars), _last(bars))
