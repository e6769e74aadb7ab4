"""What a night's report says about the data: totals by rule, then every symbol's findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from nightly.rules import RULES


@dataclass(frozen=True, slots=True)
class Total:
    """One rule over all symbols."""

    rule: str
    symbols: int
    bars: int | None
    """None where a rule refuses a symbol as a whole."""
    when: str
    done: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule on one symbol."""

    symbol: str
    rule: str
    bars: int | None
    done: str
    reason: str
    """Why the symbol was refused, in one sentence; empty where it was not."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The data part of a night's report."""

    totals: list[Total]
    findings: list[Finding]

    @classmethod
    def of(cls, report: Mapping[str, Any], symbol: str | None = None) -> Quality:
        """The findings of a stored report, of one symbol or of all."""
        wanted = sorted(_findings(report), key=lambda f: (f.symbol, _position(f.rule)))
        if symbol is not None:
            wanted = [finding for finding in wanted if finding.symbol == symbol]
        return cls(list(_totals(wanted)), wanted)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)

    def rows(self) -> Iterator[Sequence[object]]:
        """The findings as rows under their names."""
        yield Finding.__slots__
        yield from (astuple(finding) for finding in self.findings)


def _findings(report: Mapping[str, Any]) -> Iterator[Finding]:
    for symbol, counts in report.get("found", {}).items():
        for rule, bars in counts.items():
            yield Finding(symbol, rule, bars, _words(rule)[1], "")
    for rule, symbols in report["refused"].items():
        for symbol, reason in symbols.items():
            yield Finding(symbol, rule, None, _words(rule)[1], reason)


def _totals(findings: list[Finding]) -> Iterator[Total]:
    for rule in sorted({finding.rule for finding in findings}, key=_position):
        mine = [finding for finding in findings if finding.rule == rule]
        bars = [finding.bars for finding in mine if finding.bars is not None]
        yield Total(rule, len(mine), sum(bars) if bars else None, *_words(rule))


def _words(rule: str) -> tuple[str, str]:
    """When a rule holds and what is done; a night of another version may have had other rules."""
    known = RULES.get(rule)
    return (known.when, known.done) if known else ("", "")


def _position(rule: str) -> tuple[int, str]:
    order = list(RULES)
    return (order.index(rule) if rule in RULES else len(order), rule)
