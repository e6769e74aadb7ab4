"""What is found in bars, as `night report` and `bars check` print it.

Lists are bounded, however much is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nightly.errors import Refusal
from nightly.rules import FINDINGS, RULES, Rule
from screener.settings.console import or_dash, out
from store.wire.words import FEW_NAMES, named

if TYPE_CHECKING:
    from nightly.check import Check
    from store.ledger.manifest import Manifest

MOST = FEW_NAMES
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


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """One rule over all symbols."""

    rule: str
    symbols: int
    bars: int | None
    """None where a rule refuses a symbol as a whole."""
    when: str
    done: str


@dataclass(frozen=True, slots=True)
class SymbolFinding:
    """One rule on one symbol."""

    symbol: str
    rule: str
    bars: int | None
    done: str
    reason: str = ""
    """Why the symbol was refused, in one sentence; empty where it was not."""


def findings_of(report: Mapping[str, Any], symbol: str | None = None) -> list[SymbolFinding]:
    """The findings of a stored report, of one symbol or of all."""
    findings = [
        SymbolFinding(name, rule, bars, _rule(rule).done)
        for name, counts in report.get("found", {}).items()
        for rule, bars in counts.items()
    ]
    findings += [
        SymbolFinding(name, rule, None, _rule(rule).done, reason)
        for rule, reasons in report["refused"].items()
        for name, reason in reasons.items()
    ]
    chosen = (each for each in findings if symbol in (None, each.symbol))
    return sorted(chosen, key=lambda each: (each.symbol, _position(each.rule)))


def totals_of(findings: Sequence[SymbolFinding]) -> list[RuleTotal]:
    """The findings by rule, in the order in which rules are applied."""
    totals = []
    for rule in sorted({each.rule for each in findings}, key=_position):
        same = [each for each in findings if each.rule == rule]
        bars = [each.bars for each in same if each.bars is not None]
        total, words = sum(bars) if bars else None, _rule(rule)
        totals.append(RuleTotal(rule, len(same), total, words.when, words.done))
    return totals


def _rule(code: str) -> Rule:
    """A rule in words; a night of another version may have had other rules."""
    return RULES.get(code, Rule(code, "", ""))


def _position(code: str) -> tuple[int, str]:
    return (list(RULES).index(code) if code in RULES else len(RULES), code)


def print_check(name: str, checked: Check) -> None:
    """Print what a night would make of the bars."""
    facts = checked.as_dict()
    totals = totals_of(findings_of({"refused": {}, "found": facts["found"]}))
    lines = (*_summary(name, facts, totals), *_series(facts["series"]))
    for line in (*lines, *_source(facts["source"]), *_assumed(facts), *left_out(facts["refused"])):
        text = line.lstrip()
        out.print_text(text, " " * (len(line) - len(text)))
    print_totals(totals)


def print_totals(totals: Sequence[RuleTotal]) -> None:
    """Print what each rule found, what it is about and what is done about it."""
    if totals:
        out.print(f"{'found':<19}  symbols       bars")
    for total in totals:
        bars = or_dash(total.bars, "{:,}".format)
        words = "; ".join(filter(None, (total.when, total.done)))
        out.print_text(words, f"{total.rule:<19}  {total.symbols:>7,}  {bars:>9}  ")


def print_findings(
    manifest: Manifest, findings: Sequence[SymbolFinding], wider: str, most: int | None
) -> None:
    """Print the findings of a night, the first `most` of them, and a session that covers more."""
    out.print(f"Night {manifest.data_version}, session {manifest.as_of_session}.")
    out.print_text(wider)
    print_totals(totals_of(findings))
    out.print()
    out.print(f"{'symbol':<12}  {'rule':<19}       bars")
    for finding in findings[:most]:
        bars = or_dash(finding.bars, "{:,}".format)
        label = f"{finding.symbol:<12}  {finding.rule:<19}  {bars:>9}  "
        out.print_text(finding.reason or finding.done, label)
    if most is not None and len(findings) > most:
        out.print(f"And {len(findings) - most:,} more; --all shows them.")


def left_out(refused: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """For each code, the names that are left out, the first of them with their reasons."""
    for code, reasons in sorted(refused.items()):
        yield f"Left out, {code}: {len(reasons):,}"
        for name, reason in sorted(reasons.items())[:MOST]:
            yield f"    {Refusal(code, reason).of(name)}"
        if len(reasons) > MOST:
            yield f"    and {len(reasons) - MOST:,} more"


def _summary(name: str, facts: Mapping[str, Any], totals: Sequence[RuleTotal]) -> Iterator[str]:
    rows, bars, symbols = facts["rows"], facts["bars"], facts["symbols"]
    days = f" from {facts['first']} to {facts['last']}" if facts["first"] else ""
    yield f"{name}: symbols {symbols:,}, rows {rows:,}, usable bars {bars:,}{days}."
    if rows > bars:
        by_rule = sum(total.bars or 0 for total in totals if total.rule in DROPPING)
        dropped = min(by_rule, rows - bars)
        yield (
            f"Of the other {rows - bars:,} rows {dropped:,} are dropped by the rules below, and "
            f"{rows - bars - dropped:,} lie after the session or where bars cannot be trusted."
        )
    if facts["session"] is None:
        yield f"No night can be made: {facts['trouble']}"
        return
    covered = f"{facts['covered']:,} of {symbols:,} symbols"
    served = sum(one["bars"] for one in facts["series"].values() if not one["left_out"])
    rest = f"; the other {bars - served:,} count only for past trades" if served < bars else ""
    yield f"A night of session {facts['session']} would cover {covered}, by {served:,} bars{rest}."
    if facts["wider"]:
        yield facts["wider"]
    if facts["held_back"]:
        yield f"It would be held back: {facts['held_back']}."
    if facts["later"]:
        yield (
            f"With later sessions, which too few others reach: {len(facts['later']):,} symbols "
            f"({named(facts['later'])})."
        )


def _series(series: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The first symbols that were read, with their bars."""
    for symbol, one in sorted(series.items())[:MOST]:
        left = f"; left out ({one['left_out']})" if one["left_out"] else ""
        rows = f" of {one['rows']:,} rows" if one["rows"] > one["bars"] else ""
        yield f"    {symbol}: {one['bars']:,} bars{rows} from {one['first']} to {one['last']}{left}"
    if len(series) > MOST:
        yield f"    and {len(series) - MOST:,} more; --json has them all"


def _source(source: Mapping[str, Any]) -> Iterator[str]:
    if forms := source.get("forms"):
        yield "Read: " + ", ".join(f"{number:,} {form}" for form, number in forms.items()) + "."
    for column, meaning in source.get("columns", {}).items():
        yield f"Column {column}: {meaning}."
    if renamed := source.get("renamed"):
        shown = [f"{raw} is {symbol}" for raw, symbol in renamed.items()]
        yield f"Symbols renamed: {named(shown)}."


def _assumed(facts: Mapping[str, Any]) -> Iterator[str]:
    assumed = facts["assumed"]
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
