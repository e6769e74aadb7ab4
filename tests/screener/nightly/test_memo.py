"""What is kept from night to night: a later night has the bytes of one that starts from nothing.

Over 400 lines, because every damage is tried on the same pair of nights.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from screener.nightly.analysis import Task, analyse_symbol
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.cleaning.sessions import past_window
from screener.nightly.detector.detector import DetectorRun, detect, walk_on
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.errors import RefusedInput
from screener.nightly.memo import SymbolMemo, WalkMemo, kept_of, resume
from screener.nightly.night import make_night
from screener.nightly.reading.source import Loaded
from screener.nightly.reference.reference import Listing, Reference, Split
from screener.nightly.report import Report
from screener.nightly.results.returns import Returns
from screener.nightly.results.symbol_results import Analysis, Began
from screener.nightly.results.transitions import Previous, SymbolFollowUp
from screener.nightly.series import Series
from screener.nightly.version import code_version
from store.errors import PublishError
from store.folder.checkpoints import Checkpoints
from store.nights.book import Prices
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.exchanges import NEW_YORK, UTC_DAYS
from tests.screener.nightly.nights import order_over
from tests.screener.nightly.series import LENIENT, changed, daily, multiplied, walk, weekdays

GAP = 10
sound = Series.sound


def joined_with_gap() -> Bars:
    """A random walk with a data gap, 31 bars before its end."""
    bars = walk(900, seed=3)
    late = np.arange(len(bars)) >= len(bars) - 31
    return replace(bars, date=bars.date - np.where(late, 0, 28).astype(np.int32))


SERIES = {f"walk {seed}": walk(900, seed=seed) for seed in range(4)} | {"gap": joined_with_gap()}


def columns(walked: DetectorRun) -> list[bytes]:
    parts = (walked.state, walked.log.versions, walked.log.trades, walked.open_trades)
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize("name", SERIES)
def test_sixty_walks_in_a_row_are_bit_for_bit_one_walk(name: str) -> None:
    bars = SERIES[name]
    memo = None
    for count in range(len(bars) - 60, len(bars) + 1):
        memo = resume(memo, sound(bars.take(slice(0, count))), LENIENT, gap_days=GAP)

    assert memo is not None
    whole = resume(None, sound(bars), LENIENT, gap_days=GAP)
    log = detect(bars, LENIENT, gap_days=GAP)
    assert memo.began == "resumed"
    assert memo.digest == whole.digest
    assert columns(memo.walk) == columns(whole.walk)
    assert memo.walk.log.versions.tobytes() == log.versions.tobytes()
    assert memo.walk.log.trades.tobytes() == log.trades.tobytes()
    assert len(log.versions)
    assert len(log.trades)


def revised(bars: Bars, bar: int, factor: float) -> Bars:
    return changed(bars, bar, close=bars.close[bar] * factor)


def test_a_walk_over_other_bars_begins_anew() -> None:
    bars = walk(400)
    kept = resume(None, sound(bars.take(slice(0, 399))), gap_days=GAP)

    def began(these: Series, parameters: Parameters = DEFAULTS, gap_days: int = GAP) -> Began:
        return resume(kept, these, parameters, gap_days=gap_days).began

    one = np.arange(400) == 300
    assert began(sound(bars)) == "resumed"
    assert began(sound(bars.take(slice(0, 399)))) == "resumed"
    assert began(sound(bars.take(slice(0, 398)))) == "anew"  # a bar was taken back
    assert began(sound(bars.take(slice(1, None)))) == "anew"  # the history is cut
    for column in ("open", "high", "low", "close"):
        cell = getattr(bars, column)[0] * (1 + 1e-15)
        assert began(sound(changed(bars, 0, **{column: cell}))) == "anew"
    assert began(sound(revised(bars, 398, 1 - 1e-15))) == "anew"
    assert began(sound(revised(bars, 399, 0.99))) == "resumed"  # the new bar is nobody's yet
    assert began(sound(replace(bars, date=bars.date - one.astype(np.int32)))) == "anew"
    for mask in ("idle", "served", "following"):
        other = getattr(sound(bars), mask) ^ one
        assert began(replace(sound(bars), **{mask: other})) == "anew"
    assert began(sound(bars), gap_days=3) == "anew"
    assert began(sound(bars), LENIENT) == "anew"  # another detector


def test_a_check_finds_a_walk_that_is_not_what_its_bars_give() -> None:
    bars = walk(900)
    kept = resume(None, sound(bars.take(slice(0, 899))), LENIENT, gap_days=GAP)
    other = walk_on(None, sound(bars.take(slice(0, 899))), LENIENT, gap_days=GAP)
    other.log.versions["quality"][-1] += 1e-9

    assert resume(kept, sound(bars), LENIENT, gap_days=GAP, check=True).began == "anew"
    drifted = WalkMemo(other, kept.digest)
    checked = resume(drifted, sound(bars), LENIENT, gap_days=GAP, check=True)
    assert checked.began == "drifted"
    assert columns(checked.walk) == columns(walk_on(None, sound(bars), LENIENT, gap_days=GAP))


def test_a_check_finds_results_that_are_not_what_their_bars_give() -> None:
    """Of a symbol that ended, and of one whose kept trades are over while bars are appended."""
    whole = replace(ENDED, bars=walk(2500, last=LAST))
    first = replace(whole, bars=whole.bars.take(slice(0, -1)))
    for before, session, loaded, later in (
        (whole, dt.date(2024, 6, 3), whole, dt.date(2024, 6, 4)),
        (first, dt.date(2024, 3, 27), whole, LAST),
    ):
        kept = kept_from(analyse_symbol(before, LISTED, task_of(session)))
        assert analyse_symbol(loaded, LISTED, task_of(later, kept=kept, check=True)).began == "anew"
        memo = SymbolMemo.decoded(kept["X"].memo)
        assert memo is not None
        facts = memo.facts.copy()
        facts["drawn_wins"] += 1
        kept["X"] = kept["X"]._replace(memo=replace(memo, facts=facts).encoded())
        found = analyse_symbol(loaded, LISTED, task_of(later, kept=kept, check=True))
        assert found.began == "drifted"
        assert results(found) == results(analyse_symbol(loaded, LISTED, task_of(later)))


LAST = dt.date(2024, 3, 28)
ENDED = Loaded("X", walk(500, last=LAST), {"undated_row": 1})
LISTED = Listing("X", splits=(Split(dt.date(2023, 3, 1), 2.0),), listed_until=dt.date(2024, 4, 2))


def task_of(session: dt.date = dt.date(2024, 6, 3), **options: Any) -> Task:
    windows = {name: past_window(session, name) for name in (NEW_YORK, UTC_DAYS)}
    source: Any = None
    task = Task(source, [], session, windows, "split", LENIENT, code_version())
    return replace(task, earlier={"X": Previous(LAST)}, **options)


def kept_from(analysis: Analysis) -> dict[str, Any]:
    assert analysis.kept is not None
    assert analysis.history is not None
    outcomes, bodies = analysis.history.outcomes, analysis.history.bodies
    return {"X": kept_of(analysis.kept, outcomes, b"\n".join(bodies))}


HOW = {"history", "kept", "reused", "began"}
"""What only says how the results were come by; the history rows of reused ones are in the book."""


def results(analysis: Analysis) -> dict[str, Any]:
    """The results as values that can be compared."""
    names = [one.name for one in dataclasses.fields(analysis) if one.name not in HOW]
    return {name: comparable(getattr(analysis, name)) for name in names}


def comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, Prices | Returns):
        return [comparable(getattr(value, one.name)) for one in dataclasses.fields(value)]
    return value


def test_the_results_of_an_ended_symbol_are_taken_as_they_are_but_for_the_days_they_name() -> None:
    first = analyse_symbol(ENDED, LISTED, task_of())

    kept = kept_from(first)
    for session in (dt.date(2024, 6, 3), dt.date(2024, 6, 4), dt.date(2025, 1, 3)):
        found = analyse_symbol(ENDED, LISTED, task_of(session, kept=kept))
        assert found.reused
        assert results(found) == results(analyse_symbol(ENDED, LISTED, task_of(session)))
    renamed = replace(LISTED, name="Another", exchange="XNYS", market_cap=1e9)
    assert analyse_symbol(ENDED, renamed, task_of(kept=kept)).listing is renamed


def other_bar(column: str) -> Loaded:
    cells = {column: getattr(ENDED.bars, column)[250] * (1 + 1e-15)}
    return replace(ENDED, bars=changed(ENDED.bars, 250, **cells))


def on_another_day() -> Loaded:
    moved = (np.arange(len(ENDED.bars)) < 2).astype(np.int32)
    return replace(ENDED, bars=replace(ENDED.bars, date=ENDED.bars.date - moved))


def closed_on(day: dt.date) -> Task:
    """Nights of an exchange that was closed on one more day."""
    task = task_of()
    stock = task.windows[NEW_YORK]
    closed = np.sort(np.append(stock.closed, to_day(day))).astype(np.int32)
    return replace(task, windows={**task.windows, NEW_YORK: replace(stock, closed=closed)})


CHANGES: Mapping[str, tuple[Loaded, Listing, Task]] = {
    **{name: (other_bar(name), LISTED, task_of()) for name in ("open", "high", "low", "close")},
    "volume": (other_bar("volume"), LISTED, task_of()),
    "date": (on_another_day(), LISTED, task_of()),
    "one bar less": (replace(ENDED, bars=ENDED.bars.take(slice(0, -1))), LISTED, task_of()),
    "findings of the file": (replace(ENDED, findings={"undated_row": 2}), LISTED, task_of()),
    "refused by its file": (replace(ENDED, refusal=RefusedInput("x", "y")), LISTED, task_of()),
    "adjustment of the file": (replace(ENDED, adjustment="none"), LISTED, task_of()),
    "currency of the file": (replace(ENDED, currency="USD"), LISTED, task_of()),
    "raw name": (replace(ENDED, name="X-EUR"), LISTED, task_of()),
    "asset type": (ENDED, replace(LISTED, asset_type="etf"), task_of()),
    "adjustment of the listing": (ENDED, replace(LISTED, adjustment="none"), task_of()),
    "currency of the listing": (ENDED, replace(LISTED, quote_currency="USD"), task_of()),
    "splits": (ENDED, replace(LISTED, splits=()), task_of()),
    "end of the listing": (ENDED, replace(LISTED, listed_until=None), task_of()),
    "adjustment of the order": (ENDED, LISTED, task_of(adjustment="none")),
    "parameters": (ENDED, LISTED, task_of(parameters=DEFAULTS)),
    "a closed day": (ENDED, LISTED, closed_on(dt.date(2024, 3, 5))),
    "an earlier session": (ENDED, LISTED, task_of(dt.date(2024, 3, 1))),
    "the session of its end": (ENDED, LISTED, task_of(LAST)),
    "a session soon after": (ENDED, LISTED, task_of(dt.date(2024, 4, 2))),
    "a check": (ENDED, LISTED, task_of(check=True)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_results_are_not_taken_if_anything_that_shapes_them_changed(change: str) -> None:
    kept = kept_from(analyse_symbol(ENDED, LISTED, task_of()))
    loaded, listing, task = CHANGES[change]

    found = analyse_symbol(loaded, listing, replace(task, kept=kept))

    assert not found.reused
    assert results(found) == results(analyse_symbol(loaded, listing, task))


def test_nothing_is_taken_that_another_program_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = kept_from(analyse_symbol(ENDED, LISTED, task_of()))
    current = kept_from(analyse_symbol(ENDED, LISTED, task_of(LAST)))
    assert analyse_symbol(ENDED, LISTED, task_of(LAST, kept=current)).began == "resumed"
    monkeypatch.setattr("screener.nightly.memo.program", lambda: b"another")

    assert not analyse_symbol(ENDED, LISTED, task_of(kept=ended)).reused
    assert analyse_symbol(ENDED, LISTED, task_of(LAST, kept=current)).began == "anew"


def test_results_are_not_taken_when_a_date_in_the_future_has_come() -> None:
    ahead = np.append(ENDED.bars.date, to_day(dt.date(2024, 6, 9))).astype(np.int32)
    rest = [np.append(column, column[-1]) for column in list(ENDED.bars.columns())[1:]]
    loaded = replace(ENDED, bars=Bars(ahead, *rest))
    kept = kept_from(analyse_symbol(loaded, LISTED, task_of()))

    assert analyse_symbol(loaded, LISTED, task_of(kept=kept)).reused
    assert not analyse_symbol(loaded, LISTED, task_of(dt.date(2024, 6, 7), kept=kept)).reused


def test_results_of_a_symbol_that_was_behind_are_not_taken_for_a_session_that_it_has() -> None:
    behind = analyse_symbol(ENDED, LISTED, task_of(dt.date(2024, 4, 1)))
    assert behind.refusal is not None
    assert behind.refusal.code == "behind"

    found = analyse_symbol(ENDED, LISTED, task_of(LAST, kept=kept_from(behind)))

    assert not found.reused
    assert found.covered


@pytest.mark.parametrize("served", ["setups", "followed"])
def test_results_are_not_taken_if_the_walk_says_what_became_of_something_served(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_from(analyse_symbol(ENDED, LISTED, task_of()))
    monkeypatch.setattr("screener.nightly.analysis.follow_up", lambda *_: SymbolFollowUp())
    something: Any = {served: [object()]}
    task = replace(task_of(kept=kept), earlier={"X": Previous(LAST, **something)})

    assert not analyse_symbol(ENDED, LISTED, task).reused


def test_a_memo_that_is_damaged_or_of_other_rows_is_not_believed() -> None:
    current = analyse_symbol(ENDED, LISTED, task_of(LAST))
    body, history = current.kept, current.history
    assert body is not None
    assert history is not None
    decoded = SymbolMemo.decoded(body)
    assert decoded is not None
    assert decoded.encoded() == body
    assert len(body) < 40_000

    for damaged in (b"", b"x", body[:-1], body + b"x", body[: len(body) // 2], bytes(len(body))):
        assert SymbolMemo.decoded(damaged) is None
    for place in range(0, len(body), len(body) // 50):
        flipped = bytearray(body)
        flipped[place] ^= 0x10
        assert SymbolMemo.decoded(bytes(flipped)) is None
    rows = b"\n".join(history.bodies)
    assert kept_of(body, history.outcomes, rows) is not None
    assert kept_of(body, history.outcomes[::-1], rows + b" ") is None
    assert kept_of(b"x", history.outcomes, rows) is None


@dataclass
class Market:
    """Made bars that change from night to night, and the nights over them."""

    folder: Path
    sessions: list[dt.date]
    data: Path = field(init=False)

    def __post_init__(self) -> None:
        self.data = self.folder / "data"

    def bars(self, night: int) -> dict[str, Bars]:
        """The table of a night."""
        last = to_day(self.sessions[night])
        end = self.sessions[-1]
        table = {f"S{seed}": walk(500, seed=seed, last=end).until(last) for seed in range(3)}
        reused = walk(400, seed=4, last=end)
        part = np.arange(400) >= 392
        days = np.where(part, reused.date, reused.date - 200).astype(np.int32)
        unread = walk(300, seed=6, last=end)
        table |= {
            "LONG.GONE": walk(400, seed=5, last=dt.date(2023, 6, 1)),
            "ENDS": walk(400, seed=7, last=self.sessions[3]).until(last),
            "DELISTED": walk(400, seed=8, last=self.sessions[4]).until(last),
            "REUSED": replace(reused, date=days).until(last),
            "LATE": walk(400, seed=9, last=end).until(last if night not in (5, 6) else last - 5),
            "REVISED": walk(400, seed=10, last=end).until(last),
            "SPLIT": walk(400, seed=11, last=end).until(last),
            "BTCUSD": crypto(last),
            "FUTURE": Bars.joined([unread.until(last - 60), unread.take(slice(-1, None))]),
        }
        if night >= 8:
            table["REVISED"] = revised(table["REVISED"], 250, 1.001)
        if night >= 9:
            split = multiplied(table["SPLIT"], 0, 0.5)
            table["SPLIT"] = replace(split, volume=2 * split.volume)
        if night in (10, 11):
            del table["S2"]
        if night >= 12:
            table["RENAMED"] = table.pop("S1")
        return table

    def reference(self, night: int) -> Reference:
        """The reference of a night, whose rows change too."""
        rows = [
            Listing("DELISTED", listed_until=self.sessions[4]),
            Listing("LONG.GONE", asset_type="etf" if night >= 11 else "stock"),
            Listing("S0", quote_currency="EUR" if night == 13 else None),
        ]
        return Reference({row.symbol: row for row in rows})

    def make(
        self, night: int, data: Path, checkpoints: Checkpoints | None, **options: Any
    ) -> Report:
        """The night of one session, in a data folder."""
        session = self.sessions[night]
        order = order_over(
            self.folder,
            self.bars(night),
            session=session,
            reference=self.reference(night),
            **options,
        )
        now = dt.datetime.combine(session, dt.time(22), dt.UTC)
        return make_night(order, Nights(data), now=now, checkpoints=checkpoints)[1]

    def check_same(self, night: int, **options: Any) -> Report:
        """Make a night twice, with and without what is kept, and compare the bytes."""
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        if (self.data / "ledger").exists():
            shutil.copytree(self.data / "ledger", scratch / "ledger")
        report = self.make(night, self.data, Checkpoints(self.data), **options)
        self.make(night, scratch, None, **options)
        assert book(self.data) == book(scratch), f"night {night}"
        return report


def crypto(last: int) -> Bars:
    """Bars of every day up to a last one that is not over: its close is another one tomorrow."""
    every = daily(400, dt.date(2024, 2, 1))
    rng = np.random.default_rng(12)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.03, 400)))
    bars = replace(every, open=close, high=close * 1.02, low=close * 0.98, close=close * 1.01)
    known = bars.until(last)
    return revised(known, len(known) - 1, 0.995)


def book(data: Path) -> bytes:
    nights = Nights(data)
    assert nights.check_active().counts.history
    return (nights.folder / nights.check_active().book.file).read_bytes()


@pytest.fixture
def market(tmp_path: Path) -> Market:
    """Twenty sessions around a new year and its closed days."""
    days = weekdays(20, dt.date(2024, 1, 17))
    return Market(tmp_path, [to_date(day) for day in days.tolist()])


def test_twenty_nights_in_a_row_have_the_bytes_of_nights_from_scratch(market: Market) -> None:
    for night in range(20):
        report = market.check_same(night)
        anew = set(report.walks.get("anew", ()))
        assert night == 0 or "LONG.GONE" not in anew or night == 11
        assert night != 8 or "REVISED" in anew
        assert night != 9 or "SPLIT" in anew
        assert night not in (12, 14) or "S0" not in anew or night == 14

    again = market.make(19, market.data, Checkpoints(market.data)).walks
    assert set(again.get("anew", ())) <= {"ENDS"}  # with a trade still running, but no walk kept
    assert not market.make(19, market.data, Checkpoints(market.data), full=True).drifted


def test_a_night_that_ends_early_leaves_what_was_kept_and_the_next_one_is_right(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.check_same(0)
    kept = Checkpoints(market.data).path.read_bytes()

    def broken(*_: object) -> None:
        raise PublishError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(BookWriter, "publish", broken)
        with pytest.raises(PublishError):
            market.make(1, market.data, Checkpoints(market.data))

    assert Checkpoints(market.data).path.read_bytes() == kept
    assert not list(market.data.glob(".*.draft"))
    assert "resumed" in market.check_same(1).walks
    market.check_same(3)


def test_damage_to_what_is_kept_costs_time_alone(market: Market) -> None:
    market.check_same(0)
    checkpoints = Checkpoints(market.data)
    nights = Nights(market.data)
    names = list(market.bars(0))

    checkpoints.path.write_bytes(b"no database" * 1000)
    assert set(market.check_same(1).walks) == {"anew"}
    broken = Checkpoints(market.data)
    broken.path.write_bytes(b"no database" * 1000)
    assert not broken.read(names)
    assert broken.damage is not None

    market.check_same(1)
    memos = dict(checkpoints.read(names))
    with checkpoints.replacing() as keep:
        for name, body in memos.items():
            keep(name, body[:-1])
    assert set(market.check_same(2).walks) == {"anew"}

    assert "resumed" in market.check_same(2).walks
    (nights.folder / nights.check_active().book.file).unlink()  # and with it the history rows
    assert set(market.check_same(3).walks) == {"anew"}


def test_damage_that_sqlite_hands_on_costs_time_alone(market: Market) -> None:
    """Values of another type, and a message about a schema that is no UTF-8."""
    market.check_same(0)
    nights, checkpoints = Nights(market.data), Checkpoints(market.data)
    changes = (
        "UPDATE history SET outcomes = CAST(outcomes AS BLOB)",
        "UPDATE history SET rows = CAST(rows AS TEXT)",
    )
    for night, change in enumerate(changes, 1):
        book_path = nights.folder / nights.check_active().book.file
        book_path.chmod(0o600)
        with closing(sqlite3.connect(book_path)) as damaged, damaged:
            damaged.execute(change)
        assert set(market.check_same(night).walks) == {"anew"}

    book_path = nights.folder / nights.check_active().book.file
    for night, path in enumerate((book_path, checkpoints.path), 3):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes().replace(b"NULL", b"N\xd5LL"))
        assert set(market.check_same(night).walks) == {"anew"}
