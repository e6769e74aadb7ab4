"""Whole nights at given times: no unfinished bar is used, and each asset has its own calendar."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from nightly.bars import Bars
from nightly.errors import SourceError
from nightly.night import make_night
from nightly.plan import Order, plan
from nightly.sessions import session_at
from nightly.sources import open_source
from store.book import Book
from store.errors import HeldBackError
from store.manifest import Manifest
from store.nights import Nights
from store.records import HistoryRow, ScanSetup
from tests.nightly.series import LENIENT, walk


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def stock_days(last: dt.date, count: int) -> list[dt.date]:
    """The given number of New York sessions up to a day, oldest first."""
    found: list[dt.date] = []
    session = session_at(last)
    while len(found) < count:
        found.append(session)
        session = session_at(session - dt.timedelta(days=1))
    return found[::-1]


def write(
    folder: Path,
    symbol: str,
    days: list[dt.date],
    bars: Bars | None = None,
    leap: float = 1.11,
) -> None:
    """A file of a symbol whose last bar stands out: it closes 11% up."""
    bars = walk(len(days)) if bars is None else bars
    folder.mkdir(exist_ok=True)
    rows = []
    for number, date in enumerate(days):
        close = bars.close[number] * (leap if number == len(days) - 1 else 1)
        prices = (bars.open[number], max(bars.high[number], close), bars.low[number], close)
        rows.append(",".join([date.isoformat(), *(repr(float(p)) for p in prices), "1000"]))
    (folder / f"{symbol}.csv").write_text("\n".join(["Date,Open,High,Low,Close,Volume", *rows]))


def every_day(last: dt.date, count: int) -> list[dt.date]:
    return [last - dt.timedelta(days=back) for back in reversed(range(count))]


def night(folder: Path, now: str) -> tuple[Manifest, Book]:
    source = open_source(folder)
    order = Order(source=source, name="bars", parameters=LENIENT, accept_fall=True)
    data = folder.parent / f"data-{now.replace(':', '')}"
    manifest, _ = make_night(order, Nights(data), now=at(now))
    return manifest, Book.open(data / "nights" / manifest.book.file, manifest)


def bars_used(folder: Path, now: str) -> dict[str, Bars]:
    """The bars of each symbol that a night at an hour uses."""
    chosen = plan(Order(source=open_source(folder), name="bars"), at(now))
    used = {}
    for task in chosen.tasks:
        listings = dict(task.symbols)
        for loaded in task.source.load(list(listings)):
            used[listings[loaded.name].symbol] = task.clean(loaded, listings[loaded.name]).bars
    return used


def last_used(folder: Path, now: str) -> dict[str, str]:
    used = bars_used(folder, now)
    return {
        symbol: (dt.date(1970, 1, 1) + dt.timedelta(days=int(bars.date[-1]))).isoformat()
        for symbol, bars in used.items()
    }


@pytest.mark.parametrize(
    ("now", "used"),
    [
        ("2026-11-20T20:59", "2026-11-19"),  # a minute before the close in New York
        ("2026-11-20T21:00", "2026-11-20"),
        ("2026-11-27T17:59", "2026-11-25"),  # after Thanksgiving the exchange closes at 13:00
        ("2026-11-27T18:00", "2026-11-27"),
        ("2026-07-06T12:00", "2026-07-02"),
    ],
)
def test_the_bar_of_a_running_session_is_never_used(tmp_path: Path, now: str, used: str) -> None:
    write(tmp_path / "bars", "ACME", stock_days(at(now).date(), 300))
    assert last_used(tmp_path / "bars", now) == {"ACME": used}
    manifest, book = night(tmp_path / "bars", now)
    book.close()
    assert manifest.as_of_session == day(used)


def test_the_running_utc_day_of_crypto_is_never_used(tmp_path: Path) -> None:
    write(tmp_path / "bars", "BTC-USD", every_day(day("2026-11-21"), 300))
    assert last_used(tmp_path / "bars", "2026-11-21T23:59") == {"BTCUSD": "2026-11-20"}
    assert last_used(tmp_path / "bars", "2026-11-22T00:00") == {"BTCUSD": "2026-11-21"}


def test_stocks_and_crypto_share_a_session_and_keep_their_calendars(tmp_path: Path) -> None:
    """On a Sunday: stocks end with Friday and wait for Monday, crypto with Saturday for Sunday."""
    write(tmp_path / "bars", "ACME", stock_days(day("2026-11-20"), 300))
    write(tmp_path / "bars", "BTC-USD", every_day(day("2026-11-22"), 300))
    now = "2026-11-22T12:00"
    chosen = plan(Order(source=open_source(tmp_path / "bars"), name="bars"), at(now))
    used = bars_used(tmp_path / "bars", now)

    assert chosen.as_of == day("2026-11-21")
    assert last_used(tmp_path / "bars", now) == {"ACME": "2026-11-20", "BTCUSD": "2026-11-21"}
    for task in chosen.tasks:
        assert task.windows["stock"].following == task.windows["etf"].following == day("2026-11-23")
        assert task.windows["crypto"].following == day("2026-11-22")
    assert len(used["ACME"]) == 300
    assert len(used["BTCUSD"]) == 299
    assert ((used["BTCUSD"].date + 3) % 7 >= 5).any(), "weekends of crypto are sessions"


def test_at_the_close_in_new_york_the_utc_day_still_runs(tmp_path: Path) -> None:
    """The stock's session is over, the coin's day is not; an hour later both are."""
    write(tmp_path / "bars", "ACME", stock_days(day("2026-11-20"), 300))
    write(tmp_path / "bars", "BTC-USD", every_day(day("2026-11-20"), 300))
    early, late = "2026-11-20T21:30", "2026-11-21T00:00"

    assert last_used(tmp_path / "bars", early) == {"ACME": "2026-11-20", "BTCUSD": "2026-11-19"}
    assert last_used(tmp_path / "bars", late) == {"ACME": "2026-11-20", "BTCUSD": "2026-11-20"}
    first, book = night(tmp_path / "bars", early)
    book.close()
    second, book = night(tmp_path / "bars", late)
    book.close()
    assert first.as_of_session == second.as_of_session == day("2026-11-20")
    assert first.data_version != second.data_version, "other bars are another night"
    assert first.inputs.parameters["crypto_until"] == "2026-11-19"
    assert "crypto_until" not in second.inputs.parameters


def market(folder: Path, ends: dict[str, str]) -> Order:
    """A folder of symbols that end on these days, and the order of its night."""
    for number, (symbol, last) in enumerate(ends.items()):
        write(folder, symbol, stock_days(day(last), 100), walk(100, seed=number))
    return Order(source=open_source(folder), name="bars", accept_fall=True)


def test_a_night_is_dated_by_its_symbols_and_not_by_the_newest_one(tmp_path: Path) -> None:
    others = {f"S{number:03}": "2026-08-11" for number in range(119)}
    order = market(tmp_path / "bars", {**others, "EARLY": "2026-08-14"})
    now = "2026-08-15T12:00"

    manifest, report = make_night(order, Nights(tmp_path / "data"), now=at(now))

    assert manifest.as_of_session == day("2026-08-11")
    assert manifest.counts.covered == 120
    assert set(last_used(tmp_path / "bars", now).values()) == {"2026-08-11"}
    assert (list(report.later), report.refused) == (["EARLY"], {})
    asked = plan(replace(order, session=day("2026-08-14")), at(now))
    assert (asked.as_of, asked.later) == (day("2026-08-14"), ())


def test_the_report_names_the_symbols_behind_the_session(tmp_path: Path) -> None:
    others = {f"S{number}": "2026-08-14" for number in range(9)}
    ends = {**others, "BEHIND": "2026-08-12", "GONE": "2026-07-01", "BTC-USD": "2026-08-14"}
    order = market(tmp_path / "bars", ends)
    nights = Nights(tmp_path / "data")

    manifest, report = make_night(order, nights, now=at("2026-08-14T21:30"))

    assert manifest.as_of_session == day("2026-08-14")
    assert set(report.refused["behind"]) == {"BEHIND"}, "the day of a coin still runs"
    assert "2026-08-12" in report.refused["behind"]["BEHIND"]
    assert nights.report(manifest)["refused"]["behind"] == report.refused["behind"]
    assert set(report.refused["stale"]) == {"GONE"}
    assert manifest.counts.covered == 10


def test_a_night_with_many_symbols_behind_is_held_back_and_names_them(tmp_path: Path) -> None:
    ends = dict.fromkeys([f"S{number}" for number in range(8)], "2026-08-14")
    order = market(tmp_path / "bars", {**ends, "LATE": "2026-08-12"})
    nights, now = Nights(tmp_path / "data"), at("2026-08-15T12:00")
    strict = replace(order, accept_fall=False, behind_limit=0.1)

    with pytest.raises(
        HeldBackError, match=r"1 of 9 symbols .* 2026-08-14 \(LATE\), more than 10%"
    ):
        make_night(strict, nights, now=now)

    assert not list(nights.sealed())
    assert make_night(replace(strict, behind_limit=0.12), nights, now=now)[0].counts.covered == 8
    assert make_night(replace(strict, accept_fall=True), nights, now=now)[0].counts.covered == 8


def test_a_setup_is_of_the_session_of_its_own_calendar(tmp_path: Path) -> None:
    """On a Sunday's night stocks are as of Friday for Monday, crypto as of Sunday for Monday."""
    for seed in range(12):
        write(tmp_path / "bars", f"S{seed}", stock_days(day("2026-08-14"), 400), walk(400, seed), 1)
        coin = walk(400, seed + 50)
        write(tmp_path / "bars", f"C{seed}-USDT", every_day(day("2026-08-16"), 400), coin, 1)
    manifest, book = night(tmp_path / "bars", "2026-08-17T12:00")
    rows = [ScanSetup.model_validate_json(body) for body in book.evidence.bodies]
    book.close()

    assert manifest.as_of_session == day("2026-08-16")
    sessions = {(row.symbol[0], row.as_of_session.isoformat()) for row in rows}
    assert sessions == {("S", "2026-08-14"), ("C", "2026-08-16")}
    forming = [row for row in rows if row.status == "forming"]
    assert {row.symbol[0] for row in forming} == {"S", "C"}
    assert all("2026-08-17" in row.trigger_rule for row in forming)


def test_a_symbol_with_a_date_to_come_is_left_out_alone(tmp_path: Path) -> None:
    others = {f"S{number:03}": "2026-08-14" for number in range(119)}
    order = market(tmp_path / "bars", {**others, "AHEAD": "2076-08-14"})
    nights = Nights(tmp_path / "data")

    manifest, report = make_night(order, nights, now=at("2026-08-15T12:00"))

    assert manifest.as_of_session == day("2026-08-14")
    assert manifest.counts.covered == 119
    assert {code: set(symbols) for code, symbols in report.refused.items()} == {
        "too_few_bars": {"AHEAD"}
    }
    assert "dated in the future" in report.refused["too_few_bars"]["AHEAD"]
    assert report.found == {"AHEAD": {"future_date": 1}}
    assert list(report.later) == []
    assert manifest.inputs.parameters["future_dates"] == 1, "the clock decided beside the bars"


def test_a_single_date_to_come_costs_a_symbol_that_bar_alone(tmp_path: Path) -> None:
    days = stock_days(day("2026-08-14"), 100)
    write(tmp_path / "bars", "ACME", [*days, day("2076-08-14")], walk(101))
    write(tmp_path / "bars", "BTC-USD", [*every_day(day("2026-08-16"), 99), day("2076-08-14")])

    manifest, book = night(tmp_path / "bars", "2026-08-17T12:00")
    book.close()

    assert manifest.as_of_session == day("2026-08-16")
    assert manifest.counts.covered == 2
    assert manifest.inputs.parameters["future_dates"] == 2


def test_a_source_of_nothing_but_days_to_come_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "bars", "ACME", stock_days(day("2076-08-14"), 100))
    with pytest.raises(SourceError, match="check the dates of the bars"):
        plan(Order(source=open_source(tmp_path / "bars"), name="bars"), at("2026-08-17T12:00"))


def test_a_halted_symbol_leaves_the_book_and_its_trades_stay_counted(tmp_path: Path) -> None:
    write(tmp_path / "bars", "ACME", stock_days(day("2026-11-20"), 300))
    write(tmp_path / "bars", "GONE", stock_days(day("2026-11-05"), 1500))
    now = "2026-11-21T12:00"
    manifest, book = night(tmp_path / "bars", now)
    body = orjson.loads(book.patterns("GONE") or b"")
    stored = book.history("GONE")
    method = book.method()
    book.close()

    assert (body["available"], body["reason"], body["setups"]) == (False, "not_covered", [])
    assert stored is not None
    resolved = [
        row
        for body in stored.rows
        if (row := HistoryRow.model_validate_json(body)).outcome != "open"
    ]
    assert len(resolved) > 5
    assert method is not None
    assert (method.symbols, method.ended) == (2, 1)
    assert method.by_family()[-1].trades >= len(resolved)
    assert manifest.counts.resolved == method.by_family()[-1].trades
    assert manifest.counts.covered == 1


def test_a_reused_ticker_is_not_glued_to_its_old_owner(tmp_path: Path) -> None:
    days = stock_days(day("2026-11-20"), 700)
    old, new = days[:300], days[400:]
    write(tmp_path / "bars", "ACME", old + new)
    whole = walk(600)
    write(tmp_path / "new", "ACME", new, whole.take(slice(300, None)))
    write(tmp_path / "old", "ACME", old, whole.take(slice(0, 300)))
    rows = {}
    for folder, now in (("bars", "2026-11-21"), ("new", "2026-11-21"), ("old", str(old[-1]))):
        _, book = night(tmp_path / folder, f"{now}T23:30")
        history = book.history("ACME")
        book.close()
        rows[folder] = history.rows if history else []
    assert rows["new"]
    assert rows["bars"][: len(rows["new"])] == rows["new"], "the newest rows come first"
    assert [entry(row) for row in rows["bars"][len(rows["new"]) :]] == [
        entry(row) for row in rows["old"]
    ]


def entry(row: bytes) -> tuple[str, str]:
    found = orjson.loads(row)
    return found["lineage_id"], found["entry_date"]


def test_a_night_names_the_sessions_of_the_calendar_that_its_active_symbols_follow(
    tmp_path: Path,
) -> None:
    """A share that stopped months ago does not make a night of coins one of New York."""
    coins, mixed = tmp_path / "coins", tmp_path / "mixed"
    for folder in (coins, mixed):
        write(folder, "BTC-USD", every_day(day("2026-08-15"), 100))
        write(folder, "GONE", stock_days(day("2026-03-02"), 100))
    write(mixed, "ACME", stock_days(day("2026-08-14"), 100))
    found = {}
    for folder in (coins, mixed):
        manifest, book = night(folder, "2026-08-16T12:00")
        found[folder.name] = [str(session) for session in book.upcoming()[:2]]
        assert book.next_session == manifest.next_session == book.upcoming()[0]
        assert len(book.upcoming()) == 252
        book.close()

    assert found == {
        "coins": ["2026-08-16", "2026-08-17"],
        "mixed": ["2026-08-17", "2026-08-18"],
    }
