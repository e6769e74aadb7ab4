"""What `screener bars check` prints: lines for people, bounded however much is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nightly.errors import Refusal
from screener.console import Table, out
from screener.quality import Quality

if TYPE_CHECKING:
    from nightly.check import Check

MOST = 8
"""Names for each reason; `--json` has them all."""
ADJUSTED = {
    "split": "for splits and not for dividends",
    "none": "for nothing",
    "split+div": "for splits and dividends",
}


def print_check(name: str, found: Check) -> None:
    """Print what a night would make of the bars."""
    said = found.as_dict()
    lines = (*_summary(name, said), *_series(said["series"]))
    for line in (*lines, *_source(said["source"]), *_assumed(said)):
        out.print(line)
    for line in left_out(said["refused"]):
        out.print(line)
    counted = Quality.of({"refused": {}, "found": said["found"]}).totals
    if counted:
        table = Table("found", "symbols", "bars", "when", "done")
        for total in counted:
            cells = (f"{total.symbols:,}", f"{total.bars or 0:,}", total.when, total.done)
            table.add_row(total.rule, *cells)
        out.print(table)


def left_out(refused: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """For each code, the names that are left out, the first of them with their reasons."""
    for code, reasons in sorted(refused.items()):
        yield f"Left out, {code}: {len(reasons):,}"
        for name, reason in sorted(reasons.items())[:MOST]:
            yield f"    {Refusal(code, reason).of(name)}"
        if len(reasons) > MOST:
            yield f"    and {len(reasons) - MOST:,} more"


def named(names: Sequence[str]) -> str:
    """Some names in one line, and how many more there are."""
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def _summary(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    days = f" from {said['first']} to {said['last']}" if said["first"] else ""
    yield f"{name}: {said['symbols']:,} symbols, {said['bars']:,} usable bars{days}."
    if said["session"] is None:
        yield f"There can be no night: {said['trouble']}"
        return
    yield f"A night would be of session {said['session']} and cover {said['covered']:,} symbols."
    if said["held_back"]:
        yield f"It would be held back: {said['held_back']}."
    if said["later"]:
        yield (
            f"With later sessions, which too few others reach: {len(said['later']):,} symbols "
            f"({named(said['later'])})."
        )


def _series(series: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The first symbols that were read, with their bars."""
    for symbol, one in sorted(series.items())[:MOST]:
        told = f"; left out ({one['left_out']})" if one["left_out"] else ""
        yield f"    {symbol}: {one['bars']:,} bars from {one['first']} to {one['last']}{told}"
    if len(series) > MOST:
        yield f"    and {len(series) - MOST:,} more; --json has them all"


def _source(source: Mapping[str, Any]) -> Iterator[str]:
    if forms := source.get("forms"):
        yield "Read: " + ", ".join(f"{number:,} {form}" for form, number in forms.items()) + "."
    for column, said in source.get("columns", {}).items():
        yield f"Column {column}: {said}."
    if renamed := source.get("renamed"):
        shown = [f"{raw} is {symbol}" for raw, symbol in renamed.items()]
        yield f"Symbols by another name: {named(shown)}."


def _assumed(said: Mapping[str, Any]) -> Iterator[str]:
    assumed = said["assumed"]
    if assumed["crypto"]:
        yield (
            f"Taken for crypto, since they trade on weekends: {len(assumed['crypto']):,} symbols "
            f"({named(assumed['crypto'])})."
        )
    if number := assumed["adjustment_symbols"]:
        kind = assumed["adjustment"]
        yield (
            f"Taken as adjusted {ADJUSTED[kind]}, since nothing tells: {number:,} symbols; "
            "--adjustment says otherwise."
        )
    if number := assumed["currency_symbols"]:
        yield f"Taken to be in dollars, since nothing tells: {number:,} symbols."
