"""Before the first night everything answers, and nothing is available."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service import serving


@pytest.mark.proves("SCAN-available", "PAT-patterns", "PAT-reason", "PAT-history-available")
def test_before_the_first_night_everything_answers_and_nothing_is_available(tmp_path: Path) -> None:
    with serving(tmp_path) as bare:
        index = bare.get("/", key="").json()
        families = bare.get("/families", key="").json()
        paths = ("/scan", "/tickers/AAPL/patterns", "/tickers/AAPL/history", "/demo/AAPL")
        scan, patterns, history, demo = (bare.get(path).raise_for_status().json() for path in paths)

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
    assert index["night"]["sessions_missed"] is None
