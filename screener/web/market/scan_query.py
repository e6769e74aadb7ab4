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

import orjson
from pydantic import ValidationError

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError
from mcp_server.filters.filters import MAX_PREDICATES, Predicate, parse_filters
from mcp_server.filters.kinds import KINDS
from mcp_server.filters.scan_order import NEARNESS
from mcp_server.operations.arguments import MAX_FILTERS, MAX_WORD, NUMBER, ScanArguments
from screener.web.market.columns import (
    COLUMNS,
    USUAL,
    Column,
    column_of,
    columns_text,
    read_columns,
)
from screener.web.market.condition_words import FIELDS, Field

PATH = "/screen"

DEFAULTS: Mapping[str, str] = {
    "family": "",
    "direction": "",
    "status": "",
    "max_distance_pct": "",
    "filters": "",
    "sort": NEARNESS,
    "limit": "50",
    "offset": "0",
    "view": "table",
    "columns": "",
}
"""The parameters of an address, in their order, with what each means when it is left out: without a
status it is the first tab that has rows. The last two say how the page shows the rows."""

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

VIEW_PROBLEMS: Mapping[str, str] = {
    "view": "Choose the table or the charts.",
    "columns": "Choose columns from the list.",
}
"""Defaults of how rows are shown."""


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
    columns: Sequence[str] = USUAL[DEFAULTS["view"]]
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

    @property
    def predicates(self) -> Sequence[Predicate]:
        """What the conditions mean, in canonical order."""
        filters = self.arguments.filters
        return parse_filters(filters) if filters else ()

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters that say the same, without those that are the default."""
        texts = _texts(self.arguments.model_dump(exclude_none=True, exclude_unset=True))
        if "status" in texts:
            texts["status"] = self.typed["status"]
        return {name: text for name, text in texts.items() if text != DEFAULTS[name]}

    @property
    def api_parameters(self) -> dict[str, str]:
        """The parameters of REST that ask for the same rows."""
        return _texts(self.scan)

    @property
    def tab(self) -> str:
        """The status whose tab is shown."""
        return self.typed["status"] or self.arguments.status

    def on(self, status: str) -> Query:
        """This query on the tab of a status."""
        arguments = self.arguments.model_copy(update={"status": status})
        return replace(self, typed={**self.typed, "status": status}, arguments=arguments)

    @cached_property
    def all_columns(self) -> Mapping[str, Column]:
        """The columns of its rows: the symbol, that of each condition, then the chosen ones."""
        first, *others = ((name, COLUMNS[name]) for name in self.columns)
        return dict([first, *map(column_of, self.predicates), *others])

    @cached_property
    def shown(self) -> dict[str, str]:
        """How the rows are shown, as parameters."""
        return {"view": self.view, "columns": columns_text(self.columns, self.view)}

    @property
    def scan(self) -> dict[str, Any]:
        """The arguments of the scan that say the same, without those that are the default."""
        return self.arguments.model_dump(exclude_defaults=True, exclude_none=True)

    def address(self, **changes: str) -> str:
        """The address that says the same, but for the parameters that change.

        Lines that cannot be applied are in it as they were typed.
        """
        merged = {**self.parameters, **self.shown, **changes}
        items = [(n, merged[n]) for n in DEFAULTS if merged.get(n, "") not in ("", DEFAULTS[n])]
        items += [part for one in self.conditions if not one.predicate for part in one.parts]
        return f"{PATH}?{urlencode(items)}" if items else PATH

    @property
    def first_page(self) -> str:
        """The address of the same screen from its first row, without lines that are not applied.
        It has one spelling, so it tells one saved screen from another.
        """
        applied = [one for one in self.conditions if one.predicate]
        return replace(self, conditions=applied).address(offset="0")

    def without(self, position: int) -> str:
        """The address without one of the conditions, on the first page."""
        rest = [one for place, one in enumerate(self.conditions) if place != position]
        changed = replace(self, conditions=rest)
        return changed.address(filters=_filters_of(rest), offset="0")


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
    values = {name: typed[name] for name in PROBLEMS if typed[name]}
    filters = _filters_of(conditions)
    if filters and "filters" not in problems:
        values["filters"] = filters
    arguments = _arguments(values, problems)
    view, columns = _shown(typed, problems)
    is_of_form = not fields.keys().isdisjoint((ADD, COLUMN, *PARTS)) or "" in last.values()
    read = _texts(arguments.model_dump(exclude_none=True, exclude_unset=True, exclude={"filters"}))
    typed |= {name: text for name, text in read.items() if name not in problems}
    if arguments.max_distance_pct is not None and arguments.status == "all":
        # A triggered trade is near nothing: it is shown where it is asked for by itself.
        arguments = arguments.model_copy(update={"status": "forming"})
    return Query(typed, conditions, problems, arguments, view, columns), is_of_form


def _shown(typed: Mapping[str, str], problems: dict[str, str]) -> tuple[str, Sequence[str]]:
    """The view and the columns that are asked for; for one that does not exist, the usual."""
    view = typed["view"] if typed["view"] in USUAL else DEFAULTS["view"]
    columns = read_columns(typed["columns"], view)
    wrong = {"view": view != typed["view"], "columns": columns is None}
    problems |= {name: VIEW_PROBLEMS[name] for name in wrong if wrong[name]}
    return view, columns or USUAL[view]


def read_address(address: str) -> Query:
    """The query of an address that `Query.address` wrote, or of a link to it."""
    return read_query(parse_qsl(address.partition("?")[2], keep_blank_values=True))[0]


def _arguments(values: Mapping[str, str], problems: dict[str, str]) -> ScanArguments:
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
        # Each is valid; together they may be too many or too long.
        parse_filters(_filters_of(conditions) or "[]")
    except ConditionsError as error:
        problems["filters"] = str(error)
    except ApiError:
        problems["filters"] = TOO_MANY
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
    try:
        return [_of_predicate(predicate) for predicate in parse_filters(text)]
    except ApiError:
        return [_of_item(item) for item in raw]


def _filters_of(conditions: Sequence[Condition]) -> str:
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
        return replace(typed, problem=_advice(typed))
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


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: _number_text(values[name]) for name in DEFAULTS if name in values}


def _number_text(value: object) -> str:
    # A whole number is written as people write it; `repr` of any other is exact.
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
