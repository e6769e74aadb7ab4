"""The crowd: every caller in a thread of its own, at a bounded rate, and how each request ended."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

import httpx

from store.errors import StoreError
from tests.faults.writers import (
    PATIENCE,
    Approving,
    Keeping,
    RefusedError,
    SigningIn,
    Watching,
    Writer,
    client_of,
)
from tests.topology.readers import Greedy, Reader, Walker, greedy
from tests.topology.rivals import Lists, Replays, Revocations, stored_list
from tests.topology.site import LIMITS, Site
from tests.topology.truth import (
    Truth,
    Wrong,
    keyed_rest,
    keyed_tools,
    keyless_rest,
    keyless_tools,
)

KEYS, ADDRESSES = 60, 60
"""So many that each stays within its quota."""
PAUSES = (0.05, 0.15, 0.05, 0.1, 0.25)
"""Seconds between two requests of each kind of reader."""
TRIES, AGAIN = 4, 20.0
"""How often, and after how many seconds, it is asked again what is stored at the end."""
GREEDY = 0.2
"""Seconds between two of their requests, of which there are then too many."""


class Actor(Protocol):
    """Somebody who does one thing after the other."""

    kind: str

    def act(self) -> str:
        """Do one thing; returns how it ended."""


class Tally:
    """How everything ended, by kind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ends: dict[str, Counter[str]] = {}
        self.wrong: list[Wrong] = []

    def note(self, kind: str, end: str) -> None:
        """One more end."""
        with self._lock:
            self.ends.setdefault(kind, Counter())[end] += 1

    @property
    def requests(self) -> int:
        """How many there are."""
        with self._lock:
            return sum(ends.total() for ends in self.ends.values())

    def all(self) -> Counter[str]:
        """How often each end was, of all kinds."""
        with self._lock:
            return sum(self.ends.values(), Counter[str]())


class Crowd:
    """Callers at work within a block."""

    def __init__(self, site: Site) -> None:
        self._site = site
        truth = site.nights.truth
        keys = site.keys([f"reader{number}@example.com" for number in range(KEYS)])
        keyed = [client_of(site, key) for key in keys]
        keyless = [client_of(site) for _ in range(ADDRESSES)]
        self.truth: Truth = truth
        self.tally = Tally()
        self.greedy: list[Greedy] = greedy(
            site, int(str(LIMITS["key_per_minute"])), int(str(LIMITS["keyless_per_minute"]))
        )
        self.walker = Walker(truth, keyed[40:])
        self.lists = [Lists(site, "rivals@example.com"), Lists(site, "others@example.com")]
        self.replays, self.revocations = Replays(site), Revocations(site)
        self.writers: list[Writer] = [Watching(site), Keeping(site), SigningIn(site)]
        self.writers.append(Approving(site))
        rest, tools = keyed_rest(), keyed_tools()
        self._readers = [
            Reader("keyless, REST", truth, keyless_rest(), keyless),
            Reader("keyless, MCP", truth, keyless_tools(), keyless[30:] + keyless[:30]),
            Reader("keys, REST", truth, rest, keyed[:25]),
            Reader("keys, MCP", truth, tools, keyed[25:40]),
            Reader("charts", truth, truth.charts, keyed[:40]),
        ]
        paced: list[tuple[Actor, float]] = [
            *((one, pause) for one, pause in zip(self._readers, PAUSES, strict=True)),
            (self.walker, 0.15),
            *((one, GREEDY) for one in self.greedy),
            *((one, 4.0) for one in self.lists),
            *((one, 1.5) for one in self.writers),
            (self.replays, 2.0),
            (self.revocations, 2.0),
        ]
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=one, name=one[0].kind) for one in paced
        ]

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Let everybody finish what is under way."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.seconds = time.monotonic() - self._began

    def _work(self, actor: Actor, pause: float) -> None:
        while not self._over.wait(pause):
            end = self._act(actor)
            if end:
                self.tally.note(actor.kind, end)

    def _act(self, actor: Actor) -> str:
        try:
            return actor.act()
        except httpx.ConnectError:
            return "connection refused"
        except httpx.TimeoutException:
            self.tally.wrong.append(Wrong("requests that hang", f"{actor.kind}, {PATIENCE:.0f} s"))
            return "no answer"
        except (httpx.TransportError, httpx.HTTPStatusError):
            return "connection lost"
        except RefusedError as error:
            return str(error)
        except StoreError:
            return "database away"
        except Exception as error:
            self.tally.wrong.append(Wrong("callers that fell over", f"{actor.kind}: {error!r}"))
            return "fell over"

    def wrong(self) -> list[Wrong]:
        """Every broken promise; asks the service and the database what became of all writes."""
        judged: Iterable[Sequence[Wrong]] = [
            *(self.tally.wrong, self.walker.wrong, self.replays.wrong, self.revocations.wrong),
            *(reader.wrong for reader in self._readers),
            *(one.wrong for one in self.lists),
        ]
        return [*(one for several in judged for one in several), *self._lost()]

    def _lost(self) -> list[Wrong]:
        lost: list[str] = []
        for writer in self.writers:
            lost += _lost(writer)
        for one in self.lists:
            found = stored_list(self._site, one.email)
            if found not in one.right:
                lost.append(f"the list of {one.email} is {found}, not {one.right}")
        return [Wrong("lost acknowledged writes", words) for words in lost]


def _lost(writer: Writer) -> list[str]:
    """What is lost of what was acknowledged to a writer, who may have to wait for the quota."""
    for _ in range(TRIES):
        try:
            return writer.lost()
        except (RefusedError, httpx.HTTPError) as error:
            why = repr(error)
            threading.Event().wait(AGAIN)
    return [f"{writer.kind}: nobody can look: {why}"]
