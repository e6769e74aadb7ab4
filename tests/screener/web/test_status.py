"""The page that says which night is served, what it holds and what it left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from screener.nightly.cleaning.rules import FINDINGS, REFUSALS
from screener.web.market.status import MAX_NAMED, summary_of
from store.accounts.accounts import utc_now
from store.folder.progress import ProgressFile, State
from store.nights.active_night import read_last_nights
from store.nights.nights import Nights
from store.wire.labels import FOUND, LEFT_OUT
from tests.resealed import reseal
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import Document
from tests.service import Service, copy_night, serving

REPORT = {
    "refused": {
        "stale": {
            f"OLD{n:03}": "The last usable bar is of 2019-04-18." for n in range(MAX_NAMED + 7)
        },
        "of_another_version": {"<b>.csv": "Why not."},
    },
    "findings": {"gap": [12, 3], "halted": [40, 2]},
    "forming": {"triangle": 2},
    "running": {"triangle": 1, "rising_wedge": 4},
}


def test_the_status_names_the_session_its_age_the_counts_and_the_versions(
    service: Service,
) -> None:
    page = Browser(service).get("/status").text
    manifest = json.loads((service.settings.data_dir / "manifest.json").read_text())

    assert manifest["as_of_session"] in page
    assert manifest["next_session"] in page
    assert manifest["data_version"] in page
    assert f"{manifest['counts']['covered']} <span" in page
    assert "it never gets newer" in page
    assert 'class="badge">served' in page
    assert manifest["disclaimer"] in page


def test_reasons_are_counted_whole_and_named_up_to_a_bound() -> None:
    summary = summary_of(REPORT)
    stale, other = summary["refused"]

    assert (stale.words, stale.size, len(stale.named)) == (
        LEFT_OUT["stale"],
        MAX_NAMED + 7,
        MAX_NAMED,
    )
    assert (other.words, other.size) == ("of another version", 1)
    assert summary["irregularities"] == [(FOUND["halted"], 40, 2), (FOUND["gap"], 12, 3)]
    assert (summary["forming"], summary["running"]) == (2, 5)


def test_every_rule_of_the_nightly_has_words() -> None:
    assert set(LEFT_OUT) == {rule.code for rule in REFUSALS}
    assert set(FOUND) == {rule.code for rule in FINDINGS}


def told(data_dir: Path, report: dict[str, Any]) -> list[str]:
    """The status of a night with a report, for a stranger and for a member."""

    reseal(data_dir, lambda content: content.meta.update(report=report))
    with serving(data_dir) as live:
        member = signed_in(live, new_person(live))
        return [browser.get("/status").text for browser in (Browser(live), member)]


def test_names_are_shown_only_to_who_may_see_the_scan(data_dir: Path) -> None:
    stranger, member = told(data_dir, REPORT)

    assert "OLD001" not in stranger
    assert ".csv" not in stranger
    assert str(MAX_NAMED + 7) in stranger
    assert "see the symbols here" in stranger
    assert "OLD001" in member
    assert f"OLD{MAX_NAMED:03}" not in member
    assert "<b>.csv" not in member
    assert "&lt;b&gt;.csv" in member


def test_no_name_of_a_file_steers_who_reads_it(data_dir: Path) -> None:
    name = "\u202egpj\x1b[2J\u2066.csv" + "x" * 100
    reason = "It is\x07\u202e not\x00 one. " + "y" * 400

    _, text = told(data_dir, {"refused": {"unreadable_file": {name: reason}}})
    assert "gpj" in text
    assert "\N{REPLACEMENT CHARACTER}" in text
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert "x" * 100 not in text
    assert "y" * 300 not in text


def test_the_last_nights_are_listed_with_those_withdrawn_marked(
    night: Path, product_night: Path, tmp_path: Path
) -> None:
    shutil.copytree(product_night, tmp_path, dirs_exist_ok=True)
    first = read_last_nights(tmp_path)[0]
    copy_night(night, tmp_path)
    nights = Nights(tmp_path)
    nights.withdraw(first.data_version, "The bars were wrong.", utc_now())
    listed = {one.data_version: one for one in read_last_nights(tmp_path)}

    assert len(listed) == 2
    assert listed[first.data_version].withdrawn
    assert first.published is not None
    with serving(tmp_path) as live:
        page = Browser(live).get("/status").text
    assert page.count('class="badge warn">withdrawn') == 1
    assert page.count('class="badge">served') == 1


def test_a_damaged_night_is_left_out_of_the_list(data_dir: Path) -> None:
    (data_dir / "nights" / "20300101-0123456789ab.json").write_text("{")

    assert len(read_last_nights(data_dir)) == 1
    assert len(read_last_nights(data_dir, most=1)) == 0


def test_a_page_with_a_night_says_what_the_last_nightly_did_to_who_may_see_the_scan(
    data_dir: Path,
) -> None:
    states: tuple[State, ...] = ("failed", "held_back", "unchanged")
    with serving(data_dir) as live:
        member, stranger = signed_in(live, new_person(live)), Browser(live)
        for state in states:
            with ProgressFile(data_dir).recording("bars.csv") as record:
                record.end(state, "It says why.")
            for path in ("/status", "/screen"):
                asides = Document(member.get(path).text).root.all("aside")
                (banner,) = [one for one in asides if one.attributes.get("data-state") == state]
                (seen,) = [one for one in banner if one.attributes.keys() == {"data-when"}]
                assert "this page still shows the night" in seen.text
                assert "It says why." in seen.text
            other = stranger.get("/status").text
            assert "bars.csv" not in other
            assert "It says why." not in other


def test_the_screen_says_what_its_own_night_left_out_and_not_what_another_did(
    data_dir: Path,
) -> None:
    version = json.loads((data_dir / "manifest.json").read_text())["data_version"]
    left = {"stale": {"OLD": "The last usable bar is of 2019-04-18."}}
    with serving(data_dir, open_pages=True) as live:
        for published, shown in ((version, True), ("another", False)):
            with ProgressFile(data_dir).recording("bars.csv") as record:
                record.end("published", data_version=published, left=left)
            page = Browser(live).get("/screen").text
            assert ("The last usable bar is of 2019-04-18." in page) == shown
