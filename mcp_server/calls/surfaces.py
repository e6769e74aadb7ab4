"""Surface: how a call came, as far as an answer or the words of a refusal depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple


class Surface(NamedTuple):
    """What a call came by."""

    name: Literal["rest", "mcp"]
    """Calls without a key are counted for each apart."""
    pictures: bool = False
    """Whether it shows a picture beside the JSON."""
    app: bool = False
    """Whether its client may draw an answer on a page of its own."""
    edits: bool = False
    """Whether it has the tools that add and remove tickers."""


REST = Surface("rest")


class Consent(NamedTuple):
    """What a client that can ask its user was told, if it asked already."""

    given: bool | None = None
    """Whether the user agreed; None before they were asked."""
    closed: bool = False
    """Whether they closed the question instead of answering it."""
    to: str = ""
    """What they were asked about, as `ConsentNeeded.to` named it."""


class Conditions(NamedTuple):
    """What must hold before the tracked list is changed."""

    unchanged: Callable[[bytes], bool] | None = None
    """Whether the list that has this tag is the one that the client has seen; None: any list is."""
    consent: Consent | None = None
    """None for a client that cannot ask its user."""


NO_CONDITIONS = Conditions()


class ConsentNeededError(Exception):
    """The user must agree first; nothing was changed."""

    def __init__(self, question: str, to: str) -> None:
        super().__init__(question)
        self.question = question
        self.to = to
        """Names exactly what is asked about, so that a later answer counts for nothing else."""
