"""Sources: read raw bars from files of many forms."""

from nightly.sources.bucket import fetch_bars, is_bucket
from nightly.sources.files import CSV, file_digest, suffix_of
from nightly.sources.folder import FolderSource
from nightly.sources.opening import Opened, open_source, prepare_source, read_source
from nightly.sources.source import BarSource, Loaded, Outline
from nightly.sources.spilled import SpilledSource
from nightly.sources.table import TableSource
from nightly.sources.telling import Step, silent

__all__ = [
    "CSV",
    "BarSource",
    "FolderSource",
    "Loaded",
    "Opened",
    "Outline",
    "SpilledSource",
    "Step",
    "TableSource",
    "fetch_bars",
    "file_digest",
    "is_bucket",
    "open_source",
    "prepare_source",
    "read_source",
    "silent",
    "suffix_of",
]
