"""The privacy page and the terms: the operator's own, or ones that say what the settings are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from screener.service.parts import MAX_BYTES
from screener.settings.settings import Settings
from tests.screener.command import check_refusal, run
from tests.screener.web.browser import Browser
from tests.service import Service, serving

KEPT: dict[str, Any] = {
    "usage_days": 123,
    "audit_days": 1_234,
    "session_idle_days": 3,
    "session_days": 17,
}


def test_the_default_names_the_value_of_each_setting_that_keeps_something(tmp_path: Path) -> None:
    assert {name for name in Settings.model_fields if name.endswith("_days")} == set(KEPT)
    with serving(tmp_path, operator="Example Ltd, Sample Street 1", **KEPT) as live:
        page = Browser(live).get("/privacy").text

    for words in (
        ">123 days</td>",
        ">1,234 days</td>",
        "3 days without a visit, at most 17 days",
        "then 123 days for the usage log",
        "365 days without a sign-in",
        "access 7 days, refresh 90 days; the app 180 days without use",
        "run by Example Ltd, Sample Street 1",
        "screener account delete",
    ):
        assert words in page


def test_the_default_terms_repeat_the_disclaimer(tmp_path: Path) -> None:
    with serving(tmp_path, disclaimer="Only for learning.") as live:
        assert "<strong>Only for learning.</strong>" in Browser(live).get("/terms").text


def test_the_operator_s_own_text_takes_their_place_without_its_html(tmp_path: Path) -> None:
    privacy, terms = tmp_path / "privacy.md", tmp_path / "terms.md"
    privacy.write_text("# What we keep\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))")
    terms.write_text("# House rules\n\n| a | b |\n| - | - |\n| 1 | 2 |\n")
    with serving(tmp_path, privacy=privacy, terms=terms) as live:
        browser = Browser(live)
        kept, rules = browser.get("/privacy").text, browser.get("/terms").text

    assert "<h1>What we keep</h1>" in kept
    assert "<script>" not in kept
    assert 'href="javascript' not in kept
    assert "What is stored" not in kept
    assert "<h1>House rules</h1>" in rules
    assert ">1</td>" in rules


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"caf\xe9", "is not text in UTF-8"),
        (b"x" * (MAX_BYTES + 1), "is over 256 KB"),
    ],
)
@pytest.mark.parametrize("name", ["SCREENER_PRIVACY", "SCREENER_TERMS"])
def test_a_text_that_cannot_be_used_is_refused_at_the_start_in_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / "text.md"
    if content is not None:
        path.write_bytes(content)

    done = run(tmp_path / "data", "serve", "--port", "1", **{name: str(path)})

    check_refusal(done, f"{name}: {path} {words}")


def test_the_metadata_name_both(service: Service) -> None:
    """RFC 9728 section 2 and RFC 8414 section 2."""
    well_known = f"{service.url}/.well-known"
    resource = httpx.get(f"{well_known}/oauth-protected-resource/mcp").json()
    server = httpx.get(f"{well_known}/oauth-authorization-server").json()

    privacy, terms = f"{service.url}/privacy", f"{service.url}/terms"
    assert (resource["resource_policy_uri"], resource["resource_tos_uri"]) == (privacy, terms)
    assert (server["op_policy_uri"], server["op_tos_uri"]) == (privacy, terms)
    assert service.get("/openapi.json").json()["info"]["termsOfService"] == terms
