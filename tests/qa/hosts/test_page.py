"""docs/hosts.md shows how hosts connect, and the README the tables that the tests are made from.

Run with `UPDATE_DOCS=1` to write them into both pages again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from mcp_server.presentation.hosts import ACCESS_WORDS, Host, hosts
from mcp_server.presentation.offer import Offer
from tests.documents import check_page, row
from tests.qa.hosts import clients, conformance

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "hosts.md"
TABLES = Path(__file__).parent / "README.md"
OFFER = Offer("https://screener.example.com", ())


def rows(host: Host) -> Iterator[str]:
    """The ways to connect a host with an account that fit a line; settings are written in one."""
    for way in host.ways:
        value = way.value
        if way.kind == "settings" and value.startswith("{"):
            value = json.dumps(json.loads(value))
        if "\n" not in value and way.kind != "link" and way.access != "none":
            yield row(host.name, ACCESS_WORDS[way.access], f"{way.words} `{value}`")


def test_the_page_shows_the_ways_to_connect() -> None:
    heading = ("| client | access | what to do |", "|---|---|---|")
    lines = [line for host in hosts(OFFER) for line in rows(host)]
    check_page(PAGE, {"ways": "\n".join((*heading, *lines))})


def test_the_readme_shows_what_the_tests_know() -> None:
    check_page(TABLES, {"clients": clients.table(), "conformance": conformance.table()})


def test_every_client_has_a_program_and_every_program_a_client() -> None:
    programs = {file.name for file in (Path(__file__).parent / "programs").iterdir()}
    shared = {"order.py", "order.mjs", "signing_in.py", "__pycache__"}

    assert programs - shared == {client.program for client in clients.CLIENTS}
