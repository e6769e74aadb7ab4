"""Names: what the name of a file tells of its bars: the symbol, the interval, the period.

It opens nothing. Binance names its files `BTCUSDT-1d-2024-01.zip`, freqtrade `BTC_USDT-1d.feather`,
Stooq `aapl.us.txt` and `aapl_us_d.csv`; any other name is the symbol.
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
    """A file's name, taken apart; a file without a period holds all bars of its symbol."""

    symbol: str
    suffix: str
    interval: str = DAILY
    period: str = ""
    price: bool = True
    """Whether the bars are prices that were traded, and no rates of funding or marks."""


def read_name(path: str) -> FileName | None:
    """What a path's last part tells; None where it is no file of bars."""
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
    """A freqtrade file: a perpetual future is written with the currency that settles it."""
    name, kind = found["name"], found["kind"]
    if kind == "futures" and (pair := _PERPETUAL.fullmatch(name)):
        name = f"{pair['name']}.P"
    price = kind in (None, "futures", "spot")
    return FileName(name, suffix, found["interval"], price=price)
