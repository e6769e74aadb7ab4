"""Open pages in a real browser: they follow the nightly, and say that a newer night is out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from store.folder.progress import NAMED_FOR_EACH, ProgressFile
from tests.chromium import profile_of
from tests.service import copy_night, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

HOSTILE = "<img src=x onerror=alert(1)>"

pytestmark = pytest.mark.engine


def test_the_waiting_page_follows_a_nightly_that_fails_and_one_that_turns_it_into_the_screen(
    tmp_path: Path, night: Path, chromium: BrowserContext
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    complaints = list[str]()
    with serving(data, open_pages=True) as live:
        page = chromium.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live.url}/screen")
        page.get_by_role("heading", name="There is no night yet").wait_for()
        with ProgressFile(data).recording("bars") as record:
            page.get_by_role("heading", name="The first night is being made").wait_for()
            record.end("failed", "None of 3 symbols can be used.")
            page.get_by_role("heading", name="The nightly published nothing").wait_for()
            assert page.get_by_role("alert").inner_text() == "None of 3 symbols can be used."
        with ProgressFile(data).recording(HOSTILE) as record:
            page.get_by_role("heading", name="The first night is being made").wait_for()
            record.step("finding patterns", 3, 9)
            record.leave_out(HOSTILE, "unreadable_file", "It is a web page.")
            record.step("putting it together", 0, 0)
            page.get_by_text("Putting it together").wait_for()
            page.get_by_text("It is a web page.").wait_for()
            assert page.get_by_text(HOSTILE).count() == 2
            for number in range(NAMED_FOR_EACH):
                record.leave_out(f"S{number}", "too_few_bars", f"It has {number} bars.")
            record.leave_out("MANY", "too_few_bars", "It has 9 bars.")
            record.step("finding patterns", 4, 9)
            page.get_by_text("and 1 more").wait_for()
            told = page.locator(".left dl").inner_text()
            page.reload()
            assert page.locator(".left dl").inner_text() == told
            assert "it has too few bars so far" in told.lower()
            copy_night(night, data)
            record.end("published")
            page.get_by_text("2012-10-03").first.wait_for()
        page.close()

    assert complaints == []


def test_a_page_with_a_night_says_that_a_newer_one_is_out(
    data_dir: Path, later_night: Path, chromium: BrowserContext
) -> None:
    with serving(data_dir) as live:
        page = chromium.new_page()
        page.goto(live.url)
        assert page.get_by_role("status").inner_text() == ""
        copy_night(later_night, data_dir)
        page.get_by_role("status").get_by_text("A newer night is out, as of 2012-10-04").wait_for()
        page.get_by_role("link", name="reload").click()
        page.wait_for_load_state()
        assert page.get_by_role("status").inner_text() == ""
        page.close()


def test_a_page_with_a_night_says_what_the_nightly_does_and_did_as_it_would_if_it_was_loaded_again(
    data_dir: Path, chromium: BrowserContext
) -> None:
    with serving(data_dir, open_pages=True) as live:
        page = chromium.new_page()
        page.goto(f"{live.url}/screen")
        banner = page.locator("aside[data-state]")
        assert banner.is_hidden()
        for state in ("failed", "unchanged"):
            with ProgressFile(data_dir).recording(f"{state}.csv") as record:
                record.step("finding patterns", 3, 9)
                banner.get_by_text("3 of 9").wait_for()
                said = [banner.inner_text()]
                page.reload()
                said.append(banner.inner_text())
                record.end(state, f"It {state}.")
                banner.get_by_text(f"It {state}.").and_(page.locator(":visible")).wait_for()
                said.append(banner.inner_text())
                page.reload()
                said.append(banner.inner_text())
            assert said[0] == said[1] != said[2] == said[3]
            assert f"A nightly is running on {state}.csv" in said[0]
            assert f"The last nightly, on {state}.csv, " in said[2]
        page.close()


def test_without_scripts_the_waiting_page_loads_itself_again(
    tmp_path: Path, night: Path, program: Browser
) -> None:
    with profile_of(program, scripts=False) as plain, serving(tmp_path, open_pages=True) as live:
        page = plain.new_page()
        page.goto(f"{live.url}/screen")
        copy_night(night, tmp_path)
        page.get_by_text("2012-10-03").first.wait_for(timeout=30_000)
        page.close()
