"""Forms: the bars in one file of any known form, recognised by its content and not its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.files import raw_of
from nightly.sources.layout import lay_out
from nightly.sources.raw import BROKEN


@dataclass(frozen=True, slots=True)
class Read:
    """A file of bars: its canonical table, its form, and how its columns were used."""

    frame: pl.DataFrame
    form: str
    columns: Mapping[str, str] = field(default_factory=dict)
    adjustment: Adjustment | None = None
    """What the prices are adjusted for, where the columns tell; else None."""
    currency: str | None = None
    """The currency of the prices, where a column tells; else None."""
    refusal: Refusal | None = None
    """Why the bars are not served, where a column says that they are not daily."""

    @property
    def symbol(self) -> str | None:
        """The one symbol in the file's own column; None without one, or if there are several."""
        if "symbol" not in self.frame.columns:
            return None
        named = self.frame["symbol"].drop_nulls().unique()
        return str(named[0]) if len(named) == 1 else None


def read_bars(data: bytes, *, label: str) -> Read:
    """Read the bars of one file in any known form. Every error begins with its label.

    Raises:
        SourceError: the form is unknown, or the columns cannot be read.
    """
    try:
        layout = lay_out(raw_of(data, label))
        frame = layout.rows.collect()
    except (*BROKEN, ValueError) as error:
        raise SourceError(f"{label} cannot be read ({type(error).__name__}).") from error
    return Read(
        frame, layout.form, layout.columns, layout.adjustment, layout.currency, layout.refusal
    )
