"""Reading: bars from files of many forms."""

from screener.nightly.reading.bucket import fetch_bars, is_bucket
from screener.nightly.reading.files import CSV, file_digest, suffix_of
from screener.nightly.reading.opening import Opened, open_source, open_symbol
from screener.nightly.reading.sorting import SortedSource
from screener.nightly.reading.source import BarSource, Loaded, Outline, Step, silent
from screener.nightly.reading.table import TableSource

__all__ = [
    "CSV",
    "BarSource",
    "Loaded",
    "Opened",
    "Outline",
    "SortedSource",
    "Step",
    "TableSource",
    "fetch_bars",
    "file_digest",
    "is_bucket",
    "open_source",
    "open_symbol",
    "silent",
    "suffix_of",
]
