"""Symbol setups: what the page of a symbol says of its current setups, each value in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_server.operations.patterns import caption
from mcp_server.operations.setups import current_setups, levels_of
from store.book import Book
from store.levels import Levels, change_pct
from store.method import FEW
from store.setup_words import (
    age_words,
    attempt_words,
    pattern_words,
    place_words,
    ratio_words,
    status_words,
)
from web.figures import change, dollars, percent

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShownLevel:
    """One price of a plan, and what to say beside it, which may be nothing."""

    name: str
    price: str
    note: str


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A trade plan as levels, and its reward as a multiple of its risk."""

    direction: str
    levels: tuple[ShownLevel, ...]
    reward_to_risk: str


@dataclass(frozen=True, slots=True)
class ShownSetup:
    """One current setup."""

    setup_id: str
    family: str
    pattern: str
    direction: str
    status: str
    facts: tuple[str, ...]
    plans: tuple[ShownPlan, ...]
    rule: str
    summary: str | None
    """The family's track record, to be quoted whole."""
    few: bool
    """Whether that is of too few trades to say anything."""
    own: str | None
    """The ticker's own."""
    words: str
    """What its chart shows, for a reader who cannot see it."""
    drawable: bool


def setups_of(book: Book, symbol: str) -> list[ShownSetup]:
    """The current setups of a symbol, in serving order."""
    drawable = book.prices(symbol) is not None
    return [_shown(book, fields, drawable=drawable) for fields in current_setups(book, symbol)]


def _shown(book: Book, fields: Fields, *, drawable: bool) -> ShownSetup:
    family, own = (fields["track_record"][scope] for scope in ("family", "ticker"))
    return ShownSetup(
        setup_id=fields["setup_id"],
        family=fields["family"],
        pattern=pattern_words(fields),
        direction=" or ".join(dict.fromkeys(plan["direction"] for plan in fields["plans"])),
        status=status_words(fields["status"]),
        facts=tuple(_facts(fields)),
        plans=tuple(_plan(fields, plan) for plan in fields["plans"]),
        rule=fields["trigger_rule"],
        summary=family and family["summary"],
        few=bool(family) and family["sample_size"] < FEW,
        own=own and own["summary"],
        words=caption(fields, book.disclaimer),
        drawable=drawable,
    )


def _facts(fields: Fields) -> Iterator[str]:
    attempt, distance = fields.get("attempt") or {}, fields["distance_to_trigger_pct"]
    yield f"from {fields['pattern_start']} to {fields['pattern_end']}"
    close = f"last close {dollars(fields['last_close'])}"
    if fields["status"] == "forming" and distance is not None:
        close = f"{close}, {percent(distance)} {place_words(fields)}"
    yield close
    if age := age_words(fields.get("sessions_since_trigger")):
        yield age
    if later := attempt_words(attempt.get("number"), attempt.get("count")):
        yield later


def _plan(fields: Fields, plan: Fields) -> ShownPlan:
    """A plan with its levels in per cent of the entry or, before one, of the trigger."""
    levels = levels_of(fields, plan)
    return ShownPlan(
        direction=plan["direction"],
        levels=(
            ShownLevel(
                levels.start_name.capitalize(),
                dollars(levels.start),
                _gain(levels, fields["last_close"]),
            ),
            ShownLevel("Stop", dollars(levels.stop), change(levels.stop_pct)),
            ShownLevel("Target", dollars(levels.target), change(levels.target_pct)),
        ),
        reward_to_risk=ratio_words(levels.reward_to_risk),
    )


def _gain(levels: Levels, last_close: float) -> str:
    """Where a running trade stands; how far the trigger is, the facts say."""
    if not levels.entered:
        return ""
    return f"last close {change(change_pct(last_close, levels.start))}"
