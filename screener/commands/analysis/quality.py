"""What is found in bars, as `night report` and `bars check` print it.

Lists are bounded, however much is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from screener.nightly.cleaning.rules import RULES, DataRule
from screener.nightly.errors import RefusedInput
from screener.settings.console import or_dash, out
from store.wire.currency import DOLLARS
from store.wire.words import FEW_NAMES, named, plural

if TYPE_CHECKING:
    from screener.nightly.check import Check
    from store.ledger.manifest import Manifest

MAX_LISTED = FEW_NAMES
"""Names for each reason; `--json` has them all."""
LATER = "a bar after the session of the night, or of a day that has not ended"
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


def _rule(code: str) -> DataRule:
    """A rule in words; a night of another version may have had other rules."""
    return RULES.get(code, DataRule(code, "", ""))


def _position(code: str) -> tuple[int, str]:
    return (list(RULES).index(code) if code in RULES else len(RULES), code)


def print_check(name: str, checked: Check) -> None:
    """Print what a night would make of the bars."""
    facts = checked.as_dict()
    for line in _night(name, facts):
        out.print_text(line)
    print_rows(facts)
    for line in (*_source(facts["source"]), *_assumed(facts), *left_out(facts["refused"])):
        _print_indented(line)
    totals = totals_of(findings_of({"refused": {}, "found": facts["found"]}))
    print_totals([total for total in totals if total.rule not in facts["lost"]])


def print_rows(facts: Mapping[str, Any]) -> None:
    """Print where the rows went: those that were read are the usable bars and those not used."""
    out.print(f"{'where the rows went':<19}  symbols       rows")
    for form, rows in facts["read"].items():
        files = facts["source"].get("forms", {}).get(form, 0)
        _print_count("read", None, rows, f"{form}, {files:,} files" if files > 1 else form)
    for rule, lost in sorted(facts["lost"].items(), key=lambda item: _position(item[0])):
        when = LATER if rule == "after_session" else _rule(rule).when
        _print_count(rule, lost["symbols"], lost["rows"], f"not used: {when}")
    usable = [one for one in facts["series"].values() if one["bars"]]
    left = sum(one["bars"] for one in usable if one["left_out"])
    days = f"from {facts['first']} to {facts['last']}" if usable else "none"
    rest = f"; {left:,} of them belong to symbols that are left out" if left else ""
    _print_count("usable bars", len(usable), facts["bars"], days + rest)
    for line in _series(facts["series"]):
        _print_indented(line)


def _print_count(label: str, symbols: int | None, rows: int | None, words: str) -> None:
    counts = f"{or_dash(symbols, '{:,}'.format):>7}  {or_dash(rows, '{:,}'.format):>9}"
    out.print_text(words, f"{label:<19}  {counts}  ")


def _print_indented(line: str) -> None:
    text = line.lstrip()
    out.print_text(text, " " * (len(line) - len(text)))


def print_totals(totals: Sequence[RuleTotal]) -> None:
    """Print what each rule found, what it is about and what is done about it."""
    if totals:
        out.print(f"{'found':<19}  symbols       bars")
    for total in totals:
        words = "; ".join(filter(None, (total.when, total.done)))
        _print_count(total.rule, total.symbols, total.bars, words)


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
        kinds: dict[str, list[str]] = {}
        for name, reason in sorted(reasons.items()):
            kinds.setdefault(_kind(name, reason), []).append(name)
        for names in list(kinds.values())[:MAX_LISTED]:
            alike = f" (likewise {named(names[1:])})" if len(names) > 1 else ""
            yield f"    {RefusedInput(code, reasons[names[0]]).of(names[0])}{alike}"
        if len(kinds) > MAX_LISTED:
            yield f"    and {plural(len(kinds) - MAX_LISTED, 'more kind')}"


def _kind(name: str, reason: str) -> str:
    """A reason without what it names: like reasons are told once."""
    return re.sub(
        r"\d[\d,.:-]*", "#", reason.replace(name, "").replace(name.rpartition("/")[2], "")
    )


def _night(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """What a night would make of the bars, and why it covers none if it does."""
    rows, bars, symbols = facts["rows"], facts["bars"], facts["symbols"]
    yield facts["overdue"]
    yield f"{name}: symbols {symbols:,}, rows {rows:,}, usable bars {bars:,}."
    if facts["session"] is None:
        yield f"No night can be made: {facts['trouble']}"
        return
    night = f"A night of session {facts['session']} would cover"
    served = sum(one["bars"] for one in facts["series"].values() if not one["left_out"])
    rest = f"; the other {bars - served:,} count only for past trades" if served < bars else ""
    if facts["covered"]:
        counts = f"{facts['covered']:,} of {plural(symbols, 'symbol')} with {plural(served, 'bar')}"
        yield f"{night} {counts}{rest}."
    else:
        yield f"{night} none of {plural(symbols, 'symbol')}. {_why_none(facts['refused'])}"
    if facts["wider"]:
        yield facts["wider"]
    if facts["held_back"]:
        yield f"It would be held back: {facts['held_back']}."
    yield from later_sessions(facts["later"])


def _why_none(refused: Mapping[str, Mapping[str, str]]) -> str:
    """How much each reason leaves out, and the most frequent one of an example."""
    codes = sorted(refused, key=lambda code: -len(refused[code]))
    counts = ", ".join(f"{code} {len(refused[code]):,}" for code in codes)
    name, reason = min(refused[codes[0]].items())
    return f"Left out: {counts}. {RefusedInput(codes[0], reason).of(name)}"


def _series(series: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The symbols of which most rows are not used, with their bars."""
    order = sorted(series.items(), key=lambda item: (item[1]["bars"] - item[1]["rows"], item[0]))
    for symbol, one in order[:MAX_LISTED]:
        rows = f" of {plural(one['rows'], 'row')}" if one["lost"] else ""
        days = f" from {one['first']} to {one['last']}" if one["bars"] else ""
        lost = ", ".join(f"{rule} {number:,}" for rule, number in one["lost"].items())
        left = f"left out ({one['left_out']})" if one["left_out"] else ""
        more = "; ".join(filter(None, (lost and f"not used: {lost}", left)))
        yield f"    {symbol}: {plural(one['bars'], 'bar')}{rows}{days}{more and '; '}{more}"
    if len(series) > MAX_LISTED:
        yield f"    and {len(series) - MAX_LISTED:,} more; --json has them all"


def _source(source: Mapping[str, Any]) -> Iterator[str]:
    for column, meaning in source.get("columns", {}).items():
        yield f"Column {column}: {meaning}."
    if renamed := source.get("renamed"):
        shown = [f"{raw} is {symbol}" for raw, symbol in renamed.items()]
        yield f"Symbols renamed: {named(shown)}."


def _assumed(facts: Mapping[str, Any]) -> Iterator[str]:
    assumed = facts["assumed"]
    if number := assumed["adjustment_symbols"]:
        kind = assumed["adjustment"]
        yield (
            f"Assumed that prices of {plural(number, 'symbol')} are adjusted {ADJUSTED[kind]}; "
            "override with --adjustment."
        )
    currencies = {DOLLARS: assumed["currency_symbols"], **assumed["currencies"]}
    markets = (assumed["markets"], assumed["unclear_markets"])
    yield from assumptions(assumed["crypto"], *markets, currencies)


def assumptions(
    crypto: Sequence[str],
    markets: Mapping[str, Sequence[str]],
    unclear: Mapping[str, Sequence[str]],
    currencies: Mapping[str, int],
) -> Iterator[str]:
    """What was taken from the bars: symbols that are crypto, those of an exchange by its calendar,
    those that several calendars fit, and in which currency the prices of how many are.
    """
    if crypto:
        yield (
            f"Assumed that {plural(len(crypto), 'symbol')} with weekend bars are crypto: "
            f"{named(crypto)}; override with an asset type in --reference."
        )
    for calendars, symbols in sorted(unclear.items()):
        yield (
            f"{plural(len(symbols), 'symbol')} not trading on New York's days: "
            f"{named(symbols)}. These exchanges fit: {calendars}; choose one with --exchange, or "
            "in --reference."
        )
    for calendar, symbols in sorted(markets.items()):
        yield (
            f"Inferred the calendar {calendar} for {plural(len(symbols), 'symbol')} (the only one "
            f"that fits): {named(symbols)}; override with --exchange, or in --reference."
        )
    for code, number in currencies.items():
        if number:
            name = "US dollars" if code == DOLLARS else f"{code}, the currency of the exchange,"
            yield (
                f"Assumed {name} for {plural(number, 'symbol')} without a currency; override with "
                "--currency."
            )


def later_sessions(symbols: Sequence[str]) -> Iterator[str]:
    """Which symbols have sessions after the night's, if any have."""
    if symbols:
        yield (
            f"Warning: later bars of {plural(len(symbols), 'symbol')} are not used, because too "
            f"few others have them ({named(symbols)}); use newer bars, or give --session."
        )
