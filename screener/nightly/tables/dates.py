"""Dates: convert a column of dates, as people and programs write them, to day numbers.

A moment has the date of its own zone: of the offset that is written behind it, or UTC for an epoch,
unless it is the evening on which the session of the next day begins (`evening_of`).
Whether 03/04/2024 is in March or in April is decided over the whole column, or not at all.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import polars as pl

from screener.nightly.bars import to_day
from screener.nightly.errors import SourceError
from screener.nightly.tables.raw import RawTable

NEW_YORK: Final = "America/New_York"
CRYPTO_TICKER: Final = "X:"
"""Massive's prefix for crypto pairs in its day files."""

TWO_NUMBERS: Final = (
    r"^(?<first>\d{1,2})[-./ ](?<second>\d{1,2})[-./ ](?<year>\d{4}|\d\d)(?:[^\d:]|$)"
)
"""A date of which either number may be the day."""
DAY_FIRST: Final = TWO_NUMBERS.replace("first", "day").replace("second", "month")
MONTH_FIRST: Final = TWO_NUMBERS.replace("first", "month").replace("second", "day")
YEAR_FIRST: Final = r"^(?<year>\d\d)[-./ ](?<month>\d{1,2})[-./ ](?<day>\d\d)(?:[^\d:]|$)"
_ITS_DATE: Final = r"^(\d{1,2}[-./ ]\d{1,2}[-./ ](?:\d{4}|\d\d))(?:[^\d:]|$)"
_WEEKDAY: Final = r"^(?:\p{L}{2,9}\.?,? )?"
_MONTH: Final = r"(?<month>\p{L}{3,10})\.?"
PATTERNS: Final = (
    r"^(?<year>\d{4})[-./ 年년] ?(?<month>\d{1,2})[-./ 月월] ?(?<day>\d{1,2})(?:\D|$)",
    r"^(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)(?:[ T]|$)",
    rf"{_WEEKDAY}{_MONTH} (?<day>\d{{1,2}})(?:\p{{L}}\p{{L}})?,? (?<year>\d{{4}})",
    rf"{_WEEKDAY}(?<day>\d{{1,2}})\.?[-/ ]?{_MONTH}[-/, ]*(?<year>\d{{4}}|\d\d)(?:\D|$)",
    TWO_NUMBERS,
)
_MONTHS: Final = (
    *("jan ene gen", "feb fév fev", "mar mär mrz maa", "apr abr avr", "may mai mag mei maj"),
    *("jun juin giu", "jul juil lug", "aug ago aoû aou", "sep set", "oct okt ott out", "nov"),
    "dec dez dic déc",
)
MONTHS: Final = {word: n for n, words in enumerate(_MONTHS, 1) for word in words.split()}
"""How the names of months begin, in the languages of `screener.nightly.tables.columns`."""
CENTURY: Final = 70
"""A year of two digits from here on is in the 20th century."""

# An epoch below the bound is in seconds, milliseconds or microseconds; the factor gives
# microseconds. Each bound is the year 5138 in its unit.
_EPOCHS: Final = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))
_MICROSECONDS_A_DAY: Final = 86_400_000_000
_NANOSECONDS_A_MINUTE: Final = 60_000_000_000
_FOUR_DIGITS: Final = to_day(dt.date(1000, 1, 1))
"""Polars reads 01-02-24 as a day of the year 1."""
_CALENDAR: Final = (to_day(dt.date(1700, 1, 1)), to_day(dt.date.max))
"""Days on which there may be bars. The years of Persia are earlier."""
_SERIAL: Final = (30_000, 80_000)
"""Days as spreadsheets count them, from 1982 to 2119; as an epoch they would be one day of 1970."""
_SERIAL_ZERO: Final = to_day(dt.date(1899, 12, 30))
_DATE_ALONE: Final = r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}$"
_TIME: Final = r"(?:^|[T ])(?<hour>\d{1,2}):(?<minute>\d\d)(?::[\d.]+)?\s*(?<half>[AaPp][Mm])?"
_COMPACT_TIME: Final = r"^(?:\d{8}[T ])?(?<hour>\d\d)(?<minute>\d\d)(?:\d\d)?$"
EVENING: Final = 600
"""The minute of the UTC day from which on a moment may belong to the next day: no midnight on earth
is earlier."""
MIDNIGHTS: Final = 1260
"""The minute from which on Europe's midnights are."""
STRAY: Final = 0.02
"""A smaller share of moments on other days does not count."""
ORDERED_ROWS: Final = 3
WEEKDAY_ROWS: Final = 5
"""The fewest dates whose order, or whose days of the week, show how they are to be read."""


def day_of(raw: RawTable, column: str) -> pl.Expr:
    """Days since 1970-01-01 of a column of any kind; null where a value is not a date.

    Reads dates, datetimes, texts, `YYYYMMDD`, the days of spreadsheets, and epochs in seconds,
    milliseconds, microseconds or nanoseconds. The first rows show the form of texts.

    Raises:
        SourceError: the column has another type, or its texts can be read in two ways.
    """
    values, dtype = pl.col(column), raw.schema[column]
    if dtype == pl.Date:
        days = values.cast(pl.Int32)
    elif dtype == pl.Datetime:
        days = values.dt.date().cast(pl.Int32)
    elif dtype.is_numeric():
        days = _numeric_day(values)
    elif dtype == pl.String:
        days = _text_day(raw, column)
    else:
        raise SourceError(
            f"{raw.label}: the column {column} holds no dates but {dtype.base_type()}; write "
            "them as YYYY-MM-DD."
        )
    return pl.when(days.is_between(*_CALENDAR)).then(days)


def evening_of(raw: RawTable, day: pl.Expr, column: str, symbol: str | None) -> pl.Expr | None:
    """Which moments are of the evening before their session; None if none is.

    Tokyo's midnight is 15:00 UTC of the day before, and Sydney opens at 23:00: the evenings of such
    a market are of Sundays, and never of Fridays and Saturdays. What trades every day is dated by a
    midnight elsewhere if its evenings are an hour apart in summer and winter. Each symbol is
    decided by its own moments.
    """
    minute = _minute(column, raw.schema[column])
    if minute is None or (raw.head.select(minute.max()).item() or 0) < EVENING:
        return None
    key = pl.lit("") if symbol is None else pl.col(symbol).cast(pl.String)
    moments = raw.rows.select(key.alias("key"), day.alias("day"), minute.alias("minute"))
    weekday = (pl.col("day") + 3) % 7
    late = (
        moments.filter(pl.col("minute") >= EVENING)
        .group_by("key")
        .agg(
            pl.len().alias("all"),
            (weekday == 6).sum().alias("sundays"),
            weekday.is_between(4, 5).sum().alias("others"),
            pl.col("minute").unique().sort().alias("minutes"),
        )
    )
    first, last = pl.col("minutes").list.first(), pl.col("minutes").list.last()
    eves = pl.col("others") <= STRAY * pl.col("all")
    clocks = (first >= MIDNIGHTS) & (last - first == 60) & (pl.col("minutes").list.len() == 2)
    few = (pl.col("minutes").list.len() <= 2) & (pl.col("sundays") > 0)
    found = late.filter(few & (eves | clocks)).collect()["key"].to_list()
    return ((minute >= EVENING) & key.is_in(found)).fill_null(value=False) if found else None


def is_timed(raw: RawTable, column: str) -> bool:
    """Whether a column of dates or of times may have a time in it."""
    first = raw.head[column]
    if first.dtype == pl.String:
        return not first.str.contains(_DATE_ALONE).all()
    return first.dtype != pl.Date


def time_of(raw: RawTable, column: str) -> pl.Expr | None:
    """The time of day of each row; None if the first rows have no time, or all have the same."""
    first, dtype = raw.head[column], raw.schema[column]
    if dtype == pl.String:
        first = first.filter(~first.str.contains(_DATE_ALONE))
    minute = _minute(column, dtype) if len(first) else None
    if minute is None or first.to_frame().select(minute.drop_nulls().n_unique()).item() < 2:
        return None
    return (minute.fill_null(0).cast(pl.Int64) * _NANOSECONDS_A_MINUTE).cast(pl.Time)


def _minute(column: str, dtype: pl.DataType) -> pl.Expr | None:
    """The minute of the day of moments in a column of dates or of times; None without times."""
    values = pl.col(column)
    if dtype in (pl.Datetime, pl.Time):
        return (values.dt.hour().cast(pl.Int32) * 60 + values.dt.minute()).cast(pl.Int32)
    if dtype.is_numeric():
        return _numeric_minute(values)
    if dtype != pl.String:
        return None
    text = values.str.strip_chars()
    number = text.cast(pl.Float64, strict=False)
    clocks = (text.str.extract_groups(pattern).struct for pattern in (_TIME, _COMPACT_TIME))
    first, compact = (
        cells.field("hour").cast(pl.Int32) * 60 + cells.field("minute").cast(pl.Int32)
        for cells in clocks
    )
    half = text.str.extract(_TIME, 3).str.to_lowercase()
    later = pl.when(half.is_null()).then(first)
    noon = later.otherwise(first % 720 + (half == "pm").cast(pl.Int32) * 720)
    return pl.coalesce(noon, compact, _numeric_minute(number))


def session_of(window: str, ticker: str) -> pl.Expr:
    """The day of a window that opens at midnight, in New York or, for crypto, in UTC."""
    opened = pl.from_epoch(pl.col(window).cast(pl.Int64, strict=False), "ns").dt
    there = opened.replace_time_zone("UTC").dt.convert_time_zone(NEW_YORK)
    crypto = pl.col(ticker).cast(pl.String).str.starts_with(CRYPTO_TICKER)
    return pl.when(crypto).then(opened.date()).otherwise(there.dt.date()).cast(pl.Int32)


def _text_day(raw: RawTable, column: str) -> pl.Expr:
    """The days of texts in the form that reads the most of the first ones."""
    text, head = pl.col(column).str.strip_chars(), raw.head[column]
    given = len(head) - head.null_count()
    iso = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32)
    iso = pl.when(iso >= _FOUR_DIGITS).then(iso)
    if head.to_frame().select(iso.count()).item() == given:
        return iso
    usual = pl.coalesce(iso, _numeric_day(text.cast(pl.Float64, strict=False)))
    read = head.to_frame().select(usual.count()).item()
    if read == given:
        return usual
    matches = {
        pattern: int(head.str.strip_chars().str.contains(pattern).sum()) for pattern in PATTERNS
    }
    pattern = max(matches, key=matches.__getitem__)
    if matches[pattern] <= read:
        return usual
    if pattern != TWO_NUMBERS:
        return _assembled(text, pattern)
    different = pl.col(column).unique(maintain_order=True).str.strip_chars()
    dates = raw.each(different.str.extract(_ITS_DATE).unique(maintain_order=True).drop_nulls())
    order = _day_order(dates, column, raw.label)
    form = _format(dates, order)
    alone = head.str.contains(_DATE_ALONE).all()
    if form is None:
        return _assembled(text, order)
    date = text if alone else text.str.extract(_ITS_DATE)
    return date.str.to_date(form, strict=False).cast(pl.Int32)


def _format(dates: pl.Series, order: str) -> str | None:
    """The one format of dates of two numbers, which polars reads faster than a pattern."""
    marks = dates.str.extract(r"(\D)").unique()
    widths = dates.str.extract(r"(\d+)$").str.len_bytes().unique()
    if len(marks) > 1 or len(widths) > 1 or order == YEAR_FIRST:
        return None
    first = "%d{0}%m{0}" if order == DAY_FIRST else "%m{0}%d{0}"
    return first.format(marks[0]) + ("%y" if widths[0] == len("24") else "%Y")


def _assembled(text: pl.Expr, pattern: str) -> pl.Expr:
    """The day of the year, month and day that a pattern finds in a text."""
    cells = text.str.extract_groups(pattern).struct
    year, month = cells.field("year"), cells.field("month")
    short = year.cast(pl.Int32) + pl.when(year.cast(pl.Int32) < CENTURY).then(2000).otherwise(1900)
    full = pl.when(year.str.len_chars() == 2).then(short).otherwise(year.cast(pl.Int32))
    word = month.str.to_lowercase()
    named = pl.coalesce(
        month.cast(pl.Int32, strict=False),
        *(word.str.slice(0, size).replace_strict(MONTHS, default=None) for size in (4, 3)),
    )
    written = pl.concat_str(full, pl.lit("-"), named, pl.lit("-"), cells.field("day"))
    return written.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32)


def _day_order(dates: pl.Series, column: str, label: str) -> str:
    """The pattern by which dates of two numbers are read: the day, the month or a short year first.

    A number over 12 is a day, unless the last ones are days: there are more of them than years.
    Else dates in order, and on weekdays, show how they are meant; and where numbers are separated
    by points, nobody writes the month first.
    """
    readings = [DAY_FIRST, MONTH_FIRST]
    cells = dates.str.extract_groups(TWO_NUMBERS).struct
    first, second, last = (cells.field(name).cast(pl.Int32) for name in ("first", "second", "year"))
    if last.is_between(1, 31).all() and (second <= 12).all() and last.n_unique() > first.n_unique():
        return YEAR_FIRST
    over = [((first > 12) & (second <= 12)).any(), ((second > 12) & (first <= 12)).any()]
    if all(over):
        raise SourceError(
            f"{label} mixes dates with the day first and with the month first in the column "
            f"{column}; write them as YYYY-MM-DD."
        )
    if any(over):
        return readings[over.index(True)]
    if dates.str.contains(".", literal=True).all():
        return readings[0]
    days = [dates.to_frame("text").select(_assembled(pl.col("text"), one)) for one in readings]
    likely = [_evidence(one.to_series()) for one in days]
    if likely[0] != likely[1]:
        return readings[likely.index(max(likely))]
    raise SourceError(
        f"{label} is ambiguous: {dates[0]} in the column {column} can have the day or the month "
        "first, and no row shows which; write dates as YYYY-MM-DD."
    )


def _evidence(days: pl.Series) -> int:
    """How well the days look like those of a file in order: 2 for weekdays in order, 1 for order.

    A few days in order, or on weekdays, show nothing.
    """
    if days.null_count() or len(days) < ORDERED_ROWS:
        return 0
    steps = days.diff().drop_nulls()
    if not ((steps > 0).all() or (steps < 0).all()):
        return 0
    return 1 + (len(days) >= WEEKDAY_ROWS and ((days + 3) % 7 < 5).all())


def _microseconds(numbers: pl.Expr) -> pl.Expr:
    """The microseconds of epochs, whose unit is recognised value by value."""
    epoch = numbers / 1_000
    for bound, factor in reversed(_EPOCHS):
        epoch = pl.when(numbers.abs() < bound).then(numbers * factor).otherwise(epoch)
    return epoch


def _numeric_day(values: pl.Expr) -> pl.Expr:
    numbers = values.cast(pl.Float64)
    written = (numbers >= 1900_01_01) & (numbers <= 2199_12_31)
    digits = numbers.cast(pl.Int64, strict=False).cast(pl.String)
    day = (_microseconds(numbers) / _MICROSECONDS_A_DAY).floor().cast(pl.Int32, strict=False)
    calendar = digits.str.to_date("%Y%m%d", strict=False).cast(pl.Int32)
    serial = numbers.floor().cast(pl.Int32, strict=False) + _SERIAL_ZERO
    counted = pl.when(numbers.is_between(*_SERIAL)).then(serial)
    return pl.when(written).then(calendar).otherwise(pl.coalesce(counted, day))


def _numeric_minute(values: pl.Expr) -> pl.Expr:
    numbers = values.cast(pl.Float64)
    minute = (_microseconds(numbers) % _MICROSECONDS_A_DAY / 60_000_000).floor()
    written = (numbers >= 1900_01_01) & (numbers <= 2199_12_31)
    plain = written | (numbers.abs() < _SERIAL[1])
    return pl.when(~plain).then(minute).cast(pl.Int32, strict=False)
