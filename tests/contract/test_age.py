"""What a client reads of a night's age: the next session in every answer, words in the index."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from mcp_server.mcp.server import instructions
from mcp_server.mcp.toolsets import FULL
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
        sealed = live.get("/families", key="")
        today[0] += dt.timedelta(minutes=1)
        older = live.get("/", key="", headers={"If-None-Match": current.headers["etag"]})
        same = live.get("/families", key="", headers={"If-None-Match": sealed.headers["etag"]})

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
    assert same.status_code == 304, "no data call computes an age"


def test_agents_are_told_to_compare_and_what_the_fields_mean(service: Service) -> None:
    told = instructions(service.settings.offer, FULL)

    for word in (
        *("`next_session`", "`lineage_id`", "`attempt.number`", "later"),
        *("`last_close_side`", "`beyond`", "`not_distinguishable`", "BTCUSD"),
    ):
        assert word in told
    assert len(told) < 1700, "every agent reads them in every conversation"
