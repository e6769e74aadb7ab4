"""Past nights: what one night served in history, every later night serves too.

Each market has bars that turn bad in some way, one kind of refusal for each symbol.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

from screener.nightly.analysis import fate_of
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.cleaning.cleaning import clean
from screener.nightly.cleaning.sessions import last_session, past_window
from screener.nightly.detector.detector import walk_on
from screener.nightly.detector.events import EndReason
from screener.nightly.night import make_night
from screener.nightly.plan import Order
from screener.nightly.reference.reference import AssetType, Listing, read_reference
from screener.nightly.results.history import ListingStatus
from screener.nightly.series import Series
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.exchanges import NEW_YORK
from tests.screener.nightly.nights import analysed, book_of, order_over
from tests.screener.nightly.published import sessions_before
from tests.screener.nightly.series import LENIENT, after_a_gap, changed, multiplied, walk

LAST = dt.date(2024, 3, 28)
NOW = dt.datetime(2024, 4, 2, 12, tzinfo=dt.UTC)
BARS = 900

Row = dict[str, Any]
Key = tuple[str, str, str]


def flat(bars: Bars, first: int, last: int) -> Bars:
    """The bars with one price from a bar to another."""
    price = float(bars.close[first])
    part = slice(first, last)
    return changed(bars, part, open=price, high=price, low=price, close=price)


def split(bars: Bars) -> Bars:
    """A split of two for one, three sessions before the end."""
    return multiplied(bars, -3, float(bars.close[-4] / bars.open[-3]) / 2)


def spike(bars: Bars) -> Bars:
    close = float(bars.close[-4]) * 4
    return changed(bars, -3, close=close, high=close * 1.01)


def stepped(bars: Bars) -> Bars:
    """Every third close of the last year repeats the one before, at last one too many."""
    close = bars.close.copy()
    for bar in range(len(bars) - 250, len(bars), 3):
        close[bar] = close[bar - 1]
    close[-2:] = close[-3]
    high, low = np.maximum(bars.high, close), np.minimum(bars.low, close)
    return replace(bars, close=close, high=high, low=low)


def calm(bars: Bars) -> Bars:
    price = float(bars.close[-16])
    top = price * 1.0001
    return changed(bars, slice(-15, None), open=price, high=top, low=price, close=price)


def ahead(bars: Bars) -> Bars:
    """The last bar is dated in the future."""
    date = bars.date.copy()
    date[-1] += 3000
    return replace(bars, date=date)


FLAWS: Mapping[str, Callable[[Bars], Bars]] = {
    "SOUND": lambda bars: bars,
    "BADBARS": lambda bars: changed(bars, slice(-12, None, 1), low=math.nan),
    "SPLIT": split,
    "JUMPS": lambda bars: multiplied(multiplied(bars, -5, 5.55), -2, 5.55),
    "SPIKE": spike,
    "REUSED": lambda bars: after_a_gap(bars, 3, 120),  # of a new owner, months later
    "IDLE": lambda bars: flat(bars, BARS - 103, BARS),
    "RESTED": lambda bars: flat(bars, BARS - 352, BARS - 251),
    "HALTED": lambda bars: changed(flat(bars, BARS - 3, BARS), slice(-3, None), volume=0),
    "STEPPED": stepped,
    "CALM": calm,
    "AHEAD": ahead,
    "STOPPED": lambda bars: bars.take(slice(0, -3)),
    "GAPPED": lambda bars: after_a_gap(bars, 2, 14),
    "MISPRINT": lambda bars: changed(bars, -3, open=float(bars.close[-4]) * 2.9),
}


def key_of(row: Row) -> Key:
    return row["lineage_id"], row["entry_date"], row["direction"]


def compare(earlier: Mapping[Key, Row], later: Mapping[Key, Row], where: str) -> None:
    """Whether a night still has each row of an earlier one, with the same facts."""
    assert set(earlier) <= set(later), where
    for key, row in earlier.items():
        still = later[key]
        told = ("setup_id", "entry_price", "stop_price", "target_price", "pattern_type")
        assert {name: row[name] for name in told} == {name: still[name] for name in told}, where
        if row["outcome"] != "open":
            same = {**row, "attempt": None}
            assert same == {**still, "attempt": None}, where


def test_five_nights_in_a_row_lose_no_row_of_history_whatever_turns_bad(tmp_path: Path) -> None:
    bars = {symbol: flaw(with_history()) for symbol, flaw in FLAWS.items()}
    order = order_over(tmp_path, bars)
    nights, codes = Nights(tmp_path / "data"), set[str]()
    found: list[dict[str, dict[Key, Row]]] = []
    for session in sessions_before(LAST, 5):
        manifest, report = make_night(replace(order, session=session), nights, now=NOW)
        with book_of(nights, manifest) as book:
            found.append({symbol: rows_of(book, symbol) for symbol in FLAWS})
        codes |= report.refused.keys() | report.findings.keys()

    assert codes >= {
        *("bad_bar", "bad_bars", "unadjusted_split", "price_jump", "price_jumps", "price_spike"),
        *("unconfirmed_close", "ticker_reuse", "idle", "flat_bars", "halted", "stepped_price"),
        *("low_volatility", "future_date", "behind", "gap", "misprint", "too_few_bars"),
    }
    for number, (before, after) in enumerate(pairwise(found)):
        for symbol in FLAWS:
            compare(before[symbol], after[symbol], f"{symbol}, night {number + 2}")
    empty = [symbol for symbol in FLAWS if not found[-1][symbol]]
    assert not empty, "every symbol has a history to lose"


@cache
def with_history() -> Bars:
    """A walk with first attempts in every part of it."""
    for seed in itertools.count(30):
        bars = walk(BARS, seed=seed)
        days = analysed(bars, to_date(bars.date[-1])).facts["entry_day"]
        years = np.searchsorted(bars.date, days) // 300
        if set(years.tolist()) == {0, 1, 2}:
            return bars
    raise AssertionError


def rows_of(book: Book, symbol: str) -> dict[Key, Row]:
    stored = book.history(symbol)
    rows = [orjson.loads(body) for body in stored.rows] if stored else []
    return {key_of(row): row for row in rows}


def history(bars: Bars, day: int, kind: AssetType) -> dict[Key, Row]:
    found = analysed(bars, to_date(day), kind).history
    rows = [orjson.loads(body) for body in found.bodies] if found else []
    return {key_of(row): row for row in rows}


@pytest.mark.parametrize("seed", range(6))
def test_no_night_of_garbage_takes_back_what_an_earlier_one_served(seed: int) -> None:
    """Random flaws all over a series, and a night every few weeks."""
    rng = np.random.default_rng(seed)
    bars = walk(BARS, seed=seed)
    for _ in range(6):
        at = int(rng.integers(100, BARS - 20))
        flaw = rng.integers(0, 6)
        if flaw == 0:
            bars = multiplied(bars, at, float(rng.choice([0.5, 2.0, 3.3, 6.0, 0.1])))
        elif flaw == 1:
            bars = flat(bars, at, at + int(rng.integers(1, 120)))
        elif flaw == 2:
            bars = changed(bars, slice(at, at + int(rng.integers(1, 6))), low=math.nan)
        elif flaw == 3:
            bars = changed(bars, at, close=float(bars.close[at]) * 4, high=float(bars.high[at]) * 4)
        elif flaw == 4:
            bars = changed(bars, slice(at, at + 30), volume=0)
        else:
            after = np.where(np.arange(BARS) >= at, 98, 0).astype(np.int32)
            bars = replace(bars, date=bars.date + after)
    days = [int(bars.date[bar]) for bar in range(150, BARS, 37)]
    nights = [history(bars, day, "crypto" if seed % 2 else "stock") for day in days]
    for day, (earlier, later) in zip(days, pairwise(nights), strict=False):
        compare(earlier, later, str(to_date(day)))
    assert nights[-1] or seed in (3, 5), "these series are refused before they have a trade"


def test_a_setup_of_a_night_that_left_the_symbol_out_opens_no_trade() -> None:
    """Every breakout is missed if the night before it did not serve the symbol, and only then."""
    bars = walk(BARS, seed=3)
    trades = walk_on(None, Series.sound(bars), LENIENT).log.trades
    entry = int(trades["entry"][0])
    for unserved, expected in ((entry - 1, False), (entry, True), (entry - 2, True)):
        served = np.ones(len(bars), np.bool_)
        served[unserved] = False
        series = replace(Series.sound(bars), served=served)
        found = walk_on(None, series, LENIENT).log
        assert (entry in found.trades["entry"]) is expected
    late = np.arange(len(bars)) != entry
    found = walk_on(None, replace(Series.sound(bars), following=late), LENIENT).log
    missed = found.versions["end_reason"][found.versions["end"] == entry]
    assert EndReason.MISSED in missed, "the night before had no bar of it"


@pytest.mark.parametrize("symbol", FLAWS)
def test_a_bar_counts_as_served_just_if_its_own_night_served_the_symbol(symbol: str) -> None:
    bars = FLAWS[symbol](with_history())
    whole = clean(bars, asset_type="stock", window=past_window(LAST, NEW_YORK))
    served = {
        int(day): bool(yes)
        for series in whole.series
        for day, yes in zip(series.bars.date, series.served, strict=True)
    }
    for day in bars.date[-40:].tolist():
        own = clean(bars, asset_type="stock", window=past_window(to_date(day), NEW_YORK))
        assert served.get(day, False) == (own.covered and day <= to_day(LAST)), to_date(day)


@pytest.mark.parametrize(
    ("until", "distrusted", "fate"),
    [
        (dt.date(2024, 2, 20), False, ListingStatus.DELISTED),
        (dt.date(2024, 2, 29), False, ListingStatus.DELISTED),
        (dt.date(2005, 6, 1), False, ListingStatus.STOPPED),
        (dt.date(2024, 2, 20), True, ListingStatus.STOPPED),
        (None, False, ListingStatus.STOPPED),
    ],
)
def test_a_symbol_is_delisted_only_if_its_trusted_bars_end_with_its_listing(
    until: dt.date | None, distrusted: bool, fate: ListingStatus
) -> None:
    bars = walk(BARS, seed=5, last=dt.date(2024, 2, 20))
    bars = multiplied(bars, -40, 33.0) if distrusted else bars
    window = past_window(LAST, NEW_YORK)
    found = clean(bars, asset_type="stock", window=window)
    assert fate_of(found, Listing("X", listed_until=until), window) is fate


def test_a_trade_whose_listing_ended_closes_at_the_last_close_as_a_loss(tmp_path: Path) -> None:
    number, bars = with_open_trade()
    last, session = to_date(bars.date[-1]), dt.date(2024, 3, 28)
    order = order_over(tmp_path, {"GONE": bars, "LIVE": walk(BARS, seed=77)}, session=session)
    rows: dict[str, dict[Key, Row]] = {}
    for name, until in (("known", last), ("unknown", ""), ("listed", session)):
        table = tmp_path / f"{name}.csv"
        table.write_text(f"symbol,listed_until\nGONE,{until}\n")
        rows[name], method = night_of(
            replace(order, reference=read_reference(table)), tmp_path / name
        )
        if name == "known":
            assert (method.ended, method.delisted, method.delisted_trades) == (1, 1, number)
            fates = {measure.fate for measure in method.by_fate()}
            assert fates == {"current", "delisted"}
    left = [key for key, row in rows["unknown"].items() if row["outcome"] == "open"]
    assert len(left) == number
    assert rows["listed"] == rows["unknown"], "only the bars stop"
    for key in left:
        row = rows["known"][key]
        assert (row["outcome"], row["exit_reason"]) == ("loss", "delisted")
        assert (row["exit_date"], row["unrealized_r"]) == (str(last), None)
        assert row["exit_price"] == pytest.approx(float(bars.close[-1]), rel=1e-6)
        risk = row["entry_price"] - row["stop_price"]
        lost = row["exit_price"] - row["entry_price"]
        assert row["r_multiple"] == pytest.approx(lost / risk, abs=0.001)
    told = {row["exit_reason"] for row in rows["unknown"].values() if row["outcome"] != "open"}
    assert told
    assert told <= {"target", "stop"}


def with_open_trade() -> tuple[int, Bars]:
    """Bars that end a month early with first attempts still open, and the number of these."""
    for seed in range(40):
        bars = walk(BARS, seed=seed, last=dt.date(2024, 2, 20))
        found = analysed(bars, LAST)
        entered = found.facts["entry_day"] < bars.date[-1]
        still = int(((found.facts["outcome"] == 0) & entered).sum())
        if still and still == int((found.facts["outcome"] == 0).sum()):
            return still, bars
    raise AssertionError("no walk ends with an open trade")


def night_of(order: Order, data: Path) -> tuple[dict[Key, Row], Any]:
    """The history of the symbol that is gone, and the page of statistics."""
    nights = Nights(data)
    manifest, _ = make_night(order, nights, now=NOW)
    with book_of(nights, manifest) as book:
        return rows_of(book, "GONE"), book.method()


def test_of_a_lineage_one_forming_setup_and_each_running_attempt_are_served(tmp_path: Path) -> None:
    order = order_over(tmp_path, {f"S{seed}": walk(700, seed=seed) for seed in range(30)})
    nights = Nights(tmp_path / "data")
    for back in range(4):
        session = last_session(LAST - dt.timedelta(days=back * 7), NEW_YORK)
        manifest, _ = make_night(replace(order, session=session), nights, now=NOW)
        with book_of(nights, manifest) as book:
            rows = [orjson.loads(body) for body in book.features.bodies]
            bodies = [book.patterns(f"S{seed}") or b'{"setups": []}' for seed in range(30)]
            known = [book.history(f"S{seed}") for seed in range(30)]
        forming = [row["lineage_id"] for row in rows if row["status"] == "forming"]
        served = [(row["lineage_id"], row["attempt"]["number"]) for row in rows]
        tickers = {one["setup_id"] for body in bodies for one in orjson.loads(body)["setups"]}
        past = [orjson.loads(body) for stored in known if stored for body in stored.rows]
        counts = {row["lineage_id"]: row["attempt"]["count"] for row in past}
        later = [row for row in rows if row["lineage_id"] in counts]
        assert later
        assert all(row["attempt"]["count"] == counts[row["lineage_id"]] for row in later)
        assert len(forming) == len(set(forming)) > 0
        assert len(served) == len(set(served)) > 3
        assert {row["setup_id"] for row in rows} == tickers


def test_the_first_attempts_of_a_symbol_are_one_trade_a_lineage_and_one_a_close() -> None:
    for seed in range(25):
        bars = walk(1500, seed=seed)
        found = analysed(bars, to_date(bars.date[-1]))
        rows = [orjson.loads(body) for body in found.history.bodies] if found.history else []
        lineages = [row["lineage_id"] for row in rows]
        closes = [(row["entry_date"], row["direction"]) for row in rows]
        assert len(lineages) == len(set(lineages))
        assert len(closes) == len(set(closes))


def test_the_report_counts_the_prices_whose_currency_nothing_says(tmp_path: Path) -> None:
    bars = dict.fromkeys(("ABC", "BTC-EUR", "ETH-USDT", "XYZ"), walk(200, seed=5))
    table = tmp_path / "reference.csv"
    pl.DataFrame({"symbol": ["XYZ"], "quote_currency": ["GBP"]}).write_csv(table)
    order = order_over(tmp_path, bars, reference=read_reference(table), session=LAST)
    _, report = make_night(order, Nights(tmp_path / "data"), now=NOW)

    assert not report.refused
    assert report.assumed_dollars == 1, "nothing says what ABC is in"
