"""Argument models: what each operation takes, read leniently and refused by name.

Both surfaces hand over raw values (REST: strings, MCP: JSON), so an integer may arrive as text.
Unknown arguments are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mcp_server.errors import ApiError

SYMBOL_PATTERN = re.compile(r"[A-Z0-9.]{1,24}")
MAX_SYMBOLS = 1_000
"""More symbols than any cap in one list are refused before they are looked at."""

INTEGER = re.compile(r"[+-]?\d{1,18}")


def _integer(value: object) -> int:
    if isinstance(value, str) and INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError
    return int(value)


def _clamped(low: int, high: int) -> BeforeValidator:
    return BeforeValidator(lambda value: min(max(_integer(value), low), high))


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


class Arguments(BaseModel):
    """No arguments; the base of the others."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FamilyArguments(Arguments):
    """An optional family."""

    family: Annotated[
        str | None,
        Field(
            description="rising_wedge, falling_wedge, bullish_pennant, bearish_pennant or "
            "triangle; all five when left out."
        ),
    ] = None


class SymbolArguments(Arguments):
    """A ticker."""

    symbol: Annotated[
        str,
        BeforeValidator(_upper),
        Field(description="Exchange symbol such as AAPL or BRK.B; case does not matter."),
    ]


class HistoryArguments(SymbolArguments):
    """A ticker's history, how much of it, and which outcomes."""

    limit: Annotated[
        int,
        _clamped(1, 100),
        Field(description="How many rows, newest entry first; clamped to 1..100."),
    ] = 50
    outcome: Annotated[
        Literal["all", "resolved", "open"],
        BeforeValidator(_lower),
        Field(description="all, resolved (win or loss) or open."),
    ] = "all"


class ChartArguments(SymbolArguments):
    """A setup of a ticker."""

    setup_id: Annotated[
        str, Field(description="From the patterns of the same symbol, same session.")
    ]


class SymbolsArguments(Arguments):
    """A whole tracked list."""

    symbols: Annotated[
        list[str],
        Field(max_length=MAX_SYMBOLS, description="The symbols to track, in the order to keep."),
    ]


_REQUIREMENTS = {
    "symbol": "symbol must be given, as text",
    "setup_id": "setup_id must be given, as text",
    "limit": "limit must be an integer",
    "offset": "offset must be an integer",
    "outcome": "outcome must be all, resolved or open",
    "symbols": f"symbols must be a list of at most {MAX_SYMBOLS} texts",
    "family": "family must be text",
}

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def read_arguments(model: type[ArgumentsT], raw: Mapping[str, Any]) -> ArgumentsT:
    """Read raw arguments by their model.

    Raises:
        ApiError: `bad_request`, naming the first parameter that does not fit.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        name = str(error.errors(include_url=False, include_input=False)[0]["loc"][0])
        raise ApiError("bad_request", f"{_REQUIREMENTS[name]}.") from error


def check_symbols(raw: Sequence[str]) -> list[str]:
    """Upper-case the symbols and drop repeats, keeping the order.

    Raises:
        ApiError: `invalid_symbol`, listing those that are not letters, digits and dots.
    """
    symbols = list(dict.fromkeys(symbol.strip().upper() for symbol in raw))
    rejected = [symbol[:64] for symbol in symbols if not SYMBOL_PATTERN.fullmatch(symbol)]
    if rejected:
        raise ApiError("invalid_symbol", details={"rejected": rejected})
    return symbols
