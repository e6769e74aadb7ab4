"""The bar store: a folder with one Parquet file per symbol, which `--bars` reads.

A file is replaced as a whole or not at all. Its metadata says where its bars came from.
"""

from __future__ import annotations

import datetime as dt
import io
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import polars as pl

from screener.nightly.errors import SourceError
from screener.nightly.fetching.provider import SCHEMA, ProviderError
from screener.nightly.symbols import SHAPE, normalise
from store.folder.files import replace_file

LEFT_AFTER: Final = 3600.0
"""Age in seconds from which an unfinished file is taken to be left over from a killed run."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file's bars came from: the provider, its name for the symbol, and the first day asked
    for (empty if all days were).
    """

    provider: str
    symbol: str
    since: str = ""

    @property
    def first_day(self) -> dt.date | None:
        """The first day that was asked for; None if all days were."""
        return dt.date.fromisoformat(self.since) if self.since else None


@dataclass(frozen=True, slots=True)
class StoredBars:
    """The stored bars of one symbol."""

    symbol: str
    origin: Origin
    bars: pl.DataFrame


class BarStore:
    """A folder of bars that is kept up to date."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make the folder and remove what killed runs left there.

        Raises:
            SourceError: the folder cannot be written.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self.folder.glob(".*.parquet.*"):
                if time.time() - left.stat().st_mtime > LEFT_AFTER:
                    left.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(
                f"{self.folder} cannot be written ({error.strerror}); choose another --store."
            ) from error

    def symbols(self) -> list[str]:
        """Every stored symbol, sorted."""
        return sorted(file.stem for file in self.folder.glob("*.parquet") if file.stem[0] != ".")

    def all(self) -> Iterator[StoredBars]:
        """The stored bars of every symbol whose file can be read, sorted by symbol."""
        for symbol in self.symbols():
            stored = self.read(symbol)
            if stored is not None:
                yield stored

    def read(self, symbol: str) -> StoredBars | None:
        """The stored bars of a symbol; None if there are none or they cannot be read."""
        file = self._file(symbol)
        if not file.is_file():
            return None
        try:
            facts = pl.read_parquet_metadata(file)
            origin = Origin(facts["provider"], facts["symbol"], facts["since"])
            bars = pl.read_parquet(file, glob=False).select(SCHEMA.names())
            return StoredBars(symbol, origin, bars)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, KeyError):
            return None

    def write(self, symbol: str, bars: pl.DataFrame, origin: Origin) -> None:
        """Replace the stored bars of a symbol.

        Raises:
            SourceError: the folder cannot be written.
        """
        content = io.BytesIO()
        bars.select(SCHEMA.names()).write_parquet(content, metadata=asdict(origin))
        try:
            replace_file(self._file(symbol), content.getvalue())
        except OSError as error:
            raise SourceError(
                f"{self.folder} cannot be written ({error.strerror}); make room there."
            ) from error

    def _file(self, symbol: str) -> Path:
        return self.folder / f"{symbol}.parquet"


def symbol_of(raw: str) -> str:
    """The served symbol for a provider's symbol; it names the file.

    Raises:
        ProviderError: the provider's symbol cannot be turned into a served symbol.
    """
    symbol = normalise(raw.partition(":")[0] + (".P" if ":" in raw else ""))
    if symbol is None:
        raise ProviderError(f"{raw} cannot be a symbol, which consists of {SHAPE}.")
    return symbol
