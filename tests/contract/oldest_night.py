"""The oldest night that is still served."""

from __future__ import annotations

import shutil
from pathlib import Path

import zstandard

OLDEST = Path(__file__).with_name("oldest")

VERSION = "20121003-e15a3f56d151"


def put_oldest(data: Path) -> Path:
    """Put the oldest night into a data folder."""
    nights = data / "nights"
    nights.mkdir(parents=True, exist_ok=True)
    packed = (OLDEST / f"{VERSION}.book.zst").read_bytes()
    (nights / f"{VERSION}.book").write_bytes(zstandard.ZstdDecompressor().decompress(packed))
    shutil.copy(OLDEST / "manifest.json", nights / f"{VERSION}.json")
    shutil.copy(OLDEST / "manifest.json", data / "manifest.json")
    return data
