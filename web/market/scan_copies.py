"""Scan copies: a query of the screen as programs and people pass it on."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from mcp_server.presentation.offer import Offer
from web.market.scan_query import Query


@dataclass(frozen=True, slots=True)
class Copy:
    """One text that asks for the same rows."""

    key: str
    label: str
    words: str
    text: str


def copies_of(query: Query, offer: Offer) -> list[Copy]:
    """The texts of a query; as an MCP call only where the service offers the tool."""
    copies = [Copy("curl", "As curl", "SCREENER_KEY holds one of your keys.", _curl(query, offer))]
    if offer.extended:
        words = f"The body of a POST to {offer.extended_url}, with the same key."
        copies.append(Copy("mcp", "As an MCP call", words, _mcp(query)))
    link = f"{offer.public_url}{query.address()}"
    return [*copies, Copy("link", "As a link", "Whoever may see the scan sees these rows.", link)]


def _curl(query: Query, offer: Offer) -> str:
    lines = [
        f"curl --get {shlex.quote(f'{offer.base_url}/scan')}",
        '--header "Authorization: Bearer $SCREENER_KEY"',
    ]
    for name, value in query.parameters.items():
        lines.append(f"--data-urlencode {shlex.quote(f'{name}={value}')}")
    return " \\\n  ".join(lines)


def _mcp(query: Query) -> str:
    # The tool shows fewer rows than the page when it is not told how many.
    arguments = {**query.scan, "limit": query.arguments.limit}
    call = {"name": "scan_setups", "arguments": arguments}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, ensure_ascii=False
    )
