"""The folder: one file of bars a symbol."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nightly.errors import Refusal, SourceError
from nightly.sources.files import file_digest, scan_bars, suffix_of, to_bars
from nightly.sources.source import Loaded


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder with one CSV or Parquet file a symbol, named after it."""

    path: Path

    def names(self) -> list[str]:
        """The stem of each file of bars."""
        names = sorted(self._files())
        if not names:
            raise SourceError(f"{self.path} has no CSV or Parquet file; put one a symbol there.")
        return names

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read one file a name; a file that cannot be read is a refusal of its symbol."""
        files = self._files()
        for name in names:
            yield self._read(name, files.get(name, []))

    def last_days(self) -> dict[str, int]:
        """The newest day of each file that can be read, from its date column alone."""
        found: dict[str, int] = {}
        for name, files in self._files().items():
            try:
                newest = scan_bars(files[0])[0].select(pl.col("date").max()).collect().item()
            except (SourceError, pl.exceptions.PolarsError, OSError):
                continue  # loading it says why
            if newest is not None:
                found[name] = newest
        return found

    def digest(self) -> str:
        """The SHA-256 over the sorted file names and what they hold."""
        total = hashlib.sha256()
        for file in sorted(file for files in self._files().values() for file in files):
            total.update(file.name.encode() + b"\0" + file_digest(file).encode() + b"\n")
        return total.hexdigest()

    def _files(self) -> dict[str, list[Path]]:
        files: dict[str, list[Path]] = {}
        for file in sorted(self.path.iterdir()):
            suffix = suffix_of(file)
            if suffix and file.is_file():
                files.setdefault(file.name[: -len(suffix)], []).append(file)
        return files

    def _read(self, name: str, files: Sequence[Path]) -> Loaded:
        if not files:
            return Loaded(name, refusal=Refusal("no_bars", "The folder has no file of this name."))
        try:
            frame = scan_bars(files[0])[0].collect()
        except SourceError as error:
            return Loaded(name, refusal=Refusal("unreadable_file", str(error)))
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = f"The file cannot be read ({type(error).__name__}); write it again."
            return Loaded(name, refusal=Refusal("unreadable_file", reason))
        bars, findings = to_bars(frame)
        if len(files) > 1:
            findings["second_file"] = len(files) - 1
        return Loaded(name, bars, findings)
