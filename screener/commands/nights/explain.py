"""`screener detect --explain`: why a symbol has a pattern on a session, or why it has none.

It brings numba and Polars, so the command imports it only when it is asked for.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from mcp_server.drawing import ChartView, Point, TrendLine, draw
from nightly.analysis import Task
from nightly.bars import Bars, to_date
from nightly.chart_bars import MOST_CHART_BARS
from nightly.detector import last_atr, line_values, plan_of, touches_of
from nightly.doubt import GAP_DAYS
from nightly.errors import SourceError
from nightly.events import PatternType, Rows, Rule
from nightly.explain import (
    SQUEEZES,
    Candidate,
    Explanation,
    Fate,
    Line,
    Score,
    Served,
    explain,
)
from nightly.parameters import Parameters
from nightly.patterns import FAMILIES, family_index, type_name
from nightly.plan import Order, Plan, plan
from nightly.reasons import words
from nightly.reference import Listing
from nightly.series import Series
from nightly.symbols import normalise
from screener.settings.console import Table, err, fail, out
from screener.settings.settings import Settings
from store.folder.files import replace_file
from store.wire.words import dollars

MOST = 10
"""Drawings that are shown: those that came furthest."""

NAMED = 8
"""Symbols that a message names."""


def tell(
    settings: Settings, order: Order, symbol: str, parameters: Parameters, chart: Path | None
) -> None:
    """Print the explanation of a symbol as of the session of an order, and draw its chart.

    Raises:
        SourceError: the symbol has no bars that can be explained, or none at the session.
    """
    task, raw, listing = _found(plan(order, dt.datetime.now(dt.UTC)), order, symbol)
    series = _series(task, raw, listing, order.session)
    bars = series.bars
    found = explain(series, parameters, gap_days=GAP_DAYS[listing.asset_type])
    _print(listing.symbol, found, order.session)
    if chart is not None:
        _draw(settings, listing.symbol, bars, found, parameters, chart)


def _found(chosen: Plan, order: Order, symbol: str) -> tuple[Task, str, Listing]:
    """The task that has a symbol, the raw name, and the listing."""
    wanted = normalise(symbol)
    for task in chosen.tasks:
        for raw, listing in task.symbols:
            if listing.symbol == wanted:
                return task, raw, listing
    if symbol in chosen.refused:
        raise SourceError(f"{symbol} cannot be used: {chosen.refused[symbol].reason}")
    some = ", ".join(chosen.symbols[:NAMED])
    more = f" and {len(chosen.symbols) - NAMED} more" if len(chosen.symbols) > NAMED else ""
    raise SourceError(
        f"{order.name} has no bars of {symbol}; name one of its symbols with --explain "
        f"({some}{more})."
    )


def _series(task: Task, raw: str, listing: Listing, session: dt.date | None) -> Series:
    """The newest series of a symbol up to the session, as a night would walk it."""
    (loaded,) = task.source.load([raw])
    if loaded.refusal is not None:
        raise SourceError(f"{listing.symbol} is left out: {loaded.refusal.reason}")
    if session is not None and len(loaded.bars):
        first, last = (to_date(loaded.bars.date[bar]) for bar in (0, -1))
        if not first <= session <= last:
            raise SourceError(
                f"The bars of {listing.symbol} run from {first} to {last}; choose such a --session."
            )
    cleaned = task.clean(loaded, listing)
    if cleaned.refusal is not None:
        raise SourceError(
            f"No pattern on {listing.symbol} is served on {task.as_of}: {cleaned.refusal.reason}"
        )
    return cleaned.series[-1]


def _print(symbol: str, found: Explanation, asked: dt.date | None) -> None:
    number, pairs = len(found.served), len(found.candidates)
    patterns = "1 pattern is served" if number == 1 else f"{number or 'no'} patterns are served"
    judged = "1 pair of lines was" if pairs == 1 else f"{pairs or 'no'} pairs of lines were"
    out.print(f"{symbol} on {found.session}: {patterns}, {judged} judged.")
    if asked is not None and asked != found.session:
        out.print(f"There is no bar for {asked}; this is as of the last bar before it.")
    for served in found.served:
        _print_served(served)
    if found.candidates:
        _print_counts(found)
        _print_furthest(found)
    else:
        out.print(
            "No trend line above price has one of its scale below it, so there is nothing to judge."
        )


def _print_served(served: Served) -> None:
    state = "forming" if served.trade is None else "broken out, its trade is open"
    out.print()
    out.print(
        f"Served: {kind_name(served.kind)}, {_direction(served.version, served.trade)}, "
        f"{state}; its score is {served.score.percent:.1f}% as of its last bar; when it was drawn "
        f"on {served.since} it was {float(served.version['quality']):.1f}%."
    )
    out.print(f"Upper line {_line(served.upper)}; lower line {_line(served.lower)}.")
    if served.score.parts:
        out.print(_parts(served.score))


def _parts(score: Score) -> Table:
    table = Table("part", "value", "log-odds", "why it counts")
    table.add_row("best score of the type", "", f"{score.best:+.2f}", "")
    for part in sorted(score.parts, key=lambda part: part.added):
        table.add_row(part.name, f"{part.value:.3g}", f"{part.added + 0.0:+.2f}", part.reason)
    total = score.best + sum(part.added for part in score.parts)
    table.add_row("sum", "", f"{total:+.2f}", f"a score of {score.percent:.1f}%")
    return table


def _print_counts(found: Explanation) -> None:
    counts = Counter(_reached(candidate) for candidate in found.candidates)
    table = Table("first rule failed", "pairs")
    for name, number in counts.items():
        table.add_row(name, f"{number:,}")
    out.print()
    out.print(table)


def _reached(candidate: Candidate) -> str:
    if candidate.fate is Fate.SERVED:
        return "none; served"
    rule = Rule(candidate.finding.rule)
    return "none; not served" if rule is Rule.NONE else rule.name.lower().replace("_", " ")


def _print_furthest(found: Explanation) -> None:
    names = ("scale", "pattern", "upper line to today", "lower line to today", "score", "why")
    table = Table("", "pairs", *names)
    for number, same in enumerate(_drawings(found)[:MOST], 1):
        table.add_row(str(number), str(len(same)), *_cells(same[0]))
    out.print()
    out.print("The drawings that came furthest; several pairs may be fitted to the same lines:")
    out.print(table)


def _drawings(found: Explanation) -> list[list[Candidate]]:
    """The pairs of lines by how far they came, those together that look the same."""
    drawings: dict[tuple[str, ...], list[Candidate]] = {}
    for candidate in found.candidates:
        drawings.setdefault(_cells(candidate), []).append(candidate)
    return list(drawings.values())


def _cells(candidate: Candidate) -> tuple[str, ...]:
    return (
        candidate.scale.name.lower(),
        kind_name(candidate.kind) if candidate.kind else "-",
        _line(candidate.upper),
        _line(candidate.lower),
        f"{candidate.score.percent:.1f}%" if candidate.score else "-",
        why(candidate),
    )


def why(candidate: Candidate) -> str:
    """Why a pair of lines is served or not."""
    return words(candidate.finding) if candidate.fate is Fate.FAILED else candidate.fate.value


def kind_name(kind: PatternType) -> str:
    """A pattern type as readers know it: squeezes are served as pennants."""
    if kind in SQUEEZES:
        return FAMILIES[family_index(kind)].label.lower()
    return type_name(kind).replace("_", " ")


def _line(line: Line) -> str:
    return f"{line.start} to {dollars(line.price)}"


def _draw(
    settings: Settings,
    symbol: str,
    bars: Bars,
    found: Explanation,
    parameters: Parameters,
    chart: Path,
) -> None:
    """Draw what is served, or else the pair that came furthest among those with a name."""
    drawings = enumerate(_drawings(found), 1)
    named = ((number, same[0]) for number, same in drawings if same[0].kind)
    number, picture = (0, found.served[0]) if found.served else next(named, (0, None))
    if picture is None:
        err.print("No chart: no pair of lines is a pattern, so none has a plan to draw.")
        return
    view = view_of(symbol, bars, picture, parameters, settings)
    try:
        replace_file(chart, draw(view), 0o644)
    except OSError as error:
        fail(f"{chart} cannot be written ({error.strerror}); choose another --chart.")
    shown = f"number {number}, which is not served" if number else "what is served"
    err.print(f"Drew {shown} to {chart}.")


def view_of(
    symbol: str,
    bars: Bars,
    picture: Served | Candidate,
    parameters: Parameters,
    settings: Settings,
) -> ChartView:
    """What the chart of a served pattern, or of one that is not, shows."""
    trade = picture.trade if isinstance(picture, Served) else None
    last = picture.last if isinstance(picture, Served) else len(bars) - 1
    version, tail = picture.version, bars.take(slice(-MOST_CHART_BARS, None))
    label = FAMILIES[family_index(int(version["type"]))].label
    trigger, stop, target = _levels(bars, version, trade, parameters)
    upper, lower = _drawn(bars, version, last, parameters)
    return ChartView(
        symbol=symbol,
        pattern=label if isinstance(picture, Served) else f"Not served: {label.lower()}",
        direction=_direction(version, trade),
        status="forming" if trade is None else "in_progress",
        as_of=to_date(bars.date[-1]),
        dates=tuple(map(to_date, tail.date)),
        open=tuple(tail.open.tolist()),
        high=tuple(tail.high.tolist()),
        low=tuple(tail.low.tolist()),
        close=tuple(tail.close.tolist()),
        volume=tuple(tail.volume.tolist()),
        upper=upper,
        lower=lower,
        trigger=trigger,
        stop=stop,
        target=target,
        entry=None if trade is None else _entry(bars, trade),
        disclaimer=settings.disclaimer,
        source=settings.source,
    )


def _direction(version: Rows, trade: Rows | None) -> Literal["bullish", "bearish"]:
    sign = int((version if trade is None else trade)["direction"])
    return "bullish" if sign > 0 else "bearish"


def _entry(bars: Bars, trade: Rows) -> Point:
    return to_date(bars.date[trade["entry"]]), float(trade["entry_price"])


def _levels(
    bars: Bars, version: Rows, trade: Rows | None, parameters: Parameters
) -> tuple[float, float, float]:
    """Trigger, stop and target in dollars: of the trade, or of a breakout on the next bar."""
    if trade is not None:
        broken = line_values(version, int(trade["entry"]))[int(trade["direction"] < 0)]
        return math.exp(broken), float(trade["stop_price"]), float(trade["target_price"])
    atr, sign = last_atr(bars, parameters), int(version["direction"])
    trigger, stop, target = map(math.exp, plan_of(version, atr, sign, len(bars), parameters))
    return trigger, stop, target


def _drawn(bars: Bars, version: Rows, last: int, parameters: Parameters) -> Iterator[TrendLine]:
    """The upper and the lower line with their touches."""
    touches = touches_of(bars, version, last, parameters)
    extremes, names = (bars.high, bars.low), ("upper_start", "lower_start")
    for side in range(2):
        ends = [
            (to_date(bars.date[bar]), math.exp(line_values(version, bar)[side]))
            for bar in (int(version[names[side]]), last)
        ]
        touched = ((to_date(bars.date[bar]), float(extremes[side][bar])) for bar in touches[side])
        yield TrendLine(ends[0], ends[1], tuple(touched))
