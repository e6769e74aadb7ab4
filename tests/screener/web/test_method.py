"""The method page: every number of the stored record, its caveats in words, and a picture."""

from __future__ import annotations

import datetime as dt
import html

import pytest

from mcp_server.presentation.age import Age
from screener.web.market.method import context_of
from screener.web.site.pages import NightStatus, environment
from store.nights.book import Book
from store.wire.families import Family
from store.wire.method import Costs, Estimate, Measure, Method
from store.wire.records import AsServed, Verdict
from store.wire.words import FEW
from tests.screener.web.browser import Browser
from tests.screener.web.tree import words
from tests.service import Service

CURRENT = Age(dt.date(2024, 3, 8), dt.date(2024, 3, 11), 0, 252, False)


def measure(
    family: Family | None = None,
    trades: int = 400,
    difference: float = 0.01,
    error: float = 0.02,
    verdict: Verdict = "not_distinguishable",
) -> Measure:
    return Measure(
        family=family,
        direction="bullish" if family else None,
        decade=None,
        trades=trades,
        wins=trades // 4,
        losses=trades - trades // 4,
        win_rate_pct=25.0,
        win_rate_range=(21.0, 29.5),
        avg_win_pct=9.0,
        avg_loss_pct=-4.0,
        avg_r=Estimate(mean=0.05, error=0.04),
        clusters=30,
        compared=trades,
        compared_r=Estimate(mean=0.06, error=0.03),
        draws=3 * trades,
        placebo_pct=Estimate(mean=24.4, error=1.1),
        placebo_r=Estimate(mean=0.02, error=0.015),
        difference_r=Estimate(mean=difference, error=error),
        after_costs=[Costs(basis_points=10, avg_r=0.02), Costs(basis_points=25, avg_r=-0.03)],
        verdict="too_few" if trades < FEW else verdict,
    )


def method(*measures: Measure) -> Method:
    return Method(
        as_of_session=dt.date(2024, 3, 8),
        start=dt.date(2004, 3, 30),
        symbols=700,
        ended=40,
        open_trades=12,
        draws_per_trade=3,
        nearest_draw=40,
        farthest_draw=400,
        measures=list(measures),
    )


def rendered(record: Method | None) -> str:
    night = NightStatus(dt.date(2024, 3, 8), "20240308-0", CURRENT, None, "Not advice.")
    page = (
        environment()
        .get_template("method.html")
        .render(context_of(record), visit=None, path="/method", public_url="", night=night)
    )
    return html.unescape(page)


def test_the_page_shows_every_group_of_the_served_night(service: Service, book: Book) -> None:
    record = book.method()
    assert record is not None
    response = Browser(service).get("/method")
    text = words(response.text)

    assert response.status_code == 200
    for group in record.measures:
        low, high = group.win_rate_range
        assert f"{group.win_rate_pct:.2f}% ({low:.2f} to {high:.2f})" in text
        assert f"{group.avg_r.mean:+.3f}" in text
        for cost in group.after_costs if group.decade is None else []:
            assert f"{cost.avg_r:+.3f}" in text
    assert str(record.as_of_session) in text
    assert text.count("too few to say anything") >= sum(group.few for group in record.measures)
    assert "Of the 5 symbols here, 0 have bars that stop before the session" in text
    assert "Small samples." in text
    assert "not investment advice" in text
    assert "2000s" in text
    assert "2010s" in text


def test_few_trades_in_all_are_too_few_to_say_anything() -> None:
    text = words(rendered(method(measure(trades=29, difference=2.0))))

    assert "Too few to say anything. 29 resolved trades" in text
    assert "better than random" not in text
    assert "whiskers" not in rendered(method(measure(trades=29)))
    assert "No resolved trades" in words(rendered(method()))


@pytest.mark.parametrize(
    ("difference", "verdict", "said"),
    [
        (0.05, "not_distinguishable", "not distinguishable from random entries"),
        (0.05, "above_random", "better than random entries"),
        (-0.05, "below_random", "worse than random entries"),
    ],
)
def test_a_difference_is_told_in_words(difference: float, verdict: Verdict, said: str) -> None:
    text = words(rendered(method(measure(difference=difference, verdict=verdict))))

    row = f"All +0.050 ± 0.040 400 +0.060 ± 0.030 +0.020 ± 0.015 {difference:+.3f} ± 0.020 {said}"
    assert row in text


def test_the_picture_has_a_dot_for_each_group_and_says_it_in_words() -> None:
    record = method(
        measure(),
        measure(Family.TRIANGLE, 500, 0.1, verdict="above_random"),
        measure(Family.RISING_WEDGE, 12, 0.5),
    )
    drawn = context_of(record)["picture"]
    page = rendered(record)

    assert [dot.name for dot in drawn.dots] == ["Triangle, bullish", "All"]
    assert [dot.clear for dot in drawn.dots] == [True, False]
    for dot in drawn.dots:
        assert 0 < dot.low < dot.x < dot.high < drawn.width
        assert dot.clear == (not dot.low <= drawn.zero <= dot.high)
    assert 'role="img"' in page
    assert "Triangle, bullish: +0.100 ± 0.020, better than random entries" in page
    assert page.count("<circle") == 2


def test_the_page_says_what_nights_had_served_before_trades_ended() -> None:
    record = AsServed(
        sample_size=31,
        wins=10,
        losses=21,
        win_rate_pct=32.26,
        win_rate_ci95=[18.57, 49.86],
        avg_win_pct=12.34,
        avg_loss_pct=-5.67,
        avg_r=-0.123,
        open=4,
        first_session=dt.date(2023, 1, 3),
        last_session=dt.date(2024, 3, 8),
        summary="Thirty-one trades.",
    )
    told = method(measure()).model_copy(update={"as_served": [(Family.TRIANGLE, record)]})
    row = (
        "Triangle 2023-01-03 to 2024-03-08 10 of 31 "
        "32.26% (18.57 to 49.86) average loss -5.67% 12.34% -0.123 4"
    )

    assert row in words(rendered(told))
    assert "As served" not in rendered(method(measure()))


def test_a_market_s_regimes_stand_in_a_table_of_their_own() -> None:
    calm = measure().model_copy(update={"regime": "calm", "trades": 400})

    assert "Calm 100 of 400 25.00%" in words(rendered(method(measure(), calm)))
    assert "Calm" not in rendered(method(measure())).replace("calm", "")


def test_a_night_without_the_record_says_so() -> None:
    assert "The night of 2024-03-08 has no such statistics" in rendered(None)
