"""Features: the values that the scan's price and volume filters match on, at a symbol's last bar.

This module has the formula of every column. It knows bars only: no reference data, no
setups and no track records. Every column is a float64. NaN means no evidence (too little history,
or a division by zero); booleans are 1.0 and 0.0.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
from functools import cache, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Bars, Floats, to_date, to_day

EMA_SPANS: Final = (8, 21, 60)
SMA_SPANS: Final = (20, 50, 200)
PERFORMANCE_SPANS: Final = (5, 21, 63, 126, 252)
EXTREME_SPANS: Final = (20, 50, 252)
WEEKS: Final = (1, 2, 3)
MONTHS: Final = tuple(range(1, 13))
EXTREME_PERIODS: Final = (
    *(str(span) for span in EXTREME_SPANS),
    *(f"{count}w" for count in WEEKS),
    *(f"{count}m" for count in MONTHS),
)

NAN: Final = math.nan
TRADING_DAYS: Final = 252  # sessions a year on an exchange
CALENDAR_DAYS: Final = 365  # sessions a year for crypto


def features(bars: Bars, *, crypto: bool) -> Floats:
    """The value of every column of `COLUMNS`, in its order, at the last of the cleaned bars.

    Prices and dollar volumes are in the quote currency, volumes in units of the asset. The others
    are percentages, except `volume_ratio` (a ratio), and `rsi` and `volume_percentile` (0-100).
    """
    row = np.array([*_values(bars, crypto=crypto).values()])
    row[~np.isfinite(row)] = NAN
    return row


def _values(bars: Bars, *, crypto: bool) -> dict[str, float]:
    """The formulas of all columns, in the order of the interface."""
    sessions = CALENDAR_DAYS if crypto else TRADING_DAYS
    with np.errstate(all="ignore"):
        return {
            **_volumes(bars),
            "rsi": _rsi(bars.close),
            **ranges(bars),
            "volatility": _volatility(bars.close, sessions),
            **_averages(bars.close),
            **_moves(bars),
            **_extremes(bars),
        }


def _volumes(bars: Bars) -> dict[str, float]:
    price, today = float(bars.close[-1]), float(bars.volume[-1])
    average = _mean(bars.volume, 20)
    return {
        "price": price,
        "avg_volume": average,
        "dollar_volume": _mean(bars.close[-20:] * bars.volume[-20:], 20),
        "dollar_volume_30d": price * _mean(bars.volume, 30),
        "current_dollar_volume": price * today,
        "current_volume": today,
        "volume_ratio": _ratio(today, average),
        "volume_percentile": _percentile(bars.volume[-63:]),
    }


def _percentile(volume: Floats) -> float:
    """The rank of the last volume among 63 sessions, 0-100; a tie counts half."""
    if len(volume) < 63:
        return NAN
    below = np.count_nonzero(volume < volume[-1])
    ties = np.count_nonzero(volume == volume[-1]) - 1
    return float(100 * (below + ties / 2) / 62)


def ranges(bars: Bars) -> dict[str, float]:
    """Mean range of 14 sessions: in percent of each low (adr); true, of the last close (atr)."""
    before = bars.close[-15:-1]
    if len(before) < 14:
        return {"adr": NAN, "atr": NAN}
    high, low = bars.high[-14:], bars.low[-14:]
    true_range = np.maximum(high, before) - np.minimum(low, before)
    return {
        "adr": 100 * _mean(high / low - 1, 14),
        "atr": 100 * _ratio(_mean(true_range, 14), float(bars.close[-1])),
    }


def _rsi(close: Floats) -> float:
    """Wilder's 14-day RSI, smoothed from the first bar on; 50 if the price never moved."""
    if len(close) < 15:
        return NAN
    changes = np.diff(close)
    gains = np.maximum(changes, 0.0)
    losses = gains - changes
    gain, loss = (
        _smoothed(side[14:], float(side[:14].sum()) / 14, 1 / 14) for side in (gains, losses)
    )
    return 100 * gain / (gain + loss) if gain + loss else 50.0


def _volatility(close: Floats, sessions: int) -> float:
    """The annualised sample standard deviation of 20 daily log returns, in percent."""
    if len(close) < 21:
        return NAN
    returns = np.diff(np.log(close[-21:]))
    return 100 * float(returns.std(ddof=1)) * math.sqrt(sessions)


def _averages(close: Floats) -> dict[str, float]:
    price = float(close[-1])
    # Distances from the last close are averaged, so that the average of a flat series is exactly
    # its price: rounding must not look like a cross.
    apart = close - price
    ema = {span: price + _ema(apart, span) for span in EMA_SPANS}
    sma = {span: price + _mean(apart, span) for span in SMA_SPANS}
    return {
        **{f"ema_distance_{span}": _percent(price, ema[span]) for span in EMA_SPANS},
        "ema_cross": _percent(ema[8], ema[21]),
        **{f"sma_distance_{span}": _percent(price, sma[span]) for span in SMA_SPANS},
        **{f"price_above_sma_{span}": _above(price, sma[span]) for span in SMA_SPANS},
        "sma_cross": _above(sma[50], sma[200]),
    }


def _moves(bars: Bars) -> dict[str, float]:
    close, price = bars.close, float(bars.close[-1])
    opened, yesterday = float(bars.open[-1]), _ago(close, 1)
    return {
        **{f"performance_{span}": _percent(price, _ago(close, span)) for span in PERFORMANCE_SPANS},
        "performance_ytd": _percent(price, _last_years_close(bars)),
        "daily_change": _percent(price, yesterday),
        "change_from_open": _percent(price, opened),
        "gap": _percent(opened, yesterday),
    }


def _last_years_close(bars: Bars) -> float:
    new_year = to_date(bars.date[-1]).replace(month=1, day=1)
    first = int(np.searchsorted(bars.date, np.int32(to_day(new_year))))
    return float(bars.close[first - 1]) if first else NAN


def _extremes(bars: Bars) -> dict[str, float]:
    price, counts = float(bars.close[-1]), _window_lengths(bars)
    recent = slice(-max(1, *counts), None)
    highs = np.maximum.accumulate(bars.high[recent][::-1]).tolist()
    lows = np.minimum.accumulate(bars.low[recent][::-1]).tolist()
    windows = dict(zip(EXTREME_PERIODS, counts, strict=True)).items()
    high = {period: highs[count - 1] if count else NAN for period, count in windows}
    low = {period: lows[count - 1] if count else NAN for period, count in windows}
    return {
        **{f"distance_from_high_{at}": 100 * (1 - _ratio(price, high[at])) for at in high},
        **{f"distance_from_low_{at}": _percent(price, low[at]) for at in low},
    }


def _window_lengths(bars: Bars) -> list[int]:
    """The number of bars in each window of `EXTREME_PERIODS`; 0 if the history does not fill it.

    A week or month window contains the bars after its cut. It needs a bar on or before the cut:
    otherwise the listing may be younger than the window, and its high since listing is not a
    twelve-month high.
    """
    length = len(bars)
    sessions = [span if length >= span else 0 for span in EXTREME_SPANS]
    before = np.searchsorted(bars.date, _cuts(int(bars.date[-1])), side="right").tolist()
    return sessions + [length - count if count else 0 for count in before]


@lru_cache(maxsize=64)
def _cuts(day: int) -> npt.NDArray[np.int32]:
    """The last day before each week and month window that ends on a day, which most symbols of a
    night have in common.
    """
    weeks = [day - 7 * count for count in WEEKS]
    months = [to_day(_months_before(to_date(day), count)) for count in MONTHS]
    cuts = np.array(weeks + months, dtype=np.int32)
    cuts.setflags(write=False)
    return cuts


def _months_before(date: dt.date, months: int) -> dt.date:
    """This day in an earlier month, or that month's last day if it is shorter."""
    year, month = divmod(12 * date.year + date.month - 1 - months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return dt.date(year, month + 1, min(date.day, last))


def _ema(values: Floats, span: int) -> float:
    """The exponential average of all values with alpha 2/(span+1), from the first on."""
    if len(values) < span:
        return NAN
    return _smoothed(values[1:], float(values[0]), 2 / (span + 1))


def _smoothed(values: Floats, seed: float, alpha: float) -> float:
    """The result of the recursion `x += alpha * (value - x)` from `seed`, as one weighted sum."""
    weights = _decay(alpha, 1 << len(values).bit_length())
    recent = float((weights[: len(values)] * values[::-1]).sum())
    return alpha * recent + float(weights[len(values)]) * seed


@cache
def _decay(alpha: float, size: int) -> Floats:
    """The weights (1 - alpha)^k for k below `size`."""
    weights = np.power(1 - alpha, np.arange(size))
    weights[weights < 1e-280] = 0.0  # avoids subnormal products, a hundred cycles each
    weights.setflags(write=False)
    return weights


def _mean(values: Floats, count: int) -> float:
    """The mean of the last `count` values."""
    return float(values[-count:].sum()) / count if len(values) >= count else NAN


def _ago(close: Floats, sessions: int) -> float:
    """The close `sessions` bars before the last."""
    return float(close[-1 - sessions]) if len(close) > sessions else NAN


def _percent(value: float, base: float) -> float:
    """How far a value lies above a base, in percent of the base."""
    return 100 * (_ratio(value, base) - 1)


def _ratio(value: float, base: float) -> float:
    return value / base if base else NAN


def _above(value: float, base: float) -> float:
    """1.0 if the value is above the base, else 0.0; NaN if either is NaN."""
    return NAN if math.isnan(value) or math.isnan(base) else float(value > base)


COLUMNS: Final = tuple(_values(Bars(np.zeros(1, np.int32), *np.ones((5, 1))), crypto=False))
"""The name of every column, a kind of filter with its period if it takes one: those of the
formulas."""
