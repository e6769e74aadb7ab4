"""Words: texts and figures as every page, picture, tool and command writes them.

A number is written like the number that is served, so that no surface rounds it once more; a setup
is described from its view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from store.wire.currency import DOLLARS, money
from store.wire.families import QUALITY as QUALITY
from store.wire.families import pattern_words as pattern_words
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS, DRAWING_RULES, words_of

if TYPE_CHECKING:
    from store.wire.records import Verdict
    from store.wire.view import PlanView, RecordView, SetupView

FEW: Final = 30
"""A measure with fewer trades than this says nothing."""

FEW_NAMES: Final = 8
"""Names in a line that says more than names."""

VERDICTS: Final[Mapping[Verdict | None, str]] = {
    "too_few": "too few to say anything",
    "not_distinguishable": "not distinguishable from random entries",
    "above_random": "better than random entries",
    "below_random": "worse than random entries",
    None: "not tested",
}
"""What each verdict says."""

SHORT_VERDICTS: Final[Mapping[Verdict, str]] = {
    "too_few": "too few to tell",
    "not_distinguishable": "no edge",
    "above_random": "did better",
    "below_random": "did worse",
}
"""What each says on a chart, beside the number of the random entries."""

NO_NIGHT: Final = "There is no night yet."
"""What is said before the first night."""

STOPPED: Final = (
    "Open trades were followed to its last bar or to an earlier break in its prices; they may have "
    "ended since, so they have no open result."
)
"""What is said of the open trades of a symbol that a night does not cover."""

NO_QUALITY: Final = (
    "This night has no quality values, because its detector was older; no quality filter matches."
)
"""What is said of a night whose setups have none."""

NEW_DETECTOR: Final = (
    "This is the first night of a new version of the detector. New and expired setups are not "
    "listed, because the new detector would cause them and not the market."
)

RANK: Final = (
    "Rank 1 has the largest median winning trade. That favours volatile symbols and is not a win "
    "rate."
)
"""What a rank means, wherever one is shown."""


NEAREST_FIRST: Final = (
    "Setups within 2% of their trigger come first, then other forming setups, then open trades, "
    "newest first. Within each group the best quality comes first."
)
"""What the order of pages means."""


SCALE: Final = (
    "Where a pattern, or what followed it, is too long for a picture, a candle holds several "
    "sessions; the picture says how many and from where."
)
"""What it means that a candle is not one session."""


def harmless(text: str) -> str:
    """A text in one line: what is not printable, such as ESC, a line's end or a character that
    turns the direction of writing, is replaced.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(text: str, longest: int) -> str:
    """A text as one harmless line with single spaces, cut where it is too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def named(names: Sequence[str], most: int = FEW_NAMES) -> str:
    """Some names in one line, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def capitalized(text: str) -> str:
    """A text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def adjusted_words(symbols: int) -> str:
    """What is said of past prices in a night in which so many symbols' are adjusted."""
    return (
        f"Prices of {plural(symbols, 'symbol')} here are adjusted for dividends too: where such a "
        "symbol has paid any since, past entries, stops, targets and exits are lower than on their "
        "day; other charts may differ."
    )


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 symbol`, `1,529 symbols`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sessions_ended(count: int, named: int) -> str:
    """How many sessions have ended since a night that names so many: if all, there may be more."""
    least = "at least " if count == named else ""
    return f"{least}{plural(count, 'session')} {'has' if count == 1 else 'have'} ended"


def large_dollars(value: float) -> str:
    """A large sum in three significant digits or so: `$310.50B`, `$45.20M`."""
    for unit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if value >= unit:
            return f"${value / unit:,.2f}{letter}"
    return f"${value:,.0f}"


def percent(value: float) -> str:
    """A percentage without a plus sign."""
    return f"{value:,.2f}%"


def tenths(value: float) -> str:
    """A percentage that is served with one decimal."""
    return f"{value:.1f}%"


def change(value: float) -> str:
    """A change in percent, with its sign; whole from a thousand up."""
    return f"{value:+,.2f}%" if abs(value) < 999.5 else f"{value:+,.0f}%"


def multiple(value: float, decimals: int = 2) -> str:
    """A multiple of the risk, with its sign."""
    return f"{value:+,.{decimals}f}"


def signed(value: float) -> str:
    """An average multiple of the risk, with its sign."""
    return multiple(value, 3)


def ratio(value: float | None) -> str:
    """A reward as a multiple of its risk."""
    return "\N{EN DASH}" if value is None else f"{value:,.2f}"


def half_units(value: float) -> str:
    """A number of half units, as an axis writes it."""
    return f"{value:g}"


def status_words(status: str) -> str:
    """Whether it is forming or triggered, as the field calls a trade that runs."""
    return "triggered" if status == "in_progress" else status


def age_words(sessions: int | None) -> str:
    """How long ago it broke out; empty if it did not, or it is not known."""
    if sessions is None:
        return ""
    if sessions == 0:
        return "broke out this session"
    return f"broke out {plural(sessions, 'session')} ago"


def attempt_words(number: int | None, count: int | None) -> str:
    """Which attempt of its formation it is; empty for the only one."""
    if number is None or max(number, count or 1) == 1:
        return ""
    return f"attempt {number} of {count}" if count else f"attempt {number}"


def state_words(view: SetupView) -> str:
    """Its status, how long ago it broke out, and which attempt it is, as far as there is any."""
    facts = (
        status_words(view.status),
        age_words(view.sessions_running),
        attempt_words(view.attempt, view.attempts),
    )
    return ", ".join(filter(None, facts))


def setup_words(view: SetupView) -> str:
    """The setup in a line: `MSFT: Rising wedge, bearish, forming`."""
    return f"{view.symbol}: {view.pattern}, {view.directions}, {status_words(view.status)}"


def distance_words(view: SetupView) -> str:
    """Where the trigger of a forming setup is: `trigger 0.16% above the close`; of each plan, if it
    may break out either way. Empty of a running trade.
    """
    if view.distance_pct is None:
        return ""
    first, *others = (
        (f"{_way(view, side.plan)}trigger", side.distance_pct or 0.0, side.plan)
        for side in view.sides
    )
    name, move, plan = first
    rest = (f" or {also} {_from_close(far, other, ' it')}" for also, far, other in others)
    return f"{name} {_from_close(move, plan, ' the close')}{''.join(rest)}"


def _way(view: SetupView, plan: PlanView) -> str:
    """The direction in front of a plan's levels, where there are plans of both."""
    return f"{plan.direction} " if len(view.plans) > 1 else ""


def away_words(view: SetupView) -> str:
    """Where the trigger of a forming setup is, from the last close, in the few words that a column
    has room for: `0.16% above`, `0.16% above, passed`; else empty.
    """
    if view.distance_pct is None:
        return ""
    return _from_close(view.distance_pct, view.plan, passed="passed")


def _from_close(
    move: float, plan: PlanView, close: str = "", passed: str = "already passed"
) -> str:
    """The move in percent that leads from the last close to the trigger of a plan, in words."""
    side = "above" if move > 0 else "below" if move < 0 else "off"
    is_passed = move < 0 if plan.direction == "bullish" else move > 0
    return f"{percent(abs(move))} {side}{close}{f', {passed}' if is_passed else ''}"


def gain_words(view: SetupView) -> str:
    """What a running trade has gained: `+2.34% (+0.41 R)`; empty before, or if not known."""
    if view.gain_pct is None:
        return ""
    risk = "" if view.gain_r is None else f" ({multiple(view.gain_r)} R)"
    return f"{change(view.gain_pct)}{risk}"


def place_words(view: SetupView) -> str:
    """How it stands: the gain of its trade so far, or the distance to its trigger."""
    gained = gain_words(view)
    return f"open P/L {gained}" if gained else distance_words(view)


def quality_words(view: SetupView) -> str:
    """Its quality: `quality 81.4%`; empty in a night that did not tell."""
    return "" if view.quality_pct is None else f"quality {tenths(view.quality_pct)}"


def plan_words(view: SetupView) -> str:
    """The levels of each of its plans: entry or trigger, stop, target and reward to risk."""
    return "; ".join(f"{_way(view, plan)}{_levels(view, plan)}" for plan in view.plans)


def _levels(view: SetupView, plan: PlanView) -> str:
    entered = f" on {view.entry_date}" if view.entry_date else ""
    price = partial(money, currency=view.currency)
    return (
        f"{plan.start_name} {price(plan.start)}{entered}, stop {price(plan.stop)} "
        f"({change(plan.stop_pct)}), target {price(plan.target)} ({change(plan.target_pct)}), "
        f"reward to risk {ratios_words(view, plan)}"
    )


def changed_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many rows of changes there are, each of one attempt, and of how many formations."""
    formations = {(row["symbol"], row["lineage_id"]) for row in rows}
    return f"{plural(len(rows), 'change')} of {plural(len(formations), 'pattern')}"


def why_words(row: Mapping[str, Any]) -> str:
    """The reason of a Change in words, with the close beyond a line that ended it, and the line."""
    words = words_of(row["reason"], CHANGE_REASONS)
    close, lines = row.get("crossed"), row.get("lines")
    if not (close and lines):
        return words
    above = close["price"] > lines["upper"]["end"]["price"]
    side, line = ("above", lines["upper"]) if above else ("below", lines["lower"])
    price = partial(money, currency=row.get("currency") or DOLLARS)
    at, broken = price(close["price"]), price(line["end"]["price"])
    return f"{words}: {at} on {close['date']}, {side} {broken}"


def change_words(row: Mapping[str, Any]) -> str:
    """What a Change tells, and why: `Stopped: the trade reached its stop, on … at …, -1.00 R`."""
    parts = [f"{CHANGE_KINDS[row['change']]}: {why_words(row)}"]
    if row["session"]:
        price = row["price"] and f" at {money(row['price'], row.get('currency') or DOLLARS)}"
        parts.append(f"on {row['session']}{price or ''}")
    if row["r_multiple"] is not None:
        parts.append(f"{multiple(row['r_multiple'])} R")
    return ", ".join(parts)


def served_words(row: Mapping[str, Any]) -> str:
    """How a Change had its setup last, `+2.34%; entry …, stop …, target …`; empty if an older night
    did not tell.
    """
    gained = row.get("gain_pct")
    levels = [
        f"{name} {money(row[f'{name}_price'], row.get('currency') or DOLLARS)}"
        for name in ("trigger", "entry", "stop", "target")
        if row.get(f"{name}_price") is not None
    ]
    return "; ".join(filter(None, ("" if gained is None else change(gained), ", ".join(levels))))


def win_words(record: RecordView) -> str:
    """The share of wins with its interval: `win rate 42.56% (95% interval 37.00% to 48.31%)`."""
    share = f"win rate {percent(record.win_rate_pct)}"
    if record.win_rate_ci95 is None:
        return share
    low, high = map(percent, record.win_rate_ci95)
    return f"{share} (95% interval {low} to {high})"


def sample_words(view: SetupView, record: RecordView) -> str:
    """The trades of a record, and whether they are too few."""
    whose = view.symbol if record.scope == "ticker" else "the family"
    kind = f"{view.direction} " if record.sided else ""
    small = record.sample_size < FEW and record.verdict != "too_few"
    few = ", too few to say anything" if small else ""
    return f"{plural(record.sample_size, f'{kind}trade')} of {whose}{few}"


def loss_words(record: RecordView) -> str:
    """The average win, where it is known, and the average loss."""
    won = record.avg_win_pct
    win = "" if won is None else f"average win {change(won)}, "
    return win + average_loss_words(record.avg_loss_pct)


def average_loss_words(loss: float | None) -> str:
    """An average loss; None is that of no loss at all."""
    return "no loss" if loss is None else f"average loss {change(loss)}"


def record_words(view: SetupView, family: Mapping[str, Any] | None) -> Iterator[str]:
    """What past trades say of a setup, in sentences: the record behind its win rate, that of its
    family unless it is the same one, that of its other direction, and its expected R.
    """
    record, family = view.record, family or {}
    if record is not None:
        yield " ".join(_told(view, record))
    if "summary" in family and (record is None or record.scope == "ticker"):
        yield family["summary"]
    sides = family.get("by_direction") or {}
    yield from (side["summary"] for plan in view.plans[1:] if (side := sides.get(plan.direction)))
    if expected := expected_words(view):
        yield f"{capitalized(expected)}."


def _told(view: SetupView, record: RecordView) -> Iterator[str]:
    """A record in sentences, as its night wrote it if it did."""
    won = capitalized(win_words(record))
    told = f"{won}, {loss_words(record)}: {sample_words(view, record)}."
    yield record.summary or told
    if record.summary and record.win_rate_ci95:
        low, high = map(percent, record.win_rate_ci95)
        yield f"95% interval of the win rate: {low} to {high}."
    if chance := chance_words(record):
        yield f"{capitalized(chance)}."
    if record.summary and record.sample_size < FEW and record.verdict != "too_few":
        yield f"{VERDICTS['too_few'].capitalize()}."


def chance_words(record: RecordView) -> str:
    """What random entries did, and the verdict; empty in nights that did not measure it."""
    return "; ".join(_chance(record))


def _chance(record: RecordView) -> Iterator[str]:
    if record.placebo_win_rate_pct is not None:
        yield f"random entries {percent(record.placebo_win_rate_pct)}"
    if record.verdict is not None:
        yield VERDICTS[record.verdict]


def expected_words(view: SetupView) -> str:
    """Its expected R with the trades that it is of and the R of random entries; empty if nothing is
    known.
    """
    if view.expected_r is None:
        return ""
    number = view.expected_r_trades or 0
    own = view.expected_r_scope == "ticker"
    whose = f"{view.symbol}, shrunk toward the family's" if own else "the family"
    trades = f"{plural(number, f'{view.direction} trade')} of {whose}"
    random = view.placebo_avg_r
    beside = "" if random is None else f" (random entries {signed(random)})"
    return f"expectancy {signed(view.expected_r)} R{beside} from {trades}"


def expected_cell(view: SetupView) -> str:
    """Its expected R in a cell: `+0.289 (+0.272), 674 of family`; empty if nothing is known."""
    if view.expected_r is None:
        return ""
    random = view.placebo_avg_r
    beside = "" if random is None else f" ({signed(random)})"
    return (
        f"{signed(view.expected_r)}{beside}, "
        f"{view.expected_r_trades or 0:,} of {view.expected_r_scope}"
    )


def reward_words(view: SetupView) -> str:
    """Its reward to risk; of a running trade that it is what is left from the last close."""
    left = view.status != "forming" and view.reward_to_risk is not None
    return ratio(view.reward_to_risk) + (" left" if left else "")


def ratios_words(view: SetupView, plan: PlanView) -> str:
    """The reward to risk of a plan: `2.26`; of a trade `2.78 from the entry, 3.34 left`."""
    if view.status == "forming":
        return ratio(plan.reward_to_risk)
    left = "near its stop" if view.left is None else reward_words(view)
    return f"{ratio(plan.reward_to_risk)} from the entry, {left}"


def rule_words(rule: str, value: float, bound: float) -> tuple[str, str, str]:
    """A rule that a drawing fails as docs/detector.md names it, its number, and what is needed;
    never rounded so far that they look equal.
    """
    digits = next(n for n in (3, 6, 17) if n == 17 or f"{value:.{n}g}" != f"{bound:.{n}g}")
    needed = f"at {'least' if value < bound else 'most'} {bound:g}"
    return words_of(rule, DRAWING_RULES), f"{value:.{digits}g}", needed


def drawing_words(drawing: Mapping[str, Any]) -> str:
    """What became of the drawing that came furthest on a symbol, from a NearestDrawing."""
    rule, quality = drawing["rule"], drawing["quality_pct"]
    if quality is None and rule == "convergence":
        return "no two of its trend lines converge"
    words, value, needed = rule_words(rule, drawing["value"], drawing["bound"])
    if quality is None:
        return (
            "none of its drawings passes the rules; the one that comes furthest fails one "
            f"({words}: {value}, needed: {needed})"
        )
    best = f"the best drawing, {with_article(pattern_words(drawing).lower())}, has quality"
    if rule == "none":
        return f"{best} {tenths(quality)} and is served if it lasts until it is judged again"
    return f"{best} {value}%, and a setup needs {drawing['bound']:g}%"


def with_article(noun: str) -> str:
    """A noun with the article `a` or `an`."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def examples_words(found: Mapping[str, Any]) -> str:
    """How examples were picked, from what `store.wire.examples` gives."""
    trades, wins, shown = found["trades"], found["wins"], len(found["shown"])
    won = sum(row["outcome"] == "win" for row in found["shown"])
    loss = average_loss_words(found["avg_loss_pct"])
    those = f"{plural(trades, 'resolved trade')} with stored bars"
    if shown == trades:
        return f"All {those}: {wins:,} reached the target; {loss}."
    return (
        f"{shown} of the {those}, picked by rule: every nth in the list of wins and then losses, "
        f"each by date of entry. {won} of these {shown} reached the target, as {wins:,} of the "
        f"{trades:,} did; {loss}."
    )


def caption(view: SetupView, disclaimer: str) -> str:
    """What a chart shows, in words, for a reader who cannot see it."""
    placed, quality = place_words(view), quality_words(view)
    close = money(view.last_close, view.currency)
    drawn = f" {quality.capitalize()}: {QUALITY[:1].lower()}{QUALITY[1:]}" if quality else ""
    return (
        f"{setup_words(view)}, as of {view.as_of}. Last close {close}"
        f"{', ' if placed else ''}{placed}; {plan_words(view)}. {view.trigger_rule}{drawn} "
        f"{disclaimer}"
    )
