"""Readers: callers whose answers are all held against the truth."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from tests.faults.writers import Place, client_of
from tests.topology.site import Site
from tests.topology.truth import MOST_ROWS, Question, Truth, Wrong, outcome, pages, versions


class Reader:
    """Asks one of some questions as one of some callers, in turn."""

    def __init__(
        self,
        kind: str,
        truth: Truth,
        questions: Sequence[Question],
        clients: Sequence[httpx.Client],
    ) -> None:
        self.kind = kind
        self._truth = truth
        self._questions = questions
        self._clients = itertools.cycle(clients)
        self._random = random.Random(kind)
        self.wrong: list[Wrong] = []

    def act(self) -> str:
        """Ask once."""
        question = self._random.choice(self._questions)
        sent = time.monotonic()
        answer = question.ask(next(self._clients))
        self.wrong += self._truth.judge(question, answer, sent)
        return outcome(answer)


class Walker:
    """Walks over the pages of the scan: a night that changes on the way is told by the pages."""

    kind = "pages of the scan"

    def __init__(self, truth: Truth, clients: Sequence[httpx.Client]) -> None:
        self._truth = truth
        self._clients = itertools.cycle(clients)
        self._walk: list[Question] = []
        self._seen: set[str] = set()
        self._rows: dict[str, list[str]] = {}
        self.told = 0
        """Walks in which another night came, and the pages said so."""
        self.walks = 0
        self.wrong: list[Wrong] = []

    def act(self) -> str:
        """Read the next page."""
        if not self._walk:
            self._end()
            self._walk = pages(MOST_ROWS)
        question, sent = self._walk.pop(0), time.monotonic()
        answer = question.ask(next(self._clients))
        self.wrong += self._truth.judge(question, answer, sent)
        if answer.status_code == 200:
            (version,) = versions(answer.content) or {""}
            self._seen.add(version)
            ids = [row["setup_id"] for row in answer.json()["setups"]]
            self._rows.setdefault(version, []).extend(ids)
        return outcome(answer)

    def _end(self) -> None:
        """Judge the walk that ended: within one night, no row comes twice."""
        self.walks += bool(self._seen)
        self.told += len(self._seen) > 1
        for version, ids in self._rows.items():
            if len(ids) != len(set(ids)):
                self.wrong.append(Wrong("mixed nights", f"a walk over {version} has a row twice"))
        self._seen, self._rows = set(), {}


@dataclass
class Greedy:
    """Asks for more than its quota on all servers; counts what it was granted."""

    name: str
    quota: int
    question: Question
    clients: Sequence[httpx.Client]
    grants: list[tuple[float, float]] = field(default_factory=list)
    kind = "over their quota"
    _turn: int = 0

    def act(self) -> str:
        """Ask the next server."""
        self._turn += 1
        client, sent = self.clients[self._turn % len(self.clients)], time.monotonic()
        answer = self.question.ask(client)
        said = outcome(answer)
        if said == "answered":
            self.grants.append((sent, time.monotonic()))
        return said

    @property
    def most(self) -> int:
        """The most grants that certainly lie in one moving minute."""
        return most_within(self.grants, 60.0)

    @property
    def over(self) -> int:
        """How many of them are more than the quota."""
        return max(0, self.most - self.quota)


def most_within(spans: Sequence[tuple[float, float]], seconds: float) -> int:
    """The most spans of time that lie within any so many seconds."""
    return max(
        (sum(sent >= start and end < start + seconds for sent, end in spans) for start, _ in spans),
        default=0,
    )


def greedy(site: Site, per_key: int, per_address: int) -> list[Greedy]:
    """A key, an account with four keys, and an address on REST and MCP, each at all servers."""
    places: list[Place] = [*site.servers, site]
    families, me = Question("/api/v1/families"), Question("/api/v1/scan?limit=1")
    record = Question(
        "/mcp/demo",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"get_family_track_record","arguments":{}}}',
    )
    key = site.key("greedy@example.com")
    many = site.keys(["family@example.com"], each=4)
    return [
        Greedy("one key", per_key, me, [client_of(one, key) for one in site.servers]),
        Greedy(
            "one account with four keys",
            3 * per_key,
            me,
            [client_of(one, each) for each in many for one in site.servers],
        ),
        Greedy(
            "one address, REST",
            per_address,
            families,
            [client_of(one, address="127.9.0.1") for one in places],
        ),
        Greedy(
            "one address, MCP",
            per_address,
            record,
            [client_of(one, address="127.9.0.2") for one in places],
        ),
    ]
