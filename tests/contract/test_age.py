"""What a client reads before the first night, and later of a night's age: the next session in every
answer, words in the index.
"""

from __future__ import annotations

import datetime as dt
from contextlib import closing
from pathlib import Path

import pytest

from mcp_server.mcp.server import instructions
from mcp_server.mcp.toolsets import FULL
from tests.contract.market import active_book
from tests.resealed import rename_bars, reseal, withdraw
from tests.service import Service, serving


def test_the_index_says_how_old_the_night_is_on_each_day_and_which_were_withdrawn(
    data_dir: Path,
) -> None:
    reseal(data_dir, change_manifest=rename_bars)
    withdraw(data_dir, 4, reason="First.")
    withdraw(data_dir, 9, as_of_session="2012-09-28", reason="Second.")
    today = [dt.datetime(2012, 10, 4, 23, 59, tzinfo=dt.UTC)]
    with serving(data_dir, clock=lambda: today[0]) as live:
        current = live.get("/", key="")
        unchanged = live.get("/", key="", headers={"If-None-Match": current.headers["etag"]})
        today[0] += dt.timedelta(minutes=1)
        older = live.get("/", key="", headers={"If-None-Match": current.headers["etag"]})

    assert current.json()["night"] == {
        "as_of_session": "2012-10-03",
        "next_session": "2012-10-04",
        "sessions_missed": 0,
        "sample": False,
        "words": "This night is current: no session has ended since 2012-10-03.",
    }
    found = current.json()["withdrawn"]
    assert [entry["reason"] for entry in found] == ["Second.", "First."]
    assert found[1] == {
        "data_version": "20121004-0123456789ab",
        "as_of_session": "2012-10-04",
        "reason": "First.",
        "withdrawn_at": "2012-10-05T03:04:05+00:00",
    }
    assert current.headers["cache-control"] == "public, no-cache"
    assert unchanged.status_code == 304
    assert older.status_code == 200, "the words have changed, so its tag has"
    assert older.json()["night"]["sessions_missed"] == 1
    assert older.json()["night"]["words"].startswith("1 session has ended")


def test_an_old_night_answers_the_same_on_every_later_day(night: Path) -> None:
    answers, missed = set(), set()
    with closing(active_book(night)) as book:
        for day in (8, 9, 10):
            book.tell_day(dt.date(2012, 10, day))
            answers.add(book.envelope)
            missed.add(book.missed)

    assert (len(answers), len(missed)) == (1, 3), "only the number of sessions that ended grows"


def test_agents_are_told_to_compare_and_what_the_fields_mean(service: Service) -> None:
    told = instructions(service.settings.offer, FULL)

    for word in (
        *("`next_session`", "`lineage_id`", "`attempt.number`", "later"),
        *("`last_close_side`", "`beyond`", "`not_distinguishable`"),
    ):
        assert word in told
    assert len(told) < 1700, "every agent reads them in every conversation"


@pytest.mark.proves("SCAN-available", "PAT-patterns", "PAT-reason", "PAT-history-available")
def test_before_the_first_night_everything_answers_and_nothing_is_available(tmp_path: Path) -> None:
    with serving(tmp_path) as bare:
        index = bare.get("/", key="").json()
        families = bare.get("/families", key="").json()
        paths = ("/scan", "/tickers/AAPL/patterns", "/tickers/AAPL/history", "/demo/AAPL")
        scan, patterns, history, demo = (bare.get(path).raise_for_status().json() for path in paths)
        lists = [bare.get(path).raise_for_status().json() for path in ("/tickers", "/universe")]

    for answer in (scan, patterns, history, demo):
        assert answer["available"] is False
    assert (scan["setups"], scan["count"]) == ([], 0)
    assert patterns["setups"] == []
    assert "reason" not in patterns
    assert (history["occurrences"], history["count"], history["total"]) == ([], 0, 0)
    assert (families["as_of_session"], families["data_version"]) == (None, None)
    assert [entry["track_record"] for entry in families["families"]] == [None] * 5
    assert (index["next_session"], index["withdrawn"]) == (None, [])
    assert index["night"]["words"] == "There is no night yet."
    assert [answer["notes"] for answer in (*lists, history)] == [["There is no night yet."]] * 3
    assert index["night"]["sessions_missed"] is None
