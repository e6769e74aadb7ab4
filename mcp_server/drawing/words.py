"""Words: what a chart says of a setup, as facts by their names, and the rows that they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcp_server.drawing import lettering
from mcp_server.drawing.axes import SessionAxis
from mcp_server.drawing.label import Label
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.sheet import Row, Sheet
from mcp_server.drawing.view import ChartView
from store.wire.words import age_words, attempt_words, change, percent, ratio, status_words

SEPARATOR = "  ·  "
CUT = "…"

WHOLE = frozenset({"record", "short_record"})
"""Facts that are left out where they do not fit: no win rate goes without its average loss."""


def facts(view: ChartView, sessions: SessionAxis, since: int | None) -> dict[str, str]:
    """Everything that is said, by name; what there is nothing to say of is empty.

    `since` is the number of sessions since the breakout.
    """
    plan = view.plan
    multiple = plan.reward_to_risk if plan else None
    entered = plan is not None and plan.entry is not None
    bars = "daily bars" if sessions.pack == 1 else f"{sessions.pack} sessions a candle"
    reward = "" if multiple is None else f"reward to risk {ratio(multiple)}"
    moves = ""
    if plan:
        target, stop = map(change, (plan.target_pct, plan.stop_pct))
        moves = f"Target {target}, stop {stop}"
        if entered:
            moves = f"Entry to target {target}, to stop {stop}"
    return {
        "symbol": view.symbol,
        "name": view.name,
        "pattern": view.pattern,
        "status": view.note or f"{view.direction}, {status_words(view.status)}",
        "age": age_words(since),
        "attempt": attempt_words(view.attempt, view.attempts),
        "as_of": f"As of {view.as_of.isoformat()}",
        "levels": moves,
        "short_reward": reward,
        "reward": f"{reward} from the entry" if reward and entered else reward,
        "axis": f"{bars}, log price axis",
        "record": _record(view),
        "short_record": _record(view, short=True),
        "disclaimer": view.disclaimer,
        "source": f"Source: {view.source}" if view.source else "",
    }


def amount(value: float) -> str:
    """A volume in three digits: `12.3M`."""
    for unit, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if value >= unit:
            return f"{value / unit:.3g}{suffix}" if value < 1e15 else ">999T"
    return f"{value:.3g}"


def _record(view: ChartView, *, short: bool = False) -> str:
    """The record in one sentence: sample and average loss stand beside the win rate.

    It counts the first attempt of each formation, which is said where the setup is a later one.
    """
    record = view.record
    if record is None:
        return ""
    span = "" if short else f", {record.start} to {record.end}"
    placebo, loss = record.random_entries, record.average_loss
    random = "" if placebo is None else f" (random entries: {percent(placebo)})"
    lost = "no loss" if loss is None else f"average loss {change(loss)}"
    counted = "first attempt" if view.attempt > 1 else "trade"
    counted += "" if record.sample == 1 else "s"
    return (
        f"{record.name} record{span}: {percent(record.win_rate)} of {record.sample:,} {counted} "
        f"{'won' if short else 'reached the target'}{random}, {lost}"
    )


def written(said: Mapping[str, str], sheet: Sheet) -> Iterator[Label]:
    """The rows of a sheet, without facts that are empty."""
    for row in sheet.rows:
        yield from _row(row, said, sheet)


def _row(row: Row, said: Mapping[str, str], sheet: Sheet) -> Iterator[Label]:
    left, right = sheet.margin, sheet.width - sheet.margin
    end = _opened(_joined(row.right, said))
    if end:
        end = lettering.fit(end, (right - left) * 9 // 20, row.size)
        label = Label(
            end, right - lettering.width(end, row.size), row.baseline, row.size, Ink.MUTED
        )
        right = label.left - 2 * row.size
        yield label
    lead = lettering.clean(said[row.lead]) if row.lead else ""
    if lead:
        lead = lettering.fit(lead, right - left, row.lead_size, "SemiBold")
        yield Label(lead, left, row.baseline, row.lead_size, Ink.TITLE, "SemiBold")
        left += lettering.width(lead, row.lead_size, "SemiBold") + row.size * 3 // 4
    rest = _joined(row.left, said)
    texts = lettering.wrap(
        rest if lead else _opened(rest), max(0, right - left), row.lines, row.size
    )
    if WHOLE.isdisjoint(row.left) or not any(text.endswith(CUT) for text in texts):
        for number, text in enumerate(texts):
            if text != CUT:
                baseline = row.baseline + number * row.step
                yield Label(text, left, baseline, row.size, Ink.MUTED)


def _joined(names: tuple[str, ...], said: Mapping[str, str]) -> str:
    return SEPARATOR.join(text for name in names if (text := lettering.clean(said[name])))


def _opened(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
