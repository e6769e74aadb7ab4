"""An answer that lacks what a content rule needs is found out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.qa.agents.rules import Answer, missing

SUMMARY = "Triangle: 4 resolved trades, 50.00% reached the target."
LINE = {"start": {"date": "2012-07-02", "price": 9.0}, "end": {"date": "2012-09-03", "price": 8.0}}
ROW = {
    "win_rate_pct": 50,
    "sample_size": 4,
    "avg_loss_pct": -1.5,
    "summary": SUMMARY,
    "price_scale": "log",
    "lines": {"upper": LINE, "lower": LINE},
}
NIGHT = {"session": "2012-10-03", "disclaimer": "Not advice.", "summaries": {SUMMARY}}


def answer(text: str = "Not advice.", session: str = "2012-10-03", **changes: Any) -> Answer:
    body = {"as_of_session": session, "setups": [{**ROW, **changes}]}
    return Answer(text, body, refused=False)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        (answer(avg_loss_pct=None), "a win rate without"),
        (answer(sample_size=None), "a win rate without"),
        (answer(summary="Triangle: 4 resolved trades"), "a summary that is not whole"),
        (answer(lines={"upper": LINE, "lower": {**LINE, "end": LINE["start"]}}), "lines without"),
        (answer(session="2012-10-02"), "no session"),
        (answer(text=""), "no disclaimer"),
    ],
)
def test_what_an_answer_lacks_is_named(lacking: Answer, words: str) -> None:
    assert missing([answer()], NIGHT) == []
    assert missing([lacking], NIGHT)[0].startswith(words)


def test_a_refusal_needs_nothing() -> None:
    assert missing([Answer("unknown_symbol: ...", None, refused=True)], NIGHT) == []
