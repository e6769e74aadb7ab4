"""What a night would change, told in lines of text for the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from store.nights.difference import Difference, Record, Shown

NAMED = 20
"""Symbols or setups named in one line; the others are counted."""


def told(found: Difference) -> Iterator[str]:
    """The difference, one line a kind of change; kinds without any are left out."""
    for name, (before, now) in found.counts.items():
        yield f"{name}: {before:,} -> {now:,} ({now - before:+,})"
    yield from _line("Covered now", found.gained)
    yield from _line("No longer covered", [f"{s} ({why})" for s, why in found.lost.items()])
    yield from _line("New setups", [_name(shown) for shown in found.new])
    yield from _line("Setups gone", [_name(shown) for shown in found.gone])
    moves = [f"{_name(shown)} {was} -> {now}" for shown, (was, now) in found.moved.items()]
    yield from _line("Setups with another status", moves)
    for family, (was, now_) in found.records.items():
        yield f"{family.label}: {_record(was)} -> {_record(now_)}"


def _line(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        more = f" and {len(items) - NAMED:,} more" if len(items) > NAMED else ""
        yield f"{title}, {len(items):,}: {', '.join(items[:NAMED])}{more}."


def _name(shown: Shown) -> str:
    return f"{shown.symbol} {shown.family}"


def _record(record: Record) -> str:
    if record is None:
        return "no resolved trade"
    return (
        f"{record['win_rate_pct']:.2f}% of {record['sample_size']:,} reached the target, "
        f"average loss {record['avg_loss_pct'] or 0:.2f}%, average R {record['avg_r']:+.3f}"
    )
