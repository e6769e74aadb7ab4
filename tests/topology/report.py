"""The report of a run: requests by kind and end, what each drill cost, and the promises."""

from __future__ import annotations

from collections.abc import Sequence

from tests.topology.crowd import Crowd
from tests.topology.drills import Drill
from tests.topology.truth import Wrong

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
REVOKED_SECONDS = 2.0
SHOWN = 12


def broken(crowd: Crowd, tracebacks: Sequence[str]) -> list[Wrong]:
    """Every broken promise."""
    found = [*crowd.wrong(), *(Wrong("tracebacks", one) for one in tracebacks)]
    found += [
        Wrong("over-limit grants", f"{one.name}: {one.most} in a minute, {one.quota} allowed")
        for one in crowd.greedy
        for _ in range(one.over)
    ]
    late = [one for one in revoked(crowd) if one > REVOKED_SECONDS]
    return found + [Wrong("late revocations", f"after {one:.2f} s") for one in late]


def revoked(crowd: Crowd) -> list[float]:
    """Seconds after which each revoked key or token was refused by all servers."""
    return [*crowd.revocations.seconds, *crowd.replays.seconds]


def report(crowd: Crowd, drills: Sequence[Drill], wrong: Sequence[Wrong]) -> list[str]:
    """The whole report."""
    number = crowd.tally.requests
    return [
        f"{number:,} requests in {crowd.seconds:.0f} s, {number / crowd.seconds:.0f} a second\n",
        *_ends(crowd),
        "",
        *_drills(drills),
        "",
        *_promises(crowd, wrong),
    ]


def _ends(crowd: Crowd) -> list[str]:
    lines = [f"{'kind':<20}{'requests':>9}  how they ended"]
    for kind, ends in crowd.tally.ends.items():
        told = "; ".join(f"{count:,} {end}" for end, count in ends.most_common())
        lines.append(f"{kind:<20}{ends.total():>9,}  {told}")
    return lines


def _drills(drills: Sequence[Drill]) -> list[str]:
    head = f"{'part':<14}{'what was done':<38}{'calls well':>11}{'healthy':>9}"
    lines = [f"{head}  ends that were no answers meanwhile"]
    for one in drills:
        cost = {end: count for end, count in one.cost.items() if not _is_fine(end)}
        told = "; ".join(f"{count:,} {end}" for end, count in cost.items()) or "none"
        lines.append(f"{one.part:<14}{one.done:<38}{one.well:>9.1f} s{one.healthy:>7.1f} s  {told}")
    return lines


def _is_fine(end: str) -> bool:
    return end in ("answered", "revoked") or "429" in end or "412" in end or "400" in end


def _promises(crowd: Crowd, wrong: Sequence[Wrong]) -> list[str]:
    times, grants = revoked(crowd), sum(len(one.grants) for one in crowd.greedy)
    most = ", ".join(f"{one.name} {one.most}/{one.quota}" for one in crowd.greedy)
    written = sum(one.acknowledged for one in crowd.lists)
    beside = {
        "over-limit grants": f"of {grants:,}; the most in a moving minute: {most}",
        "mixed nights": f"{crowd.walker.told} of {crowd.walker.walks:,} walks over the scan met "
        "another night, and its pages said so",
        "lost acknowledged writes": f"of {written:,} lists that two replaced at once, and of all "
        "others, by the database",
        "codes and tokens used twice": f"of {crowd.replays.tried:,} that two servers got at once",
        "late revocations": f"of {len(times):,}; the largest {max(times, default=0):.2f} s of "
        f"{REVOKED_SECONDS:.0f}",
    }
    lines = []
    for promise in PROMISES:
        those = [one.how for one in wrong if one.promise == promise]
        lines.append(f"{promise:<32}{len(those):>4}  {beside.get(promise, '')}".rstrip())
        lines += [f"    {one}" for one in those[:SHOWN]]
    return lines
