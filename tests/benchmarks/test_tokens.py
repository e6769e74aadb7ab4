"""What agents are sent stays lean, and the page for people who build agents says how much it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tokens.__main__ import MARKET, PAGE, SAMPLE, measure
from benchmarks.tokens.collect import compact
from benchmarks.tokens.counter import CounterError, count
from benchmarks.tokens.tables import outdated, tables_of, with_tables
from mcp_server.mcp.server import tools
from mcp_server.mcp.toolsets import EXTENDED, FULL
from mcp_server.presentation.offer import Offer
from mcp_server.presentation.rules import CONTENT_RULES
from tests.contract.codes import CODES
from tests.contract.market import write_market

OFFER = Offer("https://screener.example.com", ("AAPL", "GOOG", "IBM", "MSFT", "SPY"))
LISTING = 6_500
"""Tokens of all seven tools, schemas of answers included, at most."""


@pytest.fixture(scope="module")
def counter() -> None:
    """Skips where nothing can be counted."""
    try:
        count([""])
    except CounterError as error:
        pytest.skip(str(error))


@pytest.mark.engine
@pytest.mark.usefixtures("counter")
def test_the_counter_counts_as_the_vocabulary_does() -> None:
    # The name of a special token is plain text here, and a word of another script is one token.
    assert count(["", "a" * 10, "The quick brown fox jumps over the lazy dog.", "日本"]) == [
        0,
        2,
        10,
        1,
    ]
    assert count(["<|endoftext|>"])[0] > 1


@pytest.mark.engine
@pytest.mark.usefixtures("counter")
def test_the_list_of_tools_is_lean() -> None:
    listed = tools(FULL, OFFER)
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]

    assert count([compact({"tools": sent})])[0] <= LISTING


@pytest.mark.engine
@pytest.mark.usefixtures("counter")
def test_the_page_for_agents_says_what_the_code_sends(
    product_night: Path, night: Path, tmp_path: Path
) -> None:
    write_market(night, tmp_path)

    found = measure({SAMPLE: product_night, MARKET: tmp_path})

    old = outdated(tables_of(PAGE.read_text(encoding="utf-8")), found)
    assert old == [], "say python -m benchmarks.tokens --write"


def test_a_page_is_outdated_by_a_line_that_changed_and_not_by_a_few_tokens() -> None:
    page = with_tables(
        "Before.\n\n<!-- tokens -->\n\n<!-- /tokens -->\n\nAfter.\n", "| all | 6,193 |"
    )

    assert tables_of(page) == "| all | 6,193 |"
    assert page.startswith("Before.")
    assert page.endswith("After.\n")
    assert outdated(tables_of(page), "| all | 6,300 |") == []
    assert outdated(tables_of(page), "| all | 6,500 |") == ["| all | 6,500 |"]
    assert outdated(tables_of(page), "| some | 6,193 |") == ["| some | 6,193 |"]
    assert outdated("| all | 61 |  |", "| all | 61 | 58 |") == ["| all | 61 | 58 |"]


def test_the_page_for_agents_has_every_tool_rule_and_code() -> None:
    page = (PAGE.parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")

    said = [*EXTENDED.tools, *CODES]
    assert [name for name in said if f"`{name}`" not in page] == []
    assert [rule for n, rule in enumerate(CONTENT_RULES, 1) if f"{n}. {rule}\n" not in page] == []
