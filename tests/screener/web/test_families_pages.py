"""The pages of the five families: the record whole, its measures, and pictures of both."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path

import orjson
import pytest

from store.nights.book import Book
from store.wire.families import Family
from store.wire.method import Distribution
from tests.books import Content
from tests.resealed import reseal
from tests.screener.web.browser import Browser
from tests.screener.web.tree import words
from tests.service import Service, serving


@pytest.mark.parametrize("family", Family)
def test_a_family_is_shown_with_its_record_sample_and_average_loss(
    service: Service, family: Family
) -> None:
    answer = Browser(service).get(f"/families/{family.value}")
    text = words(answer.text)
    body = service.get(f"/families/{family.value}/stats", key="").json()
    record = body["track_record"]

    assert answer.status_code == 200
    assert f"As of {body['as_of_session']}" in text
    assert body["disclaimer"] in text
    if record is None:
        assert "No trade of this family has been resolved yet." in text
        return
    assert record["summary"] in text
    assert f"Resolved trades {record['sample_size']:,}" in text
    low, high = record["win_rate_ci95"]
    assert f"95%: {low:.2f} to {high:.2f}" in text
    assert f"Average loss {record['avg_loss_pct']:.2f}%" in text
    assert ("Too few to say anything." in text) == (record["verdict"] == "too_few")


@pytest.mark.parametrize("family", Family)
def test_the_distribution_of_a_night_is_that_of_its_histories(book: Book, family: Family) -> None:
    rows = [orjson.loads(row) for _, stored in book.histories() for row in stored.rows]
    of_family = [row["r_multiple"] for row in rows if row["family"] == family]
    results, method = [one for one in of_family if one is not None], book.method()

    assert method is not None
    found = method.distribution(family)
    assert found is not None
    assert found.counts == Distribution.of(results).counts
    assert found.trades == len(results)


def test_each_measure_of_a_family_stands_in_a_table_and_small_ones_are_marked(
    service: Service, book: Book
) -> None:
    method = book.method()
    assert method is not None
    page = Browser(service).get("/families/triangle").text
    text = words(page)
    mine = [m for m in (*method.measures, *method.untested) if m.family == Family.TRIANGLE]

    for measure in mine:
        low, high = measure.win_rate_range
        assert f"{measure.wins:,} of {measure.trades:,}" in text
        assert f"{measure.win_rate_pct:.2f}% ({low:.2f} to {high:.2f})" in text
    shown = Counter(re.findall(r'<td class="words">([^<]*)</td>', html.unescape(page)))
    assert shown == Counter(measure.words for measure in mine)


def test_all_families_lead_to_their_pages_and_the_method_leads_there_too(service: Service) -> None:
    browser = Browser(service)
    page, method = browser.get("/families").text, browser.get("/method").text

    for family in Family:
        assert f'href="/families/{family.value}"' in page
        summary = service.get(f"/families/{family.value}/stats").json()["track_record"]
        if summary:
            assert html.escape(summary["summary"]) in page
            assert f'href="/families/{family.value}"' in method
    assert 'href="/method"' in page


@pytest.mark.parametrize("name", ["wedge", "Triangle", "%3Cb%3E", "x" * 3000, "..%2fmethod"])
def test_an_unknown_family_leads_to_those_that_there_are(service: Service, name: str) -> None:
    answer = Browser(service).get(f"/families/{name}")

    assert answer.status_code == 404
    assert "<b>" not in answer.text
    if "%2f" not in name:
        assert "There is no such family" in answer.text
        assert 'href="/families/triangle"' in answer.text


def test_a_night_without_such_counts_says_so(data_dir: Path) -> None:
    def age(content: Content) -> None:
        method = content.meta["method"]
        del method["distributions"], method["untested"]

    reseal(data_dir, age)
    with serving(data_dir) as live:
        text = words(Browser(live).get("/families/triangle").text)

    assert "has no such counts; the next one will." in text
    assert "This night has no market table for each family" in text
