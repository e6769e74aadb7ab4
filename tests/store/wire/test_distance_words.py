"""Where the trigger is from the close: one wording, true on both sides and in both directions."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from store.wire.words import away_words, distance_words, place_words, status_words
from tests.store.wire.views import forming

PRICES = st.floats(0.01, 5000).map(lambda price: round(price, 4))
DIRECTIONS = st.sampled_from(("bullish", "bearish"))
PLANS = st.lists(st.tuples(DIRECTIONS, PRICES), min_size=1, max_size=2)
PLACE = re.compile(r"([\d,.]+)% (above|below|off) (?:the close|it)(, already passed)?")


@given(PRICES, PLANS)
def test_every_place_of_a_trigger_is_what_the_prices_say(
    close: float, plans: list[tuple[str, float]]
) -> None:
    view = forming(close, plans)
    told = PLACE.findall(distance_words(view))

    assert len(told) == len(plans)
    for (number, side, passed), (direction, trigger) in zip(told, plans, strict=True):
        share = float(number.replace(",", ""))
        signed = {"above": share, "below": -share, "off": 0.0}[side]
        assert abs(close * (1 + signed / 100) - trigger) <= close * 0.0051 / 100
        if passed:
            assert (close > trigger) if direction == "bullish" else (close < trigger)
        elif share:
            assert (close < trigger) if direction == "bullish" else (close > trigger)
    assert place_words(view) == distance_words(view)


@given(PRICES, PLANS)
def test_a_column_has_the_words_of_the_sentence(
    close: float, plans: list[tuple[str, float]]
) -> None:
    view = forming(close, plans)

    sentence = distance_words(view).partition(" or ")[0].partition("trigger ")[2]
    short = sentence.replace(" the close", "").replace("already passed", "passed")
    assert short == away_words(view)


def test_a_trigger_far_above_a_fallen_price_is_above_it() -> None:
    view = forming(4.12, [("bullish", 6.0507)])

    assert distance_words(view) == "trigger 46.86% above the close"


def test_a_running_trade_is_called_triggered() -> None:
    assert (status_words("forming"), status_words("in_progress")) == ("forming", "triggered")
