"""The bars of charts as a book stores them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from store.nights.book import Prices

DAYS = np.arange(15_000, 15_003, dtype=np.int32)
COLUMN = np.array([1.5, 2.5, 0.1], dtype=np.float32)
VOLUME = np.array([1e6, np.nan, 3.4e38], dtype=np.float32)


@pytest.mark.parametrize("volume", [VOLUME, None], ids=["with volume", "without, as before"])
def test_bars_are_read_as_they_were_stored(volume: npt.NDArray[np.float32] | None) -> None:
    prices = Prices(DAYS, COLUMN, COLUMN + 1, COLUMN[::-1], COLUMN, volume)

    read = Prices.decode(prices.encode(), len(DAYS))

    assert read.date.tolist() == DAYS.tolist()
    for name in ("open", "high", "low", "close"):
        np.testing.assert_array_equal(getattr(read, name), getattr(prices, name))
    if volume is None:
        assert read.volume is None
    else:
        np.testing.assert_array_equal(read.volume, volume)
