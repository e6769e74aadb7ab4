"""Vendors' files: each is read for what it holds, or refused in a sentence that says what to do.

Run with `UPDATE_DOCS=1` to write the list of docs/bars.md again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from screener import nightly
from screener.nightly.bars import to_date
from screener.nightly.reading import opening
from screener.nightly.reading.formats import read_bars
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.source import Loaded
from screener.nightly.reading.table import TableSource
from screener.nightly.symbols import normalise
from screener.nightly.tables.names import read_name
from tests.documents import check_page
from tests.screener.nightly.vendor_files import READ, REFUSED, Bar, Example

PAGE = Path(nightly.__file__).parents[2] / "docs" / "bars.md"
SINGLE = [example for example in READ if len(example.tickers) < 2]
TABLES = [example for example in READ if example.tickers]
MILLIONS = 5_000.0
"""Investing.com rounds volumes to this."""


def loaded(folder: Path, example: Example) -> Loaded:
    """What is read of the one file in a folder, by its own name or else by a given one."""
    named = read_name(example.name)
    assert named is not None
    given = None if named.symbol or example.tickers else "GIVEN"
    bars = folder / "bars"
    bars.mkdir()
    (bars / example.name).write_bytes(example.data)
    source = open_source(bars, folder / "work", symbol=given, unusable=True).source
    (found,) = source.load(source.names())
    expected = [example.symbol or given] if not example.refused else source.names()
    assert [normalise(found.name)] == expected
    return found


@pytest.fixture(autouse=True)
def sorted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sort even small files, as if they were large."""
    monkeypatch.setattr(opening, "SMALL", 0)


def names(examples: Iterable[Example]) -> list[str]:
    return [example.what for example in examples]


def check(found: Loaded, bars: Iterable[Bar]) -> None:
    expected = list(bars)
    assert (found.refusal, found.findings) == (None, {})
    assert [to_date(day) for day in found.bars.date] == [bar.day for bar in expected]
    for name in ("open", "high", "low", "close"):
        prices = [float(getattr(bar, name)) for bar in expected]
        assert getattr(found.bars, name) == pytest.approx(prices, rel=1e-12)
    volumes = np.nan_to_num(found.bars.volume, nan=expected[0].volume)
    given = [float(bar.volume) for bar in expected]
    known = given if not np.isnan(found.bars.volume).all() else [given[0]] * len(given)
    assert volumes == pytest.approx(known, abs=MILLIONS)


@pytest.mark.parametrize("example", SINGLE, ids=names(SINGLE))
def test_a_vendor_s_file_is_read_for_what_it_holds(tmp_path: Path, example: Example) -> None:
    found = loaded(tmp_path, example)
    check(found, example.bars)
    assert (found.adjustment, found.currency) == (example.adjustment, example.currency)
    assert read_bars(example.data, label=example.name).form == example.form


@pytest.mark.parametrize("example", TABLES, ids=names(TABLES))
def test_a_table_of_symbols_is_read_the_same_without_reading_it_whole(
    tmp_path: Path, example: Example
) -> None:
    path = tmp_path / example.name
    path.write_bytes(example.data)
    source = TableSource(path)
    assert source.names() == list(example.tickers)
    found, *others = source.load(source.names())
    check(found, example.bars)
    for other in others:
        assert other.bars.close.tolist() == (2 * found.bars.close).tolist()
    assert (found.adjustment, found.currency) == (example.adjustment, example.currency)


@pytest.mark.parametrize("example", REFUSED, ids=names(REFUSED))
def test_what_cannot_be_read_is_refused_by_its_name_and_reason(
    tmp_path: Path, example: Example
) -> None:
    refusal = loaded(tmp_path, example).refusal
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (example.code, example.refused)


def programs() -> str:
    """Programs and sites of the examples; those of no program begin with "a", "no" or the like."""
    first = (example.what.partition(",")[0] for example in READ)
    named = {name for name in first if name[0].isupper() or " " not in name}
    return textwrap.fill(f"{', '.join(sorted(named, key=str.lower))}.", width=130)


def test_the_page_on_bars_names_the_programs_whose_files_are_read() -> None:
    check_page(PAGE, {"read": programs()})
