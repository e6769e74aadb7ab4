"""Misspelt: variables of the environment that look like settings and are none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

PREFIX: Final = "SCREENER_"

OTHERS: Final = frozenset({"KEY", "URL", "SHARED", "TEST_NIGHT"})
"""Variables of clients, benchmarks and tests, which the service does not read."""


class Stranger(NamedTuple):
    """A variable that is no setting, and the setting that it is nearest to, if any is near."""

    name: str
    meant: str | None

    @property
    def words(self) -> str:
        """One sentence about it."""
        meant = f"did you mean {self.meant}? " if self.meant else ""
        return f"{self.name} is not a setting; {meant}`screener settings` lists them all."


def strangers(environment: Iterable[str], settings: Collection[str]) -> list[Stranger]:
    """Those of the variables that begin as settings do and are none, by name.

    `settings` are the names in lower case, without the prefix.
    """
    known = frozenset(name.upper() for name in settings) | OTHERS
    found = sorted(name for name in environment if name.upper().startswith(PREFIX))
    names = {name: name.upper().removeprefix(PREFIX) for name in found}
    return [
        Stranger(name, _nearest(bare, known)) for name, bare in names.items() if bare not in known
    ]


def _nearest(name: str, known: frozenset[str]) -> str | None:
    from rapidfuzz.distance import OSA

    # A quarter of the letters: enough for each slip of a hand, and too few for another word.
    most = max(1, len(name) // 4)
    near = {one: OSA.distance(name, one) for one in sorted(known - OTHERS)}
    best = min(near, key=lambda one: near[one])
    return f"{PREFIX}{best}" if near[best] <= most else None
