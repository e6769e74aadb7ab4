"""Findings: what a test of a candidate found, so that a refusal can be explained."""

from __future__ import annotations

from typing import NamedTuple

from nightly.events import Rule
from nightly.kernel.compiler import compiled


class Finding(NamedTuple):
    """The first rule that a candidate fails, with its number and the bound; or `PASSED`."""

    rule: int
    value: float
    bound: float


PASSED = Finding(int(Rule.NONE), 0.0, 0.0)


@compiled
def failed(rule: Rule, value: float, bound: float) -> Finding:
    """The finding of a failed rule. Converts, so that every finding has the same type."""
    return Finding(rule.value, float(value), float(bound))
