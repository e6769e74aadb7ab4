"""Rules: every data rule in words, for reports and documents: when it applies and what it does.

The code of a rule is the name under which bars are counted or a symbol is refused. Rules are listed
in the order in which they are applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from screener.nightly.cleaning.cleaning import (
    CONTRADICTIONS,
    EXTRA_SHARE,
    MISPRINT,
    MISPRINT_VOLUME,
    OUTSIDE,
    REUSE_DAYS,
    STOPPED,
    UNIT,
)
from screener.nightly.cleaning.gates import (
    BAD_BARS,
    BAD_SHARE,
    BAD_STRETCH,
    BAD_WINDOW,
    FLAT_BARS,
    FLAT_SHARE,
    FRACTION_LEVEL,
    FRACTION_RANGE,
    FRACTION_VOLUME,
    FRACTIONS,
    GAP_CRYPTO,
    GAP_DAYS,
    GAPS,
    JUMP,
    JUMP_LIMIT,
    LEVEL_BARS,
    LEVEL_TOLERANCE,
    MAX_JUMPS,
    MIN_BARS,
    ORDINARY_RANGE,
    OUTSTANDING_GAPS,
    OUTSTANDING_RANGES,
    SPIKE,
    SPLIT_LOG,
    SPLIT_RATIOS,
    SPLIT_TOLERANCE,
    STEPPED_SHARE,
    USUAL_BARS,
)
from screener.nightly.cleaning.sessions import ACTIVE_SESSIONS
from screener.nightly.detector.parameters import Parameters


@dataclass(frozen=True, slots=True)
class DataRule:
    """One data rule, in words."""

    code: str
    when: str
    done: str


_STOCK, _CRYPTO = GAP_DAYS, GAP_CRYPTO
_SMALL = ", ".join(str(ratio) for ratio in SPLIT_RATIOS[7:])
_ATR_BARS, _ATR_FLOOR = Parameters().atr_bars, Parameters().atr_floor

FINDINGS: Final = (
    DataRule("undated_row", "a row without a readable date", "dropped"),
    DataRule("repeated_date", "another row of one date with the same prices", "one is kept"),
    DataRule(
        "differing_date", "rows of one date whose prices differ, in the past", "no row is used"
    ),
    DataRule("second_file", "another file for the same name in a folder", "not read"),
    DataRule("bad_bar", "a price missing, zero or negative, or the high below the low", "dropped"),
    DataRule("bad_volume", "a missing or negative volume", "counts as 0"),
    DataRule("range_widened", "the open or close lies outside the range", "the range is widened"),
    DataRule(
        "price_outside_range",
        f"it lies outside by more than {OUTSIDE:.0%}",
        "the range is widened; a contradiction",
    ),
    DataRule(
        "unit_changed",
        f"where prices are in hundredths: bars before or after a close about {UNIT:.0f} times the "
        "one before, or under a fraction as small",
        "converted to hundredths",
    ),
    DataRule(
        "repeated_bar",
        f"bars at the end, {STOPPED} at least, that have a range and repeat the one before in "
        "every price and the volume",
        "dropped",
    ),
    DataRule(
        "filled_day",
        "a weekend or holiday that repeats the bar before, or has no volume and no range",
        "no contradiction",
    ),
    DataRule(
        "extra_session",
        f"abroad, a traded bar on a weekend or holiday, up to {EXTRA_SHARE:.1%} of all",
        "kept",
    ),
    DataRule("future_date", "a bar dated in the future anywhere on earth; counted once", "dropped"),
    DataRule(
        "weekend",
        "a weekend bar of a stock or ETF",
        "dropped; a contradiction, unless it is listed abroad",
    ),
    DataRule(
        "holiday",
        "a bar of a stock or ETF on a weekday on which its exchange did not open, as far back as "
        "its calendar is known (New York's from 1953 on)",
        "dropped; a contradiction",
    ),
    DataRule("split_applied", "a split in the reference, if the bars are unadjusted", "applied"),
    DataRule(
        "misprint",
        f"the open is over {MISPRINT:.0f} times both the close before and its own, or under "
        f"1/{MISPRINT:.0f} of both, on at most {MISPRINT_VOLUME:.0f} times the median volume of "
        f"{USUAL_BARS} bars",
        "dropped; a contradiction",
    ),
    DataRule(
        "price_spike",
        f"a close over {SPIKE:.0f} times the one before, or under 1/{SPIKE:.0f}, and a move as "
        "large back on the next bar",
        "dropped; a contradiction",
    ),
    DataRule(
        "idle",
        f"a bar at which over {FLAT_SHARE:.0%} of the last {FLAT_BARS} bars have no range or no "
        "volume",
        "no line crosses it; nothing is served",
    ),
    DataRule("halted", "a bar without volume and without range", "dropped"),
    DataRule("no_volume", "a bar with a range but without volume", "kept"),
    DataRule(
        "ticker_reuse",
        f"a gap of more than {REUSE_DAYS} days",
        "a new series begins; open trades of the old one stay open",
    ),
    DataRule(
        "unadjusted_split",
        f"not for crypto: an open with a log gap above {SPLIT_LOG} within {SPLIT_TOLERANCE:.0%} of "
        f"n:1 or 1:n, n one of 2 to {SPLIT_RATIOS[6]}, {_SMALL}; the close has that ratio to the "
        f"median of the {LEVEL_BARS} closes before too, within {LEVEL_TOLERANCE:.0%}, and the "
        f"day's range is at most {ORDINARY_RANGE:.0f} times the usual one. Also "
        f"{', '.join(FRACTIONS)}, either way, within {FRACTION_LEVEL:.0%} and "
        f"{FRACTION_RANGE:.0f} times, if the gap is over "
        f"{OUTSTANDING_RANGES:.0f} usual ranges and {OUTSTANDING_GAPS:.0f} times the {GAPS} gaps "
        f"before, on at most {FRACTION_VOLUME:.0f} times the usual volume",
        "a new series begins; open trades of the old one stay open",
    ),
    DataRule(
        "gap",
        f"more than {_STOCK} calendar days between bars, crypto {_CRYPTO}",
        "lines and setups end there, trades stay open",
    ),
    DataRule("flat_bar", "a bar with volume but without range", "kept"),
    DataRule(
        "price_jump", f"a close over {JUMP:.0f} times the one before, or under 1/{JUMP:.0f}", "kept"
    ),
)
"""What is counted for each symbol, whether it is covered or not."""

REFUSALS: Final = (
    DataRule("bad_symbol", "the name cannot be a symbol", "left out"),
    DataRule("duplicate_symbol", "a second name for one symbol", "left out"),
    DataRule("no_bars", "only the reference lists it, or its bars were gone when read", "left out"),
    DataRule("unreadable_file", "its file cannot be read", "left out"),
    DataRule(
        "differing_rows",
        "rows of one date differ, for one of the newest 20 bars or for over 3 dates and 1% of all",
        "left out",
    ),
    DataRule(
        "parted_files",
        "of two files for successive periods, the closes of common dates differ by over 0.5%, or "
        "the step from one to the other is over 10% and 3 times that before nearly all sessions",
        "left out",
    ),
    DataRule("undated_rows", "one of the newest 20 rows has no readable date", "left out"),
    DataRule(
        "other_interval",
        "none of its files holds daily prices; files beside daily ones are only counted",
        "left out",
    ),
    DataRule(
        "foreign_listing",
        "a Stooq listing of a country whose trading days are not known",
        "left out",
    ),
    DataRule(
        "bad_bars",
        f"{', '.join(CONTRADICTIONS[:-1])} and {CONTRADICTIONS[-1]} together exceed {BAD_BARS} and "
        f"{BAD_SHARE:.0%} of the bars so far and of the last {BAD_WINDOW:,}, or of those since the "
        f"last {BAD_STRETCH} or more bad ones in a row",
        "left out from then on, until they no longer do",
    ),
    DataRule(
        "price_jumps",
        f"among the last {BAD_WINDOW:,} bars more than {MAX_JUMPS} price_jump, or a close over "
        f"{JUMP_LIMIT:.0f} times the one before or under 1/{JUMP_LIMIT:.0f}",
        "left out from then on, until they are older",
    ),
    DataRule(
        "unconfirmed_close",
        f"the last close is over {SPIKE:.0f} times the one before, or under 1/{SPIKE:.0f}: the "
        "next bar will tell",
        "left out of this night",
    ),
    DataRule(
        "flat_bars",
        f"over {FLAT_SHARE:.0%} of the last {FLAT_BARS} bars have no range or no volume",
        "left out",
    ),
    DataRule(
        "too_few_bars", f"fewer than {MIN_BARS} bars since its series began or was idle", "left out"
    ),
    DataRule(
        "stepped_price",
        f"over {STEPPED_SHARE:.0%} of the last {FLAT_BARS} closes repeat the one before: the tick "
        "is too coarse for lines",
        "left out",
    ),
    DataRule(
        "low_volatility",
        f"the mean true range of {_ATR_BARS} bars is under {_ATR_FLOOR:.1%}, the detector's floor",
        "left out",
    ),
    DataRule(
        "behind",
        f"the last bar is not of its calendar's last session, but of one of the "
        f"{ACTIVE_SESSIONS} before",
        "left out of this night",
    ),
    DataRule("stale", f"no bar in these {ACTIVE_SESSIONS + 1} sessions", "left out"),
)
"""Why a symbol is not covered tonight; the first rule that applies. Its past trades stay."""

RULES: Final = {rule.code: rule for rule in (*FINDINGS, *REFUSALS)}
