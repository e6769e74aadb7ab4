"""Several machines: each part of a site is killed once, one at a time, and nights come and go."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import httpx

from tests.qa.drills.crowd import Actor, Crowd
from tests.qa.drills.drill import HEAD, Drill, line, table
from tests.qa.drills.nights import SESSIONS
from tests.qa.drills.readers import Reader, Walker, greedy, serves
from tests.qa.drills.rivals import Lists, Replays, Revocations
from tests.qa.drills.server import Place, Server
from tests.qa.drills.site import LIMITS, PARTS, Site
from tests.qa.drills.truth import (
    KEYED_REST,
    KEYED_TOOLS,
    KEYLESS_REST,
    KEYLESS_TOOLS,
    Wrong,
)
from tests.qa.drills.writers import Approving, Keeping, SigningIn, Watching
from tests.screener.command import COMMAND, environment, run_process
from tests.screener.process import until

KEYS, ADDRESSES = 60, 60
"""So many that each stays within its quota."""
AWAY = 2.0
"""Seconds for which a part is away."""
OUGHT = 300.0
"""Seconds within which everything must be well again, on a machine that has much else to do."""
WENT = f"kill -9, away {AWAY:.0f} s"
REVOKED_SECONDS = 2.0
SHOWN = 12
PROMISES = (
    "wrong answers",
    "mixed nights",
    "lost acknowledged writes",
    "over-limit grants",
    "codes and tokens used twice",
    "wrong refusals",
    "requests that hang",
    "late revocations",
    "parts that were not well again",
    "callers that fell over",
    "tracebacks",
)


class Public(Crowd):
    """Every kind of caller of a site, each at a bounded rate."""

    def __init__(self, site: Site) -> None:
        truth, servers = site.nights.truth, site.servers
        keys = site.keys([f"reader{number}@example.com" for number in range(KEYS)])
        keyed = [site.client(key) for key in keys]
        keyless = [site.client() for _ in range(ADDRESSES)]
        per_key, per_address = LIMITS["key_per_minute"], LIMITS["keyless_per_minute"]
        self.greedy = list(greedy(site, servers, truth, per_key, per_address))
        self.walker = Walker(site, truth, keyed[40:])
        self.lists = [Lists(site, servers, f"{name}@example.com") for name in ("rivals", "others")]
        self.replays = Replays("codes used twice", site, servers)
        self.revocations = Revocations("revocations", site, servers)
        self._tracebacks = site.tracebacks
        readers: list[tuple[Actor, float]] = [
            (Reader(kind, site, truth, questions, clients), pause)
            for kind, questions, clients, pause in (
                ("keyless, REST", KEYLESS_REST, keyless, 0.05),
                ("keyless, MCP", KEYLESS_TOOLS, keyless[30:] + keyless[:30], 0.15),
                ("keys, REST", KEYED_REST, keyed[:25], 0.05),
                ("keys, MCP", KEYED_TOOLS, keyed[25:40], 0.1),
                ("charts", truth.charts, keyed[:40], 0.25),
            )
        ]
        super().__init__(
            [
                *readers,
                (self.walker, 0.15),
                *((one, 0.2) for one in self.greedy),
                *((one, 4.0) for one in self.lists),
                *((kind(site), 1.5) for kind in (Watching, Keeping, SigningIn, Approving)),
                (self.replays, 2.0),
                (self.revocations, 2.0),
            ]
        )

    def broken(self) -> list[Wrong]:
        """Every broken promise; asks the service and the database what became of all writes."""
        return [
            *self.wrong,
            *(Wrong("lost acknowledged writes", words) for words in self.lost()),
            *(Wrong("tracebacks", words) for words in self._tracebacks()),
            *(
                Wrong("over-limit grants", f"{g.name}: {g.most} in a minute, {g.quota} allowed")
                for g in self.greedy
                for _ in range(g.quota, g.most)
            ),
            *(
                Wrong("late revocations", f"after {one:.2f} s")
                for one in self.revoked
                if one > REVOKED_SECONDS
            ),
        ]

    @property
    def revoked(self) -> list[float]:
        """Seconds after which each revoked key or token was refused by all servers."""
        return [*self.revocations.seconds, *self.replays.seconds]


class Losses:
    """The drills of a site: each part is lost once, while the crowd goes on."""

    def __init__(self, site: Site, crowd: Public) -> None:
        self._site, self._crowd = site, crowd
        self._key = site.key("drill@example.com")

    def run(self, name: str, made: str, lose: Callable[[Losses], float]) -> Drill:
        """Lose a part, wait until every server says that it is ready and nothing is worse, and
        note what it cost.
        """
        drill = Drill(name, self._site.nightly_folder, self._site.nights, made)
        before = self._crowd.all()
        try:
            began = lose(self)
            drill.seconds.append(time.monotonic() - began)
            for server in self._site.servers:
                until(lambda s=server: _is_well(s), OUGHT)  # type: ignore[misc]
            drill.notes.append(f"Healthy after {time.monotonic() - began:.1f} s")
        except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            drill.wrong.append(f"did not come to its end: {error!r}")
            self._crowd.broke("parts that were not well again", f"{name}: {error!r}")
        cost = self._crowd.all() - before
        drill.seen.update({end: number for end, number in cost.items() if not _is_fine(end)})
        return drill

    def kill(self, name: str) -> float:
        """Kill a part, start it again, and wait until calls are answered well everywhere; returns
        when it was started.
        """
        part = self._site.parts[name]
        part.kill()
        if not name.startswith("server"):
            time.sleep(AWAY)
        began = time.monotonic()
        part.start()
        for place in (*self._site.servers, self._site):
            until(lambda p=place: self._answers(p), OUGHT)  # type: ignore[misc]
        return began

    def _answers(self, place: Place) -> bool:
        """Whether calls with and without a key are answered well."""
        return place.answers("/api/v1/tickers", self._key) and place.answers()

    def publish(self, number: int) -> float:
        """Publish a night, and wait until every server serves it."""
        began = time.monotonic()
        self._site.publish(number)
        return self._served(number, began)

    def _served(self, number: int, began: float) -> float:
        version = self._site.nights.sealed[number].data_version
        for server in self._site.servers:
            until(lambda s=server: serves(s, version), OUGHT)  # type: ignore[misc]
        return began

    def kill_nightly(self) -> float:
        """Kill a nightly between its first object and its commit, and run it again."""
        site, version = self._site, self._site.nights.sealed[2].data_version
        process = subprocess.Popen(
            [*COMMAND, *site.nights.arguments(SESSIONS[2])],
            env=environment(site.nightly_folder, **site.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and not any(version in one for one in site.objects.names()):
            time.sleep(0.005)
        process.kill()
        process.wait()
        return self.publish(2)

    def withdraw(self) -> float:
        site, version = self._site, self._site.nights.sealed[2].data_version
        began = time.monotonic()
        words = ("night", "withdraw", version, "--reason", "A drill.")
        done = run_process(site.nightly_folder, *words, **site.environment)
        assert done.returncode == 0, done.stderr
        self._served(1, began)
        site.nights.truth.is_gone(version, time.monotonic())
        return began


Loss = tuple[str, str, Callable[[Losses], float]]
LOSSES: Sequence[Loss] = (
    ("a server", "kill -9", lambda losses: losses.kill("server 1")),
    ("the nightly", "switches the night", lambda losses: losses.publish(1)),
    ("a server", "kill -9", lambda losses: losses.kill("server 2")),
    *((name, WENT, partial(Losses.kill, name=name)) for name in PARTS),
    ("the nightly", "kill -9, run again", Losses.kill_nightly),
    ("a server", "stopped, started", lambda losses: losses.kill("server 3")),
    ("the nightly", "its night withdrawn", Losses.withdraw),
)
"""Each part of `docs/several-machines.md`, what is done to it, and how."""


def _is_well(server: Server) -> bool:
    """Whether a server is ready, and nothing is worse than it should be."""
    with suppress(httpx.HTTPError, ValueError):
        answer = httpx.get(f"{server.url}/health/ready", timeout=5)
        # The bars are old, and are to be.
        return answer.status_code == 200 and {one["part"] for one in answer.json()["degraded"]} <= {
            "night"
        }
    return False


def _is_fine(end: str) -> bool:
    return end in ("answered", "revoked") or any(code in end for code in ("429", "412", "400"))


def ends(crowd: Crowd) -> list[str]:
    """The requests by kind, and how they ended."""
    number = crowd.all().total()
    rows = (
        (kind, f"{ends.total():,}", "; ".join(f"{n:,} {end}" for end, n in ends.most_common()))
        for kind, ends in crowd.ends.items()
    )
    speed = f"{number:,} requests in {crowd.seconds:.0f} s, {number / crowd.seconds:.0f} a second\n"
    return [speed, *table(("kind", "requests", "how they ended"), rows), ""]


def promises(crowd: Public, wrong: Sequence[Wrong]) -> list[str]:
    """How often each promise was broken, and of how many."""
    grants = sum(len(one.answered) for one in crowd.greedy)
    most = ", ".join(f"{one.name} {one.most}/{one.quota}" for one in crowd.greedy)
    written = sum(one.acknowledged for one in crowd.lists)
    beside = {
        "over-limit grants": f"of {grants:,}; the most in a moving minute: {most}",
        "mixed nights": f"{crowd.walker.met} of {crowd.walker.walks:,} walks over the scan met "
        "another night, and its pages said so",
        "lost acknowledged writes": f"of {written:,} lists that two replaced at once, and of all "
        "others, by the database",
        "codes and tokens used twice": f"of {crowd.replays.tried:,} that two servers got at once",
        "late revocations": f"of {len(crowd.revoked):,}; the largest "
        f"{max(crowd.revoked, default=0):.2f} s of {REVOKED_SECONDS:.0f}",
    }
    lines = []
    for promise in PROMISES:
        those = [one.how for one in wrong if one.promise == promise]
        lines.append(f"{promise:<32}{len(those):>4}  {beside.get(promise, '')}".rstrip())
        lines += [f"    {one}" for one in those[:SHOWN]]
    return lines


def drive(site: Site, seconds: float, chosen: Sequence[Loss]) -> bool:
    """Lose the parts within so many seconds or longer, and print what came of it."""
    crowd = Public(site)
    losses, rows = Losses(site, crowd), list[tuple[str, ...]]()
    with crowd:
        began = time.monotonic()
        for number, loss in enumerate(chosen, 1):
            rows.append(losses.run(*loss).row())
            print(line(rows[-1]), file=sys.stderr, flush=True)
            time.sleep(max(1.0, began + seconds * number / len(chosen) - time.monotonic()))
    wrong = crowd.broken()
    print("", *ends(crowd), *table(HEAD, rows), "", *promises(crowd, wrong), sep="\n", flush=True)
    return bool(wrong)
