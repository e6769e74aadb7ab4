"""docs/hosts.md shows how hosts connect, and the tables that the tests are made from.

Run with `UPDATE_DOCS=1` to write them into the page again.
"""

from __future__ import annotations

from pathlib import Path

from mcp_server.presentation.hosts import ACCESS_WORDS, Host, hosts
from mcp_server.presentation.offer import Offer
from screener.web.about.connect import LANGUAGES
from tests.documents import check_page
from tests.qa.hosts import clients, conformance

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "hosts.md"
OFFER = Offer("https://screener.example.com", ())


def section(host: Host) -> str:
    """The ways to connect a host, in Markdown."""
    ways = (
        f"{ACCESS_WORDS[way.access]}. {way.words}\n\n```{LANGUAGES[way.kind]}\n{way.value}\n```"
        for way in host.ways
    )
    return "\n\n".join((f"### {host.name}", *ways))


def test_the_page_shows_the_ways_to_connect_and_what_the_tests_know() -> None:
    ways = "\n\n".join(map(section, hosts(OFFER)))
    tables = {"clients": clients.table(), "conformance": conformance.table(), "ways": ways}
    check_page(PAGE, tables)


def test_every_client_has_a_program_and_every_program_a_client() -> None:
    programs = {file.name for file in (Path(__file__).parent / "programs").iterdir()}
    shared = {"order.py", "order.mjs", "signing_in.py", "__pycache__"}

    assert programs - shared == {client.program for client in clients.CLIENTS}
