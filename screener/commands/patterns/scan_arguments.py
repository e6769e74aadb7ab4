"""The arguments of a scan, from what the command line gives; filters are written as `rsi<40`.

A filter is a kind, its period after a colon if it takes one, an operator and a value:
`sma_distance:50>0`, `industry=Software`, `sma_cross=true`. What may stand there is judged where the
filters of the API are, by `mcp_server.filters.filters`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from mcp_server.calls.errors import ApiError, did_you_mean
from mcp_server.filters.filters import (
    MAX_PREDICATES,
    Predicate,
    PredicateError,
    in_order,
    read_predicate,
)
from mcp_server.filters.kinds import KINDS, FilterKind
from mcp_server.operations.arguments import ScanArguments, read_arguments
from screener.settings.console import fail

MAX_TEXT = 200
"""Characters of one filter."""

PARTS = re.compile(r"\s*(\w+)\s*(?::\s*(\w+)\s*)?(<=|>=|<|>|=)(.*)", re.ASCII | re.DOTALL)
"""Kind, period, operator and value; each character can match in only one place."""


def scan_arguments(*, filters: Sequence[str] = (), **given: object) -> ScanArguments:
    """The arguments of the scan; what is None is not given."""
    raw = {"filters": filters_of(filters), **given}
    with refusing():
        return read_arguments(ScanArguments, {k: v for k, v in raw.items() if v is not None})


@contextmanager
def refusing() -> Iterator[None]:
    """Turn a refusal of an operation into its one line."""
    try:
        yield
    except ApiError as error:
        message = error.message.replace("max_distance_pct", "--max-distance")
        fail(message[0].lower() + message[1:])


def filters_of(texts: Sequence[str]) -> tuple[Predicate, ...]:
    """The filters of the scan. A text that is not a filter ends the command with one line that
    shows how to write it.
    """
    if len(texts) > MAX_PREDICATES:
        fail(f"at most {MAX_PREDICATES} filters can be applied together, not {len(texts)}.")
    return in_order(map(_predicate, texts))


def example(kind: FilterKind) -> str:
    """How a filter of a kind is written."""
    period = f":{kind.periods[0]}" if kind.periods else ""
    if kind.takes == "number":
        return f"{kind.name}{period}>0"
    return f"{kind.name}{period}={kind.choices[0] if kind.choices else 'true'}"


def _predicate(text: str) -> Predicate:
    parts = PARTS.fullmatch(text) if len(text) <= MAX_TEXT else None
    if parts is None:
        fail(_unreadable(text))
    name, period, op, value = parts.groups()
    kind = KINDS.get(name.lower())
    if kind is None:
        fail(
            f"--filter {text!r}: there is no filter {name!r}{_meant(name.lower(), KINDS)}. "
            "`screener scan --kinds` lists all."
        )
    try:
        return read_predicate(kind, _raw(kind, period, op, value.strip()))
    except PredicateError as error:
        meant = _meant(value.strip(), kind.accepted) if kind.choices else ""
        written = f"; write it as {example(kind)}" if period is None and kind.periods else ""
        fail(f"--filter {text!r}: {error}{meant}{written}.")


def _unreadable(text: str) -> str:
    if len(text) > MAX_TEXT:
        return f"--filter may have {MAX_TEXT} characters, not {len(text)}."
    kind = KINDS.get(text.partition(":")[0].strip().lower())
    written = example(kind) if kind else "rsi<40"
    return (
        f"--filter {text!r} is not a kind, an operator and a value; write it in quotes, such as "
        f"--filter '{written}', since a shell reads < and > as files."
    )


def _raw(kind: FilterKind, period: str | None, op: str, value: str) -> dict[str, object]:
    """The JSON values of a predicate, as far as its text tells them."""
    if period is not None and not kind.periods:
        raise PredicateError(f"{kind.name} takes no period")
    if kind.takes != "number" and op != "=":
        raise PredicateError(f"{kind.name} takes = and no {op}")
    raw: dict[str, object] = {"kind": kind.name, "value": _value(kind, value)}
    if kind.takes == "number":
        raw["op"] = op
    if period is not None:
        raw["period"] = period
    return raw


def _value(kind: FilterKind, text: str) -> object:
    if kind.takes == "choice":
        return text
    if kind.takes == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return float(text)
    except ValueError:
        return text


def _meant(word: str, known: Iterable[str]) -> str:
    meant = did_you_mean(word, known)
    return f" (d{meant[1:]})" if meant else ""
