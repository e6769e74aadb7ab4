"""Spellings: what agents and programs write for a value, as the argument models take it.

Small models and hosts send a number, a list or nothing as text, one item for a list, a name in
another case. What cannot be read stays as it is, so that the model of the arguments refuses it in
its own words. REST decodes only what the interface has no error for (`STRICT` is the rest).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.filters.kinds import KINDS
from mcp_server.operations.arguments import MAX_FILTERS, MAX_WORD
from mcp_server.operations.schemas import Schema, input_schema
from mcp_server.operations.table import Operation

STRICT: Final = frozenset(
    ("family", "direction", "status", "max_distance_pct", "filters", "limit", "offset", "outcome")
)
"""Parameters of REST for which the interface names an error, whatever route takes them."""

NUMBER: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<currency>[$€£]?)(?P<digits>\d{1,3}(?:[,_' ]\d{3})+|\d+)?"
    r"(?P<rest>(?:\.\d*)?(?:e[+-]?\d+)?)"
    r" ?(?:(?P<many>k|m|mn|million|b|bn|billion|t|tn|trillion)|(?P<cent>%|pct|percent|per cent)"
    r"|(?P<times>x))?",
    re.IGNORECASE,
)
"""A number with a currency in front, groups of thousands, per cent or a unit behind."""

SIGNS: Final = {"%": "%", "0..100": "%", "$": "$", "x": "%x", "ratio": "%x"}
"""The signs that a number of each unit may have; one of another unit is another number."""

MANY: Final = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
BOOLEANS: Final = {"true": True, "yes": True, "false": False, "no": False}
STATES: Final = {"triggered": "in_progress", "running": "in_progress"}
"""What pages and people call a status, by its own name."""
NOTHING: Final = ("", "null", "none", "undefined")
TRIANGLES: Final = re.compile(r"((symmetrical|symmetric|ascending|descending)_)?triangles?")
"""The family of all triangles and its types, which stand in `pattern_type`."""
LISTED: Final = re.compile(r"\[\s*[^\[\]]*\]")
WORD: Final = re.compile(r"(['\"]?)([^'\"]+)\1")
"""A list without the quotes of JSON, and a word of it."""
OPS: Final = {"==": "=", "=<": "<=", "=>": ">=", "≤": "<=", "≥": ">="} | {
    word: op
    for op, words in {"<": "lt below", ">": "gt above", "<=": "lte", ">=": "gte", "=": "eq"}.items()
    for word in words.split()
}


def spelled(
    operation: Operation, sent: Mapping[str, Any], strict: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The arguments of an operation from what was sent; those of `strict` stay as they are, and an
    optional one that says nothing is left out.
    """
    schema = input_schema(operation)
    fields, required = schema["properties"], schema.get("required", ())
    taken = {}
    for name, raw in sent.items():
        if name in strict or name not in fields:
            taken[name] = raw
        elif name in required or not _is_nothing(raw):
            taken[name] = _reader(name, fields[name])(raw)
    return taken


def _is_nothing(raw: object) -> bool:
    return raw is None or (isinstance(raw, str) and raw.strip().lower() in NOTHING)


def _reader(name: str, field: Schema) -> Callable[[Any], Any]:
    """What reads a value of an argument, by its schema."""
    if name == "filters":
        return predicates
    if field.get("type") == "array":
        return words
    if field.get("type") in ("integer", "number"):
        return lambda raw: number(raw, "%" if name.endswith("_pct") else "")
    if field.get("type") == "boolean":
        return boolean
    if "enum" in field:
        return lambda raw: choice(raw, field["enum"], family=name == "family")
    return _text


def _text(raw: Any) -> Any:  # noqa: ANN401 - any JSON
    read = _json(raw) if isinstance(raw, str) and raw.strip()[:1] in ('"', "[") else raw
    if isinstance(read, list) and len(read) == 1:
        read = read[0]
    if isinstance(raw, str) and not isinstance(read, str):
        return raw  # JSON of something else, which is refused as it was sent
    # A symbol may be digits only.
    return str(read) if isinstance(read, int) and not isinstance(read, bool) else read


def number(raw: Any, unit: str = "") -> Any:  # noqa: ANN401
    """The number of a text such as `40`, `40%`, `$1,500` or `2B`, if its signs are those of a unit;
    `200%` of a ratio are 2.
    """
    if not isinstance(raw, str) or len(raw) > MAX_WORD:
        return raw
    found = NUMBER.fullmatch(raw.strip().replace("\N{MINUS SIGN}", "-"))
    if found is None or not re.search(r"\d", found["digits"] or found["rest"]):
        return raw
    signs = f"{found['currency']}{'%' * bool(found['cent'])}{'x' * bool(found['times'])}"
    if signs and signs not in [*SIGNS.get(unit, "")]:
        return raw
    digits = re.sub(r"\D", "", found["digits"] or "")
    value = float(f"{found['sign']}{digits or 0}{found['rest']}")
    value *= MANY.get((found["many"] or "").lower()[:1], 1.0)
    value /= 100.0 if signs == "%" and "x" in SIGNS[unit] else 1.0
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def boolean(raw: Any) -> Any:  # noqa: ANN401
    """The truth value of a text such as `true`."""
    return BOOLEANS.get(raw.strip().lower(), raw) if isinstance(raw, str) else raw


def choice(raw: Any, choices: Iterable[str], *, family: bool = False) -> Any:  # noqa: ANN401
    """The one of our names that a text is, in any case and with any separator."""
    raw = _text(raw)
    if not isinstance(raw, str) or len(raw) > MAX_WORD:
        return raw
    plain = re.sub(r"[\s_/-]+", "_", raw.strip().casefold()).removeprefix("_")
    if found := re.fullmatch(r"(\w+?)_?:?(asc|desc)(ending)?", plain.replace(":", "_")):
        plain = f"{'-' * (found[2] == 'desc')}{found[1].rstrip('_')}"
    elif raw.strip().startswith("-"):
        plain = f"-{plain}"
    if family:
        plain = "triangle" if TRIANGLES.fullmatch(plain) else plain.removesuffix("s")
    plain = plain if plain in choices else STATES.get(plain, plain)
    return plain if plain in choices else raw


def words(raw: Any) -> Any:  # noqa: ANN401
    """A list of words from its JSON text, or from a text with commas or blanks between them."""
    if not isinstance(raw, str) or not raw.strip():
        return raw
    if not raw.lstrip().startswith("["):
        return _words(raw)
    read = _json(raw)
    if isinstance(read, list) or not LISTED.fullmatch(raw.strip()):
        return read
    # As Python prints a list, or without any quotes.
    found = [WORD.fullmatch(word) for word in _words(raw.strip()[1:-1])]
    return [word[2] for word in found if word] if all(found) else raw


def _words(raw: str) -> list[str]:
    return [word for word in re.split(r"[,;\s]+", raw) if word]


def predicates(raw: Any) -> Any:  # noqa: ANN401
    """A list of predicates from its JSON text, or from one predicate; each in our spelling."""
    if isinstance(raw, str) and len(raw) <= MAX_FILTERS:
        raw = _json(raw)
    if isinstance(raw, dict):
        raw = [raw]
    return [_predicate(_json(item)) for item in raw] if isinstance(raw, list) else raw


def _predicate(raw: Any) -> Any:  # noqa: ANN401
    if not isinstance(raw, dict):
        return raw
    # Hosts with strict schemas send null for what a predicate does not have.
    parts = {name: part for name, part in raw.items() if not _is_nothing(part)}
    parts["kind"] = choice(parts.get("kind"), KINDS)
    kind = KINDS.get(parts["kind"]) if isinstance(parts["kind"], str) else None
    if kind is None:
        return parts
    if isinstance(op := parts.get("op"), str):
        parts["op"] = OPS.get(op.strip().lower(), op.strip())
    if kind.takes != "number" and parts.get("op") == "=":
        del parts["op"]
    if isinstance(period := parts.get("period"), float) and period.is_integer():
        parts["period"] = int(period)
    if "value" in parts:
        read = {"boolean": boolean, "choice": _text}.get(
            kind.takes, partial(number, unit=kind.unit)
        )
        parts["value"] = read(parts["value"])
    return parts


def _json(raw: Any) -> Any:  # noqa: ANN401
    if not isinstance(raw, str):
        return raw
    try:
        return decode(raw)
    except JsonError:
        return raw
