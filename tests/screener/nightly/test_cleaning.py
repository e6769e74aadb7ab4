"""Cleaning: every rule on bars made for it, and all rules on real bars, sound and unsound.

Over 400 lines, because the rules work on one another's results and share their bars.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from screener.nightly.bars import Bars, Days, to_date, to_day
from screener.nightly.cleaning.cleaning import Cleaned, clean
from screener.nightly.cleaning.gates import BAD_WINDOW, USUAL_BARS, suspected_splits
from screener.nightly.cleaning.sessions import SessionWindow
from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import AssetType, Split
from store.wire.exchanges import NEW_YORK, UTC_DAYS
from tests.screener.nightly.series import changed, multiplied

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[4] / "shared"))
SOUND = SHARED / "data" / "bars.parquet"
REFERENCE = SHARED / "data" / "reference.parquet"

MONDAY = to_day(dt.date(2024, 1, 1))


def weekdays(count: int, first: int = MONDAY) -> Days:
    """Day numbers from a Monday on, without weekends."""
    number = np.arange(count)
    return (first + number + 2 * (number // 5)).astype(np.int32)


def wave(count: int = 200, first: int = MONDAY) -> Bars:
    """A quiet price around 100 with a range of two percent."""
    close = 100 + 5 * np.sin(np.arange(count) / 9)
    return Bars(
        weekdays(count, first), close - 0.3, close + 1, close - 1, close, np.full(count, 1000.0)
    )


def cleaned(
    bars: Bars,
    asset_type: AssetType = "stock",
    *,
    as_of: int | None = None,
    closed: Sequence[int] = (),
    begun: int = MONDAY + 10_000,
    **rules: Any,
) -> Cleaned:
    """The bars cleaned on the day of the last one, or on another; no day is a holiday but these."""
    last = as_of if as_of is not None else int(bars.date[-1]) if len(bars) else MONDAY
    window = SessionWindow(
        calendar=UTC_DAYS if asset_type == "crypto" else NEW_YORK,
        last=to_date(last),
        following=to_date(last + 1),
        active_since=to_date(last - 14),
        begun=to_date(begun),
        closed=np.array(closed, np.int32),
    )
    return clean(bars, asset_type=asset_type, window=window, **rules)


def lengths(result: Cleaned) -> list[int]:
    """The number of bars in each series."""
    return [len(series) for series in result.series]


def code(result: Cleaned) -> str | None:
    return result.refusal.code if result.refusal else None


def test_sound_bars_pass_untouched() -> None:
    bars = wave()
    result = cleaned(bars)
    assert result.covered
    assert result.findings == {}
    assert all(map(np.array_equal, result.bars.columns(), bars.columns()))


@pytest.mark.parametrize(
    "cells",
    [
        {"close": math.nan},
        {"open": math.inf},
        {"low": 0.0},
        {"close": -1.0},
        {"high": 90.0, "low": 95.0},
    ],
)
def test_a_bar_that_cannot_be_is_dropped(cells: dict[str, float]) -> None:
    bars = wave()
    result = cleaned(changed(bars, 50, **cells))
    assert result.covered
    assert result.findings == {"bad_bar": 1}
    assert len(result.bars) == len(bars) - 1
    assert bars.date[50] not in result.bars.date


def test_a_range_is_widened_to_hold_its_open_and_close() -> None:
    bars = wave()
    top, bottom = float(bars.close[60]) + 1.2, float(bars.close[60]) - 1.2
    result = cleaned(changed(bars, 60, open=bottom, close=top))
    assert result.covered
    assert result.findings == {"range_widened": 1}
    assert (result.bars.low[60], result.bars.high[60]) == (bottom, top)


def test_a_halt_is_dropped_and_a_range_without_volume_is_kept() -> None:
    bars = changed(wave(), 40, volume=0)
    bars = changed(bars, 41, volume=0, open=100, high=100, low=100, close=100)
    result = cleaned(bars)
    assert result.findings == {"halted": 1, "no_volume": 1}
    assert len(result.bars) == len(bars) - 1


@pytest.mark.parametrize("volume", [math.nan, -5.0, math.inf])
def test_a_volume_that_is_no_number_is_none(volume: float) -> None:
    result = cleaned(changed(wave(), 40, volume=volume))
    assert result.bars.volume[40] == 0
    assert result.findings == {"bad_volume": 1, "no_volume": 1}


def test_a_weekend_bar_is_dropped_for_a_stock_and_kept_for_crypto() -> None:
    bars = wave()
    bars.date[9] += 1  # the Friday becomes a Saturday
    stock, crypto = cleaned(bars), cleaned(bars, "crypto")
    assert stock.findings == {"weekend": 1}
    assert len(stock.bars) == len(bars) - 1
    assert len(crypto.bars) == len(bars)


def test_every_owner_of_a_ticker_has_a_series_of_its_own() -> None:
    old, new = wave(100), wave(120, MONDAY + 7 * 40)
    result = cleaned(Bars.joined([multiplied(old, 0, 40.0), new]))
    assert result.covered
    assert result.findings == {"ticker_reuse": 1, "gap": 1}
    assert lengths(result) == [100, 120]
    assert result.series[1].bars.date[0] == new.date[0]


def test_a_bar_of_a_day_on_which_new_york_was_closed_is_dropped() -> None:
    bars = wave()
    holidays = [int(bars.date[20]), int(bars.date[90])]
    result = cleaned(bars, closed=holidays)
    assert result.covered
    assert result.findings == {"holiday": 2}
    assert not set(holidays) & set(result.bars.date.tolist())
    assert cleaned(bars, "crypto", closed=()).findings == {}


def test_bars_of_another_country_s_calendar_are_refused_by_name() -> None:
    bars = wave()
    result = cleaned(bars, closed=bars.date[::20].tolist())
    assert code(result) == "bad_bars"
    assert "(holiday 10)" in str(result.refusal)


def test_a_bar_dated_in_the_future_is_no_bar() -> None:
    bars = wave()
    result = cleaned(bars, as_of=int(bars.date[-3]), begun=int(bars.date[-2]))
    assert result.findings == {"future_date": 1}, "the day after the last has begun somewhere"
    assert lengths(result) == [198]


def test_a_gap_of_ninety_days_is_one_series() -> None:
    bars = wave(160)
    bars.date[100:] += 87  # from one Friday to a Monday, 90 days later
    assert bars.date[100] - bars.date[99] == 90
    assert lengths(cleaned(bars, "crypto")) == [160]
    bars.date[100:] += 1
    assert lengths(cleaned(bars, "crypto")) == [100, 60]


@pytest.mark.parametrize(
    ("asset_type", "days", "gaps"),
    [("stock", 7, 0), ("stock", 14, 1), ("crypto", 0, 0), ("crypto", 1, 1)],
)
def test_a_gap_that_ends_patterns_is_counted(asset_type: AssetType, days: int, gaps: int) -> None:
    bars = wave()  # a weekend is three days, which are no gap for crypto, and four are
    bars.date[100:] += days
    result = cleaned(bars, asset_type)
    assert result.covered
    assert result.findings.get("gap", 0) == gaps


@pytest.mark.parametrize("ratio", [2, 3, 4, 5, 7, 10, 20, 1 / 2, 1 / 3, 1 / 10, 1 / 25])
def test_a_gap_with_the_ratio_of_a_split_begins_a_new_series(ratio: float) -> None:
    bars = wave()
    exact = float(bars.close[99] / bars.open[100])
    result = cleaned(multiplied(bars, 100, exact * ratio * 1.015))
    assert result.findings["unadjusted_split"] == 1
    assert lengths(result) == [100, 100]
    assert result.covered


@pytest.mark.parametrize("ratio", [0.63, 0.55, 1.42, 2.06, 1 / 2.3, 1 / 3.5])
def test_a_gap_of_another_ratio_is_a_move(ratio: float) -> None:
    bars = wave()
    exact = float(bars.close[99] / bars.open[100])
    assert lengths(cleaned(multiplied(bars, 100, exact * ratio))) == [200]


FRACTIONS = [5 / 4, 4 / 3, 3 / 2, 5 / 3, 5 / 2]


@pytest.mark.parametrize("ratio", [*FRACTIONS, *(1 / each for each in FRACTIONS)])
def test_a_gap_of_a_fraction_begins_a_new_series_where_nothing_else_is_unusual(
    ratio: float,
) -> None:
    bars = wave()
    split = multiplied(bars, 100, float(bars.close[99] / bars.open[100]) * ratio * 1.01)
    assert lengths(cleaned(split)) == [100, 100]
    busy = changed(split, 100, volume=4 * bars.volume[100])
    assert lengths(cleaned(busy)) == [200], "news brings volume"
    nervous = multiplied(multiplied(split, 70, 0.88), 71, 1 / 0.88)
    assert lengths(cleaned(nervous)) == ([200] if 3 / 4 < ratio < 4 / 3 else [100, 100])


def test_crypto_has_no_splits() -> None:
    bars = wave()
    assert lengths(cleaned(multiplied(bars, 100, 0.5), "etf")) == [100, 100]
    assert lengths(cleaned(multiplied(bars, 100, 0.5), "crypto")) == [200]


def test_a_price_that_news_halves_is_a_move() -> None:
    """Open and level are those of a split, but the range of the day is too wide."""
    bars = wave()
    halved = multiplied(bars, 100, float(bars.close[99] / bars.open[100]) / 2)
    assert lengths(cleaned(halved)) == [100, 100]
    low, high = float(halved.low[100]), float(halved.high[100])
    assert lengths(cleaned(changed(halved, 100, low=0.93 * low, high=1.05 * high))) == [200]


def test_an_open_of_half_the_price_that_is_gone_at_the_close_is_no_split() -> None:
    bars = wave()
    opened = float(bars.close[99]) / 2
    odd = changed(bars, 100, open=opened, low=opened, volume=9000.0)
    assert suspected_splits(odd) == []
    assert cleaned(odd).covered


def test_a_split_of_the_last_bar_is_seen_tonight() -> None:
    bars = wave()
    exact = float(bars.close[-2] / bars.open[-1])
    result = cleaned(multiplied(bars, len(bars) - 1, exact / 4), "etf")
    assert lengths(result) == [199], "nobody knows yet whether the close is a bad print"
    result = cleaned(multiplied(bars, len(bars) - 1, exact / 2), "etf")
    assert (lengths(result), code(result)) == ([199, 1], "too_few_bars")


def test_a_split_that_the_reference_gives_is_applied_to_raw_bars() -> None:
    bars = wave()
    raw = multiplied(bars, 100, 0.25)
    split = Split(to_date(bars.date[100]), 4.0)
    result = cleaned(raw, adjustment="none", splits=[split])
    assert result.covered
    assert result.findings == {"split_applied": 1}
    assert result.bars.close == pytest.approx(bars.close / 4)
    assert result.bars.volume.tolist() == [4000.0] * 100 + [1000.0] * 100
    assert lengths(cleaned(raw, adjustment="split", splits=[split])) == [100, 100]
    assert lengths(cleaned(raw, adjustment="none")) == [100, 100]


def test_a_split_after_the_session_is_not_known_yet() -> None:
    bars = wave()
    raw = multiplied(bars, 100, 0.25)
    split = Split(to_date(bars.date[100]), 4.0)
    result = cleaned(raw, as_of=int(bars.date[99]), adjustment="none", splits=[split])
    assert result.findings == {}
    assert result.bars.close.tolist() == bars.close[:100].tolist()


def test_no_bar_after_the_session_is_used() -> None:
    bars = wave()
    spoiled = changed(bars, slice(150, None), close=math.nan)
    result = cleaned(spoiled, as_of=int(bars.date[149]))
    assert result.covered
    assert result.findings == {}
    assert len(result.bars) == 150


def test_a_few_contradictions_are_forgiven_and_many_are_not() -> None:
    bars = wave(100)
    assert cleaned(changed(bars, slice(80, 83), low=0)).covered
    result = cleaned(changed(bars, slice(80, 84), low=0))
    assert code(result) == "bad_bars"
    assert lengths(result) == [80], "what came before stays"


def test_bars_are_trusted_again_when_their_contradictions_are_few_among_many() -> None:
    result = cleaned(changed(wave(520), slice(100, 104), low=0))
    assert result.covered
    assert lengths(result) == [100, 520 - 399]
    assert result.series[1].bars.date[0] == wave(520).date[399]


def test_closes_far_outside_their_range_are_contradictions() -> None:
    bars = wave(100)
    assert code(cleaned(changed(bars, slice(10, 14), high=95, low=94))) == "bad_bars"


def idle(count: int, length: int = 900, **cells: float) -> Bars:
    """A wave whose first bars do not move."""
    return changed(wave(length), slice(0, count), high=100, low=100, open=100, close=100, **cells)


@pytest.mark.parametrize("cells", [{}, {"volume": 0.0}])
def test_a_price_without_ranges_is_not_traded(cells: dict[str, float]) -> None:
    result = cleaned(idle(160, 300, **cells))
    assert code(result) == "flat_bars"
    assert "44% of the last year's bars" in str(result.refusal)
    assert cleaned(idle(99, 300, **cells)).covered


def test_no_line_reaches_back_into_years_without_trade() -> None:
    bars = idle(500)
    result = cleaned(bars)
    assert result.covered
    # The last 250 bars of which more than 100 are idle end with bar 648.
    assert result.findings == {"idle": 649 - 249, "flat_bar": 500}
    assert np.array_equal(result.series[0].active.date, bars.date[649:])
    assert not result.series[0].served[: 649 + 59].any()
    assert result.series[0].served[649 + 59 :].all()


def test_quotes_that_move_without_volume_are_no_trades() -> None:
    bars = changed(wave(620), slice(1, 400), volume=0)
    found = cleaned(bars)
    assert found.covered
    assert found.findings == {"no_volume": 399, "idle": 549 - 249}
    assert code(cleaned(changed(wave(600), slice(400, 590), volume=0))) == "flat_bars"


def test_quotes_count_as_idle_only_once_a_volume_was_seen() -> None:
    """A night before the first volume took the bars for those of a source that knows none."""
    bars = changed(wave(400), slice(0, 200), volume=0)
    assert cleaned(bars.take(slice(0, 200))).covered
    assert cleaned(bars).series[0].served[59:].all()


@pytest.mark.parametrize(("volume", "findings"), [(math.nan, {}), (0.0, {"no_volume": 200})])
def test_a_source_without_volumes_is_judged_by_its_ranges(
    volume: float, findings: dict[str, int]
) -> None:
    result = cleaned(changed(wave(), slice(None), volume=volume))
    assert result.covered
    assert result.findings == findings
    assert np.array_equal(result.bars.volume, np.full(200, volume), equal_nan=True)


def test_closes_that_mostly_repeat_are_steps_of_a_coarse_tick() -> None:
    bars = wave(300)
    steps = np.round(bars.close / 2) * 2
    stepped = changed(bars, slice(None), close=steps, high=steps + 1, low=steps - 1, open=steps)
    assert (np.diff(steps) == 0).mean() > 0.5
    assert code(cleaned(stepped)) == "stepped_price"


@pytest.mark.parametrize(("opened", "dropped"), [(225, 1), (45, 1), (150, 0)])
def test_an_open_far_from_both_closes_beside_it_is_a_misprint(opened: float, dropped: int) -> None:
    bars = changed(wave(), 100, open=opened, high=max(opened, 101), low=min(opened, 99), close=100)
    result = cleaned(bars)
    assert result.findings.get("misprint", 0) == dropped
    assert len(result.bars) == len(bars) - dropped
    busy = changed(bars, 100, volume=5001.0)
    assert "misprint" not in cleaned(busy).findings


def test_many_misprints_are_contradictions() -> None:
    bars = wave(300)
    for bar in range(260, 300, 10):
        bars = changed(bars, bar, open=300, high=300)
    assert code(cleaned(bars)) == "bad_bars"


@pytest.mark.parametrize("kind", ["stock", "crypto"])
def test_a_close_that_leaps_and_falls_back_is_a_bad_print(kind: AssetType) -> None:
    bars = wave()
    result = cleaned(changed(bars, 102, high=400, close=380), kind)
    assert result.covered
    assert result.findings == {"price_spike": 1}
    assert lengths(result) == [199]
    assert bars.date[102] not in result.bars.date


def test_a_last_close_that_leaps_waits_for_the_next_to_be_believed() -> None:
    bars = multiplied(wave(), 150, 3.3)
    tonight = cleaned(bars.take(slice(0, 151)))
    assert code(tonight) == "unconfirmed_close"
    assert lengths(tonight) == [150]
    assert cleaned(bars.take(slice(0, 152))).covered


def test_the_bar_of_a_leap_that_stays_was_not_served_whatever_was_dropped_before_it() -> None:
    bars = changed(multiplied(wave(), 150, 3.3), 40, close=math.nan)
    (series,) = cleaned(bars).series

    assert series.bars.date[60:][~series.served[60:]].tolist() == [bars.date[150]]


def test_of_two_bad_prints_in_a_row_each_is_judged_by_the_closes_that_are_left() -> None:
    bars = changed(wave(), 100, high=500, close=480)
    result = cleaned(changed(bars, 101, low=20, close=25))
    assert result.findings == {"price_spike": 2}
    assert lengths(result) == [198]


@pytest.mark.parametrize(
    ("jumps", "length"),
    [
        ({80: 5.6}, 0),
        ({80: 5.6, 140: 1 / 5.6}, 140),  # from a second great jump on nothing is believed
        ({80: 18.0}, 0),
        ({80: 22.0}, 80),  # and nothing from one of twenty times on
        ({80: 1 / 22.0}, 80),
    ],
)
@pytest.mark.parametrize("kind", ["stock", "crypto"])
def test_one_great_jump_is_a_move_and_a_second_or_one_of_twenty_times_is_none(
    jumps: dict[int, float], length: int, kind: AssetType
) -> None:
    bars = wave()
    for at, factor in jumps.items():
        bars = multiplied(bars, at, factor)
    result = cleaned(bars, kind)
    assert code(result) == ("price_jumps" if length else None)
    assert not length or lengths(result) == [length]


def test_jumps_of_years_ago_condemn_no_later_bar() -> None:
    bars = multiplied(multiplied(wave(1500), 80, 6.5), 100, 1 / 6.5)
    result = cleaned(bars)
    assert result.covered
    assert lengths(result) == [100, 1500 - 80 - BAD_WINDOW]
    assert result.withheld["price_jumps"] == 80 + BAD_WINDOW - 100
    assert code(cleaned(bars.take(slice(0, 80 + BAD_WINDOW)))) == "price_jumps"


def test_fewer_than_sixty_bars_are_left_out() -> None:
    assert code(cleaned(wave(0))) == "too_few_bars"
    assert code(cleaned(wave(59))) == "too_few_bars"
    assert cleaned(wave(60)).covered


@pytest.mark.parametrize(
    ("late", "expected"), [(0, None), (1, "behind"), (14, "behind"), (15, "stale")]
)
def test_a_symbol_without_the_last_session_is_left_out_and_keeps_its_bars(
    late: int, expected: str | None
) -> None:
    bars = wave()
    result = cleaned(bars, as_of=int(bars.date[-1]) + late)
    assert code(result) == expected
    assert lengths(result) == [200]


def test_a_price_that_does_not_move_is_analysed_and_not_covered() -> None:
    bars = wave()
    calm = 100 + (bars.close - 100) / 1000
    quiet = Bars(bars.date, calm, calm + 0.05, calm - 0.05, calm, bars.volume)
    result = cleaned(quiet)
    assert code(result) == "low_volatility"
    assert lengths(result) == [200]
    assert not result.series[0].served[59:].any()


PRICE = st.one_of(st.floats(-5, 500), st.sampled_from([math.nan, math.inf, 0.0, 1e-300, 1e300]))


UNKNOWN_AT_FIRST = [(1.0, 1e300, 1.0, 1.0, math.nan)] * 40
"""Bars from before the first volume that the source knows, which stay without one."""
FAR_APART = [(*[1e-300] * 4, 1000.0)] * 20 + [(*[1e300] * 4, 1000.0)] * 20
"""Prices whose ratio is no number of a machine."""
UNKNOWN_LATER = [(100.0, 101.0, 99.0, 100.5, volume) for volume in (math.nan, math.inf, -5.0)] * 14


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(UNKNOWN_AT_FIRST, 0)
@example(UNKNOWN_LATER, 110)
@example(FAR_APART, 0)
@given(
    st.lists(st.tuples(PRICE, PRICE, PRICE, PRICE, PRICE), min_size=40, max_size=90),
    st.integers(0, 110),
)
def test_whatever_comes_in_what_goes_on_is_whole(rows: list[tuple[float, ...]], at: int) -> None:
    names = ("open", "high", "low", "close", "volume")
    odd = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    result = cleaned(changed(wave(200), slice(at, at + len(rows)), **odd))
    kept = result.bars
    assert (np.diff(kept.date) > 0).all()
    for price in (kept.open, kept.high, kept.low, kept.close):
        assert (np.isfinite(price) & (price > 0)).all()
    assert (kept.high >= np.maximum(kept.open, kept.close)).all()
    assert (kept.low <= np.minimum(kept.open, kept.close)).all()
    unknown = np.isnan(kept.volume)
    assert (unknown | (np.isfinite(kept.volume) & (kept.volume >= 0))).all()
    assert not (unknown & np.logical_or.accumulate(kept.volume > 0)).any()
    for series in result.series:
        # Whether a gap stands out is judged by the bars before it, which an early one lacks here.
        assert [bar for bar in suspected_splits(series.bars) if bar >= USUAL_BARS] == []
        assert len(series.idle) == len(series.served) == len(series) > 0


@pytest.mark.skipif(not SOUND.exists(), reason="the shared bars are not here")
def test_real_sound_bars_are_hardly_ever_kept_out() -> None:
    """Of 1,856 symbols: no trade on 40% of days, penny ticks, bad opens, no trade on the last."""
    kinds: dict[str, AssetType] = dict(
        pl.read_parquet(REFERENCE, columns=["symbol", "asset_type"]).iter_rows()
    )
    source = TableSource(SOUND)
    results = {
        item.name: cleaned(item.bars, kinds[item.name]) for item in source.load(source.names())
    }
    codes = Counter(code(result) for result in results.values())
    assert codes == {
        None: 1829,
        "flat_bars": 10,
        "behind": 5,
        "stale": 1,
        "low_volatility": 7,
        "bad_bars": 1,
        "stepped_price": 2,
        "too_few_bars": 1,
    }
    kept = sum(len(result.bars) for result in results.values())
    assert kept > 0.99 * 7_216_198
    assert sum(len(result.series) > 1 for result in results.values()) < 25
    assert sum(result.findings.get("misprint", 0) for result in results.values()) < 700
