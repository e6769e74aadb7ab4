"""Scan query: the address of the screen, read into arguments of the scan and written again.

An address has the API's own parameters. The form of the page also sends the lines of its
builder, one by one, and fields that are blank; `address` says the same in the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from mcp_server.calls.errors import ApiError
from mcp_server.filters.filters import Predicate, parse_filters
from mcp_server.filters.scan_order import RANK
from mcp_server.operations.arguments import ScanArguments, read_arguments
from web.market.conditions import (
    PARTS,
    TOO_MANY,
    Condition,
    ConditionsError,
    join_conditions,
    linked_conditions,
    typed_conditions,
)

PATH = "/screen"

DEFAULTS: Mapping[str, str] = {
    "family": "",
    "direction": "",
    "status": "forming",
    "max_distance_pct": "",
    "filters": "",
    "sort": RANK,
    "limit": "50",
    "offset": "0",
}
"""The parameters of an address, in their order, with what each means when it is left out."""

ADD = "add"
"""The field of the form that adds a line of a kind."""

PROBLEMS: Mapping[str, str] = {
    "family": "Choose one of the five families, or all.",
    "direction": "Choose bullish, bearish or both.",
    "status": "Choose forming, in progress or all.",
    "max_distance_pct": "The distance to the trigger is a number of at least 0, such as 5.",
    "limit": "The rows of a page are a whole number from 1 to 200.",
    "offset": "The first row of a page is a whole number.",
    "sort": "Choose an order from the list.",
}
"""What to do about a parameter that is not valid."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a visitor asked for."""

    typed: Mapping[str, str]
    """Every parameter as it was typed, or its default; one that is valid in one spelling."""
    conditions: Sequence[Condition] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the parameters, by their names."""
    arguments: ScanArguments = field(default_factory=ScanArguments)
    """Those that are valid."""

    @property
    def failed(self) -> bool:
        """Whether it cannot be answered as it was asked."""
        return bool(self.problems) or any(one.problem for one in self.conditions)

    @property
    def is_plain(self) -> bool:
        """Whether it asks for all setups of a status."""
        chosen = ("family", "direction", "max_distance_pct", "offset")
        return not self.conditions and all(self.typed[name] == DEFAULTS[name] for name in chosen)

    @property
    def predicates(self) -> Sequence[Predicate]:
        """What the conditions mean, in canonical order."""
        filters = self.arguments.filters
        return parse_filters(filters) if filters else ()

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that say the same, without those that are the default."""
        given = self.arguments.model_dump(exclude_none=True)
        texts = {name: _text(given[name]) for name in DEFAULTS if name in given}
        return {name: text for name, text in texts.items() if text != DEFAULTS[name]}

    @property
    def scan(self) -> dict[str, Any]:
        """The arguments of the scan that say the same, without those that are the default."""
        return self.arguments.model_dump(exclude_defaults=True, exclude_none=True)

    def address(self, **changes: str) -> str:
        """The address that says the same, but for the parameters that change.

        Lines that cannot be applied are in it as they were typed.
        """
        merged = {**self.parameters, **changes}
        items = [(n, merged[n]) for n in DEFAULTS if merged.get(n, "") not in ("", DEFAULTS[n])]
        items += [part for one in self.conditions if not one.predicate for part in one.parts]
        return f"{PATH}?{urlencode(items)}" if items else PATH

    def without(self, position: int) -> str:
        """The address without one of the conditions, on the first page."""
        kept = [one for place, one in enumerate(self.conditions) if place != position]
        rest = Query(self.typed, kept, self.problems, self.arguments)
        return rest.address(filters=join_conditions(kept), offset="0")


def read_query(items: Iterable[tuple[str, str]]) -> tuple[Query, bool]:
    """The query of an address, and whether the address came from the form as it is sent.

    Such an address says more than it needs to; `Query.address` says the same.
    """
    given: dict[str, list[str]] = {}
    for name, value in items:
        given.setdefault(name, []).append(value)
    last = {name: values[-1].strip() for name, values in given.items()}
    typed = {name: last.get(name) or default for name, default in DEFAULTS.items()}
    problems: dict[str, str] = {}
    conditions = _conditions(given, typed["filters"], last.get(ADD, ""), problems)
    arguments = _arguments(typed, join_conditions(conditions), problems)
    sent = ADD in given or any(name in given for name in PARTS) or "" in last.values()
    read = arguments.model_dump(exclude_none=True, exclude={"filters"})
    typed |= {name: _text(value) for name, value in read.items() if name not in problems}
    return Query(typed, conditions, problems, arguments), sent


def _conditions(
    given: Mapping[str, Sequence[str]], filters: str, add: str, problems: dict[str, str]
) -> list[Condition]:
    found: list[Condition] = []
    try:
        found += linked_conditions(filters) if filters else ()
        found += typed_conditions(given)
        found += typed_conditions({"kind": [add]}) if add else ()
        # Each is valid; together they may be too many or too long.
        parse_filters(join_conditions(found) or "[]")
    except ConditionsError as error:
        problems["filters"] = str(error)
    except ApiError:
        problems["filters"] = TOO_MANY
    return found


def _arguments(typed: Mapping[str, str], filters: str, problems: dict[str, str]) -> ScanArguments:
    """The valid arguments; each parameter is read alone, so that all problems are told at once."""
    valid: dict[str, str] = {}
    for name in PROBLEMS:
        if not typed[name]:
            continue
        try:
            read_arguments(ScanArguments, {name: typed[name]})
        except ApiError:
            problems[name] = PROBLEMS[name]
        else:
            valid[name] = typed[name]
    if filters and "filters" not in problems:
        valid["filters"] = filters
    return read_arguments(ScanArguments, valid)


def _text(value: object) -> str:
    # A whole number is written as people write it; `repr` of any other is exact.
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
