"""What `screener bars check` prints: lines for people, bounded however much is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nightly.errors import Refusal
from nightly.rules import FINDINGS
from screener.commands.nights.quality import Quality, Total
from screener.notify.messages import FEW, named
from screener.settings.console import out

if TYPE_CHECKING:
    from nightly.check import Check

MOST = FEW
"""Names for each reason; `--json` has them all."""
DROPPING = frozenset(
    {"repeated_date", *(rule.code for rule in FINDINGS if rule.done.startswith("dropped"))}
)
"""The rules by which rows are not used."""
ADJUSTED = {
    "split": "for splits and not for dividends",
    "none": "for nothing",
    "split+div": "for splits and dividends",
}


def print_check(name: str, found: Check) -> None:
    """Print what a night would make of the bars."""
    said = found.as_dict()
    totals = Quality.of({"refused": {}, "found": said["found"]}).totals
    lines = (*_summary(name, said, totals), *_series(said["series"]))
    for line in (*lines, *_source(said["source"]), *_assumed(said), *left_out(said["refused"])):
        text = line.lstrip()
        out.print_text(text, " " * (len(line) - len(text)))
    print_totals(totals)


def print_totals(totals: Sequence[Total]) -> None:
    """Print what each rule found, what it is about and what is done about it."""
    if totals:
        out.print(f"{'found':<19}  symbols       bars")
    for total in totals:
        bars = "-" if total.bars is None else f"{total.bars:,}"
        told = "; ".join(filter(None, (total.when, total.done)))
        out.print_text(told, f"{total.rule:<19}  {total.symbols:>7,}  {bars:>9}  ")


def left_out(refused: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """For each code, the names that are left out, the first of them with their reasons."""
    for code, reasons in sorted(refused.items()):
        yield f"Left out, {code}: {len(reasons):,}"
        for name, reason in sorted(reasons.items())[:MOST]:
            yield f"    {Refusal(code, reason).of(name)}"
        if len(reasons) > MOST:
            yield f"    and {len(reasons) - MOST:,} more"


def _summary(name: str, said: Mapping[str, Any], totals: Sequence[Total]) -> Iterator[str]:
    rows, bars, symbols = said["rows"], said["bars"], said["symbols"]
    days = f" from {said['first']} to {said['last']}" if said["first"] else ""
    yield f"{name}: symbols {symbols:,}, rows {rows:,}, usable bars {bars:,}{days}."
    if rows > bars:
        by_rule = sum(total.bars or 0 for total in totals if total.rule in DROPPING)
        dropped = min(by_rule, rows - bars)
        yield (
            f"Of the other {rows - bars:,} rows {dropped:,} are dropped by the rules below, and "
            f"{rows - bars - dropped:,} lie after the session or where bars cannot be trusted."
        )
    if said["session"] is None:
        yield f"No night can be made: {said['trouble']}"
        return
    covered = f"{said['covered']:,} of {symbols:,} symbols"
    served = sum(one["bars"] for one in said["series"].values() if not one["left_out"])
    rest = f"; the other {bars - served:,} count only for past trades" if served < bars else ""
    yield f"A night of session {said['session']} would cover {covered}, by {served:,} bars{rest}."
    if said["wider"]:
        yield said["wider"]
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
        rows = f" of {one['rows']:,} rows" if one["rows"] > one["bars"] else ""
        yield f"    {symbol}: {one['bars']:,} bars{rows} from {one['first']} to {one['last']}{told}"
    if len(series) > MOST:
        yield f"    and {len(series) - MOST:,} more; --json has them all"


def _source(source: Mapping[str, Any]) -> Iterator[str]:
    if forms := source.get("forms"):
        yield "Read: " + ", ".join(f"{number:,} {form}" for form, number in forms.items()) + "."
    for column, said in source.get("columns", {}).items():
        yield f"Column {column}: {said}."
    if renamed := source.get("renamed"):
        shown = [f"{raw} is {symbol}" for raw, symbol in renamed.items()]
        yield f"Symbols renamed: {named(shown)}."


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
            f"Taken as adjusted {ADJUSTED[kind]}, since nothing says so: {number:,} symbols; "
            "--adjustment says otherwise."
        )
    if number := assumed["currency_symbols"]:
        yield f"Taken to be in dollars, since nothing says so: {number:,} symbols."
