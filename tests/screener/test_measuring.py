"""Measuring: what is looked up for `/metrics`, and what happens while it is away."""

from __future__ import annotations

import math
from pathlib import Path

from prometheus_client import REGISTRY

from screener.measuring import measure_disk


def value(name: str, **labels: str) -> float:
    """What this process has in an instrument."""
    found = REGISTRY.get_sample_value(name, labels)
    assert found is not None
    return found


def test_a_data_folder_that_is_away_ends_no_measuring(tmp_path: Path) -> None:
    measure_disk(tmp_path)
    assert 0 < value("screener_data_free_bytes") <= value("screener_data_size_bytes")

    measure_disk(tmp_path / "away")

    assert math.isnan(value("screener_data_free_bytes"))
    assert math.isnan(value("screener_data_size_bytes"))
