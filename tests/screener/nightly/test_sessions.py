"""Sessions: the day a night describes, and the day after it."""

from __future__ import annotations

import datetime as dt

import pytest

from screener.nightly.bars import to_day
from screener.nightly.cleaning.sessions import (
    as_of_session,
    last_begun,
    last_session,
    next_session,
    upcoming,
)
from screener.nightly.errors import SourceError
from store.wire.exchanges import NEW_YORK, UTC_DAYS

LATER = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def as_of(*last: tuple[str, str], now: dt.datetime = LATER, requested: str = "") -> str:
    days = [(calendar, to_day(day(text))) for calendar, text in last]
    wanted = day(requested) if requested else None
    return as_of_session(days, now=now, requested=wanted).isoformat()


@pytest.mark.parametrize(
    ("today", "following"),
    [
        ("2012-10-03", "2012-10-04"),
        ("2012-10-05", "2012-10-08"),  # a weekend; Columbus Day is a session
        ("2012-10-26", "2012-10-31"),  # Hurricane Sandy closed the exchange for two days
        ("2026-11-25", "2026-11-27"),  # Thanksgiving
        ("2026-07-02", "2026-07-06"),  # Independence Day on a Saturday
        ("2026-12-31", "2027-01-04"),
        ("2027-12-31", "2028-01-03"),  # New Year on a Saturday is not made up for
    ],
)
def test_the_next_session_skips_weekends_and_holidays(today: str, following: str) -> None:
    assert next_session(day(today), NEW_YORK) == day(following)


def test_crypto_has_a_session_every_day() -> None:
    assert next_session(day("2026-12-24"), UTC_DAYS) == day("2026-12-25")


@pytest.mark.parametrize("calendars", [{NEW_YORK}, {UTC_DAYS, NEW_YORK}])
def test_the_sessions_after_a_night_are_new_yorks_if_it_has_any_stock_or_fund(
    calendars: set[str],
) -> None:
    found = upcoming(day("2026-11-24"), calendars)

    assert [str(session) for session in found[:4]] == [
        *("2026-11-25", "2026-11-27", "2026-11-30", "2026-12-01"),
    ]
    assert len(found) == 252
    assert day("2026-12-25") not in found
    assert found == sorted(set(found))


@pytest.mark.parametrize("calendars", [{UTC_DAYS}, set()])
def test_the_sessions_after_a_night_of_crypto_alone_are_days(calendars: set[str]) -> None:
    found = upcoming(day("2026-12-24"), calendars)

    assert found == [day("2026-12-24") + dt.timedelta(days=ahead) for ahead in range(1, 253)]


@pytest.mark.parametrize(
    "text", ["1953-01-02", "2001-09-07", "2012-10-03", "2012-10-28", "2026-11-22", "2050-01-01"]
)
def test_the_first_of_the_sessions_after_a_night_of_any_year_is_the_next_one(text: str) -> None:
    found = upcoming(day(text), {NEW_YORK})

    assert found[0] == next_session(day(text), NEW_YORK)
    assert found[1] == next_session(found[0], NEW_YORK)
    assert len(found) == 252
    assert dt.timedelta(days=350) < found[-1] - day(text) < dt.timedelta(days=380)


def test_the_session_of_a_closed_day_is_the_one_before() -> None:
    assert last_session(day("2012-10-07"), NEW_YORK) == day("2012-10-05")
    assert last_session(day("2026-11-26"), NEW_YORK) == day("2026-11-25")


def some(number: int, calendar: str, last: str) -> list[tuple[str, str]]:
    return [(calendar, last)] * number


@pytest.mark.parametrize(
    ("late", "night"), [(20, "2026-08-14"), (21, "2026-08-12"), (99, "2026-08-12")]
)
def test_a_session_needs_four_of_five_symbols(late: int, night: str) -> None:
    early = some(100 - late, NEW_YORK, "2026-08-14")
    assert as_of(*early, *some(late, NEW_YORK, "2026-08-12")) == night


def test_the_night_goes_back_only_as_far_as_enough_symbols_agree() -> None:
    ends = [*some(30, NEW_YORK, "2026-08-14"), *some(50, NEW_YORK, "2026-08-13")]
    assert as_of(*ends, *some(20, NEW_YORK, "2026-08-06")) == "2026-08-13"


def test_nobody_waits_for_symbols_that_ended_more_than_ten_sessions_ago() -> None:
    """The tenth session before Friday, 14 August, is that of Friday, 31 July."""
    going_on = some(10, NEW_YORK, "2026-08-14")
    assert as_of(*going_on, *some(90, NEW_YORK, "2026-07-30")) == "2026-08-14"
    assert as_of(*going_on, *some(90, NEW_YORK, "2026-07-31")) == "2026-07-31"
    coins = some(10, UTC_DAYS, "2026-08-14")
    assert as_of(*coins, *some(90, UTC_DAYS, "2026-08-03")) == "2026-08-14"
    assert as_of(*coins, *some(90, UTC_DAYS, "2026-08-04")) == "2026-08-04"


def test_stocks_at_friday_and_crypto_at_sunday_are_both_current_on_sunday() -> None:
    assert as_of((NEW_YORK, "2026-08-14"), (UTC_DAYS, "2026-08-16")) == "2026-08-16"
    ends = [*some(60, NEW_YORK, "2026-08-14"), *some(60, UTC_DAYS, "2026-08-16")]
    assert as_of(*ends, now=at("2026-08-17T12:00")) == "2026-08-16"
    assert as_of(*ends, *some(31, UTC_DAYS, "2026-08-15")) == "2026-08-15"


def test_a_weekend_of_coins_is_described_though_newer_ones_are_few() -> None:
    """Nothing ends on the Sunday, but stocks of Friday are current until Monday's close."""
    ends = [*some(8, NEW_YORK, "2026-08-14"), *some(2, UTC_DAYS, "2026-08-18")]
    assert as_of(*ends, now=at("2026-08-19T12:00")) == "2026-08-16"


def test_the_symbols_of_both_calendars_are_counted_together() -> None:
    late = some(9, NEW_YORK, "2026-08-11")
    assert as_of(*some(36, UTC_DAYS, "2026-08-16"), *late) == "2026-08-16"
    assert as_of(*some(35, UTC_DAYS, "2026-08-16"), *late) == "2026-08-11"


def test_an_operator_sets_how_many_must_be_current() -> None:
    days = [(NEW_YORK, to_day(day(text))) for text in ["2026-08-14"] * 5 + ["2026-08-12"] * 5]
    found = {quorum: as_of_session(days, now=LATER, quorum=quorum) for quorum in (0.5, 0.51)}
    assert found == {0.5: day("2026-08-14"), 0.51: day("2026-08-12")}


def test_coins_that_are_late_count_like_stocks_that_are() -> None:
    stocks = some(80, NEW_YORK, "2026-08-14")
    assert as_of(*stocks, *some(20, UTC_DAYS, "2026-08-12")) == "2026-08-14"
    assert as_of(*stocks, *some(21, UTC_DAYS, "2026-08-12")) == "2026-08-12"


def test_coins_are_not_late_while_their_day_still_runs() -> None:
    ends = [*some(5, NEW_YORK, "2026-08-14"), *some(50, UTC_DAYS, "2026-08-13")]
    assert as_of(*ends, now=at("2026-08-14T21:30")) == "2026-08-14"
    assert as_of(*ends, now=at("2026-08-15T12:00")) == "2026-08-13"


def test_a_weekend_s_bar_of_a_stock_does_not_move_the_session() -> None:
    assert as_of((NEW_YORK, "2026-08-15")) == "2026-08-14"


def test_a_day_has_begun_where_it_begins_first() -> None:
    assert last_begun(at("2026-11-20T09:59")) == day("2026-11-20")
    assert last_begun(at("2026-11-20T10:00")) == day("2026-11-21")


def test_whoever_asks_for_a_session_gets_it_however_few_reach_it() -> None:
    ends = [*some(119, NEW_YORK, "2026-08-11"), *some(1, NEW_YORK, "2026-08-14")]
    assert as_of(*ends, requested="2026-08-14") == "2026-08-14"
    assert as_of(*ends, requested="2026-08-12") == "2026-08-12"


def test_an_earlier_session_can_be_asked_for() -> None:
    assert as_of((NEW_YORK, "2013-03-01"), requested="2012-10-03") == "2012-10-03"
    assert as_of((NEW_YORK, "2013-03-01"), requested="2012-10-07") == "2012-10-05"
    assert as_of((UTC_DAYS, "2013-03-01"), requested="2012-10-07") == "2012-10-07"
    assert as_of((NEW_YORK, "2013-03-01"), requested="2014-01-02") == "2013-03-01"


def test_a_night_without_a_bar_is_an_error() -> None:
    with pytest.raises(SourceError, match="No symbol has a bar"):
        as_of()
