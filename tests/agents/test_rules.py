"""An answer that lacks what a content rule needs is found out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.nights import Nights
from tests.agents.rules import Answer, missing, needed, rows_of

PATH = "/tickers/GOOG/patterns"


def answer_of(nights: Nights, lacking: str) -> Answer:
    """The patterns of GOOG without a field, wherever it stands."""
    live, _ = nights["sample"]
    body = live.get(PATH).raise_for_status().json()
    for row in [body, *rows_of(body)]:
        _without(row, lacking)
    return Answer("Educational chart analysis, not investment advice.", body, refused=False)


def _without(row: Any, lacking: str) -> None:
    if lacking == "summary" and "summary" in row:
        row["summary"] = row["summary"].partition(";")[0]
    elif lacking == "as_of_session" and "api_version" in row:
        row["as_of_session"] = "2012-10-02"
    elif lacking == "date" and "lines" in row:
        row["lines"]["upper"]["end"] = row["lines"]["upper"]["start"]
    elif lacking == "avg_loss_pct" and lacking in row:
        row[lacking] = None
    elif lacking == "sample_size":
        row.pop(lacking, None)
        row.pop("summary", None)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ("avg_loss_pct", "a win rate without"),
        ("sample_size", "a win rate without"),
        ("summary", "a summary that is not whole"),
        ("as_of_session", "no session"),
        ("date", "lines without dated endpoints"),
    ],
)
def test_what_an_answer_lacks_is_named(nights: Nights, lacking: str, words: str) -> None:
    night = nights["sample"][1]

    assert missing([answer_of(nights, "")], night) == []
    assert any(found.startswith(words) for found in missing([answer_of(nights, lacking)], night))


def test_an_answer_without_the_disclaimer_is_found_out(nights: Nights) -> None:
    answer = Answer("", answer_of(nights, "").body, refused=False)

    assert missing([answer], nights["sample"][1])[0].startswith("no disclaimer")
    assert needed([answer]) == {"sample", "summary", "session", "lines", "disclaimer"}
    assert needed([Answer("unknown_symbol: ...", None, refused=True)]) == set()
