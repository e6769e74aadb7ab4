"""Placebo trades: where they are drawn, which pairs are left out, how they end, what adds up."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightly.bars import Bars, to_day
from nightly.detector import DEFAULTS, log_atrs
from nightly.events import TRADE, VERSION, EventLog, Outcome, PatternType, Rows
from nightly.placebo import FARTHEST, NEAREST, PAIRS, first_bars, placebo, seed_of, seeds_of
from nightly.series import Series
from tests.nightly.series import walk

LONG, SHORT = 1, -1
STOP, TARGET = 0.05, 0.10  # log distances of the trades, at an ATR of `ATR`
ATR = 0.02
SPAN = 30  # bars of the pattern
FIRST = to_day(dt.date(2004, 1, 5))
ENTRY = 600  # the real entry of the planted trades, with room for every draw before it
PLANTED = ENTRY + SPAN + FARTHEST + 5  # past every draw's entry, so that this bar decides the late


def quiet(length: int = PLANTED + 20) -> Bars:
    """Bars that stay around 100 with an ATR of `ATR`, so that they resolve no trade."""
    date = np.arange(FIRST, FIRST + length, dtype=np.int32)
    even = np.full(length, 100.0)
    high, low = even * math.exp(ATR / 2), even * math.exp(-ATR / 2)
    return Bars(date, even, high, low, even.copy(), even)


def log_of(
    bars: Bars,
    direction: int = LONG,
    entries: tuple[int, ...] = (ENTRY,),
    kind: PatternType = PatternType.FALLING_WEDGE,
    atr: float = ATR,
) -> EventLog:
    """A log of trades with the usual distances, each at the end of a pattern of `SPAN` bars."""
    versions, trades = np.zeros(len(entries), VERSION), np.zeros(len(entries), TRADE)
    versions["type"] = kind
    versions["upper_start"] = np.array(entries) - SPAN
    versions["lower_start"] = np.array(entries) - SPAN + 4
    trades["version"], trades["entry"] = np.arange(len(entries)), entries
    trades["direction"], trades["atr"] = direction, atr
    trades["entry_price"] = bars.close[list(entries)]
    trades["stop_price"] = trades["entry_price"] * math.exp(-direction * STOP)
    trades["target_price"] = trades["entry_price"] * math.exp(direction * TARGET)
    return EventLog(versions, trades)


def draw(bars: Bars, log: EventLog, series: Series | None = None, *, ended: bool = False) -> Rows:
    """The draws of all trades of a log."""
    seeds = seeds_of("TEST", bars, log.trades)
    return placebo(series or Series.sound(bars), log, log.trades, seeds, ended=ended)


def planted(opened: float, high: float, low: float) -> Bars:
    """Quiet bars except one that decides early draws (a bar before the pattern) and late ones."""
    bars = quiet()
    for bar in (ENTRY - SPAN - 2, PLANTED):
        bars.open[bar], bars.high[bar], bars.low[bar] = opened, high, low
    return bars


def by_hand(bars: Bars, entry: int, direction: int, scale: float) -> tuple[int, int, float]:
    """Exit bar, outcome and R multiple of one trade, by the rule as the design states it."""
    price = float(bars.close[entry])
    stop = price * math.exp(-direction * STOP * scale)
    target = price * math.exp(direction * TARGET * scale)
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
        (LONG, (90, 100, 89), Outcome.LOSS, -10 / (100 - 100 * math.exp(-STOP))),  # at the open
        (LONG, (100, 111, 95), Outcome.LOSS, -1.0),  # both in one bar
        (LONG, (111, 112, 95), Outcome.LOSS, -1.0),  # even if the open is past the target
        (SHORT, (100, 100, 90), Outcome.WIN, SHORT_WIN),
        (SHORT, (70, 100, 60), Outcome.WIN, SHORT_WIN),
        (SHORT, (100, 106, 100), Outcome.LOSS, -1.0),
        (SHORT, (110, 111, 100), Outcome.LOSS, -10 / (100 * math.exp(STOP) - 100)),
        (SHORT, (100, 106, 90), Outcome.LOSS, -1.0),
    ],
)
def test_a_planted_bar_decides_every_draw_by_the_rule(
    direction: int, bar: tuple[float, float, float], outcome: Outcome, r: float
) -> None:
    bars = planted(*bar)
    draws = draw(bars, log_of(bars, direction))
    assert draws.shape == (1, PAIRS, 2)
    assert set(draws["outcome"].flat) == {outcome}
    assert draws["r"].ravel() == pytest.approx([r] * 2 * PAIRS)
    assert set(draws["exit"][..., 0].flat) == {ENTRY - SPAN - 2}
    assert set(draws["exit"][..., 1].flat) == {PLANTED}


def test_the_halves_of_a_pair_are_equally_far_from_the_trade() -> None:
    bars = planted(100, 111, 100)
    entries = draw(bars, log_of(bars))["entry"][0]
    assert np.array_equal(ENTRY - entries[:, 0], entries[:, 1] - ENTRY)
    away = entries[:, 1] - ENTRY - SPAN
    assert NEAREST == 120 <= away.min() < away.max() <= FARTHEST == 480


def test_a_pole_belongs_to_the_span_of_a_pennant() -> None:
    log = log_of(quiet(), kind=PatternType.BULLISH_SQUEEZE)
    assert first_bars(log.versions, DEFAULTS).tolist() == [ENTRY - SPAN - DEFAULTS.pole_bars]
    assert first_bars(log_of(quiet()).versions, DEFAULTS).tolist() == [ENTRY - SPAN]


def test_a_pair_is_left_out_if_its_early_half_still_runs_when_the_pattern_begins() -> None:
    bars, late = planted(100, 111, 100), planted(100, 111, 100)
    late.high[ENTRY - SPAN - 2], late.high[ENTRY - SPAN] = 101, 111  # its first bar
    assert set(draw(bars, log_of(bars))["outcome"].flat) == {Outcome.WIN}
    assert set(draw(late, log_of(late))["entry"].flat) == {-1}


def test_a_pair_is_left_out_if_its_late_half_cannot_be_resolved() -> None:
    bars = planted(100, 111, 100)
    bars.high[PLANTED] = 101
    draws = draw(bars, log_of(bars))
    assert set(draws["entry"].flat) == {-1}
    assert np.isnan(draws["r"]).all()


def test_a_listing_that_ends_closes_the_late_halves_that_are_open() -> None:
    bars = planted(100, 111, 100)
    bars.high[PLANTED] = 101
    draws = draw(bars, log_of(bars), ended=True)
    assert set(draws["outcome"][..., 0].flat) == {Outcome.WIN}
    assert set(draws["outcome"][..., 1].flat) == {Outcome.DELISTED}
    assert set(draws["exit"][..., 1].flat) == {len(bars) - 1}
    assert draws["r"][..., 1].ravel() == pytest.approx([0.0] * PAIRS)


def test_no_half_enters_on_a_bar_whose_night_did_not_serve_the_symbol() -> None:
    bars = planted(100, 111, 100)
    served = np.ones(len(bars), np.bool_)
    served[: ENTRY - SPAN - 300] = False
    series = replace(Series.sound(bars), served=served)
    entries = draw(bars, log_of(bars), series)["entry"][0]
    everywhere = draw(bars, log_of(bars))["entry"][0]
    kept = everywhere[:, 0] >= ENTRY - SPAN - 300
    assert 0 < kept.sum() < PAIRS
    assert np.array_equal(entries, np.where(kept[:, None], everywhere, -1))


def test_stops_and_targets_are_as_far_in_atr_as_those_of_the_trade() -> None:
    bars = walk(2400)
    atr = log_atrs(bars)
    for direction in (LONG, SHORT):
        draws = draw(bars, log_of(bars, direction, tuple(range(600, 1800, 100))))
        entered = draws[(draws["entry"] >= 0).all(axis=-1)].ravel()
        assert {*entered["outcome"]} == {Outcome.WIN, Outcome.LOSS}
        for row in entered:
            at = int(row["entry"])
            exit_bar, outcome, r = by_hand(bars, at, direction, float(atr[at]) / ATR)
            assert (row["exit"], row["outcome"]) == (exit_bar, outcome)
            assert row["r"] == pytest.approx(r)


def test_distances_spread_evenly() -> None:
    bars = planted(100, 111, 100)
    seeds = np.arange(4000, dtype=np.uint64) * np.uint64(2**40 + 1)
    log = log_of(bars, entries=(ENTRY,) * 4000)
    entries = placebo(Series.sound(bars), log, log.trades, seeds)["entry"]
    away = (entries[..., 1] - ENTRY - SPAN).ravel()
    counts = np.bincount(away - NEAREST, minlength=361)
    expected = away.size / 361
    assert float(((counts - expected) ** 2 / expected).sum()) < 361 + 5 * math.sqrt(2 * 361)


def test_a_seed_is_the_same_in_every_process() -> None:
    assert seed_of("AAPL", dt.date(2024, 3, 28), LONG) == 13258071386723212042
    assert seed_of("AAPL", dt.date(2024, 3, 28), SHORT) == 3362215917800298050


def test_a_seed_depends_on_symbol_date_and_direction() -> None:
    days = [dt.date(2024, 3, day) for day in (27, 28)]
    seeds = {seed_of(s, day, d) for s in ("AAPL", "IBM") for day in days for d in (LONG, SHORT)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_draws_do_not_depend_on_the_order_or_the_company_of_trades() -> None:
    bars = walk(2400)
    together = draw(bars, log_of(bars, entries=(700, 900, 1300)))
    assert _same(draw(bars, log_of(bars, entries=(1300, 700, 900))), together[[2, 0, 1]])
    assert _same(draw(bars, log_of(bars, entries=(900,))), together[[1]])


def _same(left: Rows, right: Rows) -> bool:
    return left.tobytes() == right.tobytes()


@settings(max_examples=25)
@given(st.integers(900, 2399), st.sampled_from((LONG, SHORT)))
def test_a_resolved_pair_stays_as_it_is_when_bars_are_appended(cut: int, direction: int) -> None:
    bars = walk(2400)
    log = log_of(bars, direction, tuple(range(600, cut, 37)))
    before, after = draw(bars.take(slice(0, cut)), log), draw(bars, log)
    kept = before["entry"][..., 0] >= 0
    assert _same(before[kept], after[kept])
    assert (after["entry"][kept] >= 0).all()


def test_a_symbol_without_trades_has_no_draws() -> None:
    bars = walk(80)
    assert draw(bars, log_of(bars, entries=())).shape == (0, PAIRS, 2)


def test_without_drift_the_target_is_reached_as_often_as_the_distances_say() -> None:
    # Steps far smaller than the distances and bars without a range: a martingale's odds.
    rng = np.random.default_rng(11)
    length = 60_000
    price = np.exp(np.cumsum(rng.normal(0, 0.01, length)))
    before = np.concatenate([price[:1], price[:-1]])
    high, low = np.maximum(price, before), np.minimum(price, before)
    bars = Bars(np.arange(length, dtype=np.int32), before, high, low, price, price)
    log = log_of(
        bars, entries=tuple(range(600, length - 600, 50)), atr=float(np.median(log_atrs(bars)))
    )
    outcomes = draw(bars, log)["outcome"]
    resolved: npt.NDArray[np.int8] = outcomes[outcomes != Outcome.OPEN]
    assert (resolved == Outcome.WIN).mean() == pytest.approx(STOP / (STOP + TARGET), abs=0.02)
