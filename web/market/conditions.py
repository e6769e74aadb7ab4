"""Conditions: the lines of the screen's builder, which become predicates of the filter language.

A line is kept as it was typed until it can be applied, so that nothing typed is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import orjson

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError
from mcp_server.filters.filters import MAX_PREDICATES, Predicate, parse_filters
from mcp_server.filters.kinds import KINDS
from mcp_server.operations.arguments import MAX_FILTERS, MAX_WORD, NUMBER
from web.market.condition_words import FIELDS, Field

PARTS = ("kind", "op", "value", "period")
"""The fields of one line of the form; every line sends all four."""

UNREADABLE = "The conditions in this address cannot be read. Start again from those below."
UNKNOWN = "The address names a condition that does not exist. Choose one from the list."
TOO_MANY = f"At most {MAX_PREDICATES} conditions can be applied together."


class ConditionsError(Exception):
    """What is wrong with all conditions together."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the builder, as it was typed."""

    kind: str
    op: str = ""
    value: str = ""
    period: str = ""
    problem: str = ""
    """What is wrong with it; empty if nothing is."""
    predicate: Predicate | None = None
    """What it means; None while no value is typed, or the wrong one."""

    @property
    def field(self) -> Field:
        """Its kind, as the form shows it."""
        return FIELDS[self.kind]

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The fields that send it again as it was typed."""
        return [(name, getattr(self, name)) for name in PARTS]


def typed_conditions(parts: Mapping[str, Sequence[str]]) -> list[Condition]:
    """The lines that the form sent, by its fields.

    Raises:
        ConditionsError: a line is of no kind, or there are too many.
    """
    columns = (parts.get(name, ()) for name in PARTS)
    lines = [line for line in zip_longest(*columns, fillvalue="") if line[0]]
    _check_count(lines)
    return [_condition(*(text.strip()[:MAX_WORD] for text in line)) for line in lines]


def linked_conditions(text: str) -> list[Condition]:
    """The lines of an address, from the API's own parameter `filters`.

    Raises:
        ConditionsError: it is no list of predicates, or one of them is of no kind.
    """
    try:
        raw = decode(text) if len(text) <= MAX_FILTERS else None
    except JsonError as error:
        raise ConditionsError(UNREADABLE) from error
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise ConditionsError(UNREADABLE)
    _check_count(raw)
    try:
        return [_of_predicate(predicate) for predicate in parse_filters(text)]
    except ApiError:
        return [_of_item(item) for item in raw]


def join_conditions(conditions: Sequence[Condition]) -> str:
    """The parameter `filters` of the conditions that can be applied; empty if there is none."""
    canonical = [one.predicate.canonical for one in conditions if one.predicate]
    return orjson.dumps(canonical).decode() if canonical else ""


def _condition(kind: str, op: str, value: str, period: str) -> Condition:
    if kind not in KINDS:
        raise ConditionsError(UNKNOWN)
    typed = Condition(kind, op, value, period)
    if not value:
        return typed
    raw: dict[str, Any] = {"kind": kind, "op": op, "value": _value(kind, value), "period": period}
    return _checked(typed, {name: part for name, part in raw.items() if part != ""})


def _of_item(item: Mapping[str, Any]) -> Condition:
    kind = item.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConditionsError(UNKNOWN)
    op, value, period = (_text(item.get(name, ""))[:MAX_WORD] for name in PARTS[1:])
    return _checked(Condition(kind, op, value, period), item)


def _of_predicate(predicate: Predicate) -> Condition:
    parts = predicate.canonical
    op, value, period = (_text(parts.get(name, "")) for name in PARTS[1:])
    return Condition(predicate.kind.name, op, value, period, predicate=predicate)


def _checked(typed: Condition, raw: Mapping[str, Any]) -> Condition:
    try:
        predicates = parse_filters(orjson.dumps([raw]).decode())
    except (ApiError, orjson.JSONEncodeError):
        return Condition(typed.kind, typed.op, typed.value, typed.period, _advice(typed))
    return _of_predicate(predicates[0])


def _advice(typed: Condition) -> str:
    field = typed.field
    if field.kind.takes == "number":
        what = "choose a comparison and type a number, such as 10 or -2.5"
    else:
        what = "choose one from the list"
    period = " and a period" if field.periods else ""
    return f"{field.label}: {what}{period}."


def _value(kind: str, text: str) -> object:
    takes = KINDS[kind].takes
    if takes == "number" and NUMBER.fullmatch(text):
        return float(text)
    return {"true": True, "false": False}.get(text.lower(), text) if takes == "boolean" else text


def _text(part: object) -> str:
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def _check_count(lines: Sequence[object]) -> None:
    if len(lines) > MAX_PREDICATES:
        raise ConditionsError(TOO_MANY)
