"""Evening: what a night holds, counted over all sessions from the detector's event logs.

Yield, empty nights, every kind in every quarter, the sessions from the first evening of a formation
to its trigger, and how often a drawing that was given up comes back.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from research.chartist.charts import KINDS, gap_days, name_of
from research.chartist.finding import Find
from research.chartist.fit import is_named_today, scored_now
from research.chartist.ratings import ACCEPTED, Rating
from research.chartist.served import BANDS
from research.planted.measures import share
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.detector.detector import detect, line_values, log_atrs
from screener.nightly.detector.events import EndReason, EventLog, Rows
from screener.nightly.detector.kernel.versions import overlap, start_of
from screener.nightly.detector.parameters import Parameters

FIRST_YEAR = 2006
NIGHT = 500
"""Symbols of a night that must not be empty."""
RETURN = 6
"""Sessions within which a drawing that was given up should not come back."""
GIVEN_UP = (EndReason.FADED, EndReason.SUPERSEDED)


@dataclass(slots=True)
class Evenings:
    """Counts over the sessions since `FIRST_YEAR`."""

    symbols: Counter[int] = field(default_factory=Counter)
    """Covered symbols by day; so are the next two."""
    forming: Counter[int] = field(default_factory=Counter)
    running: Counter[int] = field(default_factory=Counter)
    kinds: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Forming setups by quarter, counted from the year 0, and kind."""
    leads: list[int] = field(default_factory=list)
    """Sessions from the first evening of each attempt that triggered to its trigger."""
    redrawn: list[bool] = field(default_factory=list)
    """Whether each attempt that triggered had more than one drawing."""
    returned: list[bool] = field(default_factory=list)
    """Whether each drawing that was given up came back within `RETURN` sessions."""
    bars: int = 0
    seconds: float = 0.0
    """Bars that the detector read, and the CPU that it took."""


def count(market: Mapping[str, Bars], parameters: Parameters) -> Evenings:
    """Walk the market and count."""
    evenings = Evenings()
    for symbol, bars in market.items():
        began = time.process_time()
        log = detect(bars, parameters, gap_days=gap_days(symbol))
        evenings.seconds += time.process_time() - began
        evenings.bars += len(bars)
        _add(evenings, bars, log)
    return evenings


def _add(evenings: Evenings, bars: Bars, log: EventLog) -> None:
    first = int(np.searchsorted(bars.date, to_day(dt.date(FIRST_YEAR, 1, 1))))
    days = bars.date
    evenings.symbols.update(days[first:].tolist())
    forming, running = (np.zeros(len(bars), np.bool_) for _ in range(2))
    for version in log.versions:
        end = int(version["end"]) if version["end"] >= 0 else len(bars)
        forming[version["first_served"] : end] = True
        _add_kind(evenings, bars, version, first, end)
    for trade in log.trades:
        running[trade["entry"] : int(trade["exit"]) if trade["exit"] >= 0 else len(bars)] = True
    evenings.forming.update(days[first:][forming[first:]].tolist())
    evenings.running.update(days[first:][running[first:]].tolist())
    _add_triggers(evenings, log.versions, first)
    _add_returns(evenings, bars, log.versions, first)


def _add_kind(evenings: Evenings, bars: Bars, version: Rows, first: int, end: int) -> None:
    name = name_of(int(version["type"]))
    served = range(max(first, int(version["first_served"])), end)
    for quarter in {_quarter(bars.date[bar]) for bar in (*served[:1], *served[-1:])}:
        evenings.kinds[quarter, name] += 1


def _quarter(day: int) -> int:
    date = to_date(day)
    return 4 * date.year + (date.month - 1) // 3


def _add_triggers(evenings: Evenings, versions: Rows, first: int) -> None:
    begun: dict[tuple[int, int], list[int]] = {}
    for version in versions:
        name = int(version["lineage"]), int(version["attempt"])
        begun.setdefault(name, []).append(int(version["first_served"]))
        if version["end_reason"] == EndReason.TRIGGERED and version["end"] >= first:
            evenings.leads.append(int(version["end"]) - begun[name][0])
            evenings.redrawn.append(len(begun[name]) > 1)


def _add_returns(evenings: Evenings, bars: Bars, versions: Rows, first: int) -> None:
    atrs = log_atrs(bars)
    for place, version in enumerate(versions):
        end = int(version["end"])
        if version["end_reason"] not in GIVEN_UP or not first <= end < len(bars) - RETURN:
            continue
        later = [one for one in versions[place + 1 :] if end < one["first_served"] <= end + RETURN]
        evenings.returned.append(any(_is_again(one, version, atrs) for one in later))


def _is_again(later: Rows, earlier: Rows, atrs: np.ndarray) -> bool:
    """Whether two versions draw one formation by lines that are less than 0.3 ATR apart."""
    bar = int(later["first_served"])
    if later["type"] != earlier["type"]:
        return False
    if overlap(int(start_of(later)), bar, int(start_of(earlier)), bar) < 0.5:
        return False
    apart = np.subtract(line_values(later, bar), line_values(earlier, bar))
    return bool(np.max(np.abs(apart)) < 0.3 * atrs[bar])


def told(evenings: Evenings) -> Iterator[str]:
    """The lines of text about what was counted."""
    total = evenings.symbols.total()
    forming, running = evenings.forming.total(), evenings.running.total()
    yield f"symbol-nights since {FIRST_YEAR}: {total:,}"
    yield f"with a forming setup {forming / total:.2%}, with a running trade {running / total:.2%}"
    nights = [day for day, symbols in evenings.symbols.items() if symbols >= NIGHT]
    shares = sorted(evenings.forming[day] / evenings.symbols[day] * NIGHT for day in nights)
    yield (
        f"nights of {NIGHT} symbols or more: {len(nights)}, without a forming setup "
        f"{sum(evenings.forming[day] == 0 for day in nights)}; the leanest, in {NIGHT} symbols: "
        f"{' '.join(f'{share:.1f}' for share in shares[:3])}, the median {np.median(shares):.1f}"
    )
    quarters = {_quarter(day) for day in nights}
    for kind in KINDS:
        counts = [evenings.kinds[quarter, kind] for quarter in quarters]
        yield (
            f"{kind}: {sum(counts)} forming in {len(quarters)} quarters, least {min(counts)}, "
            f"none in {sum(one == 0 for one in counts)}"
        )
    leads = np.array(evenings.leads)
    yield (
        f"{len(leads)} triggers; from the first evening, sessions: quartiles "
        f"{' '.join(f'{q:.0f}' for q in np.quantile(leads, (0.25, 0.5, 0.75)))}, a single evening "
        f"{np.mean(leads <= 1):.0%}, redrawn before {np.mean(evenings.redrawn):.0%}"
    )
    yield (
        f"{len(evenings.returned)} drawings given up, back within {RETURN} sessions "
        f"{np.mean(evenings.returned):.1%}"
    )
    each = evenings.seconds / evenings.bars * 1e6
    yield f"the detector read {evenings.bars:,} bars at {each:.2f} us of CPU each, in one process"


def rated_evenings(ratings: Sequence[Rating]) -> Iterator[str]:
    """The lines of a table of what readers made of drawings that were served on random sessions.

    The overall share is that of the charts drawn as an evening has them; bands and kinds have all.
    """
    rounds = {one.round: one.readers for one in ratings if one.by == "evening"}
    for name, readers in rounds.items():
        rated = [one for one in ratings if one.round == name and one.quality is not None]
        yield f"Round {name}, read by {readers}"
        yield _row("as an evening has them", [one for one in rated if one.by == "evening"])
        yield from _bands(rated)
        for kind in KINDS:
            yield _row(kind, [one for one in rated if one.kind == kind])
        lines = [one for one in ratings if one.round == name and one.by == "random"]
        yield _row("random lines", lines)


def reports_now(ratings: Sequence[Rating]) -> Iterator[str]:
    """The lines of a table of the reports on symbols set aside, by the score and names of today.

    It may have been learned after a report was drawn, but from none of its symbols.
    """
    for name in dict.fromkeys(one.round for one in ratings if one.round.endswith("report")):
        scored = [
            scored_now(one)
            for one in ratings
            if one.round == name and one.shape and is_named_today(one.kind, one.shape)
        ]
        drawn = [one for one in scored if one.by.startswith("evening")]
        yield f"Round {name}, by the score of today"
        minimum = Parameters().quality_min
        yield _row("served today", [one for one in drawn if (one.quality or 0.0) >= minimum])
        yield from _bands(drawn)


def _bands(rated: Sequence[Rating]) -> Iterator[str]:
    for low, high in pairwise(BANDS):
        group = [one for one in rated if low <= (one.quality or 0.0) < high]
        yield _row(f"quality {low:.0f} to {min(high, 100):.0f}", group)


def _row(title: str, group: Sequence[Rating]) -> str:
    if not group:
        return f"  {title:26}    0 charts"
    both = share([min(one.scores) >= ACCEPTED for one in group])
    zero = share([0 in one.scores for one in group])
    known = [one.quality for one in group if one.quality is not None]
    mean = f", mean quality {np.mean(known):.0f}" if known else ""
    shares = f"accepted by both {both.text()}, rated 0 {zero.text()}"
    return f"  {title:26} {len(group):4} charts, {shares}{mean}"


def found_evenings(finds: Iterable[Find]) -> Iterator[str]:
    """The lines of a table of what was served of the formations that readers marked."""
    rounds: dict[str, list[Find]] = {}
    for one in finds:
        rounds.setdefault(one.sighting.round, []).append(one)
    for name, group in rounds.items():
        fits, named = share([one.lines for one in group]), share([one.named for one in group])
        yield (
            f"Round {name}: {len(group)} formations marked by readers; served with fitting lines "
            f"{fits.text()}, and with the name {named.text()}"
        )
