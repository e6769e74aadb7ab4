"""`screener night changes`: what changed with a night, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from store.nights.nights import Nights
from store.wire.labels import CHANGE_REASONS
from tests.resealed import CHANGES, market_changes, reseal, write_changes
from tests.screener.command import check_refusal, run


def test_changes_are_listed_under_the_headings_of_an_evening_with_their_reason(
    data_dir: Path,
) -> None:
    reseal(data_dir, lambda content: write_changes(content, market_changes()))

    result = run(data_dir, "night", "changes")

    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[1] == (
        "450 changes of 450 patterns since night 20121002-0123456789ab, session 2012-10-02:"
    )
    kinds = {
        "New tonight": ("new",),
        "Triggered today": ("triggered",),
        "Ended today": ("stopped", "reached"),
        "Gone": ("expired",),
    }
    for heading, kind in kinds.items():
        rows = [change for change in market_changes() if change.change in kind]
        start = lines.index(f"{heading}: {len(rows)}") + 2
        for line, row in zip(lines[start : start + len(rows)], rows, strict=True):
            assert line.startswith(f"{row.symbol} ")
            assert row.reason == "found" or CHANGE_REASONS[row.reason] in line
    assert any("$12.50" in line and "-1.00" in line for line in lines)


def test_changes_as_json_are_the_sealed_ones_with_counts(data_dir: Path) -> None:
    reseal(data_dir, lambda content: write_changes(content, market_changes()))
    active = Nights(data_dir).check_active()

    found = json.loads(run(data_dir, "night", "changes", active.data_version, "--json").stdout)

    assert found["data_version"] == active.data_version
    assert (found["since_session"], found["available"]) == ("2012-10-02", True)
    for row, change in zip(found["changes"], market_changes(), strict=True):
        assert row.items() >= change.model_dump(mode="json").items()
        assert row["why"] == CHANGE_REASONS[change.reason]
    assert sum(found["counts"].values()) == CHANGES


def test_a_night_with_none_before_it_and_one_without_changes_say_so(data_dir: Path) -> None:
    first = run(data_dir, "night", "changes")
    as_json = json.loads(run(data_dir, "night", "changes", "--json").stdout)
    reseal(data_dir, lambda content: write_changes(content, []))
    same = run(data_dir, "night", "changes")

    assert "It was not compared with an earlier night" in first.stdout
    assert (as_json["available"], as_json["since_session"], as_json["changes"]) == (False, None, [])
    assert "Triggered" not in same.stdout
    assert "Gone" not in same.stdout


def test_the_changes_of_an_unknown_night_are_one_sentence(data_dir: Path) -> None:
    check_refusal(run(data_dir, "night", "changes", "20120101-0123456789ab"), "There is no night")
