"""Sample: the few real bars that the project ships, and what is known of their symbols.

The files and where they come from are in `shipped/`, described in `shipped/SAMPLE.md`.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final

from nightly.reference import Reference, read_reference
from nightly.sources import TableSource

SAMPLE_SESSION: Final = dt.date(2012, 10, 3)
"""The session that the sample night describes."""

_SHIPPED: Final = Path(__file__).parent / "shipped"


def sample_source() -> TableSource:
    """The sample's bars as they were printed: the splits are the reference's to give."""
    return TableSource(_SHIPPED / "sample.csv.gz")


def sample_reference() -> Reference:
    """Five listings with bars and one without."""
    return read_reference(_SHIPPED / "sample_reference.csv")
