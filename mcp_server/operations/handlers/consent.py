"""Consent: the user is asked before their list loses a ticker, where the client can ask."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import xxhash

from mcp_server.calls.errors import ApiError
from mcp_server.calls.surfaces import Consent, ConsentNeededError

NAMED = 20
"""Most tickers that a question names."""


def check_consent(consent: Consent | None, before: Sequence[str], symbols: Sequence[str]) -> None:
    """Ask the user before their list loses a ticker, where the client can ask.

    Raises:
        ConsentNeededError: the user was not asked, or about another change.
        ApiError: `precondition_failed`; the user does not agree.
    """
    lost = [symbol for symbol in before if symbol not in symbols]
    if consent is None or not lost:
        return
    change = xxhash.xxh3_128_hexdigest(orjson.dumps([before, symbols]))
    if consent.given is None or consent.to != change:
        named = ", ".join(lost[:NAMED]) + (" and others" if len(lost) > NAMED else "")
        question = (
            f"This drops {len(lost)} of {len(before)} tracked tickers: {named}. The new list has "
            f"{len(symbols)}. Continue?"
        )
        raise ConsentNeededError(question, change)
    if not consent.given:
        closed = "The user closed the question without an answer; nothing changed."
        declined = "The user does not want to drop these tickers; nothing changed."
        raise ApiError(
            "precondition_failed",
            closed if consent.closed else declined,
            tool_fix="Ask the user what the list should be.",
        )
