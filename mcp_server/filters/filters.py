"""The filter language of the scan: read a JSON list of predicates, put it in order, match.

Pure: it knows neither books nor callers. A row without evidence for a kind never matches.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError, did_you_mean
from mcp_server.filters.kinds import KINDS, FilterKind, Period

MAX_PREDICATES = 50

UNITS = {
    "%": "per cent",
    "$": "US dollars",
    "x": "multiples",
    "ratio": "multiples",
    "0..100": "points from 0 to 100",
}
"""The units of kinds in words, where they are signs."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}

Mask = npt.NDArray[np.bool_]
Value = float | int | str | bool

_ORDER = {name: position for position, name in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition that every matching row fulfils."""

    kind: FilterKind
    op: str | None
    value: Value
    period: Period | None

    @property
    def canonical(self) -> dict[str, Value]:
        """The predicate with its keys in the order kind, op, value, period."""
        parts = {"kind": self.kind.name, "op": self.op, "value": self.value, "period": self.period}
        return {name: part for name, part in parts.items() if part is not None}

    def __str__(self) -> str:
        """The predicate as people write it."""
        period = "" if self.period is None else f"({self.period})"
        return f"{self.kind.name}{period} {self.op or '='} {self.value}"

    @property
    def column(self) -> str:
        """The evidence column it looks at."""
        return self.kind.column(self.period)

    @property
    def order(self) -> tuple[int, int, str, float, str]:
        """Canonical order: the table's order of kinds, then period, op and value."""
        period = -1 if self.period is None else self.kind.periods.index(self.period)
        number = 0.0 if isinstance(self.value, str) else float(self.value)
        return _ORDER[self.kind.name], period, self.op or "", number, str(self.value)

    def match(self, values: npt.NDArray[np.float64]) -> Mask:
        """The rows of a numeric or boolean column that fulfil it; NaN never does."""
        found: Mask = OPERATORS[self.op or "="](values, float(self.value))
        return found


def read_filters(sent: str | list[object]) -> tuple[Predicate, ...]:
    """The predicates of a JSON array, or of its text.

    Raises:
        ApiError: `bad_request`, naming the predicate by its position and kind.
    """
    try:
        raw = decode(sent) if isinstance(sent, str) else sent
    except JsonError as error:
        raise _malformed(f"filters is {error}.") from error
    if not isinstance(raw, list) or len(raw) > MAX_PREDICATES:
        raise _malformed(f"filters must be a JSON array of at most {MAX_PREDICATES} predicates.")
    return in_order(_read(position, item) for position, item in enumerate(raw))


def in_order(predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Predicates in canonical order and without repeats."""
    return tuple(sorted(set(predicates), key=lambda predicate: predicate.order))


_EXAMPLE = 'Send filters such as [{"kind":"rsi","op":"<","value":40}]'


def _malformed(message: str, details: Mapping[str, object] | None = None) -> ApiError:
    return ApiError(
        "bad_request",
        message,
        fix=f"{_EXAMPLE}, URL-encoded.",
        tool_fix=f"{_EXAMPLE}.",
        details=details,
    )


class PredicateError(Exception):
    """What is wrong with a predicate of a known kind, and what would be right."""


def _read(position: int, raw: object) -> Predicate:
    if not isinstance(raw, dict) or not isinstance(raw.get("kind"), str):
        message = f"filters[{position}] must be an object with a kind."
        raise _malformed(message, {"allowed": list(KINDS)})
    kind = KINDS.get(raw["kind"])
    if kind is None:
        meant = did_you_mean(raw["kind"].replace("sector", "industry"), KINDS)
        message = f"filters[{position}] has an unknown kind. {meant}".rstrip()
        raise ApiError("bad_request", message, details={"allowed": list(KINDS)})
    try:
        return read_predicate(kind, raw)
    except PredicateError as fault:
        raise ApiError("bad_request", f"filters[{position}] ({kind.name}): {fault}.") from fault


def read_predicate(kind: FilterKind, raw: Mapping[str, object]) -> Predicate:
    """A predicate of a kind from its JSON values.

    Raises:
        PredicateError: it is not one.
    """
    takes = {"kind", "value"}
    takes |= {"op"} if kind.takes == "number" else set()
    takes |= {"period"} if kind.periods else set()
    if not set(raw) <= takes:
        raise PredicateError(f"takes only {', '.join(sorted(takes))}")
    period = _read_period(kind, raw.get("period")) if kind.periods else None
    if kind.takes == "number":
        return Predicate(
            kind, _read_op(raw.get("op")), _read_number(kind, raw.get("value")), period
        )
    if kind.takes == "boolean":
        return Predicate(kind, None, _read_boolean(raw.get("value")), period)
    return Predicate(kind, None, _read_choice(kind, raw.get("value")), period)


def _read_op(raw: object) -> str:
    if not isinstance(raw, str) or raw not in OPERATORS:
        raise PredicateError(f"op must be one of {', '.join(OPERATORS)}")
    return raw


def _read_number(kind: FilterKind, raw: object) -> float | int:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise PredicateError(f"value must be a number, in {UNITS.get(kind.unit, kind.unit)}")
    number = float(raw) + 0.0
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _read_boolean(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise PredicateError("value must be true or false")
    return raw


def _read_choice(kind: FilterKind, raw: object) -> str:
    if isinstance(raw, str):
        for choice in kind.accepted:
            if raw.strip().casefold() == choice.casefold():
                return choice
    raise PredicateError(f"value must be one of {', '.join(kind.choices)}")


def _read_period(kind: FilterKind, raw: object) -> Period:
    if isinstance(raw, str | int) and not isinstance(raw, bool):
        wanted = str(raw).strip().lower()
        for period in kind.periods:
            if wanted == str(period):
                return period
    raise PredicateError(f"period must be one of {', '.join(map(str, kind.periods))}")
