"""Setups: what the scan says of one current setup, each value in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from mcp_server.operations.patterns import caption, patterns_body
from store.book import Book
from store.method import FEW
from web.figures import dollars, move, percent

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Level:
    """One price of a plan, and what to say beside it."""

    name: str
    price: str
    note: str


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A trade plan as levels, and its reward as a multiple of its risk."""

    direction: str
    levels: tuple[Level, ...]
    reward_to_risk: str


@dataclass(frozen=True, slots=True)
class ShownSetup:
    """One current setup."""

    setup_id: str
    family: str
    label: str
    subtype: str | None
    """What kind of pattern it is, unless the family says so."""
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
    briefs = {brief["setup_id"]: brief for brief in orjson.loads(b"[%b]" % book.briefs(symbol))}
    drawable = book.prices(symbol) is not None
    return [
        _shown(book, fields, briefs.get(fields["setup_id"], {}), drawable=drawable)
        for fields in orjson.loads(patterns_body(book, symbol))["setups"]
    ]


def _shown(book: Book, fields: Fields, brief: Fields, *, drawable: bool) -> ShownSetup:
    setup = book.setup(fields["symbol"], fields["setup_id"])
    entry = setup.evidence.get("entry_price") if setup else None
    family, own = (fields["track_record"][scope] for scope in ("family", "ticker"))
    kind = fields["pattern_type"]
    return ShownSetup(
        setup_id=fields["setup_id"],
        family=fields["family"],
        label=fields["family_label"],
        subtype=None if kind == fields["family"] else kind.replace("_", " "),
        direction=" or ".join(dict.fromkeys(plan["direction"] for plan in fields["plans"])),
        status=fields["status"].replace("_", " "),
        facts=tuple(_facts(fields, brief)),
        plans=tuple(_plan(plan, fields["last_close"], entry) for plan in fields["plans"]),
        rule=fields["trigger_rule"],
        summary=family and family["summary"],
        few=bool(family) and family["sample_size"] < FEW,
        own=own and own["summary"],
        words=caption(fields, book.disclaimer),
        drawable=drawable,
    )


def _facts(fields: Fields, brief: Fields) -> Iterator[str]:
    yield f"from {fields['pattern_start']} to {fields['pattern_end']}"
    distance, side = brief.get("distance_to_trigger_pct"), fields.get("last_close_side")
    if fields["status"] == "forming" and distance is not None:
        where = {"before": " before", "beyond": " beyond"}.get(side or "", " from")
        yield f"last close {dollars(fields['last_close'])}, {percent(distance)}{where} the trigger"
    else:
        yield f"last close {dollars(fields['last_close'])}"
    sessions = fields.get("sessions_since_trigger")
    if sessions is not None:
        ago = (
            f"{sessions} session{'' if sessions == 1 else 's'} ago" if sessions else "this session"
        )
        yield f"broke out {ago}"
    attempt = fields.get("attempt") or {}
    if (attempt.get("count") or 1) > 1:
        yield f"attempt {attempt['number']} of {attempt['count']}"


def _plan(plan: Fields, last_close: float, entry: float | None) -> ShownPlan:
    """A plan with its levels in per cent of the entry or, before one, of the trigger."""
    trigger, stop, target = (plan[f"{name}_price"] for name in ("trigger", "stop", "target"))
    start = trigger if entry is None else entry
    first = (
        Level("Trigger", dollars(trigger), f"last close {_change(last_close, trigger)}")
        if entry is None
        else Level("Entry", dollars(entry), f"last close {_change(last_close, entry)}")
    )
    risk = abs(start - stop)
    return ShownPlan(
        direction=plan["direction"],
        levels=(
            first,
            Level("Stop", dollars(stop), _change(stop, start)),
            Level("Target", dollars(target), _change(target, start)),
        ),
        reward_to_risk=f"{abs(target - start) / risk:.1f}" if risk else "none",
    )


def _change(price: float, start: float) -> str:
    return move(100 * (price / start - 1))
