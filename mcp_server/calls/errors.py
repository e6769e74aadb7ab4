"""The error catalogue: each code's HTTP status and what to do next.

Handlers raise `ApiError` early; the two edges (MCP and REST) format it once. All its text is ours:
it never repeats what a caller sent, except symbols in its details. Pages raise `PageRefusal`.

    ApiError
        .code      what clients branch on; fixed within v1
        .message   what happened; may change
        .fix       what to do next, over REST
        .tool_fix  the same for an agent, which has tools and no routes
        .details   facts for programs; absent if there are none
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # callers bring the accounts, which commands on patterns do without
    from mcp_server.calls.callers import Allowance

MAX_NAMED = 50
"""Most facts of one list that a text names; its details name all."""

MAX_MISSPELT = 64
"""Characters of a word that are compared with our names."""

IN_MESSAGE = ("retry_after_seconds", "known")
"""Details that the message says already."""

PLAIN = re.compile(r"[\w.:/$^=-]+", re.ASCII)
"""A symbol, in the spelling of any vendor, or a name of ours."""


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """A row of the catalogue."""

    code: str
    status: int
    condition: str
    fix: str
    tool_fix: str = ""
    """The fix for an agent, which has tools and no routes; as `fix` if it is empty."""


_TABLE = (
    ErrorEntry(
        "missing_api_key",
        401,
        "This request needs an API key or an access token.",
        "Send the header `Authorization: Bearer <API_KEY>`.",
        "Ask the user to connect again and sign in, or to set the header `Authorization: Bearer "
        "<API_KEY>` in the client.",
    ),
    ErrorEntry(
        "invalid_api_key",
        401,
        "Unknown, expired or revoked key, or inactive account.",
        "Create a new key and send that one.",
        "Ask the user for a new key in the client's settings, or to connect again and sign in.",
    ),
    ErrorEntry(
        "forbidden",
        403,
        "The account has no plan with API access.",
        "Upgrade the plan; the same key then works.",
        "Ask the user to upgrade the plan; the same connection then works.",
    ),
    ErrorEntry(
        "ticker_not_tracked",
        403,
        "Patterns, history and charts need a tracked ticker; the account does not track this one.",
        "Add it with PUT or PATCH /tickers (or the tool set_tracked_tickers), then retry.",
        "Call list_tracked_tickers, then set_tracked_tickers with that whole list plus this "
        "symbol, then retry.",
    ),
    ErrorEntry(
        "rate_limited",
        429,
        "Too many calls with this key or, without a key, from this IP address.",
        "Wait details.retry_after_seconds, retry once, then back off.",
        "Wait a minute, retry once, then back off.",
    ),
    ErrorEntry(
        "bad_request",
        400,
        "A parameter is malformed; see the message.",
        "Correct the named parameter.",
    ),
    ErrorEntry(
        "invalid_symbol",
        400,
        "A symbol is not 1 to 24 letters, digits and dots; nothing changed.",
        "Use upper-case exchange symbols, as GET /universe has them, in place of details.rejected.",
        "Call again with the same symbols, but write each rejected one as at most 24 letters, "
        "digits and dots; ask the user if you are not sure.",
    ),
    ErrorEntry(
        "unknown_symbol",
        400,
        "A symbol is well formed but not known; nothing changed.",
        "Check the symbols of details.unknown against GET /universe, or leave them out.",
        "Call again with the same symbols, but replace each unknown one with the one the user "
        "meant, or leave it out; ask the user if you are not sure.",
    ),
    ErrorEntry(
        "ticker_cap_exceeded",
        400,
        "The watchlist would exceed its cap; nothing changed.",
        "Send at most details.cap symbols, or remove some first.",
        "Ask the user which tickers to remove; never choose yourself.",
    ),
    ErrorEntry(
        "unknown_family",
        404,
        "The family is not one of the five.",
        "Use one of details.allowed.",
        "Use one of those, or leave family out for all.",
    ),
    ErrorEntry(
        "setup_not_found",
        404,
        "No current setup with this id on this ticker; ids change every night.",
        "Read the ticker's patterns again and use a setup_id from there.",
        "Call get_ticker_patterns for the symbol again and use a setup_id from there.",
    ),
    ErrorEntry(
        "chart_unavailable",
        404,
        "The setup exists but cannot be drawn: its price history is not stored.",
        "Present it from the JSON and draw the lines from their endpoints.",
        "Present it from the JSON of get_ticker_patterns and draw the lines from their endpoints.",
    ),
    ErrorEntry(
        "not_a_demo_symbol",
        404,
        "The symbol is outside the demo set.",
        "Use one of details.demo_symbols.",
        "Use one of those.",
    ),
    # Beside the codes that the interface promises:
    ErrorEntry(
        "precondition_failed",
        412,
        "The watchlist or the night has changed since you read it; nothing was written.",
        "Read GET /tickers again, decide again, and send its new ETag in If-Match.",
        "Call list_tracked_tickers again before you change the list.",
    ),
    ErrorEntry("not_found", 404, "There is nothing at this URL.", "See the documentation."),
    ErrorEntry(
        "method_not_allowed",
        405,
        "This method is not allowed here.",
        "Use a method of the Allow header.",
    ),
    ErrorEntry("payload_too_large", 413, "The body is too large.", "Send a smaller body."),
    ErrorEntry(
        "internal_error",
        500,
        "The service failed; the operator can look into its log.",
        "Retry once; if it persists, tell the operator.",
    ),
    ErrorEntry(
        "unavailable",
        503,
        "The service is busy.",
        "Wait details.retry_after_seconds, then retry.",
        "Wait a second, then retry.",
    ),
)

CATALOGUE: Mapping[str, ErrorEntry] = MappingProxyType({row.code: row for row in _TABLE})


class ApiError(Exception):
    """A refusal that the caller is meant to read; rendered by each surface in its own way."""

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        fix: str | None = None,
        tool_fix: str | None = None,
        details: Mapping[str, Any] | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        entry = CATALOGUE[code]
        self.code = code
        self.status = entry.status
        self.message = message or entry.condition
        self.fix = fix or entry.fix
        self.tool_fix = tool_fix or fix or entry.tool_fix or entry.fix
        self.details = dict(details) if details else None
        self.allowance = allowance
        """What is left of the caller's quotas; None before the call is counted."""
        super().__init__(f"{code}: {self.message}")

    @property
    def retry_after(self) -> int:
        """Seconds after which the same call may succeed; 0 where waiting does not help."""
        seconds: int = (self.details or {}).get("retry_after_seconds", 0)
        return seconds

    def body(self, docs_url: str) -> dict[str, Any]:
        """The Error body of a REST response."""
        body: dict[str, Any] = {
            "error": self.code,
            "message": self.message,
            "fix": self.fix,
            "docs_url": docs_url,
        }
        if self.details is not None:
            body["details"] = self.details
        return body

    def text(self) -> str:
        """The text of a tool error: begins with the code, ends with the fix."""
        named = "".join(
            f" {name.replace('_', ' ').capitalize()}: {_words(value)}."
            for name, value in (self.details or {}).items()
            if name not in IN_MESSAGE
        )
        return f"{self.code}: {self.message}{named} {self.tool_fix}"


class PageRefusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """A refusal for a person: on a page, above the form that it concerns or else by itself; one
    line for what a page or a feed reader loads.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """Seconds to wait before trying again."""


def busy(retry_after_seconds: int = 1) -> ApiError:
    """The refusal when the service cannot take more work right now."""
    return ApiError(
        "unavailable",
        tool_fix=f"Wait {retry_after_seconds} s, then retry.",
        details={"retry_after_seconds": retry_after_seconds},
    )


def without_accounts(allowance: Allowance | None = None) -> ApiError:
    """The refusal of what needs the account database while that does not answer."""
    refusal = busy()
    refusal.message = "The service cannot read or change its accounts right now."
    refusal.allowance = allowance
    return refusal


def no_access(refused: str | None, sent: str) -> ApiError:
    """The 401 of a caller whose credential is of a bad kind, or who sent something else than a
    usable Bearer; both as `Caller` has them.
    """
    if refused in ("key", "token"):
        return ApiError("invalid_api_key")
    if not sent:
        return ApiError("missing_api_key")
    way = "send the header `Authorization: Bearer <API_KEY>`, the key as it is."
    return ApiError(
        "missing_api_key",
        "The request has no usable Bearer token.",
        fix=f"You sent {sent}; {way}",
        tool_fix=f"Tell the user that the client sent {sent}; it must {way}",
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question which of our names was meant by a word, `Did you mean rsi?`; empty if none is
    near.
    """
    folded = {name.casefold(): name for name in known}
    plain = word[:MAX_MISSPELT].casefold()
    if plain in folded:
        return ""
    near = get_close_matches(plain, folded, 3)
    near += [name for name in folded if name not in near and plain and plain in name]
    names = [folded[name] for name in near[:3]]
    return f"Did you mean {' or '.join(names)}?" if names else ""


def _words(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_word(name)}: {_words(part)}" for name, part in value.items())
    if not isinstance(value, list):
        return _word(value)
    others = len(value) - MAX_NAMED
    named = ", ".join(map(_word, value[:MAX_NAMED]))
    return f"{named} and {others} more" if others > 0 else named


def _word(value: object) -> str:
    """A fact as a model reads it. What is no plain word is quoted: a caller may have sent it, and
    it must not pass for a sentence of ours.
    """
    text = str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=not text.isprintable())
