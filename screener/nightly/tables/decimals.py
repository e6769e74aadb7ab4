"""Numbers: read numbers as people and programs write them, such as 1,234.50 or 1.234,50 or 12.3M.

Whether a comma or a point is the decimal mark is decided over all values of the columns together,
never value by value: 1,234 alone could be either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from screener.nightly.errors import SourceError
from screener.nightly.tables.raw import RawTable

POINT: Final = "."
COMMA: Final = ","
MARKS: Final = (POINT, COMMA)
UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("k", "tsd"), 1e3),
    **dict.fromkeys(("m", "mn", "mio", "mln"), 1e6),
    **dict.fromkeys(("b", "bn", "mrd"), 1e9),
    **dict.fromkeys(("t",), 1e12),
}
"""Words behind a number that multiply it. Any other word there is a currency."""

# Spaces, apostrophes and the other mark group digits, by three, or by two as in India.
_GROUPS: Final = r"\s'\x{2019}\x{00A0}\x{202F}"
_NUMBER: Final = (
    r"^(?:[A-Za-z]{3}|\p{Sc})?\s*(?<sign>[-+\x{2212}]?)\s*\p{Sc}?"
    r"(?<whole>\d{1,3}(?:[GROUPS]\d{2,3})*[GROUPS]\d{3}|\d*)"
    r"(?:[MARK](?<part>\d*))?(?<power>[eE][-+]?\d+)?\s*(?:(?<unit>\p{L}{1,3})\.?|\p{Sc})?$"
)
# What shows that a mark is the decimal one: the other stands before it or groups digits, or the
# digits around it are no group of three. The last digits of 1.5e-05 are not those of a fraction.
_EVIDENCE: Final = (
    r"[OTHER]\d+[MARK]\d|\d[OTHER]\d+[OTHER]\d"
    rf"|^\D*[\d{_GROUPS}]*[MARK](?:\d{{1,2}}|\d{{4,}})(?:[eE][-+]?\d+)?\D*$"
    r"|^\D*0[MARK]\d|\d{4}[MARK]\d"
)


def number_columns(
    raw: RawTable, columns: Sequence[str], roles: Mapping[str, str]
) -> dict[str, pl.Expr]:
    """An expression for each column of numbers; a value that is no number becomes null.

    Raises:
        SourceError: a column holds something else, or its numbers can be read in two ways.
    """
    for name in columns:
        dtype = raw.schema[name]
        if not (dtype.is_numeric() or dtype in (pl.String, pl.Null)):
            raise SourceError(
                f"{raw.label}: the column {name} holds no numbers but {dtype.base_type()}; write "
                "one number in each cell."
            )
    written = [name for name in columns if raw.schema[name] == pl.String]
    if not written or is_plain(raw.head.select(written)):
        return {name: _cast(raw, name) for name in columns}
    marks = _marks(raw, written, roles.get("volume"))
    return {
        name: as_number(name, marks[name]) if name in marks else _cast(raw, name)
        for name in columns
    }


def _cast(raw: RawTable, name: str) -> pl.Expr:
    # A needless cast would stop polars from using the row groups' statistics of the column.
    values = pl.col(name)
    return values if raw.schema[name] == pl.Float64 else values.cast(pl.Float64, strict=False)


def _marks(raw: RawTable, written: Sequence[str], volume: str | None) -> dict[str, str]:
    """The decimal mark of each column: prices have one, and a volume may have another.

    Where the prices do not show theirs, the volume does, and the other way round; where neither
    does, columns of percentages do.
    """
    prices = raw.head.select(name for name in written if name != volume)
    volumes = raw.head.select(name for name in written if name == volume)
    rest = raw.head.select(pl.col(pl.String).exclude(written))
    shares = pl.DataFrame([column for column in rest if column.str.contains(r"\d\s?%$").any()])
    marks: dict[str, str] = {}
    for texts, others in ((prices, volumes), (volumes, prices)):
        if texts.columns:
            mark = decimal_mark([texts, others, shares], raw.label)
            marks |= dict.fromkeys(texts.columns, mark)
    return marks


def is_plain(texts: pl.DataFrame) -> bool:
    """Whether every text in some columns is a number as programs write them, or missing."""
    missing = sum(texts.null_count().row(0))
    unread = sum(texts.cast(pl.Float64, strict=False).null_count().row(0))
    return bool(missing == unread)


def decimal_mark(groups: Sequence[pl.DataFrame], label: str) -> str:
    """The decimal mark of the first group of columns; the others are asked if it does not show.

    Raises:
        SourceError: both marks are meant, or nothing shows which.
    """
    for texts in groups:
        shown = [mark for mark in MARKS if _shows(texts, mark)]
        if len(shown) > 1:
            raise SourceError(
                f"{label} writes numbers with decimal points and with decimal commas in the "
                f"columns {', '.join(texts.columns)}; write them all with a point."
            )
        if shown:
            return shown[0]
    example = _with_comma(groups[0])
    if example is None:
        return POINT
    raise SourceError(
        f"{label} is ambiguous: {example} can be thousands or a fraction, and no number in the "
        f"columns {', '.join(groups[0].columns)} shows which; write decimals with a point."
    )


def as_number(column: str, mark: str) -> pl.Expr:
    """The numbers in a column of texts; null where a text is none."""
    other = COMMA if mark == POINT else POINT
    pattern = _NUMBER.replace("GROUPS", _GROUPS + other).replace("MARK", mark)
    text = pl.col(column).str.strip_chars()
    cells = text.str.extract_groups(pattern).struct
    whole = cells.field("whole").str.replace_all(r"\D", "")
    digits = pl.concat_str(
        cells.field("sign").str.replace("\N{MINUS SIGN}", "-"),
        whole,
        pl.lit("."),
        cells.field("part").fill_null(""),
        cells.field("power").fill_null(""),
    )
    unit = cells.field("unit").str.to_lowercase().replace_strict(UNITS, default=1.0)
    return digits.cast(pl.Float64, strict=False) * unit


def _shows(texts: pl.DataFrame, mark: str) -> bool:
    other = COMMA if mark == POINT else POINT
    pattern = _EVIDENCE.replace("MARK", mark).replace("OTHER", other)
    return any(column.str.contains(pattern).any() for column in texts)


def _with_comma(texts: pl.DataFrame) -> str | None:
    """A number in which a comma may be either mark."""
    for column in texts:
        found = column.filter(column.str.contains(r"\d,\d{3}\D*$"))
        if len(found):
            return str(found[0])
    return None
