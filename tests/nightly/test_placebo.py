"""Placebo trades: where they are drawn, how they end, and what adds up."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightly.bars import Bars, to_date, to_day
from nightly.events import TRADE, Outcome, Rows
from nightly.placebo import (
    DRAWS,
    FARTHEST,
    NEAREST,
    placebo,
    placebo_of,
    seed_of,
)
from tests.nightly.series import walk

LONG, SHORT = 1, -1
STOP, TARGET = 0.05, 0.10  # log distances
FIRST = to_day(dt.date(2004, 1, 5))
ENTRY = 10  # the real entry of the planted trades
PLANTED = ENTRY + FARTHEST + 5  # past every draw's entry, so that this bar decides all of them


def flat(length: int = PLANTED + 20) -> Bars:
    """Bars that stay at 100, so that they resolve no trade."""
    date = np.arange(FIRST, FIRST + length, dtype=np.int32)
    return Bars(date, *(np.full(length, 100.0) for _ in range(5)))


def planted(opened: float, high: float, low: float) -> Bars:
    """Flat bars except one after the entry of every draw of a trade at `ENTRY`."""
    bars = flat()
    bars.open[PLANTED], bars.high[PLANTED], bars.low[PLANTED] = opened, high, low
    return bars


def seeds_at(bars: Bars, entries: npt.NDArray[np.int64], direction: int) -> npt.NDArray[np.uint64]:
    seeds = [seed_of("TEST", to_date(bars.date[entry]), direction) for entry in entries]
    return np.array(seeds, dtype=np.uint64)


def draw(bars: Bars, direction: int = LONG, entries: tuple[int, ...] = (ENTRY,)) -> Rows:
    """The draws of trades in one direction, with the usual distances."""
    at = np.array(entries, dtype=np.int64)
    return placebo(
        bars,
        at,
        np.full(len(at), direction),
        np.full(len(at), STOP),
        np.full(len(at), TARGET),
        seeds_at(bars, at, direction),
    )


def by_hand(bars: Bars, entry: int, direction: int) -> tuple[int, int, float]:
    """Exit bar, outcome and R multiple of one trade, by the rule as the design states it."""
    price = float(bars.close[entry])
    stop, target = price * math.exp(-direction * STOP), price * math.exp(direction * TARGET)
    for bar in range(entry + 1, len(bars)):
        worst, best = (bars.low[bar], bars.high[bar])[::direction]
        if direction * (worst - stop) <= 0:
            paid = direction * min(direction * bars.open[bar], direction * stop)
            return bar, Outcome.LOSS, direction * (paid - price) / abs(price - stop)
        if direction * (best - target) >= 0:
            return bar, Outcome.WIN, direction * (target - price) / abs(price - stop)
    return -1, Outcome.OPEN, math.nan


LONG_WIN = (math.exp(TARGET) - 1) / (1 - math.exp(-STOP))
SHORT_WIN = (1 - math.exp(-TARGET)) / (math.exp(STOP) - 1)


@pytest.mark.parametrize(
    ("direction", "bar", "outcome", "r"),
    [
        (LONG, (100, 111, 100), Outcome.WIN, LONG_WIN),
        (LONG, (130, 140, 99), Outcome.WIN, LONG_WIN),  # a gap past the target earns no bonus
        (LONG, (100, 100, 95), Outcome.LOSS, -1.0),
        (
            LONG,
            (90, 100, 89),
            Outcome.LOSS,
            -10 / (100 - 100 * math.exp(-STOP)),
        ),  # gap: at the open
        (LONG, (100, 111, 95), Outcome.LOSS, -1.0),  # both in one bar
        (LONG, (111, 112, 95), Outcome.LOSS, -1.0),  # even if the open is past the target
        (SHORT, (100, 100, 90), Outcome.WIN, SHORT_WIN),
        (SHORT, (70, 100, 60), Outcome.WIN, SHORT_WIN),
        (SHORT, (100, 106, 100), Outcome.LOSS, -1.0),
        (SHORT, (110, 111, 100), Outcome.LOSS, -10 / (100 * math.exp(STOP) - 100)),
        (SHORT, (100, 106, 90), Outcome.LOSS, -1.0),
        (LONG, (100, 110, 96), Outcome.OPEN, math.nan),  # just inside both
        (SHORT, (100, 105, 91), Outcome.OPEN, math.nan),
    ],
)
def test_a_planted_bar_decides_every_draw_by_the_rule(
    direction: int, bar: tuple[float, float, float], outcome: Outcome, r: float
) -> None:
    draws = draw(planted(*bar), direction)
    assert draws.shape == (1, DRAWS)
    assert draws["outcome"].tolist() == [[outcome] * DRAWS]
    assert draws["r"][0] == pytest.approx([r] * DRAWS, nan_ok=True)
    assert draws["exit"].tolist() == [[PLANTED if outcome else -1] * DRAWS]


def test_a_level_that_is_touched_exactly_counts_as_hit() -> None:
    touched = 100 * math.exp(TARGET), 100 * math.exp(-STOP)
    wins, losses = draw(planted(100, touched[0], 100)), draw(planted(100, 100, touched[1]))
    assert set(wins["outcome"].flat) == {Outcome.WIN}
    assert set(losses["outcome"].flat) == {Outcome.LOSS}


def test_the_entry_bar_itself_decides_nothing() -> None:
    bars = flat()
    bars.low[draw(bars)["entry"].min()] = 1.0  # no draw enters before this bar
    assert set(draw(bars)["outcome"].flat) == {Outcome.OPEN}


@pytest.mark.parametrize("direction", [LONG, SHORT])
def test_every_draw_on_a_random_walk_ends_as_worked_out_by_hand(direction: int) -> None:
    bars = walk(1200)
    draws = draw(bars, direction, tuple(range(0, 1200, 2)))
    entered = draws[draws["entry"] >= 0]
    assert {*entered["outcome"]} == {Outcome.OPEN, Outcome.WIN, Outcome.LOSS}
    for row in entered:
        exit_bar, outcome, r = by_hand(bars, int(row["entry"]), direction)
        assert (row["exit"], row["outcome"]) == (exit_bar, outcome)
        assert row["r"] == pytest.approx(r, nan_ok=True)


def test_draws_spread_evenly_over_40_to_400_bars_after_the_entry() -> None:
    entries = tuple(range(4000))
    offsets = draw(flat(4401), entries=entries)["entry"] - np.array(entries)[:, None]
    assert (offsets.min(), offsets.max()) == (NEAREST, FARTHEST) == (40, 400)
    counts = np.bincount(offsets.ravel() - NEAREST, minlength=361)
    expected = offsets.size / 361
    assert float(((counts - expected) ** 2 / expected).sum()) < 361 + 5 * math.sqrt(2 * 361)
    correlation = np.corrcoef(offsets.T) - np.eye(DRAWS)
    assert float(np.abs(correlation).max()) < 0.06


def test_a_seed_is_the_same_in_every_process() -> None:
    assert seed_of("AAPL", dt.date(2024, 3, 28), LONG) == 13258071386723212042
    assert seed_of("AAPL", dt.date(2024, 3, 28), SHORT) == 3362215917800298050


def test_a_seed_depends_on_symbol_date_and_direction() -> None:
    days = [dt.date(2024, 3, day) for day in (27, 28)]
    seeds = {seed_of(s, day, d) for s in ("AAPL", "IBM") for day in days for d in (LONG, SHORT)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_draws_do_not_depend_on_the_order_or_the_company_of_trades() -> None:
    bars = walk(1500)
    together = draw(bars, entries=(100, 500, 900))
    assert _same(draw(bars, entries=(900, 100, 500)), together[[2, 0, 1]])
    assert _same(draw(bars, entries=(500,)), together[[1]])


def _same(left: Rows, right: Rows) -> bool:
    return left.tobytes() == right.tobytes()


@settings(max_examples=25, deadline=None)
@given(st.integers(60, 1499), st.sampled_from((LONG, SHORT)))
def test_a_resolved_draw_stays_as_it_is_when_bars_are_appended(cut: int, direction: int) -> None:
    bars = walk(1500)
    entries = tuple(range(0, cut, 11))
    before = draw(bars.take(slice(0, cut)), direction, entries)
    after = draw(bars, direction, entries)
    resolved = before["outcome"] != Outcome.OPEN
    assert _same(before[resolved], after[resolved])
    entered = (after["entry"] >= 0) & (after["entry"] < cut)
    assert np.array_equal(before["entry"], np.where(entered, after["entry"], -1))


def test_a_draw_past_the_end_is_dropped_and_not_drawn_again() -> None:
    bars = flat()
    entries = draw(bars)["entry"][0]
    last = int(entries.max())
    cut = draw(bars.take(slice(0, last)))[0]  # the series ends on the bar before the last draw's
    assert cut["entry"].tolist() == [entry if entry < last else -1 for entry in entries]
    assert {*cut["outcome"]} == {Outcome.OPEN}
    kept = draw(bars.take(slice(0, last + 1)))[0]
    assert kept["entry"].tolist() == entries.tolist()


def test_trades_of_the_log_are_drawn_with_their_own_seeds_and_distances() -> None:
    bars = walk(900)
    trades = np.zeros(2, dtype=TRADE)
    for trade, entry, direction in zip(trades, (100, 300), (LONG, SHORT), strict=True):
        price = bars.close[entry]
        trade["entry"], trade["direction"], trade["entry_price"] = entry, direction, price
        trade["stop_price"] = price * math.exp(-direction * STOP)
        trade["target_price"] = price * math.exp(direction * TARGET)
    found = placebo_of("TEST", bars, trades)
    expected = np.concatenate([draw(bars, LONG, (100,)), draw(bars, SHORT, (300,))])
    assert found["entry"].tolist() == expected["entry"].tolist()
    assert found["outcome"].tolist() == expected["outcome"].tolist()
    assert found["r"].ravel() == pytest.approx(expected["r"].ravel(), nan_ok=True)
    assert placebo_of("OTHER", bars, trades)["entry"].tolist() != expected["entry"].tolist()


def test_a_symbol_without_trades_has_no_draws() -> None:
    assert placebo_of("TEST", walk(80), np.zeros(0, dtype=TRADE)).shape == (0, DRAWS)


@pytest.mark.parametrize("distance", [0.0, -0.05, math.nan, math.inf])
def test_a_distance_that_is_not_positive_is_refused(distance: float) -> None:
    entry, direction, seed = np.array([ENTRY]), np.array([LONG]), np.array([1], dtype=np.uint64)
    good, bad = np.array([STOP]), np.array([distance])
    with pytest.raises(ValueError, match="positive"):
        placebo(flat(), entry, direction, bad, good, seed)
    with pytest.raises(ValueError, match="positive"):
        placebo(flat(), entry, direction, good, bad, seed)


def test_without_drift_the_target_is_reached_as_often_as_the_distances_say() -> None:
    # Steps far smaller than the distances and bars without a range: a martingale's odds.
    rng = np.random.default_rng(11)
    length = 150_000
    price = np.exp(np.cumsum(rng.normal(0, 0.004, length)))
    bars = Bars(np.arange(length, dtype=np.int32), price, price, price, price, price)
    outcomes = draw(bars, entries=tuple(range(0, length, 100)))["outcome"]
    reached = (outcomes == Outcome.WIN).sum() / (outcomes != Outcome.OPEN).sum()
    assert reached == pytest.approx(STOP / (STOP + TARGET), abs=0.04)
