"""Argument models: what each operation takes.

Both surfaces pass raw values (REST: strings, MCP: JSON), so an integer may arrive as text. A
refusal names the argument that is wrong; what an operation does not have, its surface drops (REST)
or refuses (MCP).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from mcp_server.calls.errors import ApiError
from mcp_server.filters.filters import Predicate, read_filters
from mcp_server.filters.scan_order import RANK, SORTS
from mcp_server.filters.symbol_lists import MAX_LIST, WRITERS
from store.wire.families import Direction, Family
from store.wire.records import ChangeKind

MAX_OFFSET = 2**53
MAX_SYMBOLS = 200

MAX_WORD, MAX_SETUP_ID, MAX_FILTERS = 64, 128, 8192
"""Most characters of a word or number, of an id, and of a list of predicates."""

# A list of symbols is bounded by its request: 64 KB.
# A text is measured before any expression sees it.
INTEGER = re.compile(r"[+-]?[0-9]+")
# Each digit can match in only one place, so text that is not a number is refused in one pass.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _at_most(length: int) -> BeforeValidator:
    """Refuses a longer text; a bound in the schema would cost agents tokens."""

    def check(value: object) -> object:
        if isinstance(value, str) and len(value) > length:
            raise ValueError
        return value

    return BeforeValidator(check)


def _beginning(length: int) -> BeforeValidator:
    """Cuts a longer name, which names nothing: its answer is that of any unknown one."""
    return BeforeValidator(lambda value: value[:length] if isinstance(value, str) else value)


# Pydantic runs the validators of an annotation from the last to the first.
Word = _at_most(MAX_WORD)
Name = _beginning(MAX_WORD)


def _integer(value: object) -> int:
    if isinstance(value, str) and INTEGER.fullmatch(value.strip()):
        # Every integer is clamped; the first digits of a long one are too large already.
        sign = -1 if value.strip().startswith("-") else 1
        return sign * int(value.strip().lstrip("+-0")[:MAX_WORD] or "0")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError  # noqa: TRY004 - pydantic reports a ValueError
    return value


def _finite(value: object) -> object:
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise ValueError
    number = float(value) if isinstance(value, str | int | float) else math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError
    return number + 0.0  # of the two zeros, which count as equal, the plain one


def _few(value: object) -> object:
    if isinstance(value, list) and len(value) > MAX_SYMBOLS:
        raise ValueError
    return value


def _clamped(low: int, high: int) -> BeforeValidator:
    return BeforeValidator(lambda value: min(max(_integer(value), low), high))


class FiltersError(ValueError):
    """Why predicates are refused, in a refusal of its own."""

    def __init__(self, refusal: ApiError) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _predicates(value: object) -> tuple[Predicate, ...]:
    """The predicates of a JSON array as REST sends it, which is text, or as agents and commands do.
    Those that were read already stay.
    """
    if value is None or isinstance(value, tuple):
        return value or ()
    if not isinstance(value, str | list):
        raise ValueError  # noqa: TRY004 - pydantic reports a ValueError
    if len(value if isinstance(value, str) else orjson.dumps(value)) > MAX_FILTERS:
        raise ValueError
    try:
        return read_filters(value)
    except ApiError as error:
        raise FiltersError(error) from error


def _day(value: object) -> object:
    # Other forms of a date, such as its week or seconds since 1970, are read nowhere else.
    if not isinstance(value, str) or not DAY.fullmatch(value.strip()):
        raise ValueError
    return dt.date.fromisoformat(value.strip())


def _not_before_since(value: dt.date, info: ValidationInfo) -> dt.date:
    since = info.data.get("since")
    if since and value < since:
        raise ValueError
    return value


def _date(description: str) -> WithJsonSchema:
    # Some hosts refuse the format `date` of a text.
    return WithJsonSchema({"description": f"ISO date. {description}", "type": "string"})


def _upper(value: object) -> object:
    # Only ASCII: a German sharp s in upper case is "SS", which would be another ticker.
    return value.strip().upper() if isinstance(value, str) and value.isascii() else value


def _lower(value: object) -> object:
    if isinstance(value, str) and len(value) > MAX_WORD:
        raise ValueError
    return value.strip().lower() if isinstance(value, str) else value


Choice = BeforeValidator(_lower)
"""A word of ours in any case."""


def _order(value: str) -> str:
    if value not in SORTS:
        raise ValueError
    return value


class Arguments(BaseModel):
    """No arguments; the base of the others."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FamilyArguments(Arguments):
    """An optional family."""

    family: Annotated[
        str | None,
        # Any other name is read too: its answer is `unknown_family`, which lists the five.
        WithJsonSchema(
            {
                "description": "One of the five; all when left out.",
                "enum": list(Family),
                "type": "string",
            }
        ),
        Name,
    ] = None


class SymbolArguments(Arguments):
    """A ticker."""

    symbol: Annotated[
        str, BeforeValidator(_upper), Name, Field(description="Letters, digits, dots.")
    ]


class ChartArguments(SymbolArguments):
    """A setup of a ticker."""

    setup_id: Annotated[
        str,
        _beginning(MAX_SETUP_ID),
        Field(description="From the patterns of the same symbol, same session."),
    ]


FamilyFilter = Annotated[
    Literal["rising_wedge", "falling_wedge", "bullish_pennant", "bearish_pennant", "triangle"]
    | None,
    Choice,
    Field(description="One of the five; all when left out."),
]
DirectionFilter = Annotated[Direction | None, Choice, Field(description="Both when left out.")]
Limit = Annotated[int, _clamped(1, 200), Field(description="Rows of a page; clamped to 1..200.")]
Offset = Annotated[
    int, _clamped(0, MAX_OFFSET), Field(description="Rows to skip; below 0 counts as 0.")
]


class HistoryArguments(SymbolArguments):
    """A ticker's history: how much of it, which outcomes, and entered when."""

    limit: Annotated[
        int, _clamped(1, 100), Field(description="Rows, newest entry first; at most 100.")
    ] = 50
    outcome: Annotated[
        Literal["all", "resolved", "open"],
        Choice,
        Field(description="resolved: win or loss."),
    ] = "all"
    family: FamilyFilter = None
    since: Annotated[dt.date | None, BeforeValidator(_day), _date("First entry_date.")] = None
    until: Annotated[
        dt.date | None,
        BeforeValidator(_day),
        AfterValidator(_not_before_since),
        _date("Last entry_date."),
    ] = None


class RecordArguments(SymbolArguments):
    """A ticker, and of which family."""

    family: FamilyFilter = None


class ListArguments(Arguments):
    """Which symbols to keep of a market-wide list."""

    symbols: Annotated[
        list[Annotated[str, BeforeValidator(_upper), Name]] | None,
        BeforeValidator(_few),
        Field(description="Only these; all when left out."),
    ] = None
    tracked: Annotated[bool, Field(description="Only tickers on the watchlist.")] = False


class ScanArguments(ListArguments):
    """What to keep of the scan, and which page of it."""

    family: FamilyFilter = None
    direction: DirectionFilter = None
    status: Annotated[
        Literal["forming", "in_progress", "all"],
        Choice,
        Field(description="all: forming first."),
    ] = "forming"
    max_distance_pct: Annotated[
        Annotated[float, Field(ge=0)] | None,
        BeforeValidator(_finite),
        Word,
        Field(
            description="Keeps forming setups whose last close is within this absolute percent "
            "of the trigger; in-progress rows are not filtered by it.",
        ),
    ] = None
    filters: Annotated[
        tuple[Predicate, ...],
        PlainValidator(_predicates),
        PlainSerializer(lambda predicates: [one.canonical for one in predicates]),
        WithJsonSchema(
            {
                "description": "URL-encoded JSON array of at most 50 predicates; see the table.",
                "type": "string",
            }
        ),
    ] = Field(default_factory=tuple)
    sort: Annotated[
        str,
        AfterValidator(_order),
        Choice,
        WithJsonSchema(
            {
                "description": "`rank` (largest median winning trade first; with status all, "
                "forming first) or a column; a leading - reverses it. `nearness`: those within 2% "
                "of their trigger, then other forming ones, each by quality, then open trades, "
                "newest first; for the nearest first take `distance`. `trigger` is the entry of "
                "open trades, from which `stop` and `target` then count; `gain` is gain_pct. Rows "
                "without a number come last.",
                "enum": list(SORTS),
                "type": "string",
            }
        ),
    ] = RANK
    min_sample: Annotated[
        int | None,
        _clamped(0, MAX_OFFSET),
        Field(description="Minimum win_rate_trades: of the ticker or, usually, its family."),
    ] = None
    limit: Limit = 50
    offset: Offset = 0


class ScanSetupsArguments(ScanArguments):
    """What to keep of the scan, which page of it, and how much each row says."""

    rows: Annotated[
        Literal["compact", "full"],
        Choice,
        Field(description="compact; or full: at most 20 rows, family records once."),
    ] = "compact"


class ChangesArguments(ListArguments):
    """What to keep of the changes since the night before or a session, and which page of them."""

    change: Annotated[ChangeKind | None, Choice, Field(description="All when left out.")] = None
    since: Annotated[
        dt.date | None,
        BeforeValidator(_day),
        _date("A session: all changes after its night; since the night before when left out."),
    ] = None
    family: FamilyFilter = None
    direction: DirectionFilter = None
    limit: Limit = 50
    offset: Offset = 0


class UniverseArguments(Arguments):
    """What to look up in the universe, and which page of it; all of it without any of these."""

    search: Annotated[
        str | None,
        Word,
        Field(
            description="A symbol or its first letters, words of a name (even misspelt) or an "
            "industry, in any case and with any separators. The best match comes first.",
        ),
    ] = None
    limit: Annotated[
        int | None,
        _clamped(1, 200),
        Field(
            description="Rows of a page; clamped to 1..200. 50 when only search or offset is given."
        ),
    ] = None
    offset: Annotated[
        int | None, _clamped(0, MAX_OFFSET), Field(description="Rows to skip; below 0 counts as 0.")
    ] = None
    rows: Annotated[
        Literal["compact", "full"],
        Choice,
        Field(description="compact: symbol, name and industry."),
    ] = "full"


class SymbolsArguments(Arguments):
    """Symbols: a whole tracked list, or what to add or remove."""

    symbols: Annotated[list[str], Field(description="The whole list, in its order.")]


class EditArguments(Arguments):
    """What to add to and to remove from the tracked list; either or both."""

    add: Annotated[list[str], Field(description="Symbols to append.")] = []
    remove: Annotated[
        list[str],
        Field(description="Symbols to drop first; untracked ones are ignored."),
    ] = []


class ImportArguments(Arguments):
    """A list of symbols of another program."""

    text: Annotated[
        str,
        _at_most(MAX_LIST),
        Field(
            description="Symbols as TradingView or Finviz write them, such as "
            "`EXCHANGE:SYMBOL,SYMBOL`, or CSV with a column Symbol or Ticker; at most 1,000."
        ),
    ]


class ExportArguments(Arguments):
    """The form of the exported list."""

    format: Annotated[
        Literal["tradingview", "csv"],
        Choice,
        Field(description="tradingview: `EXCHANGE:SYMBOL,…`; csv: Symbol, Exchange (MIC), Name."),
    ] = "tradingview"


_REQUIREMENTS = {
    "symbol": f"symbol is required, as text of at most {MAX_WORD} characters",
    "setup_id": f"setup_id is required, as text of at most {MAX_SETUP_ID} characters",
    "limit": "limit must be an integer",
    "offset": "offset must be an integer",
    "change": "change must be new, triggered, stopped, reached or expired",
    "direction": "direction must be bullish or bearish",
    "status": "status must be forming, in_progress or all",
    "max_distance_pct": "max_distance_pct must be a number of at least 0",
    "filters": f"filters must be a JSON array of at most {MAX_FILTERS} characters",
    "sort": f"sort must be one of {', '.join(SORTS)}",
    "rows": "rows must be compact or full",
    "since": "since must be a date such as 2025-01-31",
    "until": "until must be a date such as 2025-01-31, not before since",
    "outcome": "outcome must be all, resolved or open",
    "search": f"search must be text of at most {MAX_WORD} characters",
    "symbols": f"symbols must be a list of strings, of a scan or of changes at most {MAX_SYMBOLS}",
    "tracked": "tracked must be true or false",
    "min_sample": "min_sample must be an integer",
    "add": "add must be a list of strings",
    "remove": "remove must be a list of strings",
    "text": f"text is required, of at most {MAX_LIST} characters",
    "format": f"format must be {' or '.join(WRITERS)}",
    "family": f"family must be one of {', '.join(Family)}",
}

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def read_arguments(model: type[ArgumentsT], raw: Mapping[str, Any]) -> ArgumentsT:
    """Validate raw arguments with their model.

    Raises:
        ApiError: `bad_request`, naming the first parameter that is not valid.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, FiltersError):
            raise cause.refusal from error
        name = str(first["loc"][0])
        raise ApiError("bad_request", f"{_REQUIREMENTS[name]}.") from error
