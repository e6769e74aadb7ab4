"""Names: read the symbol, the interval and the period of bars from the name of a file.

Binance names its files `BTCUSDT-1d-2024-01.zip`, freqtrade `BTC_USDT-1d.feather`, Stooq
`aapl.us.txt` and `aapl_us_d.csv`; any other name is the symbol itself. No file is opened here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

DAILY: Final = "1d"
SUFFIXES: Final = (
    *(".csv", ".txt", ".parquet", ".pq", ".feather", ".arrow", ".ipc"),
    *(".json", ".zip", ".csv.gz", ".txt.gz", ".json.gz"),
)

_KLINES: Final = re.compile(
    r"(?P<name>.+)-(?P<interval>\d+[smhdwM]o?)-(?P<period>\d{4}-\d\d(-\d\d)?)"
)
_CANDLES: Final = re.compile(r"(?P<name>.+?)-(?P<interval>\d+[mhdwMy])(-(?P<kind>[a-z_]+))?")
_STOOQ: Final = re.compile(r"(?P<name>.+)_us_d", re.IGNORECASE)
_PERPETUAL: Final = re.compile(r"(?P<name>.+_(?P<quote>[A-Z0-9]+))_[A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a file's name. A file without a period holds all bars of its symbol."""

    symbol: str
    suffix: str
    interval: str = DAILY
    period: str = ""
    price: bool = True
    """Whether the bars are traded prices, not funding rates or mark prices."""


def read_name(path: str) -> FileName | None:
    """The parts of the name of the file at a path; None if it is not a file of bars."""
    base = PurePosixPath(path).name
    lowered = base.lower()
    suffix = max((end for end in SUFFIXES if lowered.endswith(end)), key=len, default=None)
    if suffix is None or base.startswith(".") or base == suffix:
        return None
    stem = base[: -len(suffix)]
    if found := _KLINES.fullmatch(stem):
        return FileName(found["name"], suffix, found["interval"], found["period"])
    if found := _CANDLES.fullmatch(stem):
        return _candles(found, suffix)
    if suffix == ".json" or suffix == ".json.gz":
        return None
    if found := _STOOQ.fullmatch(stem):
        return FileName(found["name"], suffix)
    if suffix.startswith(".txt") and lowered.endswith(f".us{suffix}"):
        stem = stem[: -len(".us")]
    return FileName(stem, suffix)


def _candles(found: re.Match[str], suffix: str) -> FileName:
    """The name of a freqtrade file. A perpetual future's ends with its settlement currency."""
    name, kind = found["name"], found["kind"]
    if kind == "futures" and (pair := _PERPETUAL.fullmatch(name)):
        name = f"{pair['name']}.P"
    price = kind in (None, "futures", "spot")
    return FileName(name, suffix, found["interval"], price=price)
