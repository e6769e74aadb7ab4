"""Scan query: the address of the screen, read into arguments of the scan and written again.

An address has the API's own parameters, and those of how rows are shown. The form of the page also
sends the lines of its builder, one by one, and fields that are blank; `address` says the same in
the parameters. A line is a condition, which becomes a predicate of the filter language; it is kept
as it was typed until it can be applied, so that nothing typed is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pydantic import ValidationError

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.filters.filters import (
    MAX_PREDICATES,
    Predicate,
    PredicateError,
    in_order,
    read_predicate,
)
from mcp_server.filters.kinds import KINDS
from mcp_server.operations.arguments import MAX_FILTERS, MAX_WORD, NUMBER, ScanArguments
from mcp_server.operations.screens import (
    DEFAULTS,
    address_of,
    as_shown,
    parameter_text,
    screen_text,
)
from screener.web.market.columns import (
    COLUMNS,
    USUAL,
    ScreenColumn,
    column_of,
    column_of_order,
    columns_text,
    read_columns,
)
from screener.web.market.condition_words import FIELDS, Field

PARTS = ("kind", "op", "value", "period")
"""The fields of one line of the form; every line sends all four."""

ADD = "add"
"""The field of the form that adds a line of a kind."""

COLUMN = "column"
"""The field of the form that names a column, once for each that is chosen."""

PROBLEMS: Mapping[str, str] = {
    "family": "Choose one of the five families, or all.",
    "direction": "Choose bullish, bearish or both.",
    "status": "Choose forming, triggered or all.",
    "max_distance_pct": "The distance to the trigger is a number of at least 0, such as 5.",
    "limit": "The rows of a page are a whole number from 1 to 200.",
    "offset": "The first row of a page is a whole number.",
    "sort": "Choose an order from the list.",
}
"""What to do about a parameter of the scan that is not valid."""

VIEWS = ("table", "charts")
"""How rows may be shown."""

VIEW_PROBLEMS: Mapping[str, str] = {
    "view": "Choose the table or the charts.",
    "columns": "Choose columns from the list.",
}
"""What to do about a parameter of how rows are shown."""


UNREADABLE = "The conditions in this URL cannot be read. Start again from those below."
UNKNOWN = "This URL has a condition that does not exist. Choose one from the list."
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


@dataclass(frozen=True)
class Query:
    """What a visitor asked for."""

    typed: Mapping[str, str]
    """Every parameter as it was typed, or its default; one that is valid in one spelling."""
    conditions: Sequence[Condition] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the parameters, by their names."""
    arguments: ScanArguments = field(default_factory=ScanArguments)
    """Those that are valid."""
    view: str = DEFAULTS["view"]
    columns: Sequence[str] = USUAL
    """What rows show, by the names of `screener.web.market.columns`."""

    @property
    def failed(self) -> bool:
        """Whether it cannot be answered as it was asked."""
        return bool(self.problems) or any(one.problem for one in self.conditions)

    @property
    def is_plain(self) -> bool:
        """Whether it asks for all setups of a status."""
        chosen = ("family", "direction", "max_distance_pct", "offset")
        return not self.conditions and all(self.typed[name] == DEFAULTS[name] for name in chosen)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters that say the same, without those that are the default."""
        asked = self.arguments.model_dump(exclude_none=True, exclude_unset=True)
        texts = {name: parameter_text(value) for name, value in asked.items() if value != []}
        return texts | ({"status": self.typed["status"]} if "status" in texts else {})

    @property
    def tab(self) -> str:
        """The status whose tab is shown."""
        return self.typed["status"] or self.arguments.status

    def on(self, status: str) -> Query:
        """This query on the tab of a status."""
        arguments = self.arguments.model_copy(update={"status": status})
        return replace(self, typed={**self.typed, "status": status}, arguments=arguments)

    @cached_property
    def all_columns(self) -> Mapping[str, ScreenColumn]:
        """The columns of its rows: the symbol, that of each condition and that of the order, then
        the chosen ones.
        """
        first, *others = self.columns
        order = [name for name in column_of_order(self.arguments.sort) if name not in others]
        conditions = dict(map(column_of, self.arguments.filters))
        return {
            first: COLUMNS[first],
            **conditions,
            **{name: COLUMNS[name] for name in (*order, *others) if name not in conditions},
        }

    @cached_property
    def shown(self) -> dict[str, str]:
        """How the rows are shown, as parameters."""
        return {"view": self.view, "columns": columns_text(self.columns)}

    @property
    def scan(self) -> dict[str, Any]:
        """The arguments of the scan that say the same, without those that are the default."""
        return self.arguments.model_dump(exclude_defaults=True, exclude_none=True)

    def address(self, **changes: str) -> str:
        """The address that says the same, but for the parameters that change.

        Lines that cannot be applied are in it as they were typed.
        """
        applied = address_of({**self.parameters, **self.shown, **changes})
        lines = [part for one in self.conditions if not one.predicate for part in one.parts]
        between = "&" if "?" in applied else "?"
        return f"{applied}{between}{urlencode(lines)}" if lines else applied

    @property
    def first_page(self) -> str:
        """The address of the same screen from its first row, without lines that are not applied."""
        return address_of({**self.parameters, **self.shown, "offset": "0"})

    @property
    def kept(self) -> str:
        """The text that a saved screen keeps of it."""
        return screen_text(self.arguments, self.shown)

    def without(self, position: int) -> str:
        """The address without one of the conditions, on the first page."""
        rest = [one for place, one in enumerate(self.conditions) if place != position]
        changed = replace(self, conditions=rest)
        filters = in_order(one.predicate for one in rest if one.predicate)
        text = parameter_text([one.canonical for one in filters]) if filters else ""
        return changed.address(filters=text, offset="0")


def read_query(items: Iterable[tuple[str, str]]) -> tuple[Query, bool]:
    """The query of an address, and whether the form sent it, so that `address` says it in less."""
    fields: dict[str, list[str]] = {}
    for name, value in items:
        fields.setdefault(name, []).append(value)
    last = {name: values[-1].strip() for name, values in fields.items()}
    if COLUMN in fields:
        last["columns"] = ",".join(fields[COLUMN])
    typed = {name: last.get(name) or default for name, default in DEFAULTS.items()}
    problems: dict[str, str] = {}
    conditions = _conditions(fields, typed["filters"], last.get(ADD, ""), problems)
    values: dict[str, Any] = {name: typed[name] for name in PROBLEMS if typed[name]}
    if "filters" not in problems:
        values["filters"] = in_order(one.predicate for one in conditions if one.predicate)
    arguments = _arguments(values, problems)
    view, columns = _shown(typed, problems)
    is_of_form = not fields.keys().isdisjoint((ADD, COLUMN, *PARTS)) or "" in last.values()
    read = arguments.model_dump(exclude_none=True, exclude_unset=True, exclude={"filters"})
    typed |= {n: parameter_text(value) for n, value in read.items() if n not in problems}
    return Query(typed, conditions, problems, as_shown(arguments), view, columns), is_of_form


def _shown(typed: Mapping[str, str], problems: dict[str, str]) -> tuple[str, Sequence[str]]:
    """The view and the columns that are asked for; for one that does not exist, the usual."""
    view = typed["view"] if typed["view"] in VIEWS else DEFAULTS["view"]
    columns = read_columns(typed["columns"])
    wrong = {"view": view != typed["view"], "columns": columns is None}
    problems |= {name: VIEW_PROBLEMS[name] for name in wrong if wrong[name]}
    return view, columns or USUAL


def read_address(address: str) -> Query:
    """The query of an address that `Query.address` wrote, or of a link to it."""
    return read_query(parse_qsl(address.partition("?")[2], keep_blank_values=True))[0]


def _arguments(values: Mapping[str, Any], problems: dict[str, str]) -> ScanArguments:
    """The valid ones of some arguments; what is wrong with each of the others is a problem."""
    try:
        return ScanArguments.model_validate(values)
    except ValidationError as error:
        wrong = {str(one["loc"][0]) for one in error.errors()}
    problems |= {name: PROBLEMS[name] for name in wrong}
    usual = {**values, **{name: DEFAULTS[name] for name in wrong}}
    return ScanArguments.model_validate({name: text for name, text in usual.items() if text})


def _conditions(
    fields: Mapping[str, Sequence[str]], filters: str, add: str, problems: dict[str, str]
) -> list[Condition]:
    """The lines of an address: those of `filters`, those of the form, and a new one of a kind."""
    conditions: list[Condition] = []
    try:
        conditions += _linked(filters) if filters else ()
        conditions += _typed(fields)
        conditions += _typed({"kind": [add]}) if add else ()
        _check_count(in_order(one.predicate for one in conditions if one.predicate))
    except ConditionsError as error:
        problems["filters"] = str(error)
    return conditions


def _typed(parts: Mapping[str, Sequence[str]]) -> list[Condition]:
    """The lines that the form sent, by its fields.

    Raises:
        ConditionsError: a line is of no kind, or there are too many.
    """
    columns = (parts.get(name, ()) for name in PARTS)
    lines = [line for line in zip_longest(*columns, fillvalue="") if line[0]]
    _check_count(lines)
    return [_condition(*(text.strip()[:MAX_WORD] for text in line)) for line in lines]


def _linked(text: str) -> list[Condition]:
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
    lines = [_of_item(item) for item in raw]
    predicates = [one.predicate for one in lines if one.predicate]
    return lines if len(predicates) < len(lines) else list(map(_line, in_order(predicates)))


def _condition(kind: str, op: str, value: str, period: str) -> Condition:
    if kind not in KINDS:
        raise ConditionsError(UNKNOWN)
    typed = Condition(kind, op, value, period)
    if not value:
        return typed
    raw = {"kind": kind, "op": op, "value": _value(kind, value), "period": period}
    return _checked(typed, {name: part for name, part in raw.items() if part != ""})


def _of_item(item: Mapping[str, Any]) -> Condition:
    kind = item.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConditionsError(UNKNOWN)
    op, value, period = (parameter_text(item.get(name, ""))[:MAX_WORD] for name in PARTS[1:])
    return _checked(Condition(kind, op, value, period), item)


def _checked(typed: Condition, raw: Mapping[str, object]) -> Condition:
    try:
        return _line(read_predicate(KINDS[typed.kind], raw))
    except PredicateError:
        return replace(typed, problem=_advice(typed))


def _line(predicate: Predicate) -> Condition:
    parts = predicate.canonical
    op, value, period = (parameter_text(parts.get(name, "")) for name in PARTS[1:])
    return Condition(predicate.kind.name, op, value, period, predicate=predicate)


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


def _check_count(lines: Sequence[object]) -> None:
    if len(lines) > MAX_PREDICATES:
        raise ConditionsError(TOO_MANY)
