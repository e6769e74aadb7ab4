"""Resumed walks: a resumed night has the same bytes as one that walks every bar."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nightly.bars import Bars, to_date
from nightly.checkpoint import Began, decoded, encoded, resume
from nightly.detector import DEFAULTS, detect, walk_on
from nightly.night import make_night
from nightly.parameters import Parameters
from nightly.plan import Order
from nightly.report import Report
from nightly.series import Series
from nightly.sources import open_source
from store.folder.checkpoints import Checkpoints
from store.nights.nights import Nights
from tests.nightly.series import LENIENT, changed, multiplied, walk
from tests.nightly.test_night import NOW, write_csv

GAP = 10
sound = Series.sound


def joined_with_gap() -> Bars:
    """A random walk with a data gap, 31 bars before its end."""
    bars = walk(900, seed=3)
    late = np.arange(len(bars)) >= len(bars) - 31
    return replace(bars, date=bars.date - np.where(late, 0, 28).astype(np.int32))


SERIES = {f"walk {seed}": walk(900, seed=seed) for seed in range(4)} | {"gap": joined_with_gap()}


@pytest.mark.parametrize("name", SERIES)
def test_sixty_nights_in_a_row_are_bit_for_bit_one_walk(name: str) -> None:
    bars = SERIES[name]
    kept = None
    for count in range(len(bars) - 60, len(bars) + 1):
        resumed = resume(kept, sound(bars.take(slice(0, count))), LENIENT, gap_days=GAP)
        kept = resumed.kept

    whole = resume(None, sound(bars), LENIENT, gap_days=GAP)
    log = detect(bars, LENIENT, gap_days=GAP)
    assert resumed.began == "resumed"
    assert resumed.kept == whole.kept
    for found in (resumed.log, whole.log):
        assert found.versions.tobytes() == log.versions.tobytes()
        assert found.trades.tobytes() == log.trades.tobytes()
    assert len(log.versions)
    assert len(log.trades)


def revised(bars: Bars, bar: int, factor: float) -> Bars:
    return changed(bars, bar, close=bars.close[bar] * factor)


def test_a_walk_over_other_bars_begins_anew() -> None:
    bars = walk(400)
    kept = resume(None, sound(bars.take(slice(0, 399))), gap_days=GAP).kept

    def began(
        these: Bars, parameters: Parameters = DEFAULTS, kept: bytes = kept, gap_days: int = GAP
    ) -> Began:
        return resume(kept, sound(these), parameters, gap_days=gap_days).began

    assert began(bars) == "resumed"
    assert began(bars.take(slice(0, 399))) == "resumed"
    assert began(bars.take(slice(0, 398))) == "anew"  # a bar was taken back
    assert began(bars.take(slice(1, None))) == "anew"  # the history is cut
    assert began(revised(bars, 0, 1 + 1e-15)) == "anew"  # the first bar was revised
    assert began(revised(bars, 398, 1 - 1e-15)) == "anew"
    assert began(revised(bars, 399, 0.99)) == "resumed"  # the new bar is nobody's yet
    assert began(bars, gap_days=3) == "anew"
    assert began(bars, LENIENT) == "anew"  # another detector


def test_damaged_bytes_are_not_believed() -> None:
    bars = walk(400)
    kept = resume(None, sound(bars), gap_days=GAP).kept

    for damaged in (b"", b"x", kept[:-1], kept[: len(kept) // 2], bytes(len(kept))):
        assert resume(damaged, sound(bars), gap_days=GAP).began == "anew"
    for place in range(0, len(kept), len(kept) // 50):
        flipped = bytearray(kept)
        flipped[place] ^= 0x10
        again = resume(bytes(flipped), sound(bars), gap_days=GAP)
        assert again.kept == kept


def test_a_check_finds_a_walk_that_is_not_what_its_bars_give() -> None:
    bars = walk(900)
    kept = resume(None, sound(bars.take(slice(0, 899))), LENIENT, gap_days=GAP).kept
    found = decoded(kept)
    assert found is not None
    other = walk_on(None, sound(bars.take(slice(0, 899))), LENIENT, gap_days=GAP)
    other.log.versions["quality"][-1] += 1e-9
    drifted = encoded(other, found[1])

    assert resume(kept, sound(bars), LENIENT, gap_days=GAP, check=True).began == "anew"
    checked = resume(drifted, sound(bars), LENIENT, gap_days=GAP, check=True)
    assert checked.began == "drifted"
    assert checked.kept == resume(None, sound(bars), LENIENT, gap_days=GAP).kept


def market(folder: Path, last: int, names: Mapping[str, Bars]) -> Path:
    """A folder of bars up to and including the bar `last` of each, counted from the end."""
    for name, bars in names.items():
        write_csv(folder / f"{name}.csv", bars.take(slice(0, len(bars) + last + 1)))
    return folder


def night(folder: Path, data: Path, checkpoints: Checkpoints | None, session: dt.date) -> Report:
    order = Order(source=open_source(folder), name="bars", session=session, parameters=LENIENT)
    return make_night(order, Nights(data), now=NOW, checkpoints=checkpoints)[1]


def book(data: Path) -> bytes:
    """The bytes of the active book, which has something that differs with the walk."""
    nights = Nights(data)
    assert nights.check_active().counts.history
    return (nights.folder / nights.check_active().book.file).read_bytes()


def test_the_next_night_has_the_same_bytes_resumed_and_anew(tmp_path: Path) -> None:
    """Besides plain walks: a revised bar, a split, a gap, a new or short listing, no bar today."""
    steady = {f"S{seed}": walk(700, seed=seed) for seed in range(3)}
    split = walk(700, seed=11)
    halved = replace(multiplied(split, 0, 0.5), volume=2 * split.volume)
    before = {
        **steady,
        "REVISED": walk(700, seed=10),
        "SPLIT": split,
        "GAP": joined_with_gap(),
        "SHORT": walk(60, seed=12),
    }
    after = {
        **before,
        "REVISED": revised(walk(700, seed=10), 650, 1.001),
        "SPLIT": halved,
        "NEW": walk(100, seed=13),
    }
    first, second = market(tmp_path / "a", -2, before), market(tmp_path / "b", -1, after)
    (second / "S2.csv").write_bytes((first / "S2.csv").read_bytes())  # no bar today
    today, yesterday = (to_date(int(steady["S0"].date[bar])) for bar in (-1, -2))
    data = tmp_path / "data"
    checkpoints = Checkpoints(data)

    night(first, data, checkpoints, yesterday)
    shutil.copytree(data / "ledger", tmp_path / "anew" / "ledger")
    report = night(second, data, checkpoints, today)
    night(second, tmp_path / "anew", None, today)

    assert book(data) == book(tmp_path / "anew")
    assert set(report.walks["resumed"]) == {"S0", "S1", "S2", "GAP", "SHORT"}
    assert set(report.walks["anew"]) == {"REVISED", "SPLIT", "NEW"}
    assert not list(data.glob(".*.draft"))


def test_a_damaged_carry_file_costs_time_alone(tmp_path: Path) -> None:
    bars = market(tmp_path / "bars", -1, {"A": walk(300, seed=1), "B": walk(300, seed=2)})
    data = tmp_path / "data"
    checkpoints = Checkpoints(data)
    session = to_date(int(walk(300).date[-1]))
    night(bars, data, checkpoints, session)
    sealed = book(data)
    checkpoints.path.write_bytes(b"no database" * 1000)

    report = night(bars, data, checkpoints, session)

    assert checkpoints.damage is not None
    assert set(report.walks) == {"anew"}
    assert book(data) == sealed
    assert set(night(bars, data, Checkpoints(data), session).walks) == {"resumed"}
