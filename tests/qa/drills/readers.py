"""Readers: callers whose answers are all held against the truth."""

from __future__ import annotations

import itertools
import random
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import httpx

from tests.qa.drills.crowd import Actor
from tests.qa.drills.server import Place, Server
from tests.qa.drills.truth import (
    FAMILIES,
    FIRST_ROW,
    KEYED_REST,
    PAGES,
    RECORD,
    Question,
    Truth,
    Wrong,
    outcome,
    served_by,
    versions,
)

LEFT_TODAY = re.compile(r'"day";r=(\d+)')


class Reader(Actor):
    """Asks one of some questions as one of some callers, in turn."""

    def __init__(
        self,
        kind: str,
        place: Place,
        truth: Truth,
        questions: Sequence[Question],
        clients: Sequence[httpx.Client],
    ) -> None:
        super().__init__(kind, place)
        self._truth = truth
        self._questions = questions
        self._clients = itertools.cycle(clients)
        self._random = random.Random(kind)
        self.answered: list[tuple[float, float]] = []
        """When each question that was answered was sent, and when the answer came."""

    def act(self) -> str:
        """Ask once."""
        return outcome(self.ask(self._random.choice(self._questions)))

    def ask(self, question: Question) -> httpx.Response:
        """Ask a question, and judge the answer."""
        sent = time.monotonic()
        answer = question.ask(next(self._clients))
        if outcome(answer) == "answered":
            self.answered.append((sent, time.monotonic()))
        self.wrong += self._truth.judge(question, answer, sent)
        return answer

    @property
    def slowest(self) -> float:
        """Seconds of the answer that took longest."""
        return max((end - sent for sent, end in self.answered), default=0.0)


class Caller(Reader):
    """Reads with a key: each answered call must be in the usage log."""

    def __init__(self, server: Server, truth: Truth, email: str) -> None:
        self.key, self._server = server.key(email), server
        super().__init__("usage", server, truth, KEYED_REST, [server.client(self.key)])

    def uncounted(self, ended: float) -> tuple[int, float]:
        """The answered calls that the log does not have, and how old the oldest of them was."""
        missing = len(self.answered) - self.stored()
        return missing, ended - self.answered[-missing][1] if missing > 0 else 0.0

    def stored(self) -> int:
        """The calls that the usage log has."""
        accounts = self._server.folder / "accounts.sqlite"
        with closing(sqlite3.connect(accounts, timeout=30)) as database:
            query = "SELECT coalesce(sum(calls), 0) FROM usage WHERE key_prefix = ?"
            return int(database.execute(query, (self.key[:16],)).fetchone()[0])

    def counted_today(self) -> int:
        """The calls of the day that the limits know, by the answer to one more call."""
        answer = self.ask(FIRST_ROW).raise_for_status()
        left = LEFT_TODAY.search(answer.headers["ratelimit"])
        assert left is not None
        return int(str(self._server.settings["key_per_day"])) - int(left[1]) - 1


class Walker(Reader):
    """Walks over the pages of the scan: a night that changes on the way is told by the pages."""

    def __init__(self, place: Place, truth: Truth, clients: Sequence[httpx.Client]) -> None:
        super().__init__("pages of the scan", place, truth, PAGES, clients)
        self._walk: list[Question] = []
        self._rows: dict[str, list[str]] = {}
        self.walks = self.met = 0
        """Walks, and those of them in which another night came, and the pages said so."""

    def act(self) -> str:
        """Read the next page."""
        if not self._walk:
            self._end()
            self._walk = list(PAGES)
        answer = self.ask(self._walk.pop(0))
        if answer.status_code == 200:
            (version,) = versions(answer.content) or {""}
            rows = self._rows.setdefault(version, [])
            rows += [row["setup_id"] for row in answer.json()["setups"]]
        return outcome(answer)

    def _end(self) -> None:
        """Judge the walk that ended: within one night, no row comes twice."""
        self.walks += bool(self._rows)
        self.met += len(self._rows) > 1
        for version, ids in self._rows.items():
            if len(ids) != len(set(ids)):
                self.wrong.append(Wrong("mixed nights", f"a walk over {version} has a row twice"))
        self._rows = {}


class Greedy(Reader):
    """Asks for more than its quota on all servers, and counts what it was granted."""

    def __init__(
        self,
        name: str,
        quota: int,
        place: Place,
        truth: Truth,
        question: Question,
        clients: Sequence[httpx.Client],
    ) -> None:
        super().__init__("over their quota", place, truth, [question], clients)
        self.name, self.quota = name, quota

    @property
    def most(self) -> int:
        """The most grants that certainly lie in one moving minute."""
        return most_within(self.answered, 60.0)


def most_within(spans: Sequence[tuple[float, float]], seconds: float) -> int:
    """The most spans of time that lie within any so many seconds."""
    return max(
        (sum(sent >= start and end < start + seconds for sent, end in spans) for start, _ in spans),
        default=0,
    )


def greedy(
    site: Place, servers: Sequence[Place], truth: Truth, per_key: int, per_address: int
) -> Iterator[Greedy]:
    """A key, an account with four keys, and an address on REST and MCP, each at all servers."""
    one, family = [site.key("greedy@example.com")], site.keys(["family@example.com"], each=4)
    for name, keys, quota in (
        ("one key", one, per_key),
        ("one account with four keys", family, 3 * per_key),
    ):
        clients = [server.client(key) for key in keys for server in servers]
        yield Greedy(name, quota, site, truth, FIRST_ROW, clients)
    for name, question, address in (
        ("one address, REST", FAMILIES, "127.9.0.1"),
        ("one address, MCP", RECORD, "127.9.0.2"),
    ):
        clients = [place.client(address=address) for place in (*servers, site)]
        yield Greedy(name, per_address, site, truth, question, clients)


def serves(place: Place, version: str) -> bool:
    """Whether a night is served there now."""
    with place.client() as client:
        try:
            return served_by(client) == version
        except httpx.HTTPError:
            return False
