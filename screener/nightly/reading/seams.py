"""Seams: whether files of one symbol for successive years or months go on from one another.

Files that were fetched at different times are adjusted for different splits and dividends, and no
rule for single bars sees a step of a few percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from screener.nightly.bars import to_date
from screener.nightly.errors import RefusedInput
from screener.nightly.reading.source import ALIKE
from screener.nightly.tables.layout import BarsTable

LEVEL: Final = math.log(1.005)
"""Closes of dates that two files have differ by less, in the median."""
LONG: Final = 20
"""Rows of a file that show what its sessions do; of shorter ones only dates are compared."""
QUIET: Final = 0.1
"""No step in logs up to this one speaks against a seam ..."""
NEARLY_ALL: Final = 0.99
FURTHER: Final = 3.0
"""... nor one up to so many times those that nearly all sessions of the two files begin with."""
SESSION_DAYS: Final = 4
"""A step may be as much larger as the root of its days over these."""
UNIT: Final = math.log(100)
UNIT_TOLERANCE: Final = 0.2
"""A change from pounds to pence is mended later."""

_SAID: Final = "fetch both anew, or join them in one file if both are right."


def parted(tables: Sequence[BarsTable]) -> RefusedInput | None:
    """Why the files of a symbol are no one series, if the prices of two that follow disagree."""
    if len(tables) < 2:
        return None
    rows = ((table.label, _priced(table)) for table in tables)
    ordered = sorted(((label, frame) for label, frame in rows if len(frame)), key=_begin)
    reasons = (_reason(*before, *after) for before, after in pairwise(ordered))
    return next((RefusedInput("parted_files", reason) for reason in reasons if reason), None)


def goes_on(tables: Sequence[BarsTable], other: BarsTable) -> bool:
    """Whether a file adds dates to those of some, and has their prices on common dates."""
    rows = _priced(other)
    both = rows.join(pl.concat(map(_priced, tables)), on="date")
    alike = ((both["close_right"] / both["close"]).log().abs() <= ALIKE).all()
    return alike and both["date"].n_unique() < len(rows)


def _priced(table: BarsTable) -> pl.DataFrame:
    rows = table.frame.select("date", "open", "close")
    return rows.filter((pl.col("date") >= 0) & (pl.col("open") > 0) & (pl.col("close") > 0)).sort(
        "date"
    )


def _begin(file: tuple[str, pl.DataFrame]) -> int:
    return int(file[1]["date"][0])


def _reason(label: str, rows: pl.DataFrame, other: str, later: pl.DataFrame) -> str:
    if min(len(rows), len(later)) < LONG:
        return ""
    both = rows.join(later, on="date")
    if len(both):
        apart = float(np.median(np.log(both["close_right"] / both["close"])))
        day = to_date(both["date"][-1])
        said = f"On dates that both have, such as {day}, the prices of {other} are"
        said += f" {math.exp(apart):.4g} times those of {label}"
        return f"{said}; {_SAID}" if abs(apart) > LEVEL and not _is_unit(apart) else ""
    if (days := later["date"][0] - rows["date"][-1]) < 1:
        return ""  # parts of a table have rows of all dates
    step = math.log(later["open"][0] / rows["close"][-1])
    usual = float(np.quantile(np.concatenate(list(_steps(rows, later))), NEARLY_ALL))
    most = max(QUIET, FURTHER * usual) * math.sqrt(max(1, days / SESSION_DAYS))
    if abs(step) <= most or _is_unit(step):
        return ""
    return (
        f"{label} ends at {rows['close'][-1]:g} on {to_date(rows['date'][-1])}, and {other} begins "
        f"at {later['open'][0]:g} on {to_date(later['date'][0])}, which no session of theirs does; "
        f"{_SAID}"
    )


def _steps(*files: pl.DataFrame) -> Iterator[np.ndarray]:
    """The steps in logs from each close to the next open."""
    for rows in files:
        opened, close = rows["open"].to_numpy(), rows["close"].to_numpy()
        yield np.abs(np.log(opened[1:] / close[:-1]))


def _is_unit(step: float) -> bool:
    return abs(abs(step) - UNIT) < UNIT_TOLERANCE
