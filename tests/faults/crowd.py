"""A crowd: clients that write, call and read while a fault is made, each in a thread of its own."""

from __future__ import annotations

import itertools
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from types import TracebackType
from typing import Self

import httpx

from tests.faults.serving import Serving
from tests.faults.truth import Truth, paths
from tests.faults.writers import PATIENCE, WRITERS, RefusedError, Writer, client_of, ending

PAUSE = 0.01
"""Seconds between two requests of one client."""
LEFT_TODAY = re.compile(r'"day";r=(\d+)')


class Caller:
    """Reads with a key: each answer is held against the truth, and must be in the usage log."""

    kind = "usage"

    def __init__(self, serving: Serving, truth: Truth, email: str) -> None:
        self._serving = serving
        self._truth = truth
        self.key = serving.key(email)
        self._client = client_of(serving, self.key)
        self._paths = itertools.cycle(paths())
        self.answered: list[float] = []
        self.wrong: list[str] = []

    def act(self) -> str:
        """Make one call."""
        path = next(self._paths)
        answer = self._client.get(path)
        if answer.status_code != 200:
            return ending(answer)
        self.answered.append(time.monotonic())
        found = self._truth.wrong(path, answer.content)
        if found:
            self.wrong.append(found)
        return ending(answer)

    def lost(self) -> list[str]:
        """Nothing: how many counts a kill may cost is asked of `uncounted`."""
        return []

    def uncounted(self, ended: float) -> tuple[int, float]:
        """The answered calls that the log does not have, and how old the oldest of them was."""
        missing = len(self.answered) - self.stored()
        return missing, ended - self.answered[-missing] if missing > 0 else 0.0

    def stored(self) -> int:
        """The calls that the usage log has."""
        accounts = self._serving.folder / "accounts.sqlite"
        with closing(sqlite3.connect(accounts, timeout=30)) as database:
            query = "SELECT coalesce(sum(calls), 0) FROM usage WHERE key_prefix = ?"
            return int(database.execute(query, (self.key[:16],)).fetchone()[0])

    def counted_today(self) -> int:
        """The calls of the day that the limits know, by the answer to one more call."""
        answer = self._client.get("/api/v1/me").raise_for_status()
        self.answered.append(time.monotonic())
        found = LEFT_TODAY.search(answer.headers["ratelimit"])
        assert found is not None
        return int(str(self._serving.settings["key_per_day"])) - int(found[1]) - 1


class Crowd:
    """Clients at work within a block; afterwards they say what is lost."""

    def __init__(
        self,
        serving: Serving,
        truth: Truth,
        *,
        email: str = "caller@example.com",
        writers: Sequence[Callable[[Serving], Writer]] = WRITERS,
    ) -> None:
        self.seen = Counter[str]()
        self.wrong: list[str] = []
        self.caller = Caller(serving, truth, email)
        self.writers: list[Writer] = [make(serving) for make in writers]
        self._over = threading.Event()
        actors = [*self.writers, self.caller]
        self._threads = [threading.Thread(target=self._work, args=(one,)) for one in actors]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, actor: Writer) -> None:
        while not self._over.wait(PAUSE):
            try:
                said = actor.act()
            except httpx.ConnectError:
                said = "connection refused"
            except httpx.TimeoutException:
                said = f"no answer in {PATIENCE:.0f} s"
                self.wrong.append(f"{actor.kind}: {said}")
            except httpx.TransportError:
                said = "connection lost"
            except RefusedError as error:
                said = str(error)
            if said:
                self.seen[said] += 1

    def lost(self) -> list[str]:
        """What was acknowledged and is gone."""
        return [one for writer in self.writers for one in writer.lost()]

    @property
    def all_wrong(self) -> list[str]:
        """What was served and is not so."""
        return [*self.wrong, *self.caller.wrong]
