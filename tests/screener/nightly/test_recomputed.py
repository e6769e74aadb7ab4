"""Every statistic of a night against a second computation from its bars and event logs.

The night is of a synthetic market by lenient rules, which draw enough patterns for families,
directions and tickers to have records. Over 400 lines, because it is made once for all its tests.
"""

from __future__ import annotations

import datetime as dt
import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

from benchmarks.market import bars_of, sessions
from screener.nightly.bars import to_date
from screener.nightly.detector.events import EndReason
from screener.nightly.night import make_night
from screener.nightly.plan import Order
from screener.nightly.reference.reference import read_reference
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.families import Family
from store.wire.method import Measure, Method
from store.wire.words import plural
from tests.conftest import CROWDED
from tests.once import made_once
from tests.screener.nightly.nights import source_of
from tests.screener.nightly.recomputed import Recomputed, Trade, atrs, identities, recompute
from tests.screener.nightly.recomputed_groups import (
    FEW,
    adjusted_p,
    after_costs,
    clustered,
    mark_regimes,
    record_of,
    shrunk,
    side_of,
    too_few,
    wilson_pct,
)

NOW = dt.datetime(2026, 8, 17, 12, tzinfo=dt.UTC)
# Rules that draw so much that some tickers have a verdict of their own.
MANY = CROWDED._replace(
    quality_min=0.0,
    fade_margin=100.0,
    directness_min=0.0,
    bar_share_max=99.0,
    gap_share_max=99.0,
    overlap_min=0.9,
    height_min=3.0,
    progress_min=0.2,
    retreat_min=0.4,
    touch_gap_max=0.8,
    recency_max=0.6,
)
SYMBOLS = 30
OLD = 6
"""Of these, the symbols with sixty years of bars."""
Lines = Mapping[tuple[str, ...], Sequence[Trade]]


@dataclass(frozen=True, slots=True, eq=False)
class Night:
    """A sealed night, and what its bars say."""

    book: Book
    method: Method
    found: Recomputed
    lines: Lines
    """The compared trades of every line that is tested."""
    adjusted: Mapping[tuple[str, ...], tuple[float, float]]
    """By line: t and adjusted p."""

    def verdict(self, line: tuple[str, ...]) -> str:
        """The verdict on a line."""
        t, p = self.adjusted.get(line, (0.0, None))
        if p is None:
            return "too_few"
        beyond = "above_random" if t > 0 else "below_random"
        return beyond if p <= 0.05 else "not_distinguishable"


def write_market(folder: Path) -> tuple[Path, Path]:
    """A market with idle years, a ticker that was used twice, funds, a coin and a delisted stock.

    The last symbols are old enough for verdicts of their own.
    """
    bars, reference = folder / "market.parquet", folder / "reference.csv"
    days = sessions(60)
    factor = np.random.default_rng(20).normal(size=len(days))
    lengths = [len(days) if number >= SYMBOLS - OLD else 5000 for number in range(SYMBOLS)]
    table = pl.concat(
        bars_of(number, days[-length:], factor[-length:]) for number, length in enumerate(lengths)
    )
    names = table["symbol"].unique().sort().to_list()
    day = pl.col("date")
    idle = (pl.col("symbol") == names[1]) & day.is_between(dt.date(2005, 1, 1), dt.date(2007, 1, 1))
    hole = (pl.col("symbol") == names[2]) & day.is_between(dt.date(2010, 1, 1), dt.date(2010, 8, 1))
    gone = (pl.col("symbol") == names[3]) & (day > dt.date(2019, 5, 17))
    flat = [pl.when(idle).then(50.0).otherwise(pl.col(name)).alias(name) for name in PRICES]
    quiet = pl.when(idle).then(0.0).otherwise(pl.col("volume")).alias("volume")
    table.with_columns(*flat, quiet).filter(~hole, ~gone).write_parquet(bars)
    pl.DataFrame(
        {
            "symbol": names,
            "asset_type": ["stock"] * 4 + ["etf"] * 2 + ["crypto"] + ["stock"] * (SYMBOLS - 7),
            "listed_until": ["2019-05-17" if name == names[3] else None for name in names],
        }
    ).write_csv(reference)
    return bars, reference


PRICES = ("open", "high", "low", "close")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    folder = made_once(tmp_path_factory, "recomputed", seal)
    found, lines, adjusted = pickle.loads((folder / "found").read_bytes())  # noqa: S301 - our own
    manifest = Nights(folder).check_active()
    with closing(Book.open(folder / "nights" / manifest.book.file, manifest)) as book:
        method = book.method()
        assert method is not None
        yield Night(book, method, found, lines, adjusted)


def seal(folder: Path) -> None:
    """Make a night, and what its bars say."""
    bars, reference = write_market(folder)
    order = Order(
        source_of(bars),
        bars.name,
        reference=read_reference(reference),
        parameters=MANY,
        source_label="synthetic",
    )
    make_night(order, Nights(folder), now=NOW)
    found = recompute(order, NOW)
    mark_regimes(found)
    lines = lines_of(found)
    (folder / "found").write_bytes(pickle.dumps((found, lines, stepped_down(found, lines))))


def lines_of(found: Recomputed) -> Lines:
    """Every group of trades that a verdict is given for, by its name."""
    groups: dict[tuple[str, ...], list[Trade]] = {}
    for trade in found.trades:
        decade = str(trade.decade)
        names = [("all",), ("family", trade.family), ("decade", decade), ("fate", trade.fate)]
        names += [("family decade", trade.family, decade), ("ticker", trade.symbol, trade.family)]
        names += [("regime", regime) for regime in trade.regimes]
        if trade.family == "triangle":
            names.append(("side", trade.family, str(trade.direction)))
            names.append(("ticker", trade.symbol, trade.family, str(trade.direction)))
        for name in names:
            groups.setdefault(name, []).append(trade)
    return groups


def stepped_down(found: Recomputed, lines: Lines) -> dict[tuple[str, ...], tuple[float, float]]:
    """The t and the adjusted p of every line with enough trades; of tickers the covered ones."""
    covered = covered_symbols(found)
    compared = {
        name: [trade for trade in line if trade.drawn]
        for name, line in lines.items()
        if name[0] != "ticker" or name[1] in covered
    }
    times = sorted({trade.half_year for trade in found.trades})
    results: dict[tuple[str, ...], tuple[float, float]] = {}
    for tickers in (False, True):
        enough = {
            name: line
            for name, line in compared.items()
            if (name[0] == "ticker") == tickers and not too_few(line)
        }
        found_p = zip(*adjusted_p(list(enough.values()), times), strict=True) if enough else ()
        results |= zip(enough, found_p, strict=True)
    return results


def covered_symbols(found: Recomputed) -> set[str]:
    return {walk.listing.symbol for walk in found.walks if walk.covered}


DIGITS = {"pct": 2, "ci95": 2, "range": 2, "avg_hold_bars": 1}


def check(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Every expected number is stored, rounded to the digits of its field."""
    for name, value in expected.items():
        digits = next((n for part, n in DIGITS.items() if part in name), 3)
        assert close(stored[name], value, digits), (name, stored[name], value)


def close(stored: Any, value: Any, digits: int) -> bool:
    if isinstance(value, dict):
        return all(close(stored[name], each, digits) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(close(one, each, digits) for one, each in zip(stored, value, strict=True))
    if value is None or stored is None:
        return value is stored
    return bool(abs(stored - value) <= 0.5000001 * 10**-digits + 1e-9)


def family_record(measured: Night, family: Family) -> Mapping[str, Any] | None:
    record: Mapping[str, Any] | None = orjson.loads(measured.book.family(family))["track_record"]
    return record


def test_the_night_has_enough_trades_to_say_something(measured: Night) -> None:
    triangles = measured.lines["family", "triangle"]

    assert sum(1 for trade in triangles if trade.drawn) >= FEW
    assert {trade.direction for trade in triangles} == {1, -1}
    assert {"current", "stopped", "delisted"} == {trade.fate for trade in measured.found.trades}
    assert any(0 < len(trade.drawn) < 100 for trade in measured.found.trades)


@pytest.mark.parametrize("family", list(Family))
def test_every_family_record_is_what_the_bars_say(measured: Night, family: Family) -> None:
    trades = measured.lines.get(("family", family.value), ())
    record = family_record(measured, family)
    if not trades:
        assert record is None
        return
    assert record is not None

    check(record, record_of(trades))
    assert record["verdict"] == measured.verdict(("family", family.value))
    assert f"the first entered on {min(trade.entered for trade in trades)};" in record["summary"]
    symbols = plural(len({trade.symbol for trade in trades}), "symbol")
    assert f"; on {symbols}, including any no longer covered" in record["measured"]
    if family is not Family.TRIANGLE:
        assert record["by_direction"] is None


SIGNS = {"bullish": 1, "bearish": -1}


@pytest.mark.parametrize("name", SIGNS)
def test_both_directions_of_the_triangle_are_what_the_bars_say(measured: Night, name: str) -> None:
    record = family_record(measured, Family.TRIANGLE)
    assert record is not None
    line = ("side", "triangle", str(SIGNS[name]))

    side = record["by_direction"][name]

    check(side, expected := side_of(measured.lines[line]))
    assert side["verdict"] == measured.verdict(line)
    assert side.keys() == expected.keys() | {"verdict", "summary"}


def rows_of(measured: Night) -> Iterator[tuple[Mapping[str, Any], Any, int]]:
    """Every row of the scan with its walk's facts: version, open trade and last bar."""
    assert measured.book.session is not None
    rows = {row["setup_id"]: row for row in map(orjson.loads, measured.book.features.bodies)}
    for walk in measured.found.walks:
        if walk.newest and walk.covered:
            session = to_date(int(walk.series.bars.date[-1]))
            for name, version, trade in identities(walk, session):
                yield rows.pop(name), (walk, version, trade), len(walk.series) - 1
    assert not rows


def own(measured: Night, row: Mapping[str, Any]) -> list[Trade]:
    return list(measured.lines.get(("ticker", row["symbol"], row["family"]), ()))


def of_direction(trades: Sequence[Trade], row: Mapping[str, Any]) -> list[Trade]:
    sign = 1 if row["direction"] == "bullish" else -1
    return [trade for trade in trades if trade.direction == sign]


def family_trades(measured: Night, row: Mapping[str, Any]) -> list[Trade]:
    return of_direction(measured.lines.get(("family", row["family"]), ()), row)


def test_every_ticker_record_of_a_setup_is_what_the_bars_say(measured: Night) -> None:
    seen = 0
    for row, _, _ in rows_of(measured):
        mine, record = own(measured, row), row["track_record"]["ticker"]
        if not mine:
            assert record is None
            continue
        seen += 1
        check_ticker(measured, record, mine)
        prior = shrunk(family_trades(measured, row))
        check(record, {"expected_r": shrunk(of_direction(mine, row), prior)})
        assert row["track_record"]["family"] == family_record(measured, Family(row["family"]))
    assert seen > 5


def check_ticker(measured: Night, record: Mapping[str, Any], mine: Sequence[Trade]) -> None:
    """A ticker's record, except its expected R, which depends on the direction asked for."""
    symbol, family = mine[0].symbol, mine[0].family
    expected = record_of(mine)
    del expected["expected_r"]
    check(record, expected)
    assert (record["scope"], record["symbol"], record["family"]) == ("ticker", symbol, family)
    assert record["verdict"] == measured.verdict(("ticker", symbol, family))
    check_sides(measured, mine, record["by_direction"])


def check_sides(measured: Night, mine: Sequence[Trade], sides: Any) -> None:
    """A ticker's directions: only triangles have both, each shrunk towards its family's."""
    symbol, family = mine[0].symbol, mine[0].family
    assert (sides is None) == (family != "triangle")
    for name, sign in SIGNS.items() if sides else ():
        own = [trade for trade in mine if trade.direction == sign]
        assert (sides[name] is None) == (not own)
        if own:
            whole = [t for t in measured.lines["family", family] if t.direction == sign]
            check(sides[name], side_of(own, shrunk(whole)))
            assert sides[name]["verdict"] == measured.verdict(("ticker", symbol, family, str(sign)))


def test_every_covered_symbol_has_the_records_that_the_bars_say(measured: Night) -> None:
    stored = {
        symbol: body
        for symbol in {walk.listing.symbol for walk in measured.found.walks}
        if (body := measured.book.ticker_record(symbol))
    }
    assert stored.keys() == covered_symbols(measured.found)
    for symbol, body in stored.items():
        answer = orjson.loads(body)
        lines = {family: measured.lines.get(("ticker", symbol, family), ()) for family in Family}
        traded = [family for family, mine in lines.items() if mine]
        assert answer.keys() == {"symbol", "available", "records"}
        assert (answer["symbol"], answer["available"]) == (symbol, True)
        assert [record["family"] for record in answer["records"]] == traded
        for family, record in zip(traded, answer["records"], strict=True):
            check_ticker(measured, record, lines[family])
            # Of all trades, also where the family is traded both ways.
            prior = shrunk(measured.lines["family", family])
            check(record, {"expected_r": shrunk(lines[family], prior)})


def test_the_record_of_a_setup_is_the_tickers_own_one(measured: Night) -> None:
    kinds = set()
    for row, _, _ in rows_of(measured):
        body = measured.book.ticker_record(row["symbol"])
        assert body is not None
        records = {record["family"]: record for record in orjson.loads(body)["records"]}
        record, shown = records.get(row["family"]), row["track_record"]["ticker"]
        if record and record["by_direction"]:
            # The setup has a direction; the record has both, and each in by_direction.
            side = record["by_direction"][row["direction"]]
            assert side is None or side["expected_r"] == shown["expected_r"]
            record, shown = ({**r, "expected_r": None} for r in (record, shown))
        assert record == shown
        kinds.add((row["family"] == "triangle", record is None))
    assert {(True, False), (False, False)} <= kinds


def test_the_night_says_how_many_lines_were_tested(measured: Night) -> None:
    assert measured.method.tested == sum(line[0] != "ticker" for line in measured.adjusted)


def test_a_ticker_with_enough_trades_has_a_verdict_of_its_own(measured: Night) -> None:
    records = [row["track_record"]["ticker"] for row, _, _ in rows_of(measured)]
    said = {record["verdict"] for record in records if record}
    assert said == {"too_few", "not_distinguishable"}


def test_every_row_states_its_attempt_its_age_and_where_the_close_is(measured: Night) -> None:
    phases = set()
    for row, (walk, version, trade), last in rows_of(measured):
        lineages = walk.log.versions["lineage"][walk.log.trades["version"]]
        triggers = int((lineages == version["lineage"]).sum())
        number = int(version["attempt"])
        alive = walk.log.versions[walk.log.versions["lineage"] == version["lineage"]]
        waiting = alive["attempt"][alive["end_reason"] == EndReason.FORMING]
        count = max(triggers, *waiting.tolist(), 0)
        assert row["attempt"] == {"number": number, "count": count}
        phases.add(row["status"])
        if trade is not None:
            assert row["sessions_since_trigger"] == last - trade["entry"]
            assert row["last_close_side"] is None
            continue
        assert row["sessions_since_trigger"] is None
        close = walk.series.bars.close[-1]
        beyond = any(past(plan["direction"], version, last + 1, close) for plan in row["plans"])
        assert row["last_close_side"] == ("beyond" if beyond else "before")
    assert phases == {"forming", "in_progress"}


def past(direction: str, version: Any, bar: int, close: float) -> bool:
    """Whether a close is beyond the line that a plan waits for, as it stands at a bar."""
    side, sign = ("upper", 1) if direction == "bullish" else ("lower", -1)
    ahead = bar - int(version[f"{side}_start"])
    level = math.exp(version[f"{side}_value"] + version[f"{side}_slope"] * ahead)
    return bool(sign * (close - level) > 0)


def test_every_row_is_ranked_and_filtered_by_trades_of_its_direction(measured: Night) -> None:
    numbers = measured.book.features.numbers
    for row, (walk, _, _), last in rows_of(measured):
        mine, family = of_direction(own(measured, row), row), family_trades(measured, row)
        shown = mine if len(mine) >= 20 else family
        stored = {name: float(numbers[name][row["rank"] - 1]) for name in EVIDENCE}
        enough = len(mine) >= 5
        rate = [100 * sum(t.won for t in group) / max(1, len(group)) for group in (mine, shown)]
        average = sum(t.r for t in mine) / max(1, len(mine))
        gain = typical_gain(mine, family, measured.found.trades, 100 * atrs(walk.series.bars)[last])
        same(row["win_rate_pct"], rate[1] if shown else None, 2)
        assert row["win_rate_trades"] == len(shown)
        same(row["expected_gain_pct"], gain, 2)
        same(stored["typical_return"], gain, 2)
        same(stored["min_win_rate"], rate[0] if enough else math.nan, 2)
        same(stored["min_avg_r"], average if enough else math.nan, 3)
        same(stored["min_expected_r"], shrunk(mine, shrunk(family)), 3)


EVIDENCE = ("typical_return", "min_win_rate", "min_avg_r", "min_expected_r")


def same(stored: float | None, value: float | None, digits: int) -> None:
    unknown = value is not None and math.isnan(value)
    found = stored is not None and math.isnan(stored) if unknown else close(stored, value, digits)
    assert found, (stored, value)


def typical_gain(
    mine: Sequence[Trade], family: Sequence[Trade], everyone: Sequence[Trade], atr: float
) -> float | None:
    """The ticker's median win, blended with ten wins of the family's at the ticker's ATR."""
    wins = [trade.move_pct for trade in mine if trade.won]
    scaled = [[t.move_pct / t.atr_pct for t in group if t.won] for group in (family, everyone)]
    prior = next((median(group) for group in scaled if group), None)
    if prior is None:
        return None
    return (len(wins) * (median(wins) if wins else 0.0) + 10 * prior * atr) / (len(wins) + 10)


def members(measure: Measure, trades: Sequence[Trade]) -> list[Trade]:
    sign = {"bullish": 1, "bearish": -1, None: None}[measure.direction]
    return [
        trade
        for trade in trades
        if measure.family in (None, trade.family)
        and sign in (None, trade.direction)
        and measure.decade in (None, trade.decade)
        and measure.fate in (None, trade.fate)
        and (measure.regime is None or measure.regime in trade.regimes)
    ]


def test_every_group_of_the_method_page_is_what_the_bars_say(measured: Night) -> None:
    seen = set()
    for measure in measured.method.measures:
        trades = members(measure, measured.found.trades)
        seen.add((measure.family, measure.direction, measure.decade, measure.fate, measure.regime))
        check_measure(measure, trades)
    named = {(trade.family, trade.direction) for trade in measured.found.trades}
    assert len([one for one in seen if one[1]]) == len(named)
    assert {one[4] for one in seen} - {None} == {
        r for t in measured.found.trades for r in t.regimes
    }
    assert len(seen) == len(measured.method.measures)


def test_each_family_in_each_regime_is_what_the_bars_say_and_gets_no_verdict(
    measured: Night,
) -> None:
    seen = set()
    for measure in measured.method.untested:
        trades = members(measure, measured.found.trades)
        seen.add((measure.family, measure.regime))
        check_measure(measure, trades)
        few = too_few([trade for trade in trades if trade.drawn])
        assert (measure.verdict, measure.adjusted_p) == ("too_few" if few else None, None)
    assert seen == {(trade.family, r) for trade in measured.found.trades for r in trade.regimes}


def check_measure(measure: Measure, trades: Sequence[Trade]) -> None:
    expected = record_of(trades)
    low, high = wilson_pct(expected["wins"], len(trades))
    written = measure.model_dump()
    both = ("wins", "losses", "win_rate_pct", "avg_win_pct", "avg_loss_pct")
    check(written, {name: expected[name] for name in both})
    check(written, {"trades": len(trades), "win_rate_range": (low, high)})
    compared = [trade for trade in trades if trade.drawn]
    assert measure.compared == len(compared)
    assert measure.draws == sum(len(trade.drawn) for trade in trades)
    assert measure.clusters == len({trade.half_year for trade in trades})
    few = too_few(compared)
    estimate(measure.avg_r, trades, [trade.r for trade in trades], 3, few=few)
    shares = [100 * sum(won for won, _ in t.drawn) / len(t.drawn) for t in compared]
    drawn_r = [sum(r for _, r in t.drawn) / len(t.drawn) for t in compared]
    estimate(measure.compared_r, compared, [trade.r for trade in compared], 3, few=few)
    estimate(measure.placebo_pct, compared, shares, 2, few=few)
    estimate(measure.placebo_r, compared, drawn_r, 3, few=few)
    estimate(measure.difference_r, compared, [trade.lift for trade in compared], 3, few=few)
    for costs in measure.after_costs:
        assert close(costs.avg_r, after_costs(trades, costs.basis_points), 3)


def estimate(
    stored: Any, trades: Sequence[Trade], values: Sequence[float], digits: int, *, few: bool
) -> None:
    if not values:
        assert stored is None
        return
    mean, error = clustered(values, [trade.half_year for trade in trades])
    assert close(stored.mean, mean, digits)
    assert close(stored.error, None if few else error, digits)


def name_of(measure: Measure) -> tuple[str, ...] | None:
    """The line that a measure is tested as; None for a direction of a family traded one way."""
    family = None if measure.family is None else measure.family.value
    if measure.direction is not None:
        sign = "1" if measure.direction == "bullish" else "-1"
        return ("side", family, sign) if family == "triangle" else ("family", str(family))
    if measure.decade is not None:
        decade = str(measure.decade)
        return ("family decade", family, decade) if family else ("decade", decade)
    rest = (("fate", measure.fate), ("regime", measure.regime), ("family", family))
    return next(((name, str(value)) for name, value in rest if value), ("all",))


def test_every_verdict_follows_from_a_stepdown_over_all_lines(measured: Night) -> None:
    for measure in measured.method.measures:
        name = name_of(measure)
        assert name is not None
        assert measure.verdict == measured.verdict(name), name
        if name in measured.adjusted:
            # In a resample whose error is 0 but for rounding, either may call the line beyond.
            assert measure.adjusted_p == pytest.approx(measured.adjusted[name][1], abs=2e-3), name
        else:
            assert measure.adjusted_p is None
