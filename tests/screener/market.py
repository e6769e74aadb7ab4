"""A small market with broken and forming patterns, and nights of it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from screener.nightly.bars import Bars
from store.nights.nights import Nights
from tests.screener.command import succeed
from tests.screener.nightly.series import walk, weekdays, write_csv
from tests.screener.nightly.shapes import joined, random_walk, wedge_or_triangle

SYMBOLS, BARS = 8, 600
FIRST_DAY = "2024-03-18"
"""The session of the first night, some sessions before the last one of the bars."""


def patterned(seed: int, left: int = 0) -> Bars:
    """A random walk, a triangle that broke out, and one that forms at the last bar.

    `left` is the number of bars that it has left until it may break out.
    """
    over, now = (wedge_or_triangle(-0.3, 0.3, approach=1, broken=broken) for broken in (1, -1))
    forming = now.bars.take(slice(0, now.break_bar(-1) - left))
    before = random_walk(seed, BARS - len(over.bars) - len(forming))
    bars = joined(before, over.bars, forming)
    return replace(bars, date=weekdays(len(bars)))


def write_market(folder: Path, symbols: int) -> Path:
    """Write a file of bars for each symbol; the triangle of S7 is found after the first day."""
    for number in range(symbols):
        left = 18 if number == 7 else 0
        made = patterned(number, left) if number % 2 else walk(BARS, seed=number)
        write_csv(folder / f"S{number}.csv", made)
    return folder


def nightly(data: Path, bars: Path, *options: str) -> None:
    """Publish a night of bars."""
    succeed(data, "nightly", "--bars", str(bars), "--jobs", "1", *options)


def book_of(data: Path) -> bytes:
    """The book of the active night."""
    nights = Nights(data)
    return (nights.folder / nights.check_active().book.file).read_bytes()


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of bars for each symbol, every other one with patterns."""
    return write_market(tmp_path_factory.mktemp("bars") / "market", SYMBOLS)


@pytest.fixture(scope="module")
def first(bars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a night of a session before the last one of the bars."""
    data = tmp_path_factory.mktemp("first")
    nightly(data, bars, "--session", FIRST_DAY)
    return data


@pytest.fixture(scope="module")
def second(bars: Path, first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the night after it, too."""
    data = Path(shutil.copytree(first, tmp_path_factory.mktemp("second") / "data"))
    nightly(data, bars)
    return data


@pytest.fixture(scope="module")
def sealed(bars: Path, first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the same night after it, walked from scratch."""
    data = tmp_path_factory.mktemp("sealed")
    shutil.copytree(first / "ledger", data / "ledger")
    nightly(data, bars)
    counts = Nights(data).check_active().counts
    assert min(counts.setups, counts.resolved) > 3, "a book with nothing in it proves nothing"
    return data


@pytest.fixture
def data(first: Path, tmp_path: Path) -> Path:
    """The test's own data folder, with the first night in it."""
    return Path(shutil.copytree(first, tmp_path / "data"))
