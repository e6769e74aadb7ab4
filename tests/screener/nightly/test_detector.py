"""The detector: the same as ever, causal, free of scale, and right on ideal patterns.

Over 400 lines, because the kernel has one face, `detect`, and is tested through it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect, last_atr, line_values, plan_of, touches_of
from screener.nightly.detector.events import EndReason, EventLog, Outcome, PatternType, Scale
from screener.nightly.detector.kernel.compiler import Record
from screener.nightly.detector.parameters import Parameters
from tests.conftest import CROWDED
from tests.screener.nightly.probes import known_by, look_ahead, same
from tests.screener.nightly.series import LENIENT, changed
from tests.screener.nightly.shapes import Shape, joined, random_walk, squeeze, wedge_or_triangle

# Nearly every converging pair is served, so that logs grow large.
GREEDY = CROWDED._replace(
    fade_margin=100.0,
    directness_min=0.0,
    bar_share_max=99.0,
    squeeze_bar_share_max=99.0,
    gap_share_max=99.0,
    height_min=1.0,
    progress_min=0.1,
    start_offset_max=1.0,
    recency_max=1.0,
    touch_gap_max=1.0,
    wedge_touches=4,
    crossings_min=1,
    retreat_min=0.1,
    quality_min=0.0,
    replace_margin=-100.0,
    overlap_min=0.9,
)

SHAPES = {
    "symmetrical triangle up": wedge_or_triangle(-0.3, 0.3, approach=1, broken=1),
    "symmetrical triangle down": wedge_or_triangle(-0.3, 0.3, approach=1, broken=-1),
    "symmetrical triangle up after a fall": wedge_or_triangle(-0.3, 0.3, approach=-1, broken=1),
    "ascending triangle": wedge_or_triangle(0.0, 0.6, approach=1, broken=1),
    "descending triangle": wedge_or_triangle(-0.6, 0.0, approach=-1, broken=-1),
    "rising wedge": wedge_or_triangle(0.5, 1.1, approach=1, broken=-1),
    "falling wedge": wedge_or_triangle(-1.1, -0.5, approach=-1, broken=1),
    "bullish squeeze": squeeze(1),
    "bearish squeeze": squeeze(-1),
}

# Pattern type, direction while forming, direction of the break.
EXPECTED = {
    "symmetrical triangle up": (PatternType.SYMMETRICAL_TRIANGLE, 1, 1),
    "symmetrical triangle down": (PatternType.SYMMETRICAL_TRIANGLE, 1, -1),
    "symmetrical triangle up after a fall": (PatternType.SYMMETRICAL_TRIANGLE, -1, 1),
    "ascending triangle": (PatternType.ASCENDING_TRIANGLE, 1, 1),
    "descending triangle": (PatternType.DESCENDING_TRIANGLE, -1, -1),
    "rising wedge": (PatternType.RISING_WEDGE, -1, -1),
    "falling wedge": (PatternType.FALLING_WEDGE, 1, 1),
    "bullish squeeze": (PatternType.BULLISH_SQUEEZE, 1, 1),
    "bearish squeeze": (PatternType.BEARISH_SQUEEZE, -1, -1),
}


@pytest.fixture(scope="module")
def walk() -> Bars:
    """A random walk in which every type occurs, and ideal patterns of every type."""
    return joined(random_walk(0, 3000), *(shape.bars for shape in SHAPES.values()))


def with_gap(bars: Bars, at: int, days: int) -> Bars:
    """The bars with so many calendar days before one of them."""
    date = bars.date.copy()
    date[at:] += days - 1
    return replace(bars, date=date)


def with_bar(bars: Bars, at: int, opened: float, high: float, low: float, close: float) -> Bars:
    """The bars up to `at`, with another bar in its place."""
    head = bars.take(slice(0, at + 1))
    return changed(head, at, open=opened, high=high, low=low, close=close)


def triggered(log: EventLog) -> tuple[Record, Record]:
    """The only trade of a log and the version that it trades."""
    (trade,) = log.trades
    return log.versions[trade["version"]], trade


def in_trade() -> Iterator[tuple[Shape, Record, int]]:
    """A rising and a falling break: the shape, its trade, and the bar after the entry."""
    for name in ("ascending triangle", "descending triangle"):
        shape = SHAPES[name]
        _, trade = triggered(detect(shape.bars))
        yield shape, trade, int(trade["entry"]) + 1


# --- the same logs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "digest"),
    [
        (LENIENT, "fe120a4b60606bad"),
        (Parameters(), "d6c0eeb7c508390a"),
    ],
    ids=["lenient", "default"],
)
def test_the_logs_of_seeded_walks_stay_the_same(parameters: Parameters, digest: str) -> None:
    """Every number, to six digits."""
    logs = [detect(random_walk(seed, 3000), parameters) for seed in range(6)]
    rows = [row.tolist() for log in logs for table in (log.versions, log.trades) for row in table]
    text = "\n".join(" ".join(f"{value:.6g}" for value in row) for row in rows)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


# --- principles -------------------------------------------------------------------------------


def cuts(log: EventLog, bars: int) -> list[int]:
    """Every bar on which a log has something new, and every ninth one."""
    names = ((log.versions, "first_served"), (log.versions, "end"), (log.trades, "entry"))
    events = {int(bar) for rows, name in names for bar in rows[name] if bar > 2}
    return sorted(events | {*range(3, bars, 9)})


def test_no_bar_after_a_cut_changes_what_was_served_before_it(walk: Bars) -> None:
    """The log of a prefix is the prefix of the log."""
    log = detect(walk)
    assert {*log.versions["type"]} == {*PatternType}
    assert {*log.trades["outcome"]} >= {Outcome.WIN, Outcome.LOSS}
    assert look_ahead(detect, walk, cuts(log, len(walk))) == []


@pytest.mark.parametrize("count", [0, 1, 2, 14, 15, 16, 40])
def test_short_histories_have_no_patterns(count: int) -> None:
    """Nothing is drawn before forty bars of history; a series of any length is accepted."""
    log = detect(random_walk(1, count), GREEDY)
    assert len(log.versions) == 0
    assert len(log.trades) == 0


def test_a_quiet_series_has_no_patterns(walk: Bars) -> None:
    """An ATR under 0.2 % of the price is a stablecoin's or a bill fund's."""
    quiet = replace(
        walk,
        open=walk.open**0.02,
        high=walk.high**0.02,
        low=walk.low**0.02,
        close=walk.close**0.02,
    )
    assert len(detect(quiet, Parameters(atr_floor=0.0)).versions) > 0
    assert len(detect(quiet).versions) == 0


# --- ideal patterns ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_ideal_pattern_is_found_between_its_lines(name: str) -> None:
    """Type, direction, both lines and the trigger bar are those that were drawn."""
    shape = SHAPES[name]
    kind, direction, broken = EXPECTED[name]
    version, trade = triggered(detect(shape.bars))
    entry = shape.break_bar(broken)
    assert version["type"] == kind
    assert version["direction"] == direction
    assert version["scale"] == (Scale.SHORT if "squeeze" in name else Scale.LONG)
    assert min(version["upper_start"], version["lower_start"]) == shape.lines.start
    assert line_values(version, entry) == pytest.approx(
        (shape.lines.upper_at(entry), shape.lines.lower_at(entry)), abs=1e-12
    )
    assert version["end"] == trade["entry"] == entry
    assert version["end_reason"] == EndReason.TRIGGERED
    assert trade["direction"] == broken
    assert trade["entry_price"] == shape.bars.close[entry]


@pytest.mark.parametrize(("move", "is_level"), [(0.08, True), (0.2, True), (0.3, False)])
def test_a_line_that_hardly_moves_is_drawn_level_where_the_bars_allow_it(
    move: float, is_level: bool
) -> None:
    """Elsewhere it keeps the fit to its touches; the other line keeps it in any case."""
    for sign in (1, -1):
        upper, lower = (-move, 0.6) if sign > 0 else (-0.6, move)
        shape = wedge_or_triangle(upper, lower, approach=sign, broken=sign)
        version = detect(shape.bars).versions[-1]
        slopes = [version["upper_slope"], version["lower_slope"]][::sign]
        drawn = [shape.lines.upper[1], shape.lines.lower[1]][::sign]
        assert slopes == pytest.approx([0.0 if is_level else drawn[0], drawn[1]], abs=1e-12)


@pytest.mark.parametrize("name", [name for name in SHAPES if "squeeze" not in name])
def test_wedges_and_triangles_aim_at_their_height_beyond_the_broken_line(name: str) -> None:
    """The stop is the opposite line, and the height the width where the later line starts."""
    shape = SHAPES[name]
    broken = EXPECTED[name][2]
    version, trade = triggered(detect(shape.bars))
    entry = shape.break_bar(broken)
    later = max(version["upper_start"], version["lower_start"])
    height = shape.lines.upper_at(later) - shape.lines.lower_at(later)
    lines = shape.lines.lower_at(entry), shape.lines.upper_at(entry)
    opposite, trigger = lines if broken > 0 else lines[::-1]
    assert abs(trigger - opposite) > 1.5 * trade["atr"]
    assert math.log(trade["stop_price"]) == pytest.approx(opposite, abs=1e-12)
    assert math.log(trade["target_price"]) == pytest.approx(trigger + broken * height, abs=1e-12)


@pytest.mark.parametrize("direction", [1, -1])
def test_squeezes_aim_at_their_pole_and_keep_their_stop_apart(direction: int) -> None:
    """The height is the pole, tip to base; lines too close put the stop 1.5 ATR away."""
    shape = squeeze(direction)
    version, trade = triggered(detect(shape.bars))
    entry = shape.break_bar(direction)
    before = slice(shape.lines.start - 15, shape.lines.start)
    top = float(shape.bars.high[shape.lines.start])
    base = float(np.min(shape.bars.low[before]))
    if direction < 0:
        top = float(np.max(shape.bars.high[before]))
        base = float(shape.bars.low[shape.lines.start])
    pole = math.log(top / base)
    trigger = shape.lines.upper_at(entry) if direction > 0 else shape.lines.lower_at(entry)
    width = shape.lines.upper_at(entry) - shape.lines.lower_at(entry)
    distance = max(width, 1.5 * trade["atr"])
    assert version["height"] == pytest.approx(pole, abs=1e-12)
    assert version["approach"] == pytest.approx(direction * pole, abs=1e-12)
    assert math.log(trade["target_price"]) == pytest.approx(trigger + direction * pole, abs=1e-12)
    assert math.log(trade["stop_price"]) == pytest.approx(trigger - direction * distance, abs=1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        wedge_or_triangle(0.5, 1.1, approach=1, broken=1),
        wedge_or_triangle(-1.1, -0.5, approach=-1, broken=-1),
        wedge_or_triangle(0.0, 0.6, approach=1, broken=-1),
    ],
)
def test_a_one_sided_type_broken_on_the_other_side_is_invalidated(shape: Shape) -> None:
    """It is not traded."""
    log = detect(shape.bars)
    assert log.versions["end_reason"][-1] == EndReason.INVALIDATED
    assert len(log.trades) == 0


@pytest.mark.parametrize(("move", "reason"), [(0.26, EndReason.STALE), (0.3, EndReason.APEX)])
def test_a_pattern_without_a_break_expires(move: float, reason: EndReason) -> None:
    """After the last touch price drifts between the lines: staleness or the apex comes first. The
    same lines are not served again.
    """
    shape = wedge_or_triangle(-move, move, approach=1, broken=0)
    log = detect(shape.bars, Parameters(fade_margin=100.0, progress_max=0.92, progress_expiry=0.92))
    (last,) = log.versions
    length = last["end"] - shape.lines.start
    width = shape.lines.upper_at(last["end"]) - shape.lines.lower_at(last["end"])
    assert last["end_reason"] == reason
    if reason == EndReason.STALE:
        newest = max(swings[-1] for swings in touches_of(shape.bars, last, last["end"]))
        assert last["end"] - newest == math.floor(0.5 * length) + 1
    else:
        assert 0.92 < 1 - width / last["width"] < 0.94
    assert len(log.trades) == 0


def test_an_entry_close_past_the_target_is_missed() -> None:
    """A breakout that reaches the target within one bar leaves nothing to trade."""
    shape = SHAPES["ascending triangle"]
    entry = shape.break_bar(1)
    last = shape.bars.close[entry - 1]
    log = detect(with_bar(shape.bars, entry, last, last * 1.2, last * 0.999, last * 1.19))
    assert log.versions["end_reason"][-1] == EndReason.MISSED
    assert log.versions["end"][-1] == entry
    assert len(log.trades) == 0


# --- order of events --------------------------------------------------------------------------


def test_the_bar_of_the_trigger_does_not_resolve_its_trade() -> None:
    """An entry is at the close: what the bar did before it does not count."""
    shape = SHAPES["ascending triangle"]
    entry = shape.break_bar(1)
    close = shape.bars.close[entry]
    log = detect(with_bar(shape.bars, entry, close, close * 1.3, close * 0.7, close))
    (trade,) = log.trades
    assert shape.bars.low[0] > 0.7 * close
    assert trade["stop_price"] > 0.7 * close
    assert trade["target_price"] < 1.3 * close
    assert trade["outcome"] == Outcome.OPEN
    assert trade["exit"] == -1
    assert math.isnan(trade["exit_price"])


def test_the_stop_comes_first_and_a_gap_fills_a_stop_at_the_open_and_no_target_better() -> None:
    for shape, trade, after in in_trade():
        entry, stop, target = (trade[f"{level}_price"] for level in ("entry", "stop", "target"))
        away = 0.03 if trade["direction"] > 0 else -0.03
        worse, better = stop * (1 - away), target * (1 + away)
        both = (entry, max(stop, target) * 1.01, min(stop, target) * 0.99, entry)
        for bar, outcome, price in (
            (both, Outcome.LOSS, stop),
            ((worse, worse * 1.001, worse * 0.999, worse), Outcome.LOSS, worse),
            ((better, better * 1.001, better * 0.999, better), Outcome.WIN, target),
        ):
            _, found = triggered(detect(with_bar(shape.bars, after, *bar)))
            assert (found["outcome"], found["exit"], found["exit_price"]) == (outcome, after, price)


def test_attempts_count_the_triggers_of_a_lineage(walk: Bars) -> None:
    """A version's attempt is one more than its lineage had triggers when it was served."""
    log = detect(joined(walk, random_walk(11, 3000)), LENIENT)
    versions = log.versions
    assert versions["attempt"].max() > 1
    for row, version in enumerate(versions):
        earlier = versions[:row][versions["lineage"][:row] == version["lineage"]]
        before = (earlier["end_reason"] == EndReason.TRIGGERED) & (
            earlier["end"] <= version["first_served"]
        )
        assert version["attempt"] == 1 + before.sum()


# --- nothing is lost --------------------------------------------------------------------------


def test_any_number_of_open_trades_is_kept() -> None:
    """Stops out of reach leave many trades open."""
    bars = random_walk(2, 4000, drift=0.002)
    trades = detect(bars, GREEDY._replace(stop_distance_min=400.0)).trades
    exits = np.where(trades["exit"] < 0, len(bars), trades["exit"])
    most = max(int(((trades["entry"] < bar) & (exits > bar)).sum()) for bar in range(len(bars)))
    assert most > 48
    assert (trades["outcome"] == Outcome.OPEN).sum() > 48
    assert (trades["outcome"] == Outcome.WIN).sum() > 48


def test_a_log_grows_without_losing_a_row() -> None:
    """A log that outgrows its first room keeps its rows and continues."""
    bars = random_walk(2, 9000)
    log = detect(bars, GREEDY)
    assert len(log.versions) > 2000
    assert len(log.trades) > 600
    for cut in (300, 4500):
        half = detect(bars.take(slice(0, cut + 1)), GREEDY)
        assert same(known_by(half, cut), known_by(log, cut))
    assert (log.trades["version"] < len(log.versions)).all()
    assert log.versions["end_reason"][log.trades["version"]].tolist() == [
        EndReason.TRIGGERED
    ] * len(log.trades)


# --- data gaps --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "gap_days", "is_gap"), [(10, 10, False), (11, 10, True), (4, 3, True)]
)
def test_a_data_gap_ends_forming_setups(days: int, gap_days: int, is_gap: bool) -> None:
    """The first bar after more days than allowed ends them as `data_gap`; no break is traded."""
    shape = SHAPES["ascending triangle"]
    entry = shape.break_bar(1)
    log = detect(with_gap(shape.bars, entry, days), gap_days=gap_days)
    reason = EndReason.DATA_GAP if is_gap else EndReason.TRIGGERED
    assert log.versions["end_reason"][-1] == reason
    assert log.versions["end"][-1] == entry
    assert len(log.trades) == (0 if is_gap else 1)


def test_open_trades_outlive_a_data_gap() -> None:
    """The bars after it resolve them as usual."""
    for shape, trade, after in in_trade():
        assert trade["exit"] > after
        log = detect(with_gap(shape.bars, after, 300))
        assert log.trades.tobytes() == trade.tobytes()


@pytest.mark.parametrize("at", range(150, 900, 50))
def test_nothing_is_drawn_across_a_data_gap(at: int) -> None:
    """A gap is like a first bar: the swings that start a line have all their bars after it."""
    bars = random_walk(2, 1000)
    whole = detect(bars, GREEDY)
    log = detect(with_gap(bars, at, 11), GREEDY)
    assert same(known_by(log, at - 1), known_by(whole, at - 1))
    before = log.versions["first_served"] < at
    assert (log.versions["end"][before] <= at).all()
    order = np.where(log.versions["scale"] == Scale.SHORT, 1, 2)
    starts = np.minimum(log.versions["upper_start"], log.versions["lower_start"])
    assert (~before).any()
    assert (starts - order >= at)[~before].all()
    spanned = np.minimum(whole.versions["upper_start"], whole.versions["lower_start"]) < at
    assert (spanned & (whole.versions["first_served"] >= at)).any()


@pytest.mark.parametrize("direction", [1, -1])
def test_a_pole_does_not_span_a_data_gap(direction: int) -> None:
    """Its base is searched only after the gap, where the pole is too short."""
    shape = squeeze(direction)
    before_pole = with_gap(shape.bars, shape.lines.start - 12, 11)
    within_pole = with_gap(shape.bars, shape.lines.start - 3, 11)
    assert len(detect(before_pole).versions) == 1
    assert len(detect(within_pole).versions) == 0


# --- touches, lines and plans -----------------------------------------------------------------


@pytest.mark.parametrize("parameters", [LENIENT, GREEDY])
@pytest.mark.parametrize("days", [1, 11])
def test_recounted_touches_are_those_that_the_kernel_counted(
    parameters: Parameters, days: int
) -> None:
    """For every version when it was first served: the later line's begin where it is drawn."""
    bars = with_gap(random_walk(0, 3000), 900, days)
    versions = detect(bars, parameters).versions
    assert {*versions["scale"]} == {*Scale}
    for version in versions:
        recounted = touches_of(bars, version, version["first_served"], parameters)
        start = min(version["upper_start"], version["lower_start"])
        for side, touches in zip(("upper", "lower"), recounted, strict=True):
            if version[f"{side}_start"] == start:
                assert len(touches) == version[f"{side}_touches"]
            else:
                assert touches[0] >= version[f"{side}_start"]


@pytest.mark.parametrize("name", SHAPES)
def test_the_plan_of_a_break_is_what_the_kernel_froze(name: str) -> None:
    """One formula serves the trigger and the next session's plan."""
    shape = SHAPES[name]
    version, trade = triggered(detect(shape.bars))
    entry = int(trade["entry"])
    atr = last_atr(shape.bars.take(slice(0, entry + 1)), Parameters())
    plan = plan_of(version, atr, int(trade["direction"]), entry, Parameters())
    assert atr == trade["atr"]
    assert math.exp(plan.stop) == pytest.approx(trade["stop_price"], rel=1e-15)
    assert math.exp(plan.target) == pytest.approx(trade["target_price"], rel=1e-15)
    assert (trade["entry_price"] - math.exp(plan.trigger)) * trade["direction"] > 0


def test_no_close_lies_beyond_a_version_between_its_starts_and_its_end(walk: Bars) -> None:
    """The line is the trigger: its break has never happened before."""
    closes = np.log(walk.close)
    for version in detect(walk).versions:
        last = version["first_served"]
        for side, sign in (("upper", 1), ("lower", -1)):
            span = np.arange(version[f"{side}_start"], last + 1)
            line = version[f"{side}_value"] + version[f"{side}_slope"] * (span - span[0])
            assert (sign * (closes[span] - line) <= 1e-12).all()
