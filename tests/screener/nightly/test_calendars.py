"""Whole nights at given times: no unfinished bar is used, and each asset has its own calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from screener.nightly.analysis import cleaned_symbols
from screener.nightly.bars import Bars, Days, to_date, to_day
from screener.nightly.errors import SourceError
from screener.nightly.night import make_night
from screener.nightly.plan import Order, plan
from store.errors import HeldBackError
from store.nights.nights import Nights
from store.wire.records import ScanSetup
from tests.screener.nightly.nights import book_of, order_over
from tests.screener.nightly.series import walk, weekdays


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def stock(last: str, count: int = 100, seed: int = 7, leap: float = 1.11) -> Bars:
    """A walk over New York sessions whose last bar stands out: it closes 11% up."""
    return on(weekdays(count, day(last)), seed, leap)


def coin(last: str, count: int = 100, seed: int = 7, leap: float = 1.11) -> Bars:
    """The same over all days."""
    return on(np.arange(-count + 1, 1, dtype=np.int32) + np.int32(to_day(day(last))), seed, leap)


def on(days: Days, seed: int = 7, leap: float = 1.11) -> Bars:
    bars = walk(len(days), seed=seed)
    close = bars.close.copy()
    close[-1] *= leap
    return replace(bars, date=days, close=close, high=np.maximum(bars.high, close))


def ends_at(order: Order, now: str) -> dict[str, str]:
    """The last day of the bars of each symbol that a night at an hour uses."""
    found = (each for task in plan(order, at(now)).tasks for each in cleaned_symbols(task))
    return {one.symbol: str(to_date(cleaned.bars.date[-1])) for one, _, cleaned in found}


@pytest.mark.parametrize(
    ("now", "used"),
    [
        ("2026-11-20T20:59", "2026-11-19"),  # a minute before the close in New York
        ("2026-11-20T21:00", "2026-11-20"),
        ("2026-11-21T03:00", "2026-11-20"),  # still the evening in New York
        ("2026-11-27T17:59", "2026-11-25"),  # after Thanksgiving the exchange closes at 13:00
        ("2026-11-27T18:00", "2026-11-27"),
        ("2026-07-06T12:00", "2026-07-02"),
    ],
)
def test_the_bar_of_a_running_session_is_never_used(tmp_path: Path, now: str, used: str) -> None:
    order = order_over(tmp_path, {"ACME": stock(now[:10])})
    assert ends_at(order, now) == {"ACME": used}
    assert plan(order, at(now)).as_of == day(used)


def test_the_running_utc_day_of_crypto_is_never_used(tmp_path: Path) -> None:
    order = order_over(tmp_path, {"BTC-USD": coin("2026-11-21")})
    assert ends_at(order, "2026-11-21T23:59") == {"BTCUSD": "2026-11-20"}
    assert ends_at(order, "2026-11-22T00:00") == {"BTCUSD": "2026-11-21"}


def test_at_the_close_in_new_york_the_utc_day_still_runs(tmp_path: Path) -> None:
    """The stock's session is over, the coin's day is not; an hour later both are."""
    order = order_over(tmp_path, {"ACME": stock("2026-11-20"), "BTC-USD": coin("2026-11-20")})
    early, late = "2026-11-20T21:30", "2026-11-21T00:00"

    assert ends_at(order, early) == {"ACME": "2026-11-20", "BTCUSD": "2026-11-19"}
    assert ends_at(order, late) == {"ACME": "2026-11-20", "BTCUSD": "2026-11-20"}
    for task in plan(order, at(late)).tasks:
        assert task.windows["XNYS"].following == day("2026-11-23")
        assert task.windows["24/7"].following == day("2026-11-21")
    first, second = (
        make_night(order, Nights(tmp_path / name), now=at(now))[0]
        for name, now in (("early", early), ("late", late))
    )
    assert first.as_of_session == second.as_of_session == day("2026-11-20")
    assert first.data_version != second.data_version, "other bars are another night"
    assert first.inputs.parameters["crypto_until"] == "2026-11-19"
    assert "crypto_until" not in second.inputs.parameters


def market(folder: Path, ends: Mapping[str, str]) -> Order:
    """The order of the night of symbols that end on these days."""
    bars = {symbol: stock(last, seed=number) for number, (symbol, last) in enumerate(ends.items())}
    return order_over(folder, bars)


def test_a_night_is_dated_by_its_symbols_and_not_by_the_newest_one(tmp_path: Path) -> None:
    others = {f"S{number:02}": "2026-08-11" for number in range(29)}
    order = market(tmp_path, {**others, "EARLY": "2026-08-14"})
    now = "2026-08-15T12:00"

    manifest, report = make_night(order, Nights(tmp_path / "data"), now=at(now))

    assert manifest.as_of_session == day("2026-08-11")
    assert manifest.counts.covered == 30
    assert set(ends_at(order, now).values()) == {"2026-08-11"}
    assert (list(report.chosen.later), report.refused) == (["EARLY"], {})
    asked = plan(replace(order, session=day("2026-08-14")), at(now))
    assert (asked.as_of, asked.later) == (day("2026-08-14"), ())


def test_the_report_names_the_symbols_behind_the_session(tmp_path: Path) -> None:
    others = {f"S{number}": "2026-08-14" for number in range(9)}
    ends = {**others, "BEHIND": "2026-08-12", "GONE": "2026-07-01", "BTC-USD": "2026-08-14"}
    order = market(tmp_path, ends)
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
    order = market(tmp_path, {**ends, "LATE": "2026-08-12"})
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
    bars = {f"S{seed}": stock("2026-08-14", 400, seed, 1) for seed in range(12)}
    bars |= {f"C{seed}-USDT": coin("2026-08-16", 400, seed + 50, 1) for seed in range(12)}
    nights = Nights(tmp_path / "data")
    manifest, _ = make_night(order_over(tmp_path, bars), nights, now=at("2026-08-17T12:00"))
    with book_of(nights, manifest) as book:
        rows = [ScanSetup.model_validate_json(body) for body in book.features.bodies]
        setups = [book.setup(row.symbol, row.setup_id) for row in rows if row.status == "forming"]

    assert manifest.as_of_session == day("2026-08-16")
    assert {one.evidence["trigger_session"] for one in setups if one} == {"2026-08-17"}
    sessions = {(row.symbol[0], row.as_of_session.isoformat()) for row in rows}
    assert sessions == {("S", "2026-08-14"), ("C", "2026-08-16")}
    forming = [row for row in rows if row.status == "forming"]
    assert {row.symbol[0] for row in forming} == {"S", "C"}
    assert all("2026-08-17" in row.trigger_rule for row in forming)


def test_a_symbol_with_a_date_to_come_is_left_out_alone(tmp_path: Path) -> None:
    others = {f"S{number:02}": "2026-08-14" for number in range(29)}
    order = market(tmp_path, {**others, "AHEAD": "2076-08-14"})
    nights = Nights(tmp_path / "data")

    manifest, report = make_night(order, nights, now=at("2026-08-15T12:00"))

    assert manifest.as_of_session == day("2026-08-14")
    assert manifest.counts.covered == 29
    assert {code: set(symbols) for code, symbols in report.refused.items()} == {
        "too_few_bars": {"AHEAD"}
    }
    assert "dated in the future" in report.refused["too_few_bars"]["AHEAD"]
    assert report.found == {"AHEAD": {"future_date": 1}}
    assert list(report.chosen.later) == []
    assert manifest.inputs.parameters["future_dates"] == 1, "the clock decided beside the bars"


def test_a_single_date_to_come_costs_a_symbol_that_bar_alone(tmp_path: Path) -> None:
    to_come = np.array([to_day(day("2076-08-14"))], np.int32)
    days = {"ACME": weekdays(100, day("2026-08-14")), "BTC-USD": coin("2026-08-16", 99).date}
    bars = {name: on(np.concatenate([known, to_come])) for name, known in days.items()}
    order = order_over(tmp_path, bars)

    manifest, _ = make_night(order, Nights(tmp_path / "data"), now=at("2026-08-17T12:00"))

    assert (manifest.as_of_session, manifest.counts.covered) == (day("2026-08-16"), 2)
    assert manifest.inputs.parameters["future_dates"] == 2


def test_a_source_of_nothing_but_days_to_come_is_an_error(tmp_path: Path) -> None:
    order = order_over(tmp_path, {"ACME": stock("2076-08-14")})
    with pytest.raises(SourceError, match="check the dates of the bars"):
        plan(order, at("2026-08-17T12:00"))


def test_a_night_names_the_sessions_of_the_calendar_that_its_active_symbols_follow(
    tmp_path: Path,
) -> None:
    """A share that stopped months ago does not make a night of coins one of New York."""
    coins = {"BTC-USD": coin("2026-08-15"), "GONE": stock("2026-03-02")}
    for name, bars, following in (
        ("coins", coins, ["2026-08-16", "2026-08-17"]),
        ("mixed", coins | {"ACME": stock("2026-08-14")}, ["2026-08-17", "2026-08-18"]),
    ):
        order = order_over(tmp_path / name, bars)
        nights = Nights(tmp_path / name / "data")
        manifest, _ = make_night(order, nights, now=at("2026-08-16T12:00"))
        with book_of(nights, manifest) as book:
            assert [str(session) for session in book.upcoming[:2]] == following
            assert book.next_session == manifest.next_session == book.upcoming[0]
            assert len(book.upcoming) == 252
