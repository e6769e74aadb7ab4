"""Slopes: how memory and descriptors of each process of a service change, per hour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import psutil

HOUR = 3600.0
ROLES = {
    "anyio.to_process": "drawing",
    "resource_tracker": "tracker",
    "spawn_main": "worker",
}
"""What the command line of a child tells of its work."""


class Slope(NamedTuple):
    """A line through samples by least squares, and the standard error of its slope."""

    per_hour: float
    error: float


def slope_of(times: Sequence[float], values: Sequence[float]) -> Slope:
    """The slope of values (of any unit, per hour) over times in seconds; at least 3 samples."""
    count, mean = len(times), sum(times) / len(times)
    middle = sum(values) / count
    spread = sum((t - mean) ** 2 for t in times)
    slope = sum((t - mean) * (v - middle) for t, v in zip(times, values, strict=True)) / spread
    left = (v - middle - slope * (t - mean) for t, v in zip(times, values, strict=True))
    variance = sum(rest**2 for rest in left) / (count - 2)
    return Slope(slope * HOUR, sqrt(variance / spread) * HOUR)


@dataclass
class Track:
    """The samples of one process: seconds, megabytes of resident memory, open descriptors."""

    role: str
    times: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)


class Sampler:
    """Samples of a service and of every process that it starts."""

    def __init__(self, pid: int) -> None:
        self._parent = psutil.Process(pid)
        self.tracks: dict[int, Track] = {}

    def look(self, at: float) -> None:
        """Take one sample, some seconds after the start."""
        for process in [self._parent, *self._parent.children(recursive=True)]:
            with suppress(psutil.Error):  # it has ended meanwhile
                track = self.tracks.setdefault(process.pid, Track(self._role(process)))
                with process.oneshot():
                    memory, files = process.memory_info().rss, process.num_fds()
                track.times.append(at)
                track.memory.append(memory / 2**20)
                track.files.append(files)

    def _role(self, process: psutil.Process) -> str:
        if process.pid == self._parent.pid:
            return "parent"
        line = " ".join(process.cmdline())
        return next((role for word, role in ROLES.items() if word in line), "other")

    def rows(self, since: float) -> Iterator[tuple[str, ...]]:
        """For each process: its role, memory at the beginning and end, and the two slopes."""
        for pid, track in self.tracks.items():
            kept = [n for n, at in enumerate(track.times) if at >= since]
            times = [track.times[n] for n in kept]
            memory, files = ([values[n] for n in kept] for values in (track.memory, track.files))
            name = f"{track.role} {pid}"
            if len(kept) < 3:
                yield name, "too short-lived to tell", "", "", ""
                continue
            grown, opened = slope_of(times, memory), slope_of(times, files)
            yield (
                name,
                f"{memory[0]:.1f} to {memory[-1]:.1f}",
                f"{grown.per_hour:+.1f} ± {2 * grown.error:.1f}",
                f"{files[0]:.0f} to {files[-1]:.0f}",
                f"{opened.per_hour:+.1f} ± {2 * opened.error:.1f}",
            )
