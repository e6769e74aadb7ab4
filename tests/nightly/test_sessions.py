"""Sessions: the day a night describes, and the day after it."""

from __future__ import annotations

import datetime as dt

import pytest

from nightly.bars import to_day
from nightly.errors import SourceError
from nightly.reference import AssetType
from nightly.sessions import as_of_session, last_completed, next_session, session_at

LATER = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def as_of(*last: tuple[AssetType, str], now: dt.datetime = LATER, requested: str = "") -> str:
    days = [(asset_type, to_day(day(text))) for asset_type, text in last]
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
    assert next_session(day(today), "stock") == day(following)
    assert next_session(day(today), "etf") == day(following)


def test_crypto_has_a_session_every_day() -> None:
    assert next_session(day("2026-12-24"), "crypto") == day("2026-12-25")


def test_the_session_of_a_closed_day_is_the_one_before() -> None:
    assert session_at(day("2012-10-07")) == day("2012-10-05")
    assert session_at(day("2026-11-26")) == day("2026-11-25")


@pytest.mark.parametrize(
    ("now", "session"),
    [
        ("2026-11-20T20:59", "2026-11-19"),
        ("2026-11-20T21:00", "2026-11-20"),  # 16:00 in New York
        ("2026-11-21T03:00", "2026-11-20"),  # still the evening in New York
        ("2026-11-27T17:59", "2026-11-25"),
        ("2026-11-27T18:00", "2026-11-27"),  # closes at 13:00 after Thanksgiving
        ("2026-07-06T12:00", "2026-07-02"),
    ],
)
def test_a_new_york_session_is_completed_at_its_close(now: str, session: str) -> None:
    assert last_completed(at(now), "stock") == day(session)


def test_a_day_of_crypto_is_completed_when_utc_says_so() -> None:
    assert last_completed(at("2026-11-20T23:59"), "crypto") == day("2026-11-19")
    assert last_completed(at("2026-11-21T00:00"), "crypto") == day("2026-11-20")


def test_the_night_describes_the_newest_session_among_the_stocks() -> None:
    assert as_of(("stock", "2026-08-13"), ("etf", "2026-08-14")) == "2026-08-14"


def test_crypto_beside_stocks_counts_up_to_their_session() -> None:
    assert as_of(("stock", "2026-08-14"), ("crypto", "2026-08-16")) == "2026-08-14"


def test_crypto_alone_keeps_its_own_days() -> None:
    assert as_of(("crypto", "2026-08-15"), ("crypto", "2026-08-16")) == "2026-08-16"


def test_an_unfinished_day_is_not_described() -> None:
    assert as_of(("stock", "2026-11-20"), now=at("2026-11-20T15:00")) == "2026-11-19"
    assert as_of(("crypto", "2026-11-20"), now=at("2026-11-20T15:00")) == "2026-11-19"


def test_a_bar_from_the_future_or_a_weekend_does_not_move_the_session() -> None:
    assert as_of(("stock", "2099-01-01"), now=at("2026-11-21T12:00")) == "2026-11-20"
    assert as_of(("stock", "2026-08-15")) == "2026-08-14"


def test_an_earlier_session_can_be_asked_for() -> None:
    assert as_of(("stock", "2013-03-01"), requested="2012-10-03") == "2012-10-03"
    assert as_of(("stock", "2013-03-01"), requested="2012-10-07") == "2012-10-05"
    assert as_of(("crypto", "2013-03-01"), requested="2012-10-07") == "2012-10-07"
    assert as_of(("stock", "2013-03-01"), requested="2014-01-02") == "2013-03-01"


def test_a_night_without_a_bar_is_an_error() -> None:
    with pytest.raises(SourceError, match="No symbol has a bar"):
        as_of()
