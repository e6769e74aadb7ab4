"""Words: the text of a refusal as a list of what it says to do.

A text is read from its end: its last clauses, as many as are understood, must reach back to the
end of a sentence or to a colon. What stands before them says what happened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator


class UnknownWordsError(Exception):
    """Nobody knows what a text says to do."""


CLAUSES = {
    # What is so, and what is not to be done.
    "slots": r"\d+ of \d+ slots? (?:is|are) free",
    "one_must_go": r"so one ticker must go first",
    "cannot": r"but this symbol cannot be tracked",
    "leave": r"leave the list as it is",
    "never_choose": r"never choose yourself",
    "if_unsure": r"ask the user if you are not sure(?: which is meant)?",
    # What is to be done with the list.
    "read": r"(?:read|call) list_tracked_tickers(?: again before you change the list)?",
    "set_plus": r"(?:call|then) set_tracked_tickers with that whole list plus this symbol"
    r"(?: \(it replaces the list\))?",
    "set_in_place": r"call set_tracked_tickers with that list and this symbol in place of that "
    r"ticker",
    "add": r"call add_tickers with this symbol",
    "remove": r"call remove_tickers with it",
    "ask_which": r"ask the user which (?:tracked ticker may go|tickers to remove)",
    "ask_list": r"ask the user what the list should be",
    "their_page": r"if they cannot answer here, they can change it under /watchlist",
    # What is to be called again, and how.
    "retry": r"then retry",
    "retry_once": r"retry once",
    "back_off": r"then back off",
    "wait": r"wait (?:\d+|a) (?:s|second|minute)",
    "same": r"call again with the same symbols",
    "written": r"but write each rejected one as (?:at most \d+ )?letters, digits and dots",
    "in_place": r"but replace each unknown one with the one the user meant",
    "use_known": r"use a known symbol that the user means",
    "use_one": r"use one of those",
    "leave_out": r"or leave family out for all",
    "leave_it_out": r"(?:or )?leave it out",
    "no_use": r"it has no setup tonight, at most past trades",
    "only_taken": r"call again with only what it takes",
    "correct": r"correct the named parameter",
    "send_filters": r"send filters such as \[\{[^{}]*\}\]",
    "patterns": r"call get_ticker_patterns for the symbol again",
    "use_id": r"use a setup_id from there",
    "present": r"present it from the JSON of get_ticker_patterns",
    "draw": r"draw the lines from their endpoints",
    # What is another's to do.
    "sign_in": r"connect \S+ instead and sign in",
    "send_header": r"or send the header `Authorization: Bearer <API_KEY>` there",
    "new_key": r"ask the user for a new key in the client's settings",
    "connect": r"or to connect again and sign in|ask the user to connect again and sign in",
    "set_header": r"or to set the header `Authorization: Bearer <API_KEY>` in the client",
    "upgrade": r"ask the user to upgrade the plan",
    "works": r"the same connection then works",
    "tell": r"if it persists, tell the operator",
    "owner": r"ask the owner to (?:change the list|add it|exchange a ticker) under /watchlist",
    "owner_connects": r"or to connect you again without choosing read-only",
    "reading": r"every reading tool works as before",
}

_READERS = {name: re.compile(rf"(?:{words})(?=[,:;.]| and )") for name, words in CLAUSES.items()}
VALUE = r'(?:"(?:[^"\\]|\\.)*"|[\w.:/$^=-]+)'
"""A value that a refusal names: a plain word, or any other text as JSON has it."""

_START = re.compile(r"(?<=[.:] )")
_BETWEEN = re.compile(r"[,:;.] ?| and ")


def clauses(text: str) -> list[str]:
    """The names of the clauses that a refusal ends with, in their order.

    Raises:
        UnknownWordsError: it ends with words that nobody knows.
    """
    for start in _START.finditer(text):
        rest = text[start.start() :]
        found = list(_clauses(rest[0].lower() + rest[1:]))
        if found and found[-1] is not None:
            return [name for name in found if name is not None]
    raise UnknownWordsError(text)


def _clauses(text: str) -> Iterator[str | None]:
    """The names of the clauses of a text, and None in place of the first words not known."""
    while text:
        text = text[0].lower() + text[1:]
        read = ((name, reader.match(text)) for name, reader in _READERS.items())
        name, found = next((pair for pair in read if pair[1]), (None, None))
        yield name
        if found is None:
            return
        text = _BETWEEN.sub("", text[found.end() :], count=1)


def listed(text: str, name: str) -> list[str]:
    """The values that a refusal names, such as `Nearest: AAPL, AA.`"""
    found = re.search(rf" {name}: ((?:{VALUE}, )*?{VALUE}?)(?: and \d+ more)?\.(?: |$)", text)
    values = re.findall(VALUE, found[1]) if found else []
    return [json.loads(value) if value.startswith('"') else value for value in values]


def nearest(text: str, symbol: str) -> str | None:
    """The known symbol that a refusal says is nearest to one."""
    found = re.search(rf" Nearest: (?:.*; )?{re.escape(symbol)}: ([A-Z0-9.]*[A-Z0-9])", text)
    return found[1] if found else None
