"""Sample: the few real bars that the project ships, and the reference table for their symbols.

The files are in `shipped/`; `shipped/SAMPLE.md` says where they come from.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final

from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import Reference, read_reference

SAMPLE_SESSION: Final = dt.date(2009, 9, 25)
"""The session that the sample night describes."""

_SHIPPED: Final = Path(__file__).parent / "shipped"


def sample_source() -> TableSource:
    """The sample's bars, unadjusted; the splits are in its reference table."""
    return TableSource(_SHIPPED / "sample.csv.gz")


def sample_reference() -> Reference:
    """The sample's reference table: five listings with bars and one without."""
    return read_reference(_SHIPPED / "sample_reference.csv")
