"""The crowd: every actor in a thread of its own, at a bounded rate, and how each request ended."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Self

import httpx

from store.errors import StoreError
from tests.qa.drills.server import PATIENCE, Place
from tests.qa.drills.truth import Wrong

TRIES, AGAIN = 4, 20.0
"""How often, and after how many seconds, it is asked again what is stored at the end."""


class RefusedError(Exception):
    """What should have been there was refused; the text says how."""


class Actor(ABC):
    """Somebody who does one thing after the other, and knows what was acknowledged."""

    def __init__(self, kind: str, place: Place) -> None:
        self.kind = kind
        self.place = place
        self.wrong: list[Wrong] = []
        """The promises that were broken."""

    @abstractmethod
    def act(self) -> str:
        """Do one thing; returns how it ended, or nothing if there was nothing to do."""

    def lost(self) -> list[str]:
        """What was acknowledged and is not there; what no answer came to may be there or not."""
        return []


class Crowd:
    """Actors at work within a block, each with its pause between two requests."""

    def __init__(self, actors: Iterable[tuple[Actor, float]]) -> None:
        self.ends: dict[str, Counter[str]] = {}
        self._wrong: list[Wrong] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        pairs = list(actors)
        self.actors = [actor for actor, _ in pairs]
        self._threads = [threading.Thread(target=self._work, args=pair) for pair in pairs]

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.seconds = time.monotonic() - self._began

    def _work(self, actor: Actor, pause: float) -> None:
        while not self._over.wait(pause):
            if end := self._act(actor):
                with self._lock:
                    self.ends.setdefault(actor.kind, Counter())[end] += 1

    def _act(self, actor: Actor) -> str:
        try:
            return actor.act()
        except httpx.ConnectError:
            return "connection refused"
        except httpx.TimeoutException:
            self.broke("requests that hang", f"{actor.kind}, {PATIENCE:.0f} s")
            return "no answer"
        except (httpx.TransportError, httpx.HTTPStatusError):
            return "connection lost"
        except RefusedError as error:
            return str(error)
        except StoreError:
            return "database away"
        except Exception as error:
            self.broke("callers that fell over", f"{actor.kind}: {error!r}")
            return "fell over"

    def broke(self, promise: str, how: str) -> None:
        """Note a broken promise."""
        self._wrong.append(Wrong(promise, how))

    def all(self) -> Counter[str]:
        """How often each end was, of all kinds."""
        with self._lock:
            return sum(self.ends.values(), Counter[str]())

    @property
    def wrong(self) -> list[Wrong]:
        """Every promise that was broken meanwhile."""
        return [*self._wrong, *(wrong for actor in self.actors for wrong in actor.wrong)]

    def lost(self) -> list[str]:
        """What was acknowledged and is gone, as the service and the database say."""
        return [one for actor in self.actors for one in _lost(actor)]


def _lost(actor: Actor) -> list[str]:
    """What an actor lost, who may have to wait for the quota to look."""
    for _ in range(TRIES):
        try:
            return actor.lost()
        except (RefusedError, httpx.HTTPError) as error:
            why = repr(error)
            threading.Event().wait(AGAIN)
    return [f"{actor.kind}: nobody can look: {why}"]
