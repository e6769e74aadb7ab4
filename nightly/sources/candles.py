"""Candles: the lists of numbers that freqtrade and the exchanges write as JSON."""

from __future__ import annotations

from typing import Final

import orjson
import polars as pl

from nightly.errors import SourceError

CANDLE: Final = ("date", "open", "high", "low", "close", "volume")


def candles(data: bytes, label: str) -> pl.DataFrame:
    """The raw table in a JSON list of candles, each a list of a time, prices and a volume.

    Raises:
        SourceError: the JSON is something else.
    """
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"{label} is broken JSON; fetch it again.") from error
    if not all(isinstance(row, list) and len(row) >= len(CANDLE) for row in rows):
        raise SourceError(
            f"{label} is JSON, but not a list of candles; write rows of time, prices and volume."
        )
    cut = [row[: len(CANDLE)] for row in rows]
    frame = pl.DataFrame(cut, schema=list(CANDLE), orient="row", strict=False)
    return frame.with_columns(pl.col("date").cast(pl.Int64, strict=False))
