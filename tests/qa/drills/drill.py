"""A drill: a fault that is made, and what it did, which is a row of the table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.qa.drills.crowd import Actor, Crowd
from tests.qa.drills.nights import Nights
from tests.qa.drills.readers import Caller, Reader
from tests.qa.drills.server import Server
from tests.qa.drills.truth import PATTERNS
from tests.qa.drills.writers import Approving, Keeping, SigningIn, SigningUp, Watching

PAUSE = 0.01
"""Seconds between two requests of one actor of a crowd at a single server."""
HEAD = ("fault", "made", "lost or wrong", "users saw", "well again after")


class CannotError(Exception):
    """This machine cannot make the fault; the text says why."""


class Gathering(Crowd):
    """The crowd at a single server: each kind of writer, and a caller whose calls are counted."""

    def __init__(self, server: Server, nights: Nights, number: int = 0) -> None:
        self.caller = Caller(server, nights.truth, f"caller{number}@example.com")
        kinds = (Watching, Keeping, SigningIn, SigningUp, Approving)
        actors: list[Actor] = [*(kind(server) for kind in kinds), self.caller]
        super().__init__((actor, PAUSE) for actor in actors)

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return self.all()["answered"]


@dataclass
class Drill:
    """A fault that was made in a folder of its own, and what it did."""

    name: str
    folder: Path
    nights: Nights
    made: str = ""
    """How often, and where."""
    lost: list[str] = field(default_factory=list)
    """What was acknowledged and is gone. Anything here fails the run."""
    wrong: list[str] = field(default_factory=list)
    """What was served or said and is not so. Anything here fails the run."""
    seen: Counter[str] = field(default_factory=Counter)
    """The ways in which requests ended, or what a command said."""
    seconds: list[float] = field(default_factory=list)
    """Each time from the end of the fault until all was well again."""
    notes: list[str] = field(default_factory=list)

    def data(self, name: str = "data") -> Path:
        """A new data folder with the nights."""
        return self.nights.copied(self.folder / name)

    def server(
        self, data: Path | None = None, more: dict[str, str] | None = None, **settings: object
    ) -> Server:
        """A server on a data folder, by default a new one."""
        data = data or self.data()
        return Server(data, self.nights.port, self.folder / f"{data.name}.log", more, **settings)

    def crowd(self, server: Server, number: int = 0) -> Gathering:
        """A crowd for a server; each of several at one server has its number."""
        return Gathering(server, self.nights, number)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What is done in the block makes all well again."""
        began = time.monotonic()
        yield
        self.seconds.append(time.monotonic() - began)

    def check(self, *, so: bool, wrong: str) -> None:
        """What is not so is wrong."""
        if not so:
            self.wrong.append(wrong)

    def take(self, crowd: Crowd) -> None:
        """Note what a crowd has seen, and what it misses."""
        self.seen.update(crowd.all())
        self.wrong += [wrong.how for wrong in crowd.wrong]
        self.lost += crowd.lost()

    @contextmanager
    def honest(self, server: Server) -> Iterator[None]:
        """Somebody calls all the time, from an address of their own; each call must be answered."""
        clients = [server.client(server.key())]
        reader = Reader("honest", server, self.nights.truth, [PATTERNS], clients)
        crowd = Crowd([(reader, 0.05)])
        with crowd:
            yield
        ends = crowd.all()
        self.seen.update({f"honest {end}": number for end, number in ends.items()})
        self.wrong += [wrong.how for wrong in crowd.wrong]
        self.wrong += [f"an honest call ended with {end}" for end in ends if end != "answered"]
        slowest = f"the slowest took {reader.slowest * 1000:.0f} ms"
        self.notes.append(f"{ends.total()} honest calls meanwhile, {slowest}")

    @property
    def failed(self) -> bool:
        """Whether anything was lost or wrong."""
        return bool(self.lost or self.wrong)

    def row(self) -> tuple[str, ...]:
        """The row, in words."""
        seen = "; ".join(f"{number:,} x {what}" for what, number in self.seen.most_common())
        bad = [*(f"LOST {one}" for one in self.lost), *(f"WRONG {one}" for one in self.wrong)]
        well = f"{max(self.seconds):.1f} s" if self.seconds else "at once"
        last = ". ".join([well, *self.notes])
        return self.name, self.made, "; ".join(bad[:6]) or "nothing", seen or "nothing", last


def line(cells: Sequence[str]) -> str:
    """A row of a table of Markdown."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]] = ()) -> list[str]:
    """A table of Markdown."""
    return [line(head), "|---" * len(head) + "|", *map(line, rows)]
